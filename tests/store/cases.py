"""Records for tests of the store, derived from a number so that a reader can identify them."""

from typing import Any

from goldrank import Gold, Run
from goldrank.store import RunRecord, Store


def inputs_of(number: int) -> dict[str, Any]:
    return {"task": "wines", "model": "wordllama", "number": number, "rate": 0.1, "text": {"title": True}}


def a_record(number: int = 0, *, task: str = "wines", model: str = "wordllama", **changes: Any) -> RunRecord:
    gold = Gold({f"q{number}": {"d1": 2, "d2": 0, "gone": 1}, "other": {"d3": 1}, "unanswered": {"d1": 1}})
    run = Run({f"q{number}": {"d2": 1 / 3 + number, "d1": 0.25, "d9": 0.25}, "other": {"d3": 1e-9, "d4": 5.0}})
    defaults = {
        "inputs": inputs_of(number),
        "environment": {"seconds": 1.5, "machine": "here"},
        "hits": run.hits(gold, corpus=10),
        "run": run,
    }
    return RunRecord(task, model, **{**defaults, **changes})


def same_hits(a: Any, b: Any) -> bool:
    """Return True if the hits are bit-identical, including dtypes."""
    arrays = ("starts", "grade", "above", "tied", "tied_docid", "tied_input", "depth", "outside")
    plain = ("queries", "items", "precision", "corpus", "ignored_queries", "dropped_self")
    return all(
        getattr(a, n).dtype == getattr(b, n).dtype and getattr(a, n).tobytes() == getattr(b, n).tobytes()
        for n in arrays
    ) and all(getattr(a, name) == getattr(b, name) for name in plain)


def assert_sound(store: Store) -> None:
    """Assert that every row has complete tables, equal to those of its record."""
    for stored in store.list():
        number = stored.inputs["number"]
        assert same_hits(stored.hits(), a_record(number).hits)
        assert stored.run() == a_record(number).run
