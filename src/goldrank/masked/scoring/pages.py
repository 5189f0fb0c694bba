"""Score the pages of one table: sort and validate its rows, then score every page by mask, example and page."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, pairwise
from typing import Any

import numpy as np

from goldrank.errors import InputError
from goldrank.hits import Ints
from goldrank.io.formats.parquet import load_pyarrow
from goldrank.masked.examples.chunks import MaskKey
from goldrank.masked.names.matching import Person, make_matcher
from goldrank.masked.scoring.assembly import COUNTS, DESCRIBED, FURTHER, RANK_COLUMNS, Part, rank_table
from goldrank.masked.scoring.legacy import DISTANCE_BINS, SUMS, GuessDistances, PageSums
from goldrank.masked.scoring.levels import Bools, Rules
from goldrank.masked.scoring.pooling import (
    GoldRank,
    NamesAndScores,
    Tiers,
    counted_guesses,
    pool_names,
    rank_gold,
    scores_by_name,
)

Aliases = Mapping[str, Sequence[str]]
Readings = Sequence[Rules]
"""The rules to score by, with the same k."""
Answer = tuple[str, ...]
"""The right answers of a mask, any of which counts."""

REQUIRED = {"page": "string", "sequence": "int64", "mask": "int64", "title": "string"}
OPTIONAL = {"masks": "int64", "length": "int64", "type": "string"}
LISTS = {"guesses": "string", "scores": "float64"}
OPTIONAL_LISTS = {"answers": "string"}
"""The columns that scoring reads, with their types."""
_KEY = ("page", "sequence", "mask")
# Number of masks that are Python objects at a time.
_BLOCK = 20_000


def score_part(table: Any, readings: Readings, aliases: Aliases) -> Part:
    """Score all pages of *table*, whose rows may be in any order."""
    sorted_rows = _sorted(table)
    scorer = _Scorer(readings, aliases)
    starts = [*np.flatnonzero(sorted_rows.new_page).tolist(), len(sorted_rows.table)]
    with _uncollected():
        for first, last in _blocks(starts):
            _score_block(scorer, sorted_rows, starts[first : last + 1])
    return scorer.part(sorted_rows)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Disable garbage collection: scoring creates no reference cycles, and the search for them takes a fifth."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class _Sorted:
    """The rows of a part in order of page, sequence number and mask."""

    def __init__(self, table: Any) -> None:
        self.table = table
        self.sequence = table["sequence"].to_numpy()
        self.mask = table["mask"].to_numpy()
        self.new_page = _changes(table["page"])
        self.new_example = self.new_page | (np.diff(self.sequence, prepend=self.sequence[0]) != 0)


def _sorted(table: Any) -> _Sorted:
    """Sort and validate the rows; an error names the mask."""
    pyarrow, _ = load_pyarrow()
    from pyarrow import compute

    for name in (*REQUIRED, *LISTS):
        _refuse(table, compute.is_null(table[name]), f"the column {name} is empty", "fill it in for every mask")
    guesses, scores = table["guesses"], table["scores"]
    unequal = compute.not_equal(compute.list_value_length(guesses), compute.list_value_length(scores))
    _refuse(table, unequal, "the predictions and scores differ in number", "give each name its score")
    names, numbers = compute.list_flatten(guesses), compute.list_flatten(scores)
    nameless, bad = compute.is_null(names), compute.invert(compute.is_finite(numbers).fill_null(False))
    for fault, what in ((nameless, "a prediction is null"), (bad, "a score is not a finite number")):
        if compute.any(fault).as_py():
            of = compute.list_parent_indices(guesses).to_numpy()
            rows = np.zeros(len(table), bool)
            rows[of[fault.to_numpy()]] = True
            _refuse(table, pyarrow.array(rows), what, "write names with finite scores, or omit the guess")
    table = table.take(compute.sort_indices(table, sort_keys=[(name, "ascending") for name in _KEY])).combine_chunks()
    rows_in_order = _Sorted(table)
    same = ~rows_in_order.new_example & (np.diff(rows_in_order.mask, prepend=rows_in_order.mask[0]) == 0)
    _refuse(table, pyarrow.array(same), "the mask appears twice", "keep one row for each mask")
    retitled = _changes(table["title"]) & ~rows_in_order.new_page
    _refuse(table, pyarrow.array(retitled), "the page has two titles", "give all its rows the same title")
    return rows_in_order


def _changes(column: Any) -> Bools:
    """Return whether each value differs from the previous one; True for the first."""
    codes = column.combine_chunks().dictionary_encode().indices.to_numpy(zero_copy_only=False)
    changed: Bools = np.diff(codes, prepend=-1) != 0
    return changed


def _refuse(table: Any, fault: Any, what: str, remedy: str) -> None:
    """Raise an error for the first mask, in order, for which *fault* is true."""
    from pyarrow import compute

    if not compute.any(fault).as_py():
        return
    keys = table.select(_KEY).filter(fault).sort_by([(name, "ascending") for name in _KEY]).slice(0, 1).to_pylist()
    raise InputError(what, where=MaskKey(**keys[0]).place, remedy=remedy)


def _blocks(starts: list[int]) -> Iterator[tuple[int, int]]:
    """Yield blocks of whole pages with about _BLOCK rows, as positions in *starts*."""
    first = 0
    for at in range(1, len(starts)):
        if starts[at] - starts[first] >= _BLOCK or at == len(starts) - 1:
            yield first, at
            first = at


def _score_block(scorer: _Scorer, rows: _Sorted, starts: list[int]) -> None:
    low, high = starts[0], starts[-1]
    table = rows.table.slice(low, high - low)
    names, scores, answers = _names(table["guesses"]), _scores(table["scores"]), table["answers"].to_pylist()
    titles = table["title"].take(np.array(starts[:-1]) - low).to_pylist()
    new = rows.new_example[low:high]
    for (start, end), title in zip(pairwise(starts), titles, strict=True):
        at = slice(start - low, end - low)
        cuts = [*np.flatnonzero(new[at]).tolist(), end - start]
        own = _title_answer(title)
        golds = [tuple(listed) if listed else own for listed in answers[at]]
        scorer.add_page(golds, names[at], scores[at], cuts)


def _names(lists: Any) -> list[list[str]]:
    """Return lists in which equal strings are one object, so that each is created and hashed once."""
    flat = lists.combine_chunks().flatten().dictionary_encode()
    strings = np.array(flat.dictionary.to_pylist(), object)
    return _cut(strings[flat.indices.to_numpy()].tolist(), lists)


def _scores(lists: Any) -> list[list[float]]:
    return _cut(lists.combine_chunks().flatten().to_numpy().tolist(), lists)


def _cut(flat: list[Any], lists: Any) -> list[list[Any]]:
    from pyarrow import compute

    ends = np.cumsum(compute.list_value_length(lists).to_numpy()).tolist()
    return [flat[start:end] for start, end in pairwise([0, *ends])]


def _title_answer(title: str) -> Answer:
    # Unlike a listed answer, a title without letters is an error in the data, which Person raises.
    return (Person(title).title,) if not any(map(str.isalpha, title)) else (title,)


class _Judge(dict[str, Tiers]):
    """The tiers of guesses by matcher for one set of right answers, created on first use."""

    def __init__(self, answers: Answer, aliases: Aliases) -> None:
        super().__init__()
        self._answers, self._aliases = answers, aliases
        self.distances = GuessDistances(answers)

    def __missing__(self, matcher: str) -> Tiers:
        tiers = self[matcher] = Tiers(make_matcher(matcher, self._answers, self._aliases))
        return tiers


Pooled = tuple[_Judge, dict[str, list[float]]]
"""The judge and the scores by name of an example or a page."""


Judged = tuple[list[bool], GoldRank]
"""Which guesses of a mask are right, and the resulting rank."""


class _Judges(dict[Answer, _Judge]):
    """The judges of one page by right answers, created on first use; usually there is one."""

    def __init__(self, aliases: Aliases) -> None:
        super().__init__()
        self._aliases = aliases

    def __missing__(self, answers: Answer) -> _Judge:
        judge = self[answers] = _Judge(answers, self._aliases)
        return judge


def _any_of(golds: list[Answer]) -> Answer:
    """Return all answers in order: a group pooled from several masks is right if it is right for any of them."""
    first = golds[0]
    return first if golds.count(first) == len(golds) else tuple(dict.fromkeys(chain.from_iterable(golds)))


class _ReadingRanks:
    """The ranks of the right answers in one reading, for the rows of each level."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.levels: dict[str, list[GoldRank]] = {"mask": [], "example": [], "page": []}
        self.depths: list[tuple[int, int, int]] = []
        self.led_by_no_name = 0

    def add_page(
        self,
        masks: list[tuple[_Judge, NamesAndScores]],
        examples: list[Pooled],
        page: Pooled | None,
        judged: list[Judged],
    ) -> None:
        """Rank the answers of one page; *page* is None if the page has a single example.

        The results of the first reading are stored in *judged* for the second.
        """
        rules, matcher, tier, levels = self.rules, self.rules.matcher, self.rules.tier, self.levels
        for at, (judge, (names, scores)) in enumerate(masks):
            tiers = judge[matcher]
            right = [tiers[name] >= tier for name in names]
            # Most masks have the same right guesses in both readings.
            known, rank = judged[at] if at < len(judged) else (None, None)
            if rank is None or right != known:
                rank = rank_gold(names, scores, right)
            if at == len(judged):
                judged.append((right, rank))
            levels["mask"].append(rank)
        pooled = [pool_names(by_name, rules, judge[matcher]) for judge, by_name in examples]
        self.led_by_no_name += sum(groups.led_by_no_name for groups in pooled)
        levels["example"] += [groups.rank() for groups in pooled]
        whole = pooled[0] if page is None else pool_names(page[1], rules, page[0][matcher])
        levels["page"].append(levels["example"][-1] if page is None else whole.rank())
        longest = max(len(names) for _, (names, _) in masks)
        self.depths.append((longest, max(groups.size for groups in pooled), whole.size))


class _Scorer:
    """Scores pages one after another and collects the results of each row."""

    def __init__(self, readings: Readings, aliases: Aliases) -> None:
        self.aliases = aliases
        self.k = readings[0].k
        self.ranks = [_ReadingRanks(rules) for rules in readings]
        self.sums: list[dict[str, float]] = []
        self.distances: Ints = np.zeros(DISTANCE_BINS, np.int64)
        self.first_answers: Counter[str] = Counter()
        self.unanswered = 0

    def add_page(self, golds: list[Answer], names: list[list[str]], scores: list[list[float]], cuts: list[int]) -> None:
        """Score one page, given the right answers and guesses of its masks in order and the bounds of its examples."""
        judges = _Judges(self.aliases)
        legacy = PageSums(self.distances)
        counted = [counted_guesses(*guesses, self.k) for guesses in zip(names, scores, strict=True)]
        masks = [(judges[gold], guesses) for gold, guesses in zip(golds, counted, strict=True)]
        for judge, (of_mask, numbers) in masks:
            tiers = judge["names"]
            first = of_mask[numbers.index(max(numbers))] if of_mask else None
            legacy.add(judge.distances, of_mask, max([tiers[name] for name in of_mask], default=0), first)
            if first is None:
                self.unanswered += 1
            else:
                self.first_answers[first.strip()] += 1
        examples = [
            (judges[_any_of(golds[start:end])], scores_by_name(counted[start:end])) for start, end in pairwise(cuts)
        ]
        page = None if len(examples) == 1 else (judges[_any_of(golds)], scores_by_name(counted))
        judged: list[Judged] = []
        for ranks in self.ranks:
            ranks.add_page(masks, examples, page, judged)
        self.sums.append(legacy.values)

    def part(self, rows: _Sorted) -> Part:
        """Return the tables of all scored pages."""
        pyarrow, _ = load_pyarrow()
        table, starts = rows.table, np.flatnonzero(rows.new_example)
        page_starts = np.flatnonzero(rows.new_page)
        described = table.take(pyarrow.array(starts))
        extra = [name for name in table.column_names if name not in {*REQUIRED, *LISTS, *OPTIONAL_LISTS, *DESCRIBED}]
        examples = {name: described[name] for name in ("sequence", *DESCRIBED)}
        examples |= {FURTHER + name: described[name] for name in extra}
        examples["rows"] = pyarrow.array(np.diff(starts, append=len(table)))
        pages = table.select(["page", "title"]).take(pyarrow.array(page_starts))
        columns = {name: pages[name] for name in ("page", "title")}
        columns["masks"] = pyarrow.array(np.diff(page_starts, append=len(table)))
        columns["examples"] = pyarrow.array(np.diff(np.searchsorted(starts, page_starts), append=len(starts)))
        columns |= {name: pyarrow.array([sums[name] for sums in self.sums], pyarrow.float64()) for name in SUMS}
        answers = {
            "answer": pyarrow.array(list(self.first_answers), pyarrow.string()),
            "count": pyarrow.array(list(self.first_answers.values()), pyarrow.int64()),
        }
        tables = {
            "masks": {name: table[name] for name in ("sequence", "mask")},
            "examples": examples,
            "pages": columns,
            "answers": answers,
            "distances": {"count": self.distances},
        }
        for at, ranks in enumerate(self.ranks):
            for level, of_level in ranks.levels.items():
                tables[rank_table(level, at)] = _columns(of_level, "top" if level == "mask" else "share")
            for level, depth in zip(ranks.levels, zip(*ranks.depths, strict=True), strict=True):
                tables[rank_table("page", at)][f"{level}_depth"] = pyarrow.array(depth, pyarrow.int64())
        # Which words name nobody does not depend on what is right.
        led_by_no_name = max(ranks.led_by_no_name for ranks in self.ranks)
        return Part({name: pyarrow.table(data) for name, data in tables.items()}, self.unanswered, led_by_no_name)


def _columns(ranks: list[GoldRank], confidence: str) -> dict[str, Any]:
    """Convert ranks to columns; *confidence* names the field that is the confidence."""
    fields = GoldRank._fields
    values = np.fromiter(chain.from_iterable(ranks), float, len(ranks) * len(fields)).reshape(-1, len(fields)).T
    kinds: dict[str, Any] = {**dict.fromkeys(COUNTS, np.int64), "right": np.bool_}
    return {
        name: values[fields.index(confidence if name == "confidence" else name)].astype(kinds.get(name, float))
        for name in RANK_COLUMNS
    }
