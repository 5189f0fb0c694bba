"""Statistics over queries: a number and its interval, paired tests, corrections, effect sizes and power."""

from goldrank.stats.corrections import benjamini_hochberg, holm
from goldrank.stats.correlated_resamples import (
    KINDS,
    Kind,
    bootstrap_correlations,
    left_out,
    permutation_p_values,
    weighted_correlations,
)
from goldrank.stats.correlation import (
    compare_correlations,
    correlation,
    correlation_interval,
    correlation_kind,
    kendall,
    pearson,
    permutation_p,
    resampled_interval,
    sign_change,
    spearman,
    williams,
)
from goldrank.stats.effects import (
    WinsTiesLosses,
    best_first,
    effect_size,
    smallest_detectable,
    wins_ties_losses,
)
from goldrank.stats.intervals import GEOMETRIC_FLOOR, How, Interval, Sample, aggregate, intervals, resampled, wilson
from goldrank.stats.paired import (
    TESTS,
    TestResult,
    mcnemar,
    paired_test,
    randomisation_test,
    t_test,
    wilcoxon,
)
from goldrank.stats.resampling import bootstrap_means, bootstrap_medians
from goldrank.stats.tukey import TukeyResult, tukey_hsd

__all__ = [
    "GEOMETRIC_FLOOR",
    "KINDS",
    "TESTS",
    "How",
    "Interval",
    "Kind",
    "Sample",
    "TestResult",
    "TukeyResult",
    "WinsTiesLosses",
    "aggregate",
    "benjamini_hochberg",
    "best_first",
    "bootstrap_correlations",
    "bootstrap_means",
    "bootstrap_medians",
    "compare_correlations",
    "correlation",
    "correlation_interval",
    "correlation_kind",
    "effect_size",
    "holm",
    "intervals",
    "kendall",
    "left_out",
    "mcnemar",
    "paired_test",
    "pearson",
    "permutation_p",
    "permutation_p_values",
    "randomisation_test",
    "resampled",
    "resampled_interval",
    "sign_change",
    "smallest_detectable",
    "spearman",
    "t_test",
    "tukey_hsd",
    "weighted_correlations",
    "wilcoxon",
    "williams",
    "wilson",
    "wins_ties_losses",
]
