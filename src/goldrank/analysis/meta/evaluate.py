"""Correlate every intrinsic evaluator with every downstream score across models."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from os import PathLike
from typing import Any

import numpy as np

from goldrank import stats
from goldrank.analysis.meta.logs import families_by_name
from goldrank.analysis.meta.readers import read_table, table_from
from goldrank.analysis.meta.resampling import FEWEST, Correlations, ResampledCells
from goldrank.analysis.meta.result import CorrelationCell, EvaluatorDifference, MetaResult, Overall
from goldrank.analysis.meta.stored_runs import rows_from_store
from goldrank.analysis.meta.table import Table
from goldrank.errors import InputError
from goldrank.scoring import Bootstrap
from goldrank.stats.resampling import Floats
from goldrank.store import Store

FEW = 10
"""Results over fewer models carry a warning."""

__all__ = ["FEW", "FEWEST", "CorrelationCell", "EvaluatorDifference", "MetaResult", "Overall", "meta"]


def meta(
    table: Any,
    intrinsic: Sequence[str] | None = None,
    downstream: Sequence[str] | None = None,
    kind: str = "spearman",
    *,
    where: Mapping[str, str | Sequence[str]] | None = None,
    cluster: bool = False,
    lower: Sequence[str] = (),
    alpha: float = 0.05,
    bootstrap: Bootstrap = Bootstrap(),  # noqa: B008 - frozen
) -> MetaResult:
    """Measure how well each intrinsic evaluator predicts each downstream score, across models.

    All correlations share the same bootstrap resamples of models (or of families of models), so that the intervals of
    an evaluator's mean over the downstream tasks, and of the difference of two evaluators, account for their
    dependence. A model that lacks one of two values is left out of that pair only.

    Args:
        table: The values: a file (CSV, TSV, JSON(L), Parquet), a data frame or records with the columns model,
            evaluator and value, or a log with model, task, metric and value; or a Store, whose runs are taken.
        intrinsic, downstream: Evaluators, by name or pattern; by default those the table calls so, or all others.
        kind: ``spearman``, ``pearson`` or ``kendall``.
        where: By column, the values or patterns of the rows to take; of a Store, one ``task`` or ``model``.
        cluster: Resample families of models instead of models.
        lower: Further evaluators of which less is better.
        alpha: The level at which a difference is called significant.
        bootstrap: The settings of the intervals.

    >>> rows = [{"model": m, "evaluator": e, "value": i * f % 7} for i, m in enumerate("abcdefg")
    ...         for e, f in (("sts", 1), ("mrr", 3), ("accuracy", 1))]
    >>> meta(rows, downstream=["accuracy"], bootstrap=Bootstrap(resamples=200)).ranked
    ['sts', 'mrr']
    """
    stats.check_alpha(alpha)
    conditions = {name: [value] if isinstance(value, str) else list(value) for name, value in (where or {}).items()}
    values = _read(table, conditions)
    chosen = stats.correlation_kind(kind)
    rows, columns = _roles(values, intrinsic, downstream)
    _refuse_few(values, [*rows, *columns])
    reversed_ = values.lower | set(values.select(lower))
    x, y = (_values(values, names, reversed_) for names in (rows, columns))
    # A model without any pair of values affects no correlation, and must be neither resampled nor counted.
    used = np.flatnonzero((~np.isnan(x)).any(axis=1) & (~np.isnan(y)).any(axis=1))
    models = [values.models[at] for at in used]
    x, y = x[used], y[used]
    families, given = _families(values, models)
    clusters = np.unique(list(families.values()), return_inverse=True)[1].astype(np.intp)
    warnings = list(_warnings(models, families, given, cluster))
    work = Correlations(x, y, chosen, bootstrap.resamples, bootstrap.seed, clusters if cluster else None)
    estimates = work.cells()
    most = int(estimates.models.max(initial=0))
    if most < FEWEST:
        raise InputError(
            f"no intrinsic evaluator and downstream score have {FEWEST} models in common (the most is {most})",
            where=values.source or None,
            remedy="give every model a value from both kinds of evaluators",
        )
    short = int((estimates.models < FEWEST).sum())
    if short:
        warnings.append(f"{short} pairs of evaluators have fewer than {FEWEST} models in common and are left out")
    return MetaResult(
        table=values,
        models=models,
        kind=chosen,
        intrinsic=rows,
        downstream=columns,
        cells=_cells(estimates, rows, columns, models, bootstrap),
        overall=_overall(estimates, rows, models, bootstrap),
        differences=_differences(work, estimates, rows, columns, bootstrap),
        families=families,
        clustered=cluster,
        lower=tuple(name for name in (*rows, *columns) if name in reversed_),
        missing=int(np.isnan(x).sum() + np.isnan(y).sum()),
        warnings=tuple(warnings),
        resamples=bootstrap.resamples,
        seed=bootstrap.seed,
        level=bootstrap.level,
        alpha=alpha,
    )


def _read(table: Any, where: Mapping[str, Sequence[str]]) -> Table:
    if isinstance(table, Table):
        return table
    if isinstance(table, (str, PathLike)):
        return read_table(table, where)
    if not isinstance(table, Store):
        return table_from(table, where)
    if set(where) - {"task", "model"} or any(len(values) > 1 for values in where.values()):
        raise InputError(
            "stored runs are chosen by task or model, one of each", remedy="for example --where model='st:*'"
        )
    rows = rows_from_store(table, **{name: values[0] for name, values in where.items()})
    if not rows:
        raise InputError("the store holds no such runs", where=table.where, remedy="make some with goldrank run")
    return Table.of(rows, table.where)


def _roles(
    table: Table, intrinsic: Sequence[str] | None, downstream: Sequence[str] | None
) -> tuple[list[str], list[str]]:
    """Return the intrinsic evaluators and the downstream scores."""
    if len(table.evaluators) < 2:
        raise InputError(
            f"the table has one evaluator only, {table.evaluators[0]!r}",
            where=table.source or None,
            remedy="a correlation needs an intrinsic and a downstream score of every model",
        )
    rows = table.of_kind("intrinsic") if intrinsic is None else table.select(intrinsic)
    columns = table.of_kind("downstream") if downstream is None else table.select(downstream)
    # In a table without kinds, evaluators that are not named are of the other kind.
    if not rows and intrinsic is None and downstream is not None:
        rows = [name for name in table.evaluators if name not in columns]
    if not columns and downstream is None and intrinsic is not None:
        columns = [name for name in table.evaluators if name not in rows]
    rows = rows if intrinsic is not None else [name for name in rows if name not in columns]
    columns = columns if downstream is not None else [name for name in columns if name not in rows]
    both = [name for name in rows if name in columns]
    if both:
        raise InputError(
            f"{both[0]!r} is named as both intrinsic and downstream", remedy="name it once: a score predicts itself"
        )
    if not rows or not columns:
        lacking = "intrinsic" if not rows else "downstream"
        shown = ", ".join(table.evaluators[:8]) + (" …" if len(table.evaluators) > 8 else "")
        raise InputError(
            f"the table does not say which evaluators are {lacking}",
            where=table.source or None,
            remedy=f"name them with --intrinsic and --downstream, or add a column `kind`; the table has {shown}",
        )
    return rows, columns


def _refuse_few(table: Table, names: Sequence[str]) -> None:
    present = (~np.isnan(_values(table, names, frozenset()))).any(axis=1)
    if present.sum() < FEWEST:
        raise InputError(
            f"{int(present.sum())} models are too few for a correlation",
            where=table.source or None,
            remedy=f"give at least {FEWEST} models, preferably {FEW} or more",
        )


def _values(table: Table, names: Sequence[str], lower: frozenset[str] | set[str]) -> Floats:
    return np.column_stack([-table.column(name) if name in lower else table.column(name) for name in names])


def _families(table: Table, models: Sequence[str]) -> tuple[dict[str, str], bool]:
    """Return the family of every model, and whether the table gives families."""
    given = {model: table.families[model] for model in models if model in table.families}
    if given:
        return {model: given.get(model, model) for model in models}, True
    return families_by_name(models), False


def _warnings(models: Sequence[str], families: dict[str, str], given: bool, cluster: bool) -> Iterator[str]:
    if len(models) < FEW:
        yield f"{len(models)} models are few: correlations over fewer than {FEW} models are unreliable"
    members: dict[str, list[str]] = {}
    for model, family in families.items():
        members.setdefault(family, []).append(model)
    if cluster and len(members) < FEWEST:
        raise InputError(
            f"{len(members)} families are too few to be resampled",
            remedy=f"give at least {FEWEST}, or resample the models",
        )
    largest = max(members.values(), key=len)
    if len(largest) > 1:
        shown = "; ".join(largest[:3]) + ("; …" if len(largest) > 3 else "")
        source = "" if given else " by their names"
        act = "families were resampled" if cluster else "resample families instead of models with --cluster"
        yield (
            f"the {len(models)} models are of {len(members)} families{source} (such as {shown}) and not independent: "
            f"intervals over models are too narrow and p-values too small; {act}"
        )


def _cells(
    estimates: ResampledCells, rows: Sequence[str], columns: Sequence[str], models: Sequence[str], how: Bootstrap
) -> dict[tuple[str, str], CorrelationCell]:
    adjusted = stats.holm(estimates.p.ravel()).reshape(estimates.p.shape)
    cells = {}
    for i, row in enumerate(rows):
        for d, column in enumerate(columns):
            observed = float(estimates.observed[i, d])
            around = _interval(observed, estimates.resampled[:, i, d], estimates.jackknife[:, i, d], how)
            cells[row, column] = CorrelationCell(
                row,
                column,
                observed,
                around,
                int(estimates.models[i, d]),
                float(estimates.p[i, d]),
                float(adjusted[i, d]),
                *_extremes(estimates.without[:, i, d], models),
            )
    return cells


def _interval(observed: float, samples: Floats, without: Floats, how: Bootstrap) -> stats.Interval | None:
    if math.isnan(observed):
        return None
    return stats.resampled_interval(observed, samples, without[~np.isnan(without)], how.level, how.method)


def _extremes(without: Floats, models: Sequence[str]) -> tuple[tuple[float, str], tuple[float, str]]:
    """Return the lowest and the highest value when one model is left out, each with that model."""
    if np.isnan(without).all():
        return (math.nan, ""), (math.nan, "")
    low, high = int(np.nanargmin(without)), int(np.nanargmax(without))
    return (float(without[low]), models[low]), (float(without[high]), models[high])


def _overall(
    estimates: ResampledCells, rows: Sequence[str], models: Sequence[str], how: Bootstrap
) -> dict[str, Overall]:
    overall = {}
    for i, row in enumerate(rows):
        tasks = np.flatnonzero(~np.isnan(estimates.observed[i]))
        if not len(tasks):
            overall[row] = Overall(row, math.nan, None, 0, (math.nan, ""), (math.nan, ""))
            continue
        each = estimates.observed[i, tasks]
        # Leaving out a model that a task lacks does not change the value of that task.
        without, jackknife = (
            np.where(np.isnan(part[:, i, tasks]), each, part[:, i, tasks]).mean(axis=1)
            for part in (estimates.without, estimates.jackknife)
        )
        observed = float(each.mean())
        around = _interval(observed, estimates.resampled[:, i, tasks].mean(axis=1), jackknife, how)
        overall[row] = Overall(row, observed, around, len(tasks), *_extremes(without, models))
    return overall


def _differences(
    work: Correlations, estimates: ResampledCells, rows: Sequence[str], columns: Sequence[str], how: Bootstrap
) -> list[EvaluatorDifference]:
    """Compare every pair of intrinsic evaluators on the downstream tasks for which both are defined."""
    differences = []
    for first, second in combinations(range(len(rows)), 2):
        tasks = np.flatnonzero(~np.isnan(estimates.observed[[first, second]]).any(axis=0))
        if not len(tasks):
            continue
        difference = float((estimates.observed[first, tasks] - estimates.observed[second, tasks]).mean())
        samples = (estimates.resampled[:, first, tasks] - estimates.resampled[:, second, tasks]).mean(axis=1)
        known = [work.between(first, second, int(task)) for task in tasks]
        of_first, of_second, between, counts = (np.array(part, dtype=np.float64) for part in zip(*known, strict=True))
        p = stats.williams(of_first, of_second, between, counts)
        differences.append(
            EvaluatorDifference(
                rows[first],
                rows[second],
                difference,
                stats.resampled_interval(difference, samples, None, how.level, "percentile"),
                stats.sign_change(samples),
                math.nan,
                {columns[task]: float(p_value) for task, p_value in zip(tasks.tolist(), p, strict=True)},
            )
        )
    adjusted = stats.holm(np.array([p_value.p for p_value in differences]))
    return [replace(p_value, adjusted=float(value)) for p_value, value in zip(differences, adjusted, strict=True)]
