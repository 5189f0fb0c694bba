"""The content of a report as plain data, which HTML, Markdown and the explorer show.

A section has the runs that can be compared with each other: those of one task with the same gold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any

from goldrank.analysis.across import TaskScores
from goldrank.errors import DataWarning, counts
from goldrank.io.files import write_atomically
from goldrank.presentation import Result
from goldrank.reporting.figures.description import Figure, LeftOut
from goldrank.reporting.render.themes import colour_name
from goldrank.reporting.text.formatting import truncate
from goldrank.reporting.text.grids import Grid
from goldrank.reporting.text.results import plain
from goldrank.store import ResultKind


@dataclass(frozen=True)
class Passage:
    """A query or an item; title and text are empty if they are not stored."""

    id: str
    title: str = ""
    text: str = ""

    @property
    def heading(self) -> str:
        """The title, or the beginning of the text, in one line."""
        return truncate(self.title or self.text or self.id, 120)


@dataclass(frozen=True)
class RankRange:
    """The rank of a gold item under the tie policy."""

    rank: int | None
    """None if it was not ranked."""
    last: int | None
    """The same rank, or the last of the ranks over which tied items are averaged."""

    def __str__(self) -> str:
        """Return the rank, the ranks over which tied items are averaged, or a dash if it was not ranked.

        >>> str(RankRange(3, 3)), str(RankRange(3, 5)), str(RankRange(None, None))
        ('3', '3–5', '–')
        """
        if self.rank is None:
            return "–"
        return str(self.rank) if self.last == self.rank else f"{self.rank}–{self.last}"


@dataclass(frozen=True)
class GoldItem:
    """A relevant item and its rank in each run."""

    passage: Passage
    grade: float
    places: Mapping[str, RankRange]
    """Its rank by the key of the run."""


@dataclass(frozen=True)
class Rival:
    """An item ranked above the gold."""

    rank: int
    passage: Passage
    score: float
    grade: float | None
    """None if it was not judged."""
    chunk: str = ""
    """Its best chunk, if it was ranked by chunks."""


@dataclass(frozen=True)
class Answer:
    """The result of one run for a query."""

    key: str
    name: str
    value: float
    """The value of the metric of the case; NaN if it is undefined."""
    rivals: tuple[Rival, ...]
    """The first items above its best gold item, or the first of all if it ranked no gold."""
    above: int | None
    """The number of items above its best gold item; None if it ranked no gold."""

    @property
    def others_above(self) -> str:
        """A phrase on the items above the gold that are not listed."""
        if self.above == 0:
            return "nothing: the gold is first"
        if self.above is None:
            return "the gold was not ranked" if self.rivals else "the gold was not ranked, and no ranking is stored"
        left = self.above - len(self.rivals)
        return f"and {left} more" if left > 0 else ""


@dataclass(frozen=True)
class Case:
    """A query on which the runs differ, or on which a single run has a low value."""

    query: Passage
    metric: str
    spread: float
    """The mean difference of two runs; for a single run, its distance to the best value."""
    gold: tuple[GoldItem, ...]
    """The gold items that are shown, by grade and then by their best rank."""
    more_gold: int
    """The number of further relevant items."""
    answers: tuple[Answer, ...]

    def ranks_of(self, answer: Answer) -> str:
        """Return the ranks of the gold items that are shown, in their order."""
        return " · ".join(str(item.places[answer.key]) for item in self.gold) or "–"


@dataclass(frozen=True)
class Fact:
    """A named fact about the origin of a run."""

    name: str
    value: str


@dataclass(frozen=True)
class RunOrigin:
    """A run of a section: its name and its provenance."""

    key: str
    name: str
    """Its model, with settings if other runs of the section have the same model."""
    model: str
    created: str
    seconds: float | None
    facts: tuple[Fact, ...]


@dataclass(frozen=True, eq=False)
class Section:
    """The results of comparable runs of one task."""

    task: str
    kind: ResultKind
    runs: tuple[RunOrigin, ...]
    """Best first by the headline."""
    verdicts: tuple[str, ...]
    tables: tuple[Grid, ...]
    """The leaderboard first, then the tables with details."""
    numbers: Mapping[str, Any]
    """The same numbers unrounded, in the shape of `goldrank score --format json`."""
    figures: tuple[Figure, ...]
    left_out: tuple[LeftOut, ...]
    """Figures that could not be made from the data."""
    cases: tuple[Case, ...]
    quality: tuple[str, ...]
    """Sentences on the quality of the data."""
    conventions: tuple[str, ...]
    commands: tuple[str, ...]
    """The command lines that created the runs."""
    headline: TaskScores | None = None
    """The first metric, by which the summary of a report compares its runs."""
    palette: Mapping[str, int] = field(default_factory=dict)
    """The number of the look of each run, the same in all sections that show its model."""

    def with_palette(self, palette: Mapping[str, int]) -> Section:
        """Return the section with the looks of its runs, in its figures too."""
        figures = tuple(replace(figure, palette=palette) for figure in self.figures)
        return replace(self, palette=palette, figures=figures)

    @property
    def cases_title(self) -> str:
        """The heading of the cases."""
        metric = self.cases[0].metric
        if len(self.runs) == 1:
            return f"The queries with the worst {metric}"
        return f"The queries on which {metric} differs most"


def as_json(section: Section) -> dict[str, Any]:
    """Return the section as JSON data, without per-query scores and figures, which each client renders itself."""
    names = [entry.name for entry in fields(Section) if entry.name not in ("figures", "headline")]
    content: dict[str, Any] = {name: plain(getattr(section, name)) for name in names}
    return content | {"palette": {name: colour_name(number) for name, number in section.palette.items()}}


@dataclass(frozen=True, eq=False, repr=False)
class Report(Result):
    """A report: its sections, and how to reproduce it."""

    title: str
    sections: tuple[Section, ...]
    command: str
    """The command line that creates the same report from the same store."""
    created: str
    """The date and time of creation, for people."""
    version: str
    """The version of goldrank."""
    theme: str = "auto"
    format: str = "html"
    path: Path | None = None
    """The file that it was written to."""
    warnings: tuple[DataWarning, ...] = ()
    """What makes the scores of run files misleading."""
    notes: tuple[str, ...] = ()
    """What the columns of files were read as, and how many queries and judged items have a text, if any were given."""

    def render(self) -> bytes:
        """Return the file of the report."""
        if self.format == "pdf":
            from goldrank.reporting.document.pdf import to_pdf

            return to_pdf(self)
        if self.format == "markdown":
            from goldrank.reporting.document.markdown import to_markdown

            return to_markdown(self).encode("utf-8", "replace")
        from goldrank.reporting.document.html import to_html

        return to_html(self, self.theme).encode("utf-8", "replace")

    def save(self, path: str | PathLike[str]) -> Report:
        """Write the report to a file, completely or not at all, and return it with its path."""
        data = self.render()
        write_atomically(path, lambda out: out.write(data))
        return replace(self, path=Path(path))

    @property
    def runs(self) -> int:
        """The number of runs in all sections."""
        return sum(len(section.runs) for section in self.sections)

    @property
    def tasks(self) -> list[str]:
        """The distinct tasks of the sections."""
        return list(dict.fromkeys(section.task for section in self.sections))

    @property
    def commands(self) -> list[str]:
        """The distinct command lines that created the runs."""
        return list(dict.fromkeys(line for section in self.sections for line in section.commands))

    @property
    def citation(self) -> str:
        """A sentence for a paper: version, runs, tasks and profiles."""
        line = f"Evaluated with goldrank {self.version}: {counts(self.runs, 'run')} on {', '.join(self.tasks)}"
        profiles = dict.fromkeys(str(each.numbers["profile"]) for each in self.sections if "profile" in each.numbers)
        return f"{line}; profile {', '.join(profiles)}." if profiles else f"{line}."
