"""Paired significance tests of the difference between two systems on the same queries."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goldrank import native
from goldrank.errors import InputError, unknown_name
from goldrank.stats.resampling import Floats, exact_sum

TESTS = ("randomisation", "t", "wilcoxon", "mcnemar")
"""The names that `paired_test` accepts."""

# Up to this many non-zero differences all sign patterns are enumerated: 2**19 sums, as a pattern and its
# mirror image have the same absolute sum.
_EXACT_LIMIT = 20
# Differences whose signs are the bits of one random word.
_GROUP = 16
# With fewer groups than this, the bounds of most sums are too wide to decide anything.
_FEW_GROUPS = 32
# Groups whose bits are counted before they are multiplied, and tests that share them: 13 and 51 MB.
_GROUPS_AT_ONCE, _TESTS_AT_ONCE = 128, 64
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
    [result] = randomisation_tests([d], resamples=resamples, seed=seed)
    return result


def randomisation_tests(differences: Sequence[Floats], *, resamples: int = 100_000, seed: int = 0) -> list[TestResult]:
    """Apply `randomisation_test` to each of several arrays of differences, with the same random signs.

    The results are those of single tests, and take much less time, because the signs are drawn once.

    >>> a, b = np.arange(-3.0, 30.0), np.arange(-15.0, 18.0)
    >>> randomisation_tests([a, b]) == [randomisation_test(a), randomisation_test(b)]
    True
    """
    if resamples < 1:
        raise InputError(f"{resamples} resamples are too few", remedy="use at least one")
    results: list[TestResult] = []
    sampled: dict[int, _SignFlips] = {}
    for position, column in enumerate(differences):
        d = _differences(column)
        statistic = _mean(d) if len(d) else 0.0
        # A zero adds nothing under either sign. Sorted, so that the order of the queries cannot matter.
        sizes = np.sort(np.abs(d[d != 0]))
        results.append(TestResult(statistic, 1.0, "sign flips, all patterns"))
        if not len(sizes):
            continue
        sizes /= sizes[-1]  # so that sums neither overflow nor underflow
        total = exact_sum(sizes)
        observed = abs(exact_sum(d / np.abs(d).max())) - _TOLERANCE * total
        if len(sizes) <= _EXACT_LIMIT:
            # One sign is fixed: a pattern and its mirror image have the same absolute sum.
            sums = _signed_sums(sizes[:-1]) + sizes[-1]
            results[-1] = TestResult(statistic, float(np.mean(np.abs(sums) >= observed)), "sign flips, all patterns")
        else:
            sampled[position] = _SignFlips(_pad(sizes), total, observed)
    positions = list(sampled)
    for start in range(0, len(positions), _TESTS_AT_ONCE):
        part = positions[start : start + _TESTS_AT_ONCE]
        for position, reached in zip(part, _count_reached([sampled[at] for at in part], resamples, seed), strict=True):
            p, method = (1 + reached) / (1 + resamples), f"sign flips, {resamples} random patterns"
            results[position] = TestResult(results[position].statistic, p, method)
    return results


@dataclass(frozen=True, eq=False)
class _SignFlips:
    """A randomisation test by random signs.

    Attributes:
        sizes: (groups, 16) the absolute differences in ascending order, the largest 1.
        total: Their sum.
        observed: Sums are counted that are at least this far from 0.
    """

    sizes: Floats
    total: float
    observed: float


def _pad(sizes: Floats) -> Floats:
    """Return ascending sizes in groups of 16; the last group begins with zeros if it is not full."""
    full = len(sizes) // _GROUP * _GROUP
    rest = sizes[full:]
    padding = np.zeros(-len(sizes) % _GROUP)
    return np.concatenate([sizes[:full], padding, rest]).reshape(-1, _GROUP)


def _count_reached(tests: Sequence[_SignFlips], resamples: int, seed: int) -> list[int]:
    """Return how many random sums of each test are at least as far from 0 as the observed one.

    As the sizes are sorted, the 16 of a group are nearly equal: their sum is nearly the median size times the number
    of positive signs less that of negative ones. This decides most sums of many groups, and the matrix product that
    computes it shares the numbers of signs among all tests. Only the sums that it leaves open are added up.
    """
    reached, undecided = [0] * len(tests), [np.arange(resamples)] * len(tests)
    if max(len(test.sizes) for test in tests) >= _FEW_GROUPS:
        for at, (test, (sums, error)) in enumerate(zip(tests, _approximate(tests, resamples, seed), strict=True)):
            reached[at] = int(np.count_nonzero(sums >= test.observed + error))
            undecided[at] = np.flatnonzero((sums >= test.observed - error) & (sums < test.observed + error))
    for at, sums in enumerate(_add_up(tests, undecided, resamples, seed)):
        reached[at] += int(np.count_nonzero(np.abs(sums) >= tests[at].observed))
    return reached


def _approximate(tests: Sequence[_SignFlips], resamples: int, seed: int) -> list[tuple[Floats, float]]:
    """Return for each test its absolute sums under random signs, and by how much each of them may be wrong."""
    groups = max(len(test.sizes) for test in tests)
    medians = np.zeros((groups, len(tests)))
    errors = []
    for at, test in enumerate(tests):
        medians[: len(test.sizes), at] = median = (test.sizes[:, _GROUP // 2 - 1] + test.sizes[:, _GROUP // 2]) / 2
        # Beside the distance from the medians: rounding, of these sums and of the exact ones.
        rounding = 8 * (len(test.sizes) + _GROUP) * float(np.finfo(np.float64).eps) * test.total
        errors.append(float(np.abs(test.sizes - median[:, None]).sum()) + rounding)
    state = np.random.SFC64(seed).state["state"]["state"].view(np.int64)
    counts = np.empty((min(_GROUPS_AT_ONCE, groups), -(-resamples // 4) * 4), np.uint8)
    sums = np.zeros((len(tests), resamples))
    for start in range(0, groups, _GROUPS_AT_ONCE):
        part = medians[start : start + _GROUPS_AT_ONCE]
        for group in range(len(part)):
            native.draw_bit_counts(state, counts[group])
        native.add_weighted_sums(counts[: len(part), :resamples], part, sums)
    sums *= 2
    sums -= _GROUP * medians.sum(axis=0)[:, None]
    return list(zip(np.abs(sums, out=sums), errors, strict=True))


def _add_up(
    tests: Sequence[_SignFlips], places: Sequence[NDArray[np.int64]], resamples: int, seed: int
) -> list[Floats]:
    """Return the sums of each test at some places of the random signs."""
    bits = np.random.SFC64(seed)
    sums = [np.zeros(len(chosen)) for chosen in places]
    groups = max((len(test.sizes) for test, chosen in zip(tests, places, strict=True) if len(chosen)), default=0)
    for group in range(groups):
        words = np.asarray(bits.random_raw(-(-resamples // 4)), dtype="<u8").view("<u2")
        for test, chosen, test_sums in zip(tests, places, sums, strict=True):
            if group < len(test.sizes) and len(chosen):
                native.add_signed_sums(words, chosen, test.sizes[group], test_sums)
    return sums


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
    return exact_sum(d) / len(d)


def _differences(d: Floats) -> Floats:
    d = np.asarray(d, dtype=np.float64)
    if not np.isfinite(d).all():
        raise InputError(
            "a difference between two systems is not a finite number",
            remedy="leave out the queries for which a metric is undefined",
        )
    return d
