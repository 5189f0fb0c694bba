"""The meta-evaluation: which intrinsic evaluator predicts which downstream score, across models, and how surely."""

from goldrank.analysis.meta.evaluate import FEW, FEWEST, Cell, Difference, MetaResult, Overall, evaluate_meta
from goldrank.analysis.meta.families import families_by_name
from goldrank.analysis.meta.readers import read_table
from goldrank.analysis.meta.stored_runs import rows_from_store
from goldrank.analysis.meta.table import Row, Table

__all__ = [
    "FEW",
    "FEWEST",
    "Cell",
    "Difference",
    "MetaResult",
    "Overall",
    "Row",
    "Table",
    "evaluate_meta",
    "families_by_name",
    "read_table",
    "rows_from_store",
]
