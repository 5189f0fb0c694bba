"""What a report says, as plain data: the page, the Markdown and the explorer all show these.

A section holds the runs that can be compared with each other: of one task, judged by the same gold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from goldrank.errors import counts
from goldrank.io.files import write_atomically
from goldrank.presentation import Result
from goldrank.reporting.figures.description import Figure, LeftOut
from goldrank.reporting.text.grids import Grid
from goldrank.reporting.text.results import plain

Kind = Literal["ranked", "measured", "masked"]


@dataclass(frozen=True)
class Passage:
    """What a query or an item says; title and text are empty where the store does not hold them."""

    id: str
    title: str = ""
    text: str = ""

    @property
    def heading(self) -> str:
        """What stands for it in one line."""
        line = self.title or self.text or self.id
        return line if len(line) <= 120 else line[:119].rstrip() + "…"


@dataclass(frozen=True)
class Place:
    """Where a gold item stands in a ranking, by the tie policy in force."""

    rank: int | None
    """None where it was not ranked."""
    last: int | None
    """The same, or the last of the ranks over which tied items are averaged."""

    def __str__(self) -> str:
        """Return the rank, the ranks over which tied items are averaged, or a dash for what was not ranked.

        >>> str(Place(3, 3)), str(Place(3, 5)), str(Place(None, None))
        ('3', '3–5', '–')
        """
        if self.rank is None:
            return "–"
        return str(self.rank) if self.last == self.rank else f"{self.rank}–{self.last}"


@dataclass(frozen=True)
class GoldItem:
    """A right answer, and where each run put it."""

    passage: Passage
    grade: float
    places: Mapping[str, Place]
    """By the key of the run."""


@dataclass(frozen=True)
class Rival:
    """An item that stands above the gold."""

    rank: int
    passage: Passage
    score: float
    grade: float | None
    """None where nobody judged it."""


@dataclass(frozen=True)
class Answer:
    """What one run made of a query."""

    key: str
    name: str
    value: float
    """By the metric of the case; NaN where that is undefined."""
    rivals: tuple[Rival, ...]
    """The first items above its best gold, or the first of all where it found none."""
    above: int | None
    """How many items stand above its best gold; None where it found none."""

    @property
    def others_above(self) -> str:
        """What stands above the gold beyond the rivals that are listed."""
        if self.above == 0:
            return "nothing: the gold is first"
        if self.above is None:
            return "the gold was not ranked" if self.rivals else "the gold was not ranked, and no ranking is stored"
        left = self.above - len(self.rivals)
        return f"and {left} more" if left > 0 else ""


@dataclass(frozen=True)
class Case:
    """A query worth a look: one on which runs differ, or on which the only run does badly."""

    query: Passage
    metric: str
    spread: float
    """How far two runs are apart in the mean; for a single run, how much it lacks."""
    gold: tuple[GoldItem, ...]
    """The most relevant first, of equal ones that which some run put highest; as many as are shown."""
    more_gold: int
    """How many further relevant items there are."""
    answers: tuple[Answer, ...]

    def ranks_of(self, answer: Answer) -> str:
        """Where a run put the gold that is shown, in its order."""
        return " · ".join(str(item.places[answer.key]) for item in self.gold) or "–"


@dataclass(frozen=True)
class Fact:
    """A line of provenance."""

    name: str
    value: str


@dataclass(frozen=True)
class RunAbout:
    """One of the runs: what it is called here, and where it comes from."""

    key: str
    name: str
    """Its model, with as much more as tells it from the other runs of the section."""
    model: str
    created: str
    seconds: float | None
    facts: tuple[Fact, ...]


@dataclass(frozen=True, eq=False)
class Section:
    """Everything about the comparable runs of one task."""

    task: str
    kind: Kind
    runs: tuple[RunAbout, ...]
    """Best first by the headline."""
    verdicts: tuple[str, ...]
    tables: tuple[Grid, ...]
    """The leaderboard, or the table of levels or figures, first; what goes into detail after it."""
    numbers: Mapping[str, Any]
    """The same numbers unrounded, in the shape of `goldrank score --format json` and its kin."""
    figures: tuple[Figure, ...]
    left_out: tuple[LeftOut, ...]
    """Figures that the data cannot give."""
    cases: tuple[Case, ...]
    quality: tuple[str, ...]
    """What a reader should know of the data, a sentence each."""
    conventions: tuple[str, ...]
    commands: tuple[str, ...]
    """The command lines that made the runs."""

    @property
    def cases_title(self) -> str:
        """What its cases have in common."""
        metric = self.cases[0].metric
        if len(self.runs) == 1:
            return f"The queries with the worst {metric}"
        return f"The queries on which {metric} differs most"


def as_json(section: Section) -> dict[str, Any]:
    """The section as JSON can hold it, without its figures, which every reader renders in a way of its own."""
    content: dict[str, Any] = plain({name: getattr(section, name) for name in _NAMES})
    return content


_NAMES = [entry.name for entry in fields(Section) if entry.name != "figures"]


@dataclass(frozen=True, eq=False, repr=False)
class Report(Result):
    """A whole report: its sections, and what it takes to make it again."""

    title: str
    sections: tuple[Section, ...]
    command: str
    """The command line that makes the same report from the same store."""
    made: str
    """When it was made, for people."""
    version: str
    """Of goldrank."""
    theme: str = "auto"
    format: str = "html"
    path: Path | None = None
    """The file that it was written to."""

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
        """The tasks of the sections, each once."""
        return list(dict.fromkeys(section.task for section in self.sections))

    @property
    def commands(self) -> list[str]:
        """The command lines that made the runs, each once."""
        return list(dict.fromkeys(line for section in self.sections for line in section.commands))

    @property
    def citation(self) -> str:
        """A sentence for a paper: what was evaluated, by what, under which conventions."""
        line = f"Evaluated with goldrank {self.version}: {counts(self.runs, 'run')} on {', '.join(self.tasks)}"
        profiles = dict.fromkeys(str(one.numbers["profile"]) for one in self.sections if "profile" in one.numbers)
        return f"{line}; profile {', '.join(profiles)}." if profiles else f"{line}."
