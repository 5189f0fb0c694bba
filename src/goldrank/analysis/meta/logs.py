"""Log tables, with one row for every task and metric of every run; families of models derived from their names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from goldrank.analysis.meta.table import ScoreRow, Table
from goldrank.errors import InputError

NEEDED = ("model", "task", "metric", "value")
# The settings of a run; `similarity` is none of them, because it differs between the tasks of one run.
_SETTINGS = ("run_dist_metric", "post_processing")
# These distinguish runs of the same model and settings.
_LABELS = ("model_id", "log")
COLUMNS = (*NEEDED, *_SETTINGS, *_LABELS, "level", "task_type", "similarity")
"""All columns of a log table that are read."""
_PLAIN = ("", "none")
_INTRINSIC = ("evalrank", "similarity", "sts", "word_similarity", "intrinsic")
_DOWNSTREAM = ("downstream", "classification", "probe")
_LOWER = ("mr", "mean_rank")
_SIZES = {
    "nano", "micro", "tiny", "mini", "small", "sm", "base", "medium", "md", "large", "lg", "xl", "xxl", "huge", "giant",
    "txt", "vec", "bin",
}  # fmt: skip
# 300d, 6B, 110m, v2, 1.5 (cut in two), L6, H384, 64
_NUMBER = re.compile(r"[vlh]?\d+[a-z]{0,2}")

Line = tuple[str, Mapping[str, Any], float]


def is_log(columns: Sequence[str]) -> bool:
    """Return True if a table with these columns is a log table.

    >>> is_log(["model", "task", "metric", "value", "level"]), is_log(["model", "evaluator", "value"])
    (True, False)
    """
    return set(NEEDED) <= set(columns) and "evaluator" not in columns


def log_rows(lines: Iterable[Line], source: str) -> Table:
    """Build the table of a log: an evaluator is a task with a metric, a model is a model with its settings.

    For the mean rank (``MR``) lower values are better. Supervised similarity is of neither kind, so that it counts only
    if it is named.
    """
    entries = list(lines)
    levels = sorted({_cell(record, "level") for _, record, _ in entries} - {""})
    if len(levels) > 1:
        raise InputError(
            f"the table holds logs of {' and '.join(levels)} level, which have no models in common",
            where=source,
            remedy=f"choose one: --where level={levels[0]}",
        )
    names, remarks = _variant_names(entries)
    families = families_by_name(list(dict.fromkeys(_cell(record, "model") for _, record, _ in entries)))
    rows = [
        ScoreRow(
            names[_identity(record)],
            f"{_cell(record, 'task')} {_cell(record, 'metric')}",
            value,
            _kind(record),
            families[_cell(record, "model")],
            lower=_cell(record, "metric").lower() in _LOWER,
            place=place,
        )
        for place, record, value in entries
    ]
    return Table.of(rows, source, remarks)


def _cell(record: Mapping[str, Any], column: str) -> str:
    cell = record.get(column)
    return "" if cell is None else str(cell).strip()


def _kind(record: Mapping[str, Any]) -> str:
    """Return the kind of the evaluator; a similarity that was trained on labels is of neither kind."""
    task_type = _cell(record, "task_type").lower().replace("-", "_")
    if _cell(record, "similarity") == "supervised":
        return ""
    return "intrinsic" if task_type in _INTRINSIC else "downstream" if task_type in _DOWNSTREAM else ""


def _identity(record: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(_cell(record, column) for column in ("model", *_SETTINGS, *_LABELS))


def _variant_names(entries: Sequence[Line]) -> tuple[dict[tuple[str, ...], str], list[str]]:
    """Name every run: the model, its settings where they vary, and labels where names are still shared."""
    variants = list(dict.fromkeys(_identity(record) for _, record, _ in entries))
    varying = [len({variant[1 + at] for variant in variants}) > 1 for at in range(len(_SETTINGS))]
    names = {}
    for variant in variants:
        settings = [
            setting
            for setting, varies in zip(variant[1 : 1 + len(_SETTINGS)], varying, strict=True)
            if varies and setting not in _PLAIN
        ]
        names[variant] = ", ".join([variant[0], *settings])
    remarks = []
    for at, label in enumerate(_LABELS, 1 + len(_SETTINGS)):
        shared = {name for name in names.values() if list(names.values()).count(name) > 1}
        if not shared:
            break
        names = {
            variant: f"{name}, {variant[at]}" if name in shared and variant[at] else name
            for variant, name in names.items()
        }
        remarks.append(
            f"several runs are called {', '.join(sorted(shared))}; their names were extended by their "
            f"{label.replace('_', ' ')}"
        )
    return names, remarks


def families_by_name(models: Sequence[str]) -> dict[str, str]:
    """Return a family for each model: its name without sizes, numbers and versions, or its name if it is alone.

    If all names differ in nothing else ("model-1", "model-2" …), they tell nothing: each model is its own family.

    >>> families_by_name(["glove.6B.50d.txt", "glove.6B.300d.txt", "bge-base-en-v1.5", "bge-small-en-v1.5", "bm25"])
    ... # doctest: +NORMALIZE_WHITESPACE
    {'glove.6B.50d.txt': 'glove', 'glove.6B.300d.txt': 'glove', 'bge-base-en-v1.5': 'bge en',
     'bge-small-en-v1.5': 'bge en', 'bm25': 'bm25'}
    """
    stems = {model: stem(model) for model in models}
    if len(set(stems.values())) == 1:
        return {model: model for model in models}
    members = Counter(stems.values())
    return {model: name if members[name] > 1 else model for model, name in stems.items()}


def stem(model: str) -> str:
    """Return the words of a name that are neither a size nor a number; the name itself if none is left.

    >>> stem("sentence-transformers/all-MiniLM-L6-v2")
    'sentence transformers all minilm'
    """
    words = [word for word in re.split(r"[^0-9a-z]+", model.lower()) if word]
    distinctive = [word for word in words if word not in _SIZES and not _NUMBER.fullmatch(word)]
    return " ".join(distinctive) or model
