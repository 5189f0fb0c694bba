"""EvalRank: how high each positive stands among a background, for words and sentences, or from any scored pairs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from goldrank.errors import InputError
from goldrank.io.collections import Collection
from goldrank.io.collections.evalrank import Pair, collection_of
from goldrank.io.files import PathLike
from goldrank.io.scored_pairs import read_scored_pairs
from goldrank.io.text import counts
from goldrank.tasks import sources
from goldrank.tasks.task import About, Task

_PAPER = "Wang, Kuo & Li, Just Rank: Rethinking Evaluation with Word and Sentence Similarities, ACL 2022"
_NOTES = (
    "The query is no rival, and the positive's score comes from the same product as its rivals'. Ties count as the "
    "mean over their orders. What a model has no vector for is a miss. As the authors coded it: profile evalrank "
    "with oov=mean (words) or oov=keep (sentences)."
)

EVALRANK_TASKS = (
    Task(
        "evalrank-word",
        "evalrank",
        sources.local("evalrank-word", "word_evalrank", format="evalrank"),
        "5,514 pairs of words that mean the same, each ranked among 22,207 words",
        about=About(
            _PAPER,
            "BSD-3 (the repository); from word-similarity sets and WordNet",
            "22,207 words, 2,774 queries, 5,514 pairs",
            "evalrank",
            _NOTES,
            "by path",
        ),
    ),
    Task(
        "evalrank-sentence",
        "evalrank",
        sources.local("evalrank-sentence", "sent_evalrank", format="evalrank"),
        "6,989 pairs of sentences that mean the same, each ranked among 24,957 sentences",
        about=About(
            _PAPER,
            "BSD-3 (the repository); derived from STS-B (CC BY-SA 4.0) and STR",
            "24,957 sentences, 6,784 queries, 6,989 pairs",
            "evalrank",
            f"{_NOTES} Thirteen pairs are of a sentence with itself.",
            "by path",
        ),
    ),
)


def from_pairs(path: PathLike, top: float = 0.25, reverse: bool = False) -> Collection:
    """EvalRank data from pairs with scores: the best *top* share are positives, all other texts the background.

    Args:
        path: a file of two texts and a score in every row, as `read_scored_pairs` takes it.
        top: the share of pairs, those of the highest scores, that are positives.
        reverse: let the second text of a positive pair ask for the first one too.
    """
    if not 0 < top <= 1:
        raise InputError(f"the top share is {top:g}", remedy="give a number above 0 and up to 1, such as 0.25")
    scored = read_scored_pairs(Path(path))
    taken = int(len(scored) * top)
    if not taken:
        raise InputError(
            f"the top {top:g} of {counts(len(scored), 'pair')} is none", where=str(path), remedy="take a larger share"
        )
    remarks = list(scored.remarks)
    best = np.argsort(-scored.scores, kind="stable")
    last = scored.scores[best[taken - 1]]
    if left := int((scored.scores[best[taken:]] == last).sum()):
        remarks.append(f"{counts(left, 'pair')} of the lowest score taken ({last:g}) left out, being later in the file")
    remarks.append(f"{counts(taken, 'pair')} scored {last:g} or more taken as positives, of {len(scored)}")
    pairs = [Pair(scored.first[row].strip(), scored.second[row].strip()) for row in best[:taken].tolist()]
    others = [text.strip() for both in zip(scored.first, scored.second, strict=True) for text in both]
    if same := sum(pair.text == pair.positive for pair in pairs):
        remarks.append(f"{counts(same, 'positive pair')} of a text with itself left out")
    pairs = [pair for pair in pairs if pair.text != pair.positive and pair.text and pair.positive]
    if reverse:
        pairs = list(dict.fromkeys(made for pair in pairs for made in (pair, Pair(pair.positive, pair.text))))
    if not pairs:
        raise InputError("no pair of two different texts is left", where=str(path), remedy="give other pairs")
    return collection_of(pairs, filter(None, others), scored.name, str(path), remarks)
