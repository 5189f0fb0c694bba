"""Statistics over queries: aggregates and their intervals, paired tests, corrections, effect sizes and power."""

from goldrank.stats.corrections import benjamini_hochberg, holm
from goldrank.stats.correlated_resamples import (
    CORRELATIONS,
    CorrelationKind,
    bootstrap_correlations,
    jackknife_correlations,
    permutation_p_values,
    weighted_correlations,
)
from goldrank.stats.correlation import (
    compare_correlations,
    correlation,
    correlation_interval,
    correlation_kind,
    resampled_interval,
    sign_change,
    williams,
)
from goldrank.stats.effects import (
    WinsTiesLosses,
    best_first,
    effect_size,
    smallest_detectable,
    wins_ties_losses,
)
from goldrank.stats.intervals import (
    GEOMETRIC_FLOOR,
    Interval,
    Sample,
    aggregate,
    bootstrap_aggregates,
    check_alpha,
    check_level,
    intervals,
    percentile_interval,
    wilson,
)
from goldrank.stats.paired import (
    TESTS,
    TestResult,
    mcnemar,
    paired_test,
    randomisation_test,
    randomisation_tests,
    t_test,
    wilcoxon,
)
from goldrank.stats.resampling import bootstrap_means, bootstrap_medians
from goldrank.stats.sequential import confidence_sequence, log_capital
from goldrank.stats.tukey import TukeyResult, tukey_hsd

__all__ = [
    "CORRELATIONS",
    "GEOMETRIC_FLOOR",
    "TESTS",
    "CorrelationKind",
    "Interval",
    "Sample",
    "TestResult",
    "TukeyResult",
    "WinsTiesLosses",
    "aggregate",
    "benjamini_hochberg",
    "best_first",
    "bootstrap_aggregates",
    "bootstrap_correlations",
    "bootstrap_means",
    "bootstrap_medians",
    "check_alpha",
    "check_level",
    "compare_correlations",
    "confidence_sequence",
    "correlation",
    "correlation_interval",
    "correlation_kind",
    "effect_size",
    "holm",
    "intervals",
    "jackknife_correlations",
    "log_capital",
    "mcnemar",
    "paired_test",
    "percentile_interval",
    "permutation_p_values",
    "randomisation_test",
    "randomisation_tests",
    "resampled_interval",
    "sign_change",
    "smallest_detectable",
    "t_test",
    "tukey_hsd",
    "weighted_correlations",
    "wilcoxon",
    "williams",
    "wilson",
    "wins_ties_losses",
]
