"""Statistics over queries: a number and its interval, paired tests, corrections, effect sizes and power."""

from goldrank.stats.corrections import benjamini_hochberg, holm
from goldrank.stats.effects import WinsTiesLosses, effect_size, smallest_detectable, wins_ties_losses
from goldrank.stats.intervals import GEOMETRIC_FLOOR, How, Interval, Sample, aggregate, intervals, wilson
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

__all__ = [
    "GEOMETRIC_FLOOR",
    "TESTS",
    "How",
    "Interval",
    "Sample",
    "TestResult",
    "WinsTiesLosses",
    "aggregate",
    "benjamini_hochberg",
    "bootstrap_means",
    "bootstrap_medians",
    "effect_size",
    "holm",
    "intervals",
    "mcnemar",
    "paired_test",
    "randomisation_test",
    "smallest_detectable",
    "t_test",
    "wilcoxon",
    "wilson",
    "wins_ties_losses",
]
