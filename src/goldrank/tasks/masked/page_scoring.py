"""Scoring the pages of one table: rows put in order and checked, then every page by mask, by example and as a whole."""

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
from goldrank.io.parquet import load_pyarrow
from goldrank.tasks.masked.assembling import DESCRIBED, FURTHER, PLACES, Part
from goldrank.tasks.masked.chunks import MaskKey
from goldrank.tasks.masked.legacy import DISTANCE_BINS, SUMS, Gold, PageSums
from goldrank.tasks.masked.levels import Bools, Rules
from goldrank.tasks.masked.matchers import make_matcher
from goldrank.tasks.masked.names import Person
from goldrank.tasks.masked.pooling import Place, Tiers, answers, place, pool
from goldrank.tasks.masked.prediction_rows import name_of

Aliases = Mapping[str, Sequence[str]]
Answer = tuple[str, ...]
"""The right answers of a mask, any of which will do."""

REQUIRED = {"page": "string", "sequence": "int64", "mask": "int64", "title": "string"}
OPTIONAL = {"masks": "int64", "length": "int64", "type": "string"}
LISTS = {"guesses": "string", "scores": "float64"}
OPTIONAL_LISTS = {"answers": "string"}
"""The columns that scoring reads, and their types."""
_KEY = ("page", "sequence", "mask")
# So many masks are Python objects at a time.
_BLOCK = 20_000


def score_part(table: Any, rules: Rules, aliases: Aliases) -> Part:
    """Score all pages of *table*, which has the columns of the stream in any order of rows."""
    sorted_rows = _sorted(table)
    scorer = _Scorer(rules, aliases)
    starts = [*np.flatnonzero(sorted_rows.new_page).tolist(), len(sorted_rows.table)]
    with _uncollected():
        for first, last in _blocks(starts):
            _score_block(scorer, sorted_rows, starts[first : last + 1])
    return scorer.part(sorted_rows)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without the search for reference cycles: scoring makes none, and looking at every kept object takes a fifth."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class _Sorted:
    """A part's rows in order of page, sequence number and mask, checked."""

    def __init__(self, table: Any) -> None:
        self.table = table
        self.sequence = table["sequence"].to_numpy()
        self.mask = table["mask"].to_numpy()
        self.new_page = _changes(table["page"])
        self.new_example = self.new_page | (np.diff(self.sequence, prepend=self.sequence[0]) != 0)


def _sorted(table: Any) -> _Sorted:
    """The rows in order; what cannot be scored is refused with the mask's name."""
    pyarrow, _ = load_pyarrow()
    from pyarrow import compute

    for name in (*REQUIRED, *LISTS):
        _refuse(table, compute.is_null(table[name]), f"the column {name} is empty", "fill it in for every mask")
    guesses, scores = table["guesses"], table["scores"]
    unequal = compute.not_equal(compute.list_value_length(guesses), compute.list_value_length(scores))
    _refuse(table, unequal, "the predictions and scores differ in number", "give each name its score")
    names, numbers = compute.list_flatten(guesses), compute.list_flatten(scores)
    nameless, bad = compute.is_null(names), compute.invert(compute.is_finite(numbers).fill_null(False))
    for fault, what in ((nameless, "a prediction is null"), (bad, "a score is no finite number")):
        if compute.any(fault).as_py():
            of = compute.list_parent_indices(guesses).to_numpy()
            rows = np.zeros(len(table), bool)
            rows[of[fault.to_numpy()]] = True
            _refuse(table, pyarrow.array(rows), what, "write names with finite scores, or leave the guess out")
    table = table.take(compute.sort_indices(table, sort_keys=[(name, "ascending") for name in _KEY])).combine_chunks()
    rows_in_order = _Sorted(table)
    same = ~rows_in_order.new_example & (np.diff(rows_in_order.mask, prepend=rows_in_order.mask[0]) == 0)
    _refuse(table, pyarrow.array(same), "the mask is there twice", "keep one row for each mask")
    retitled = _changes(table["title"]) & ~rows_in_order.new_page
    _refuse(table, pyarrow.array(retitled), "the page has two titles", "give all its rows the same title")
    return rows_in_order


def _changes(column: Any) -> Bools:
    """Whether each value differs from the one before; the first one does."""
    codes = column.combine_chunks().dictionary_encode().indices.to_numpy(zero_copy_only=False)
    changed: Bools = np.diff(codes, prepend=-1) != 0
    return changed


def _refuse(table: Any, fault: Any, what: str, remedy: str) -> None:
    """Raise where *fault* is true anywhere, naming the first of those masks in order."""
    from pyarrow import compute

    if not compute.any(fault).as_py():
        return
    keys = table.select(_KEY).filter(fault).sort_by([(name, "ascending") for name in _KEY]).slice(0, 1).to_pylist()
    raise InputError(what, where=name_of(MaskKey(**keys[0])), remedy=remedy)


def _blocks(starts: list[int]) -> Iterator[tuple[int, int]]:
    """Runs of whole pages with about _BLOCK rows, as positions in *starts*."""
    first = 0
    for at in range(1, len(starts)):
        if starts[at] - starts[first] >= _BLOCK or at == len(starts) - 1:
            yield first, at
            first = at


def _score_block(scorer: _Scorer, rows: _Sorted, starts: list[int]) -> None:
    low, high = starts[0], starts[-1]
    table = rows.table.slice(low, high - low)
    names, scores, answers = (table[name].to_pylist() for name in ("guesses", "scores", "answers"))
    new = rows.new_example[low:high]
    for start, end in pairwise(starts):
        at = slice(start - low, end - low)
        cuts = [*np.flatnonzero(new[at]).tolist(), end - start]
        title = rows.table["title"][start].as_py()
        golds = [tuple(listed) if listed else _title_answer(title) for listed in answers[at]]
        scorer.add_page(golds, names[at], scores[at], cuts)


def _title_answer(title: str) -> Answer:
    # Unlike a listed answer, a title without letters is a mistake in the data.
    return (Person(title).title,) if not any(map(str.isalpha, title)) else (title,)


class _Judge:
    """Whether guesses are right, for one set of right answers."""

    def __init__(self, answers: Answer, matcher: str, aliases: Aliases) -> None:
        self.by_names = Tiers(make_matcher("names", answers, aliases))
        self.tiers = self.by_names if matcher == "names" else Tiers(make_matcher(matcher, answers, aliases))
        self.gold = Gold(answers)


class _Judges(dict[Answer, _Judge]):
    """The judges of one page, made when first asked for; mostly there is one."""

    def __init__(self, matcher: str, aliases: Aliases) -> None:
        super().__init__()
        self._matcher, self._aliases = matcher, aliases

    def __missing__(self, answers: Answer) -> _Judge:
        made = self[answers] = _Judge(answers, self._matcher, self._aliases)
        return made


def _any_of(golds: list[Answer]) -> Answer:
    """All answers that are right somewhere, in order: what is pooled from several masks is right for any of them."""
    first = golds[0]
    return first if golds.count(first) == len(golds) else tuple(dict.fromkeys(chain.from_iterable(golds)))


class _Scorer:
    """Scores pages one after another and keeps what is said of each row."""

    def __init__(self, rules: Rules, aliases: Aliases) -> None:
        self.rules, self.aliases = rules, aliases
        self.mask_places: list[Place] = []
        self.example_places: list[Place] = []
        self.page_places: list[Place] = []
        self.depths: list[tuple[int, int, int]] = []
        self.sums: list[dict[str, float]] = []
        self.distances: Ints = np.zeros(DISTANCE_BINS, np.int64)
        self.answers: Counter[str] = Counter()
        self.unanswered = 0

    def add_page(self, golds: list[Answer], names: list[list[str]], scores: list[list[float]], cuts: list[int]) -> None:
        """Score one page: the right answers and the guesses of its masks in order, and where its examples begin."""
        rules = self.rules
        judges = _Judges(rules.matcher, self.aliases)
        legacy = PageSums(self.distances)
        kept = [answers(said, numbers, rules.k) for said, numbers in zip(names, scores, strict=True)]
        for gold, (said, numbers) in zip(golds, kept, strict=True):
            judge = judges[gold]
            tiers, by_names = judge.tiers, judge.by_names
            self.mask_places.append(place(said, numbers, [tiers[name] >= rules.tier for name in said]))
            first = said[numbers.index(max(numbers))] if said else None
            legacy.add(judge.gold, said, max([by_names[name] for name in said], default=0), first)
            if first is None:
                self.unanswered += 1
            else:
                self.answers[first.strip()] += 1
        pooled = [
            pool(kept[start:end], rules, judges[_any_of(golds[start:end])].tiers) for start, end in pairwise(cuts)
        ]
        self.example_places += [groups.place() for groups in pooled]
        whole = pooled[0] if len(pooled) == 1 else pool(kept, rules, judges[_any_of(golds)].tiers)
        self.page_places.append(whole.place())
        longest = max(len(said) for said, _ in kept)
        self.depths.append((longest, max(len(groups.names) for groups in pooled), len(whole.names)))
        self.sums.append(legacy.values)

    def part(self, rows: _Sorted) -> Part:
        """The tables of all pages scored."""
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
        for name, depth in zip(("mask", "example", "page"), zip(*self.depths, strict=True), strict=True):
            columns[f"{name}_depth"] = pyarrow.array(depth, pyarrow.int64())
        columns |= {name: pyarrow.array([sums[name] for sums in self.sums], pyarrow.float64()) for name in SUMS}
        spoken = pyarrow.array(list(self.answers), pyarrow.string()), pyarrow.array(list(self.answers.values()))
        keys = {name: table[name] for name in ("sequence", "mask")}
        tables = {
            "masks": keys | _columns(self.mask_places, "top"),
            "examples": examples | _columns(self.example_places, "share"),
            "pages": columns | _columns(self.page_places, "share"),
            "answers": {"answer": spoken[0], "count": spoken[1].cast(pyarrow.int64())},
            "distances": {"count": self.distances},
        }
        return Part({name: pyarrow.table(made) for name, made in tables.items()}, self.unanswered)


def _columns(places: list[Place], confidence: str) -> dict[str, Any]:
    """The places as columns; *confidence* says which of their numbers is the confidence."""
    values = dict(zip(Place._fields, map(np.array, zip(*places, strict=True)), strict=True))
    return {name: values[confidence if name == "confidence" else name] for name in PLACES}
