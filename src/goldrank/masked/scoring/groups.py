"""The summed groups of an example or a page: which guesses at which masks were added up to which answer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from goldrank.errors import InputError, counts, unknown_name
from goldrank.masked.examples.chunks import Guesses
from goldrank.masked.names.matching import make_matcher
from goldrank.masked.scoring.levels import Rules
from goldrank.masked.scoring.pooling import Tiers, pooled
from goldrank.masked.scoring.streaming import canonical

_FEW_EXAMPLES = 5
"""A single page with so many examples is shown without being asked for."""

Row = Mapping[str, Any]
Aliases = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class GroupedGuess:
    """One guess at one mask."""

    name: str
    sequence: int
    mask: int
    score: float
    right: Mapping[str, bool]
    """Whether it is right, by reading."""


@dataclass(frozen=True)
class SummedGroup:
    """Guesses that were added up to one answer."""

    name: str
    """The title for the right group of gold pooling, else the member that decides."""
    total: float
    share: float
    """The total over the sum of all groups."""
    right: bool
    named: bool
    """Whether it can be the answer; words that name nobody cannot, where the reading pools by alias."""
    guesses: tuple[GroupedGuess, ...]

    def agreement(self, reading: str) -> tuple[int, int]:
        """Count the guesses that are right in a reading, and all of them."""
        return sum(guess.right[reading] for guess in self.guesses), len(self.guesses)


@dataclass(frozen=True)
class GroupTable:
    """The groups of one example or one page in each reading, the answer first; groups that are no name stand last."""

    page: str
    title: str
    sequence: int | None
    """The number of the example; None for a page of several examples."""
    masks: int
    readings: Mapping[str, tuple[SummedGroup, ...]]
    """By the profile of the rules, the first reading first."""


def group_tables(
    rows: Iterable[Row],
    rules: Rules = Rules(),  # noqa: B008 - frozen
    aliases: Aliases | None = None,
    sequence: int | None = None,
) -> list[GroupTable]:
    """Sum up the guesses of each example, and of each page that has several, under *rules* and the other reading.

    Args:
        rows: masks as dicts with the columns of a table of predictions, in any order.
        rules: the first reading.
        aliases: other names of the persons, by title.
        sequence: only the example of this number.
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
    """The right answers of any of the masks."""
    return list(dict.fromkeys(answer for row in rows for answer in row.get("answers") or [row["title"]]))


def _table(rows: Sequence[Row], sequence: int | None, rules: Rules, aliases: Aliases) -> GroupTable:
    answers, readings = answers_of(rows), (rules, rules.beside)
    judges = {one.profile: (one, Tiers(make_matcher(one.matcher, answers, aliases))) for one in readings}
    guesses = [Guesses(tuple(row["guesses"] or ()), tuple(row["scores"] or ())) for row in rows]
    said = [
        GroupedGuess(
            name,
            row["sequence"],
            row["mask"],
            score,
            {profile: tiers[name] >= of.tier for profile, (of, tiers) in judges.items()},
        )
        for row, one in zip(rows, guesses, strict=True)
        for name, score in zip(one.names[: rules.k], one.scores[: rules.k], strict=True)
        if name.strip()
    ]
    found = {}
    for profile, (of, _) in judges.items():
        groups = pooled(guesses, of, make_matcher(of.matcher, answers, aliases))
        size = math.fsum(abs(group.total) for group in groups)
        found[profile] = tuple(
            SummedGroup(
                " / ".join(answers) if of.pool == "gold" and group.right else group.name,
                group.total,
                group.total / size if size else 0.0,
                group.right,
                group.named,
                tuple(guess for guess in said if guess.name in group.members),
            )
            for group in groups
        )
    return GroupTable(rows[0]["page"], rows[0]["title"] or "", sequence, len(rows), found)


@dataclass
class Shown:
    """Which groups are to be shown, and the rows that they need, kept while predictions stream by."""

    everything: bool = False
    page: str | None = None
    sequence: int | None = None
    _rows: list[Row] = field(default_factory=list)
    _pages: set[str] = field(default_factory=set)

    @property
    def asked(self) -> bool:
        """Whether groups were asked for; else those of a single page with few examples are shown."""
        return self.everything or self.page is not None or self.sequence is not None

    def watch(self, batches: Any) -> Iterator[Any]:
        """Hand on the record batches of predictions, or those of a table, and keep the rows to show."""
        from pyarrow import compute

        found = batches.to_batches() if hasattr(batches, "to_batches") else batches
        for batch in canonical(found):
            self._pages.update(compute.unique(batch["page"]).to_pylist()[:2] if not self.asked else ())
            if self.asked or len(self._pages) == 1:
                kept = batch if self.page is None else batch.filter(compute.equal(batch["page"], self.page))
                self._rows += kept.to_pylist()
            else:
                self._rows.clear()
            yield batch

    def tables(self, rules: Rules, aliases: Aliases) -> list[GroupTable]:
        """The groups to show of what went by; of the next predictions none is known yet."""
        rows = list(self._rows)
        self._rows.clear()
        self._pages.clear()
        if not self.asked:
            few = len({row["sequence"] for row in rows}) <= _FEW_EXAMPLES
            return group_tables(rows, rules, aliases) if few else []
        pages = {row["page"] for row in rows}
        if self.page is not None and not rows:
            raise InputError(
                f"there is no page {self.page!r} among the predictions", remedy="give an id that the data has"
            )
        if self.sequence is not None:
            if len(pages) > 1:
                raise InputError(
                    f"the predictions are of {counts(len(pages), 'page')}, each with an example of its own number",
                    where="--example",
                    remedy="name the page as well, with --page",
                )
            known = sorted({row["sequence"] for row in rows})
            if self.sequence not in known:
                numbers = list(map(str, known))
                raise unknown_name("example", str(self.sequence), numbers, ", ".join(numbers))
        return group_tables(rows, rules, aliases, self.sequence)
