"""The meta-evaluation: which intrinsic evaluator predicts which downstream score, across models, and how surely."""

from goldrank.meta.evaluating import FEW, FEWEST, Cell, Difference, MetaResult, Overall, evaluate_meta
from goldrank.meta.families import families_by_name
from goldrank.meta.reading import read_table
from goldrank.meta.stored import rows_from_store
from goldrank.meta.table import Row, Table

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
