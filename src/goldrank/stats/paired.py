"""Paired significance tests of the difference between two systems on the same queries."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np

from goldrank.errors import InputError, unknown_name
from goldrank.stats.resampling import Floats

TESTS = ("randomisation", "t", "wilcoxon", "mcnemar")
"""The names that `paired_test` accepts."""

# Up to this many non-zero differences all sign patterns are enumerated: 2**19 sums, as a pattern and its
# mirror image have the same absolute sum.
_EXACT_LIMIT = 20
# Differences whose sums under all sign patterns share one table; its 2**16 sums fit into a core's cache.
_GROUP = 16
# Sums closer than this share of Σ|d| count as equal: rounding must not decide whether 0.1 + 0.2 reaches 0.3.
_TOLERANCE = 1e-10


@dataclass(frozen=True)
class TestResult:
    """The statistic of a test, its two-sided p-value, and how that was computed."""

    __test__ = False  # pytest must not collect it

    statistic: float
    p: float
    method: str


def paired_test(name: str, d: Floats, a: Floats, b: Floats, seed: int = 0, *, resamples: int = 100_000) -> TestResult:
    """Apply the paired test of that name to the differences d = a − b, or to the values a and b.

    Args:
        name: "randomisation", "t", "wilcoxon" or "mcnemar".
        d: (n,) differences, without NaN.
        a: (n,) the first system's values.
        b: (n,) the second system's values.
        seed: for the randomisation test.
        resamples: for the randomisation test.

    >>> a, b = np.array([1.0, 1.0, 1.0, 0.0]), np.array([0.0, 0.0, 0.0, 0.0])
    >>> paired_test("mcnemar", a - b, a, b).p
    0.25
    """
    if name == "randomisation":
        return randomisation_test(d, resamples=resamples, seed=seed)
    if name == "t":
        return t_test(d)
    if name == "wilcoxon":
        return wilcoxon(d)
    if name == "mcnemar":
        return mcnemar(a, b)
    raise unknown_name("paired test", name, TESTS, ", ".join(TESTS))


def randomisation_test(d: Floats, *, resamples: int = 100_000, seed: int = 0) -> TestResult:
    """Apply Fisher's two-sided sign-flip test to the mean difference, which is the statistic [1]_ [2]_.

    If the two systems were interchangeable, every difference would have either sign with equal probability. The
    p-value is the share of sign patterns whose mean is at least as far from 0 as the observed one: over all patterns
    if at most 20 differences are non-zero, else over random ones and the observed one, so that it is never 0 [3]_. It
    does not depend on the order of the queries, nor on which system comes first.

    References:
        .. [1] R. A. Fisher, The Design of Experiments (1935), section 21.
        .. [2] M. Smucker, J. Allan, B. Carterette, "A comparison of statistical significance tests for
           information retrieval evaluation", CIKM 2007.
        .. [3] B. Phipson, G. Smyth, "Permutation p-values should never be zero", Statistical Applications in
           Genetics and Molecular Biology 9 (2010).

    >>> randomisation_test(np.array([0.1, 0.2, 0.3, 0.0]))
    TestResult(statistic=0.15, p=0.25, method='sign flips, all patterns')
    """
    d = _differences(d)
    if resamples < 1:
        raise InputError(f"{resamples} resamples are too few", remedy="use at least one")
    statistic = _mean(d) if len(d) else 0.0
    # A zero adds nothing under either sign. Sorted, so that the order of the queries cannot matter.
    sizes = np.sort(np.abs(d[d != 0]))
    if not len(sizes):
        return TestResult(statistic, 1.0, "sign flips, all patterns")
    sizes /= sizes[-1]  # so that sums neither overflow nor underflow
    total = math.fsum(sizes)
    observed = abs(math.fsum(d / np.abs(d).max())) - _TOLERANCE * total
    if len(sizes) <= _EXACT_LIMIT:
        # One sign is fixed: a pattern and its mirror image have the same absolute sum.
        sums = _signed_sums(sizes[:-1]) + sizes[-1]
        return TestResult(statistic, float(np.mean(np.abs(sums) >= observed)), "sign flips, all patterns")
    bits = np.random.SFC64(seed)
    sums, part = np.zeros(resamples), np.empty(resamples)
    for start in range(0, len(sizes), _GROUP):
        group = sizes[start : start + _GROUP]
        raw = np.asarray(bits.random_raw(-(-resamples // 4)), dtype="<u8").view("<u2")[:resamples]
        if len(group) < _GROUP:
            raw = raw >> np.uint16(_GROUP - len(group))
        # The index is always in range; "clip" skips the check and halves the time.
        sums += np.take(_signed_sums(group), raw, mode="clip", out=part)
    reached = int(np.count_nonzero(np.abs(sums) >= observed))
    return TestResult(statistic, (1 + reached) / (1 + resamples), f"sign flips, {resamples} random patterns")


def t_test(d: Floats) -> TestResult:
    """Apply Student's two-sided paired t test; the statistic is t.

    Fewer than two differences give NaN; differences that are all 0 give p = 1.

    >>> result = t_test(np.array([0.1, 0.2, 0.3, 0.2]))
    >>> round(result.statistic, 4), round(result.p, 4)
    (4.899, 0.0163)
    """
    from scipy.special import stdtr

    d = _differences(d)
    n = len(d)
    if n < 2:
        return TestResult(math.nan, math.nan, "paired t")
    if not d.any():
        return TestResult(0.0, 1.0, "paired t")
    mean, error = _mean(d), float(np.std(d, ddof=1)) / math.sqrt(n)
    t = mean / error if error > 0 else math.copysign(math.inf, mean)
    return TestResult(t, float(2 * stdtr(n - 1, -abs(t))), "paired t")


def wilcoxon(d: Floats) -> TestResult:
    """Apply Wilcoxon's two-sided signed-rank test without zeros; the statistic is the smaller sum of ranks.

    Exact for small samples without ties and zeros, else by the normal approximation: the rule of
    `scipy.stats.wilcoxon`, which computes it. Without a non-zero difference p is 1.

    >>> wilcoxon(np.array([0.1, 0.2, -0.3, 0.4, 0.5]))
    TestResult(statistic=3.0, p=0.3125, method='Wilcoxon signed rank')
    """
    d = _differences(d)
    if not d.any():
        return TestResult(0.0, 1.0, "Wilcoxon signed rank")
    from scipy import stats

    # 0.3 − 0.2 and 0.2 − 0.1 differ in their last bits but must share a rank.
    d = np.round(d / np.abs(d).max(), 12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scipy warns about small samples
        result = stats.wilcoxon(d, zero_method="wilcox")
    return TestResult(float(result.statistic), min(float(result.pvalue), 1.0), "Wilcoxon signed rank")


def mcnemar(a: Floats, b: Floats) -> TestResult:
    """Apply McNemar's exact test to two systems that are right (1) or wrong (0) on each query.

    Only the queries on which exactly one of the two is right matter: under the null hypothesis either system wins each
    of them with probability 1/2. The statistic is the number that the first system wins.

    >>> result = mcnemar(np.array([1, 1, 1, 1, 1, 0]), np.array([0, 0, 0, 0, 0, 1]))
    >>> result.statistic, round(result.p, 5)
    (5.0, 0.21875)
    """
    from scipy.special import bdtr

    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if a.shape != b.shape:
        raise InputError(f"paired values differ in number: {len(a)} and {len(b)}")
    if not (np.isin(a, (0, 1)).all() and np.isin(b, (0, 1)).all()):
        raise InputError(
            "McNemar's test needs values that are 0 or 1",
            remedy="use the randomisation test for graded metrics",
        )
    wins, losses = int((a > b).sum()), int((a < b).sum())
    tail = 0.5 if wins + losses == 0 else float(bdtr(min(wins, losses), wins + losses, 0.5))
    return TestResult(float(wins), min(2 * tail, 1.0), "McNemar, exact")


def _signed_sums(sizes: Floats) -> Floats:
    """Compute ±s_1 ± s_2 … for all 2**n sign patterns by doubling."""
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate([sums - size, sums + size])
    return sums


def _mean(d: Floats) -> float:
    return math.fsum(d) / len(d)


def _differences(d: Floats) -> Floats:
    d = np.asarray(d, dtype=np.float64)
    if not np.isfinite(d).all():
        raise InputError(
            "a difference between two systems is not a finite number",
            remedy="leave out the queries for which a metric is undefined",
        )
    return d
