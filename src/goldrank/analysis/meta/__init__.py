"""Meta-evaluation: how well intrinsic evaluators predict downstream scores, as correlations across models."""

from goldrank.analysis.meta.evaluate import (
    FEW,
    FEWEST,
    CorrelationCell,
    EvaluatorDifference,
    MetaResult,
    Overall,
    meta,
)
from goldrank.analysis.meta.logs import families_by_name
from goldrank.analysis.meta.readers import read_table
from goldrank.analysis.meta.stored_runs import rows_from_store
from goldrank.analysis.meta.table import ScoreRow, Table

__all__ = [
    "FEW",
    "FEWEST",
    "CorrelationCell",
    "EvaluatorDifference",
    "MetaResult",
    "Overall",
    "ScoreRow",
    "Table",
    "families_by_name",
    "meta",
    "read_table",
    "rows_from_store",
]
