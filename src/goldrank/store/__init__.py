"""Runs under short keys with all that made them: a database of rows, and Parquet tables beside it."""

from goldrank.store.keys import digest
from goldrank.store.records import Record, ResultKind, StoredRun
from goldrank.store.rescoring import Counted, add_stored_confidence, count_under
from goldrank.store.store import Store

__all__ = ["Counted", "Record", "ResultKind", "Store", "StoredRun", "add_stored_confidence", "count_under", "digest"]
