"""Log tables, with one line for every task and metric of every run, and the families of models by their names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from goldrank.analysis.meta.table import ScoreRow, Table
from goldrank.errors import InputError

NEEDED = ("model", "task", "metric", "value")
# How a variant of a model was made; `similarity` is no such column, as it differs between the tasks of one run.
_SETTINGS = ("run_dist_metric", "post_processing")
# What tells runs apart that agree in all of this.
_LABELS = ("model_id", "log")
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
    """Whether a table with these columns is a log table.

    >>> is_log(["model", "task", "metric", "value", "level"]), is_log(["model", "evaluator", "value"])
    (True, False)
    """
    return set(NEEDED) <= set(columns) and "evaluator" not in columns


def log_rows(lines: Iterable[Line], source: str) -> Table:
    """The table of a log: an evaluator is a task with a metric, a model is a variant with its settings.

    The mean rank (``MR``) is taken for a score of which less is better. Supervised similarity is neither intrinsic
    nor downstream unless it is named.
    """
    entries = list(lines)
    levels = sorted({_cell(record, "level") for _, record, _ in entries} - {""})
    if len(levels) > 1:
        raise InputError(
            f"the table holds logs of {' and '.join(levels)} level, which share no models",
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
    """What kind of evaluator it is; a similarity that was trained on labels is neither."""
    written = _cell(record, "task_type").lower().replace("-", "_")
    if _cell(record, "similarity") == "supervised":
        return ""
    return "intrinsic" if written in _INTRINSIC else "downstream" if written in _DOWNSTREAM else ""


def _identity(record: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(_cell(record, column) for column in ("model", *_SETTINGS, *_LABELS))


def _variant_names(entries: Sequence[Line]) -> tuple[dict[tuple[str, ...], str], list[str]]:
    """A name for every run: the model, the settings that are not plain or not the same for all, and more if need be."""
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
        called = ", ".join(sorted(shared))
        remarks.append(f"several runs are called {called}; they are told apart by their {label.replace('_', ' ')}")
    return names, remarks


def families_by_name(models: Sequence[str]) -> dict[str, str]:
    """A family for each model, from its name without sizes, numbers and versions.

    Names that differ in nothing else ("model-1", "model-2" …) say nothing of kinship: each is then its own family.

    >>> families_by_name(["glove.6B.50d.txt", "glove.6B.300d.txt", "bge-base-en-v1.5", "bge-small-en-v1.5", "bm25"])
    ... # doctest: +NORMALIZE_WHITESPACE
    {'glove.6B.50d.txt': 'glove', 'glove.6B.300d.txt': 'glove', 'bge-base-en-v1.5': 'bge en',
     'bge-small-en-v1.5': 'bge en', 'bm25': 'bm25'}
    """
    stems = {model: stem(model) for model in models}
    if len(set(stems.values())) == 1:
        return {model: model for model in models}
    return stems


def stem(model: str) -> str:
    """The words of a name that are neither a size nor a number; the name itself where none is left.

    >>> stem("sentence-transformers/all-MiniLM-L6-v2")
    'sentence transformers all minilm'
    """
    words = [word for word in re.split(r"[^0-9a-z]+", model.lower()) if word]
    kept = [word for word in words if word not in _SIZES and not _NUMBER.fullmatch(word)]
    return " ".join(kept) or model
