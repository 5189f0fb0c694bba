"""Build the rows of a meta-evaluation from stored runs: the headline score of every run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from goldrank.analysis.meta.table import ScoreRow
from goldrank.metrics import find_profile, parse_all
from goldrank.scoring import resolve_conventions, score_hits
from goldrank.store import count_under
from goldrank.tasks import TASKS

if TYPE_CHECKING:
    from goldrank.store import Store, StoredRun

# Settings that belong to the name of the model or of the task if they differ from these defaults.
_OF_MODEL = {"similarity": "cosine", "index": "exact", "scoring": "single", "transform": "none", "fit_on": "corpus"}
_OF_TASK = {"split": "test", "limit": None}
_KINDS = {"evalrank": "intrinsic", "similarity": "intrinsic", "probe": "downstream"}


def rows_from_store(store: Store, *, task: str | None = None, model: str | None = None) -> list[ScoreRow]:
    """Return one row for every stored run: its first measured value, or its first metric under its own profile.

    Of several runs of the same model, task and settings the newest counts. Probes are downstream, EvalRank and
    similarity tasks are intrinsic; other tasks have no kind.

    Args:
        store: the store of the runs.
        task, model: select runs by name or pattern.
    """
    rows: dict[tuple[str, str], ScoreRow] = {}
    for run in store.list(task=task, model=model):
        name, value, lower = _headline(run)
        known = run.inputs.get("kind") or getattr(TASKS.get(run.task), "kind", "")
        named = _labelled(run.model, run.inputs, _OF_MODEL)
        evaluator = _labelled(f"{run.task} {name}", run.inputs, _OF_TASK)
        kind = _KINDS.get(str(known), "")
        rows[named, evaluator] = ScoreRow(named, evaluator, value, kind, lower=lower, place=f"stored run {run.key}")
    return list(rows.values())


def _labelled(name: str, inputs: Mapping[str, Any], usual: Mapping[str, Any]) -> str:
    unusual = [
        f"{key}={inputs[key]}" for key, value in usual.items() if inputs.get(key) is not None and inputs[key] != value
    ]
    return ", ".join([name, *unusual])


def _headline(run: StoredRun) -> tuple[str, float, bool]:
    """Return the name and value of the run's first measured value or metric, and whether lower is better."""
    measured: Mapping[str, Any] = getattr(run, "measured", None) or {}
    for name, entry in measured.items():
        value = entry["value"] if isinstance(entry, Mapping) else entry.value
        return name, float(value), False
    chosen = find_profile(run.profile)
    conventions = resolve_conventions(chosen, run.conventions)
    metric = parse_all(run.metrics or chosen.metrics)[0]
    lower = metric.definition.direction == "lower"
    stored_value = run.summary.get(str(metric), {}).get("value")
    if stored_value is not None:
        return str(metric), float(stored_value), lower
    hits = count_under(run, conventions).hits
    scores = score_hits(hits, [metric], profile=chosen, name=run.key, **dict(run.conventions))
    (score,) = scores.values()
    return str(metric), score.value, lower
