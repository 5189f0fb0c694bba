"""The name-matching scores of the original project, as coded there and corrected.

==========  ======================================================  ==============================================
score       as coded                                                corrected
==========  ======================================================  ==============================================
``pnms``    one of the guesses matches by the rule ``original``     one of the guesses matches the title at tier
            (`goldrank.masked.names.matching`)                      ``given`` or better
``lnms``    the last part of the title is a substring of one        one of them matches at tier ``surname`` or better
``w-pnms``  .35 · pnms + .65 · lnms                                 the same
``nld``     Levenshtein distance of the first guess that counts     distance of the first answer to the name without
            for ``pnms`` to the title, over the title's length;     qualifiers, both folded, over the longer of the
            masks without such a guess are left out                 two; a mask without an answer counts 1
==========  ======================================================  ==============================================
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from rapidfuzz.distance import Levenshtein

from goldrank.hits import Floats, Ints
from goldrank.masked.names.folding import fold
from goldrank.masked.names.matching import MATCHERS, Person
from goldrank.masked.names.patterns import Tier
from goldrank.masked.scoring.levels import Legacy
from goldrank.stats import Sample

DISTANCE_BINS = 20
"""Number of equal bins of the normalised distance; the last includes 1."""
PARTIAL_WEIGHT, LAST_WEIGHT = 0.35, 0.65
"""The weights of ``pnms`` and ``lnms`` in ``w-pnms``."""
SUMS = ("coded_pnms", "coded_lnms", "coded_nld", "coded_nld_count", "pnms", "lnms", "nld")
"""The sums over the masks of a page."""


class GuessDistances:
    """The distances of guesses to the right answers of a mask; of several answers the nearest counts."""

    def __init__(self, answers: Sequence[str]) -> None:
        self.coded: Mapping[str, tuple[bool, bool, float]] = _AsCoded(answers)
        """Whether a guess contains a part of the answer, the last part, and its distance to the answer, as coded."""
        self.corrected: Mapping[str, float] = _Corrected(answers)
        """The corrected distance."""


class PageSums:
    """The sums over the masks of one page."""

    def __init__(self, histogram: Ints) -> None:
        """Create sums of 0; the distances of first answers are counted in *histogram*."""
        self.values = dict.fromkeys(SUMS, 0.0)
        self._histogram = histogram

    def add(self, distances: GuessDistances, names: Sequence[str], best: int, first: str | None) -> None:
        """Add one mask: its guesses in order, the best of their tiers, and the guess with the highest score."""
        values = self.values
        coded = [distances.coded[name] for name in names]
        for partial, _, distance in coded:
            if partial:
                values["coded_pnms"] += 1
                values["coded_nld"] += distance
                values["coded_nld_count"] += 1
                values["coded_lnms"] += True in [last for _, last, _ in coded]
                break
        values["pnms"] += best >= Tier.GIVEN
        values["lnms"] += best >= Tier.SURNAME
        if first is None:
            values["nld"] += 1
        else:
            distance = distances.corrected[first]
            values["nld"] += distance
            self._histogram[min(int(distance * DISTANCE_BINS), DISTANCE_BINS - 1)] += 1


class _AsCoded(dict[str, tuple[bool, bool, float]]):
    """For each guess: whether it contains a part of the title, the last part, and its distance to the title."""

    def __init__(self, answers: Sequence[str]) -> None:
        super().__init__()
        self._answers = [
            (MATCHERS["original"](answer, ()), answer.rsplit(maxsplit=1)[-1], answer) for answer in answers
        ]

    def __missing__(self, guess: str) -> tuple[bool, bool, float]:
        partial, last, nearest = False, False, math.inf
        for matcher, last_part, answer in self._answers:
            if matcher.match(guess) is not None:
                partial, last = True, last or last_part in guess
                nearest = min(nearest, Levenshtein.distance(answer, guess) / len(answer))
        result = self[guess] = partial, last, nearest
        return result


class _Corrected(dict[str, float]):
    """For each guess: its edit distance to the nearest answer without qualifiers, both folded, over the longer."""

    def __init__(self, answers: Sequence[str]) -> None:
        super().__init__()
        self._answers = [fold(_without_qualifiers(answer)).strip() for answer in answers]

    def __missing__(self, guess: str) -> float:
        folded = fold(guess).strip()
        result = self[guess] = min([Levenshtein.normalized_distance(answer, folded) for answer in self._answers])
        return result


def _without_qualifiers(answer: str) -> str:
    if "(" not in answer and "," not in answer:
        return answer
    return Person(answer).display if any(map(str.isalpha, fold(answer))) else answer


def legacy_scores(sums: dict[str, Floats], masks: Floats, distances: Ints) -> Legacy:
    """Return the scores from the sums of each page and the number of its masks."""
    coded = {name: Sample(sums[f"coded_{name}"] / masks, masks) for name in ("pnms", "lnms")}
    right = {name: Sample(sums[name] / masks, masks) for name in ("pnms", "lnms", "nld")}
    count = sums["coded_nld_count"]
    mean = np.divide(sums["coded_nld"], count, out=np.full(len(count), np.nan), where=count > 0)
    coded["nld"] = Sample(mean, count)
    for scores in (coded, right):
        values = PARTIAL_WEIGHT * scores["pnms"].values + LAST_WEIGHT * scores["lnms"].values
        scores["w-pnms"] = Sample(values, masks)
    return Legacy(coded, right, distances)
