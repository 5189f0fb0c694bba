"""The name-matching scores of the original project, as coded there and done right.

==========  ======================================================  ==============================================
score       as coded                                                done right
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
"""Equal bins of the normalised distance, the last of which holds 1."""
PARTIAL_WEIGHT, LAST_WEIGHT = 0.35, 0.65
"""What ``pnms`` and ``lnms`` weigh in ``w-pnms``."""
SUMS = ("coded_pnms", "coded_lnms", "coded_nld", "coded_nld_count", "pnms", "lnms", "nld")
"""What is added up over the masks of a page."""


class Gold:
    """How guesses stand to the right answers of a mask; of several answers the nearest one counts."""

    def __init__(self, answers: Sequence[str]) -> None:
        self.coded: Mapping[str, tuple[bool, bool, float]]
        """Whether a guess holds a part of the answer, the last part, and how far it is from the answer, as coded."""
        self.far: Mapping[str, float]
        """The distance done right."""
        coded, far = [_AsCoded(answer) for answer in answers], [_Far(_plain(answer)) for answer in answers]
        self.coded, self.far = (coded[0], far[0]) if len(answers) == 1 else (_AnyAsCoded(coded), _Nearest(far))


class PageSums:
    """The sums of one page, filled mask by mask."""

    def __init__(self, distances: Ints) -> None:
        """First answers are counted into *distances*."""
        self.values = dict.fromkeys(SUMS, 0.0)
        self._distances = distances

    def add(self, gold: Gold, names: Sequence[str], best: int, first: str | None) -> None:
        """Count one mask: its guesses in their order, the best of their tiers, and the one with the highest score."""
        values = self.values
        coded = [gold.coded[name] for name in names]
        for partly, _, distance in coded:
            if partly:
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
            far = gold.far[first]
            values["nld"] += far
            self._distances[min(int(far * DISTANCE_BINS), DISTANCE_BINS - 1)] += 1


_NOT_A_PART = False, False, 0.0


def _plain(answer: str) -> str:
    """An answer without its qualifiers, where it has letters."""
    if "(" not in answer and "," not in answer:
        return answer
    return Person(answer).display if any(map(str.isalpha, fold(answer))) else answer


class _AsCoded(dict[str, tuple[bool, bool, float]]):
    """Of each guess, whether it holds a part of the title, the last part, and how far it is from the title."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self._matcher, self._last, self._title = MATCHERS["original"](title, ()), title.rsplit(maxsplit=1)[-1], title

    def __missing__(self, name: str) -> tuple[bool, bool, float]:
        found = _NOT_A_PART
        if self._matcher.match(name) is not None:
            found = True, self._last in name, Levenshtein.distance(self._title, name) / len(self._title)
        self[name] = found
        return found


class _AnyAsCoded(dict[str, tuple[bool, bool, float]]):
    """The same of several answers: any part of any of them, and the nearest."""

    def __init__(self, answers: Sequence[_AsCoded]) -> None:
        super().__init__()
        self._answers = answers

    def __missing__(self, name: str) -> tuple[bool, bool, float]:
        partly = [found for found in (answer[name] for answer in self._answers) if found[0]]
        found = self[name] = (
            (True, any(last for _, last, _ in partly), min(distance for _, _, distance in partly))
            if partly
            else _NOT_A_PART
        )
        return found


class _Nearest(dict[str, float]):
    """How far each guess is from the nearest of several answers."""

    def __init__(self, answers: Sequence[_Far]) -> None:
        super().__init__()
        self._answers = answers

    def __missing__(self, guess: str) -> float:
        found = self[guess] = min(answer[guess] for answer in self._answers)
        return found


class _Far(dict[str, float]):
    """How far each guess is from a name, spelling aside, as a share of the longer of the two."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = fold(name).strip()

    def __missing__(self, guess: str) -> float:
        folded = fold(guess).strip()
        found = self[guess] = Levenshtein.distance(self._name, folded) / max(len(folded), len(self._name), 1)
        return found


def finished(sums: dict[str, Floats], masks: Floats, distances: Ints) -> Legacy:
    """The scores from the sums of each page and the number of its masks."""
    coded = {name: Sample(sums[f"coded_{name}"] / masks, masks) for name in ("pnms", "lnms")}
    right = {name: Sample(sums[name] / masks, masks) for name in ("pnms", "lnms", "nld")}
    count = sums["coded_nld_count"]
    mean = np.divide(sums["coded_nld"], count, out=np.full(len(count), np.nan), where=count > 0)
    coded["nld"] = Sample(mean, count)
    for scores in (coded, right):
        values = PARTIAL_WEIGHT * scores["pnms"].values + LAST_WEIGHT * scores["lnms"].values
        scores["w-pnms"] = Sample(values, masks)
    return Legacy(coded, right, distances)
