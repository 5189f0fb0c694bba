"""Show which guesses of an example or a page are pooled into which answer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from goldrank.errors import InputError, counts, unknown_name
from goldrank.masked.names.matching import make_matcher
from goldrank.masked.scoring.levels import Rules
from goldrank.masked.scoring.pages import Aliases
from goldrank.masked.scoring.pooling import Tiers, counted_guesses, pool_names, scores_by_name
from goldrank.masked.scoring.streaming import canonical

_FEW_EXAMPLES = 5
"""The groups of a single page with at most this many examples are shown by default."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class GroupedGuess:
    """One guess for one mask."""

    name: str
    sequence: int
    mask: int
    score: float
    right: Mapping[str, bool]
    """Whether it is right, by reading."""


@dataclass(frozen=True)
class SummedGroup:
    """Guesses that are pooled into one answer."""

    name: str
    """The title for the right group of ``pool=gold``, otherwise the decisive member."""
    total: float
    share: float
    """Share of the total in the sum over all groups."""
    right: bool
    named: bool
    """Whether it can be the answer; with ``pool=alias``, words that name nobody cannot."""
    guesses: tuple[GroupedGuess, ...]

    def agreement(self, reading: str) -> tuple[int, int]:
        """Return the number of guesses that are right in a reading, and the number of all guesses."""
        return sum(guess.right[reading] for guess in self.guesses), len(self.guesses)


@dataclass(frozen=True)
class GroupTable:
    """The groups of one example or page in each reading, best first; groups that are not a name come last."""

    page: str
    title: str
    sequence: int | None
    """Number of the example; None for a page with several examples."""
    masks: int
    readings: Mapping[str, tuple[SummedGroup, ...]]
    """Groups by profile, the first reading first."""


def group_tables(
    rows: Iterable[Row],
    rules: Rules = Rules(),  # noqa: B008 - frozen
    aliases: Aliases | None = None,
    sequence: int | None = None,
) -> list[GroupTable]:
    """Pool the guesses of each example, and of each page with several, under *rules* and the other reading.

    Args:
        rows: Masks as dicts with the columns of a table of predictions, in any order.
        rules: The first reading.
        aliases: Other names of the persons, by title.
        sequence: Number of the only example to include.
    """
    tables = []
    ordered = sorted(rows, key=lambda row: (row["page"], row["sequence"], row["mask"]))
    for _, of_page in groupby(ordered, lambda row: row["page"]):
        page = list(of_page)
        examples = [list(masks) for _, masks in groupby(page, lambda row: row["sequence"])]
        for masks in examples:
            if sequence in (None, number := masks[0]["sequence"]):
                tables.append(_table(masks, number, rules, aliases or {}))
        if len(examples) > 1 and sequence is None:
            tables.append(_table(page, None, rules, aliases or {}))
    return tables


def answers_of(rows: Iterable[Row]) -> list[str]:
    """Return the distinct right answers of all masks."""
    return list(dict.fromkeys(answer for row in rows for answer in row.get("answers") or [row["title"]]))


def _table(rows: Sequence[Row], sequence: int | None, rules: Rules, aliases: Aliases) -> GroupTable:
    titles = answers_of(rows)
    readings = {of.profile: (of, Tiers(make_matcher(of.matcher, titles, aliases))) for of in (rules, rules.beside)}
    masks = [counted_guesses(row["guesses"] or (), row["scores"] or (), rules.k) for row in rows]
    guesses = [
        GroupedGuess(
            name,
            row["sequence"],
            row["mask"],
            score,
            {profile: tiers[name] >= of.tier for profile, (of, tiers) in readings.items()},
        )
        for row, (names, scores) in zip(rows, masks, strict=True)
        for name, score in zip(names, scores, strict=True)
    ]
    tables = {}
    for profile, (of, tiers) in readings.items():
        answers = pool_names(scores_by_name(masks), of, tiers)
        size = math.fsum(map(abs, answers.totals))
        tables[profile] = tuple(
            SummedGroup(
                " / ".join(titles) if of.pool == "gold" and answers.right[at] else answers.names[at],
                answers.totals[at],
                answers.totals[at] / size if size else 0.0,
                answers.right[at],
                answers.named[at],
                tuple(guess for guess in guesses if guess.name in answers.members[at]),
            )
            for at in answers.order
        )
    return GroupTable(rows[0]["page"], rows[0]["title"] or "", sequence, len(rows), tables)


@dataclass
class GroupSelection:
    """Selects the groups to show, and collects their rows while predictions are streamed."""

    everything: bool = False
    page: str | None = None
    sequence: int | None = None
    _rows: list[Row] = field(default_factory=list)
    _pages: set[str] = field(default_factory=set)

    @property
    def explicit(self) -> bool:
        """Whether groups were requested; otherwise those of a single page with few examples are shown."""
        return self.everything or self.page is not None or self.sequence is not None

    def watch(self, batches: Any) -> Iterator[Any]:
        """Yield the record batches of predictions, or those of a table, and collect the rows to show."""
        from pyarrow import compute

        for batch in canonical(batches.to_batches() if hasattr(batches, "to_batches") else batches):
            self._pages.update(compute.unique(batch["page"]).to_pylist()[:2] if not self.explicit else ())
            if self.explicit or len(self._pages) == 1:
                selected = batch if self.page is None else batch.filter(compute.equal(batch["page"], self.page))
                self._rows += selected.to_pylist()
            else:
                self._rows.clear()
            yield batch

    def tables(self, rules: Rules, aliases: Aliases) -> list[GroupTable]:
        """Return the groups to show of the streamed predictions, and forget their rows."""
        rows = list(self._rows)
        self._rows.clear()
        self._pages.clear()
        if not self.explicit:
            few = len({row["sequence"] for row in rows}) <= _FEW_EXAMPLES
            return group_tables(rows, rules, aliases) if few else []
        pages = {row["page"] for row in rows}
        if self.page is not None and not rows:
            raise InputError(
                f"there is no page {self.page!r} in the predictions", remedy="give the id of a page in the data"
            )
        if self.sequence is not None:
            if len(pages) > 1:
                raise InputError(
                    f"the predictions cover {counts(len(pages), 'page')}, which number their examples separately",
                    where="--example",
                    remedy="give the page as well, with --page",
                )
            known = sorted({row["sequence"] for row in rows})
            if self.sequence not in known:
                numbers = list(map(str, known))
                raise unknown_name("example", str(self.sequence), numbers, ", ".join(numbers))
        return group_tables(rows, rules, aliases, self.sequence)
