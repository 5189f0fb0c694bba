"""The store: runs under short keys with their provenance, as rows of a database with Parquet tables beside it."""

from goldrank.store.keys import digest
from goldrank.store.records import ResultKind, RunRecord, StoredRun
from goldrank.store.rescoring import Counted, add_stored_confidence, count_under
from goldrank.store.store import Store

__all__ = ["Counted", "ResultKind", "RunRecord", "Store", "StoredRun", "add_stored_confidence", "count_under", "digest"]
