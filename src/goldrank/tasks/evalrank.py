"""EvalRank tasks: the rank of each positive among background texts, from released data or from any scored pairs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from goldrank.data import sources
from goldrank.data.collections import Collection
from goldrank.data.collections.evalrank import PositivePair, collection_of, read_texts
from goldrank.data.scored_pairs import ScoredPairs
from goldrank.data.similarity_sets import read_pair_sources
from goldrank.data.sources import DatasetDescription
from goldrank.errors import InputError, counts
from goldrank.io.files import PathLike
from goldrank.tasks.ranking.task import RankingTask

_PAPER = "Wang, Kuo & Li, Just Rank: Rethinking Evaluation with Word and Sentence Similarities, ACL 2022"
_NOTES = (
    "The query itself is excluded, and the score of the positive comes from the same product as all other scores. Ties "
    "count as the mean over their orders. Texts without a vector are misses. To reproduce the authors' code: --preset "
    "evalrank."
)

SelfPairs = Literal["keep", "drop"]
Case = Literal["keep", "lower"]

EVALRANK_TASKS = (
    RankingTask(
        "evalrank-word",
        "evalrank",
        sources.local("evalrank-word", "word_evalrank", format="evalrank"),
        "5,514 pairs of words that mean the same, each ranked among 22,207 words",
        format="evalrank",
        about=DatasetDescription(
            _PAPER,
            "BSD-3 (the repository); from 13 word-similarity sets",
            "22,207 words, 2,774 queries, 5,514 pairs",
            "evalrank",
            _NOTES,
            "by path",
        ),
    ),
    RankingTask(
        "evalrank-sentence",
        "evalrank",
        sources.local("evalrank-sentence", "sent_evalrank", format="evalrank"),
        "6,989 pairs of sentences that mean the same, each ranked among 24,957 sentences",
        format="evalrank",
        about=DatasetDescription(
            _PAPER,
            "BSD-3 (the repository); derived from STS-B (CC BY-SA 4.0) and STR",
            "24,957 sentences, 6,784 queries, 6,989 pairs",
            "evalrank",
            f"{_NOTES} Thirteen pairs are of a sentence with itself.",
            "by path",
        ),
    ),
)


def from_pairs(
    paths: PathLike | Sequence[PathLike],
    top: float = 0.25,
    reverse: bool = True,
    *,
    self_pairs: SelfPairs | None = None,
    case: Case | None = None,
    background: Sequence[PathLike] = (),
) -> Collection:
    """Build EvalRank data from scored pairs, as the authors of "Just Rank" built theirs.

    The pairs with the best scores of *every* source become positives, so that scales may differ; of equal scores at
    the threshold, the earlier pairs are chosen. Each positive is added in both directions, but only once. The
    background consists of the texts of the positives, of all pairs, and of *background*, in this order, each once.

    Args:
        paths: files and folders as `read_pair_sources` takes them: STS benchmark, STR, SICK, word similarity, tables.
        top: the share of the pairs of each source that become positives; their number is rounded down.
        reverse: use the second text of each positive pair as a query as well.
        self_pairs: whether to ``keep`` or ``drop`` pairs of a text with itself. By default they are kept for
            sentences and dropped for words, as the authors did.
        case: ``lower`` or ``keep``. By default words are lower-cased and sentences are not, as the authors did.
        background: files of further texts, one per line.

    Returns:
        The collection; its readings name the role of each column, its remarks what was left out.

    Raises:
        InputError: a file cannot be read, the share is less than one pair, or no pair is left.
    """
    if not 0 < top <= 1:
        raise InputError(f"the top share is {top:g}", remedy="give a number above 0 and up to 1, such as 0.25")
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    sources = read_pair_sources(given)
    is_words = all(source.level == "word" for source in sources)
    keeps_self = self_pairs == "keep" or (self_pairs is None and not is_words)
    lowers = case == "lower" or (case is None and is_words)
    read_as: dict[str, list[str]] = {}
    for source in sources:
        read_as.setdefault(source.columns, []).append(source.name)
    readings = tuple(f"{', '.join(names)}: {columns}" for columns, names in read_as.items())
    remarks: list[str] = []
    best: list[PositivePair] = []
    texts: list[str] = []
    for source in sources:
        rows = _usable_rows(source, remarks)
        best += [PositivePair(rows[at][0], rows[at][1]) for at in _best_rows(rows, top, source, remarks)]
        texts += [text for first, second, _ in rows for text in (first, second)]
    texts += [text for file in background for text in read_texts(Path(file), remarks)]
    if lowers:
        if changed := sum(text != text.lower() for text in set(texts)):
            remarks.append(f"{counts(changed, 'text')} lower-cased")
        best = [PositivePair(pair.text.lower(), pair.positive.lower()) for pair in best]
        texts = [text.lower() for text in texts]
    where = ", ".join(map(str, given))
    pairs = _distinct(best, where, remarks, reverse=reverse, keeps_self=keeps_self)
    name = "+".join(source.name for source in sources)
    return replace(collection_of(pairs, texts, name, where, remarks), readings=readings)


def _usable_rows(source: ScoredPairs, remarks: list[str]) -> list[tuple[str, str, float]]:
    """Return both texts and the score of each pair without an empty text."""
    firsts, seconds = map(str.strip, source.first), map(str.strip, source.second)
    rows = list(zip(firsts, seconds, source.scores.tolist(), strict=True))
    usable = [row for row in rows if row[0] and row[1]]
    remarks += source.remarks
    if empty := len(rows) - len(usable):
        remarks.append(f"{source.name}: {counts(empty, 'pair')} with an empty text left out")
    return usable


def _best_rows(rows: list[tuple[str, str, float]], top: float, source: ScoredPairs, remarks: list[str]) -> list[int]:
    """Return the rows of the *top* share with the best scores, best first; of equal scores the earlier ones."""
    # A share such as 0.29 of 100 is 28.999999999999996 in floating point.
    size = int(len(rows) * top + 1e-9)
    if not size:
        raise InputError(
            f"the top {top:g} of {counts(len(rows), 'pair')} is none", where=source.source, remedy="take a larger share"
        )
    order = sorted(range(len(rows)), key=lambda row: -rows[row][2])
    last = rows[order[size - 1]][2]
    remark = f"{source.name}: {counts(size, 'pair')} of {len(rows)}, scored {last:g} or more, taken as positives"
    if left := sum(rows[row][2] == last for row in order[size:]):
        remark += f"; {counts(left, 'pair')} scored {last:g} too, later in the source, not taken"
    remarks.append(remark)
    return order[:size]


def _distinct(
    best: list[PositivePair], where: str, remarks: list[str], *, reverse: bool, keeps_self: bool
) -> list[PositivePair]:
    """Return each positive once, in both directions if *reverse* is set."""
    pairs: dict[PositivePair, None] = {}
    repeated = dropped = 0
    for pair in best:
        if pair.text == pair.positive and not keeps_self:
            dropped += 1
            continue
        before = len(pairs)
        pairs |= dict.fromkeys([pair, PositivePair(pair.positive, pair.text)] if reverse else [pair])
        repeated += len(pairs) == before
    if dropped:
        remarks.append(f"{counts(dropped, 'positive pair')} of a text with itself left out")
    if repeated:
        direction = ", in either direction," if reverse else ""
        remarks.append(f"{counts(repeated, 'positive pair')} given again{direction} counted once")
    if not pairs:
        raise InputError("no pair of two different texts is left", where=where, remedy="give other pairs")
    return list(pairs)
