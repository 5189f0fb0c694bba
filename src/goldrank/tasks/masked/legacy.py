"""The name-matching scores of the original project, as coded there and done right.

==========  ======================================================  ==============================================
score       as coded                                                done right
==========  ======================================================  ==============================================
``pnms``    one of the guesses matches by the rule ``original``     one of the guesses matches the title at tier
            (`goldrank.tasks.masked.matchers`)                      ``given`` or better
``lnms``    the last part of the title is a substring of one        one of them matches at tier ``surname`` or better
``w-pnms``  .35 · pnms + .65 · lnms                                 the same
``nld``     Levenshtein distance of the first guess that counts     distance of the first answer to the name without
            for ``pnms`` to the title, over the title's length;     qualifiers, both folded, over the longer of the
            masks without such a guess are left out                 two; a mask without an answer counts 1
==========  ======================================================  ==============================================
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from goldrank.hits import Floats, Ints
from goldrank.native import edit_distance
from goldrank.stats import Sample
from goldrank.tasks.masked.folding import fold
from goldrank.tasks.masked.levels import Legacy
from goldrank.tasks.masked.matchers import MATCHERS
from goldrank.tasks.masked.names import Tier

DISTANCE_BINS = 20
"""Equal bins of the normalised distance, the last of which holds 1."""
PARTIAL_WEIGHT, LAST_WEIGHT = 0.35, 0.65
"""What ``pnms`` and ``lnms`` weigh in ``w-pnms``."""
SUMS = ("coded_pnms", "coded_lnms", "coded_nld", "coded_nld_count", "pnms", "lnms", "nld")
"""What is added up over the masks of a page."""


class PageSums:
    """The sums of one page, filled mask by mask."""

    def __init__(self, title: str, plain: str, distances: Ints) -> None:
        """Of the page with *title*, which names the person *plain*; first answers are counted into *distances*."""
        self.values = dict.fromkeys(SUMS, 0.0)
        self._coded, self._far, self._distances = _AsCoded(title), _Far(plain), distances

    def add(self, names: Sequence[str], best: int, first: str | None) -> None:
        """Count one mask: its guesses in their order, the best of their tiers, and the one with the highest score."""
        values = self.values
        coded = [self._coded[name] for name in names]
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
            far = self._far[first]
            values["nld"] += far
            self._distances[min(int(far * DISTANCE_BINS), DISTANCE_BINS - 1)] += 1


_NOT_A_PART = False, False, 0.0


class _AsCoded(dict[str, tuple[bool, bool, float]]):
    """Of each guess, whether it holds a part of the title, the last part, and how far it is from the title."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self._matcher, self._last, self._title = MATCHERS["original"](title, ()), title.rsplit(maxsplit=1)[-1], title

    def __missing__(self, name: str) -> tuple[bool, bool, float]:
        found = _NOT_A_PART
        if self._matcher.match(name) is not None:
            found = True, self._last in name, edit_distance(self._title, name) / len(self._title)
        self[name] = found
        return found


class _Far(dict[str, float]):
    """How far each guess is from a name, spelling aside, as a share of the longer of the two."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = fold(name).strip()

    def __missing__(self, guess: str) -> float:
        folded = fold(guess).strip()
        found = self[guess] = edit_distance(self._name, folded) / max(len(folded), len(self._name))
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
