"""Start a judging project: rank, pool the results of all systems, and plan what is judged."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from goldrank.data.collections.collection import Document, further_fields
from goldrank.errors import InputError, counts, shorten, unknown_name
from goldrank.hits import Run
from goldrank.io.files import PathLike
from goldrank.judging.labels import GradeScale
from goldrank.judging.plans import DESIGNS, Plan, check_budget, plan_items, plan_queries
from goldrank.judging.pools import Pool, build_pool, check_pooling
from goldrank.judging.project import FOLDER, JudgingProject
from goldrank.judging.sources import load_data
from goldrank.judging.strata import Strata, make_strata
from goldrank.runs.environment import environment
from goldrank.runs.evaluate import settings_of
from goldrank.tasks.ranking.data import RankingData
from goldrank.tasks.ranking.evaluation import Removable
from goldrank.tasks.ranking.models import Model, load_model
from goldrank.tasks.settings import Settings
from goldrank.tasks.unused_settings import command_line_name, refuse_unused
from goldrank.vectors.cache import live_vectors

_STORED = 100
"""The least number of results that are stored of each ranking."""


def start(
    docs: PathLike,
    queries: PathLike | None = None,
    models: Any = (),
    *,
    depth: int = 20,
    pooling: str = "depth",
    size: int | None = None,
    budget: int | None = None,
    sample: str = "queries",
    strata: str | None = None,
    slices: object = None,
    allocation: str | None = None,
    double: float | None = None,
    scale: GradeScale = GradeScale(),  # noqa: B008 - frozen
    seed: int = 0,
    folder: PathLike = FOLDER,
    settings: Settings | None = None,
    report: Callable[[str], None] = lambda line: None,
    **options: Any,
) -> JudgingProject:
    """Rank documents with several systems, pool their best results, and store what is to be judged.

    If the folder holds a project of the same data, systems and settings already, it is opened; a larger budget plans
    more queries.

    Args:
        docs: A folder of documents, a file of texts with ids, or the name or path of a collection.
        queries: A file of queries, one per line or a table; None for those of the collection.
        models: A model as in `evaluate`, a list of models, or a mapping of names to models.
        depth: How many results of each system are pooled.
        pooling: ``depth`` (judge the whole pool), ``mtf`` or ``adaptive`` (judge *size* items of each query).
        size: How many items of each query are judged under ``mtf`` and ``adaptive``; by default *depth*.
        budget: About how many labels are planned; None plans the whole pool.
        sample: ``queries`` plans the whole pools of random queries, ``items`` a random sample of every pool, and
            ``next`` nothing: `plan_next` asks for the labels that decide which system is best.
        strata: An attribute, from each of whose slices queries are drawn: a further field of the queries, one of
            *slices*, or one that is derived from their texts, such as ``query_length``; None draws from all queries, or
            from the slices of the only attribute of *slices*.
        slices: Attributes of queries, as in `by_slice`.
        allocation: How many queries are drawn from each: ``proportional`` to its queries (default), or ``equal``.
        double: The share of the queries that a second judge judges too, to measure agreement; by default 0.1.
        scale: The grades.
        seed: Of all random choices.
        folder: Where the project is stored.
        settings: How documents are ranked.
        report: Is told what is being done.
        options: Single settings, such as ``similarity="dot"`` or ``chunk="words:200"``.

    Raises:
        InputError: The folder holds another project, or data, models or settings cannot be used.

    >>> import tempfile
    >>> project = start("questions", models=["bm25", "tfidf"], depth=5, budget=300, folder=tempfile.mkdtemp())
    >>> len(project.plan.units), project.plan.labels(project.pool) <= 320
    (42, True)
    """
    _check_sample(
        sample,
        {
            "budget": budget,
            "choice of strata": strata,
            "table of slices": slices,
            "allocation": allocation,
            "share for a second judge": double,
        },
        pooling,
    )
    double = 0.1 if double is None else double
    check_pooling(pooling, depth, size)
    check_budget(budget, double)
    if Path(folder).exists() and not Path(folder).is_dir():
        raise InputError("this is a file, not a folder", where=str(folder), remedy="name another with --folder")
    chosen = settings_of(settings, {**options, "seed": seed})
    if chosen.depth is None:
        chosen = settings_of(chosen, {"depth": max(depth, _STORED)})
    elif isinstance(chosen.depth, int) and chosen.depth < depth:
        raise InputError(f"rankings of depth {chosen.depth} cannot be pooled to {depth}", remedy="rank deeper")
    loaded = _load(models)
    data = load_data(docs, queries, chosen)
    chosen_strata = make_strata(data, strata, slices, allocation, limited=chosen.limit is not None)
    # The depth of the rankings, the sample of queries and the seed have an effect on the pool, whatever the systems do.
    own = replace(chosen, given=chosen.given - {"depth", "limit", "seed"})
    refuse_unused(own, list(loaded.values()), [data], command_line_name)
    for model in loaded.values():
        data.check(model)
    wanted: dict[str, Any] = {
        "data": data.checksum,
        "systems": {name: data.inputs(model) for name, model in loaded.items()},
        "depth": depth,
        "pooling": pooling,
        "size": size,
        "sample": sample,
        "double": double,
        "seed": seed,
        "scale": list(scale.names),
    }
    if JudgingProject.exists(folder):
        return _resume(folder, wanted, chosen_strata, budget, report)
    rankings, checkpoints = _rank(data, loaded, report)
    pool = build_pool(rankings, data.query_ids, depth=depth, method=pooling, size=size)
    if not len(pool):
        raise InputError("no system found anything for any query", where=str(docs), remedy="check texts and queries")
    if sample == "next":
        plan = Plan("next", seed, ())
    elif sample == "items":
        plan = plan_items(pool, budget=budget or 0, seed=seed, double=double)
    else:
        plan = plan_queries(pool, budget=budget, seed=seed, double=double, strata=chosen_strata)
    documents = _pooled_documents(data, pool)
    project = JudgingProject.create(
        folder,
        pool=pool,
        plan=plan,
        queries=dict(zip(data.query_ids, data.query_texts, strict=True)),
        texts={name: _shown_text(document) for name, document in documents.items()},
        titles={name: document.title for name, document in documents.items()},
        rankings=rankings,
        scale=scale,
        budget=budget,
        provenance={
            "environment": environment(),
            "documents": {"source": str(docs), "count": len(data), "remarks": list(data.remarks)},
            "queries": {"source": data.collection.queries.source, "count": len(data.query_ids)},
            "fields": further_fields(data.collection.queries),
            "start": wanted,
        },
    )
    for checkpoint in checkpoints:
        checkpoint.remove()
    return project


def _check_sample(sample: str, planning: Mapping[str, object], pooling: str) -> None:
    """Raise InputError for a sample that is not known, or settings of the plan that it cannot have."""
    settings = [name for name, value in planning.items() if value is not None]
    if sample not in DESIGNS:
        raise unknown_name("sample", sample, DESIGNS, f"one of {', '.join(DESIGNS)}")
    if sample == "items" and "budget" not in settings:
        raise InputError("a sample of items needs a budget", remedy="give the number of labels, or sample queries")
    if sample == "items" and {"choice of strata", "table of slices", "allocation"}.intersection(settings):
        raise InputError(
            "a sample of items has items of every query, so that strata of queries have no effect",
            remedy="sample queries, or leave the strata out",
        )
    if sample == "next" and settings:
        raise InputError(
            f"nothing is planned with the sample next, so that the {settings[0]} has no effect",
            remedy="leave it out, or sample queries; goldrank judge next has a budget of its own",
        )
    if sample == "next" and pooling != "depth":
        raise InputError(
            f"`goldrank judge next` cannot ask for labels of a pool by {pooling}, which depends on the labels",
            remedy="pool by depth, or sample queries",
        )


def _load(models: Any) -> dict[str, Model]:
    if isinstance(models, Mapping):
        named = {name: load_model(model, name=name) for name, model in models.items()}
    else:
        loaded = [load_model(model) for model in (models if isinstance(models, (list, tuple)) else [models])]
        named = {model.spec: model for model in loaded}
        if len(named) < len(loaded):
            raise InputError("a model is given twice", remedy="name each system once")
    if not named:
        raise InputError("there is no system to pool", remedy="name at least one model, better several")
    return named


def _rank(
    data: RankingData, models: Mapping[str, Model], report: Callable[[str], None]
) -> tuple[dict[str, Run], list[Removable]]:
    """Return the rankings of all systems, and what is to be removed once they are stored."""
    rankings: dict[str, Run] = {}
    checkpoints: list[Removable] = []
    with live_vectors([encoder for model in models.values() for encoder in model.live_encoders], reuse=False):
        for name, model in models.items():
            report(f"{data.task.name}: ranking with {name}")
            ranked = model.rank(data)
            for warning in ranked.warnings:
                report(f"warning: {warning}")
            rankings[name] = ranked.run.head(data.depth)
            checkpoints += ranked.checkpoints
    items = set(data.item_ids)
    for name, run in rankings.items():
        unknown = next((item for item in run.columns.items if item not in items), None)
        if unknown is not None:
            raise InputError(
                f"{name} ranks {shorten(unknown)}, which is not among the documents and cannot be shown to a judge",
                remedy="rank these documents only",
            )
    return rankings, checkpoints


def _pooled_documents(data: RankingData, pool: Pool) -> dict[str, Document]:
    pooled = {entry.item for items in pool.items.values() for entry in items}
    return {document.id: document for document in data.collection.items if document.id in pooled}


def _shown_text(document: Document) -> str:
    """Return the text as judges read it, with headings and blank lines between sections."""
    return "\n\n".join("\n".join(part for part in section if part.strip()) for section in document.sections).strip()


_MEANINGS = {
    "data": "documents or queries have changed",
    "systems": "the systems or their settings are others",
    "scale": "the grade scale is another",
    "strata": "the strata or their allocation are others",
}


def _resume(
    folder: PathLike,
    wanted: Mapping[str, Any],
    strata: Strata | None,
    budget: int | None,
    report: Callable[[str], None],
) -> JudgingProject:
    project = JudgingProject.open(folder)
    before, planned = project.plan, project.budget
    known, wanted = project.provenance.get("start", {}), json.loads(json.dumps(wanted))
    differing = [name for name in wanted if wanted[name] != known.get(name)]
    if before.strata != strata:
        differing.append("strata")
    if differing:
        name = differing[0]
        what = _MEANINGS.get(name, f"{name} is {known.get(name)} there and {wanted.get(name)} here")
        raise InputError(
            f"the folder holds another judging project: {what}",
            where=str(folder),
            remedy="start again with the same settings to resume it, or give another --folder",
        )
    if budget is None or budget == planned:
        return project
    if before.design == "queries" and not before.in_rounds and planned is not None and budget > planned:
        larger = plan_queries(
            project.pool, budget=budget, seed=before.seed, double=wanted["double"], strata=before.strata
        )
        units = larger.units[len(before.units) :]
        if units:
            project.extend(units, budget=budget)
            report(f"{counts(len(units), 'query', 'queries')} added to the plan")
        return project
    if before.in_rounds:
        raise InputError(
            "the plan was extended by `goldrank judge next`, and no more queries can be planned",
            where=str(folder),
            remedy="leave --budget out; goldrank judge next plans more labels",
        )
    raise InputError(
        f"the plan was made for {'the whole pool' if planned is None else counts(planned, 'label')}, and cannot be "
        f"changed to {counts(budget, 'label')}",
        where=str(folder),
        remedy="leave --budget out; a plan of queries can only be enlarged",
    )
