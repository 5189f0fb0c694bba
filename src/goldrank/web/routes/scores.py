"""The playground: score stored hits by any metric under any convention, and list metrics, profiles and conventions."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Annotated, Any

from fastapi import APIRouter, Query

from goldrank.metrics import CHOICES, PROFILES, REGISTRY, Conventions, Definition, Profile
from goldrank.reporting.text.results import basis_line, conventions_line, counts_lines, plain, scores_json
from goldrank.runs.stored_scores import StoredRuns
from goldrank.scoring import resolve_conventions
from goldrank.web.dependencies import Explorer, Keys, ScoringOptions, ScoringParameters, SliceName
from goldrank.web.responses import ERRORS, Json
from goldrank.web.store_reader import StoreReader

routes = APIRouter(tags=["metrics"], responses=ERRORS)


@routes.get("/score", summary="Score stored runs")
def score(
    explorer: Explorer,
    key: Keys,
    options: ScoringParameters,
    intervals: Annotated[bool, Query(description="Whether to compute intervals, which takes longer.")] = True,
    per_query: Annotated[bool, Query(description="Whether to include the values of each query.")] = False,
    only: SliceName = "",
) -> Json:
    """The metrics of some runs under any profile and conventions, in the form of `goldrank score --format json`.

    Metrics, profile and conventions that are not given are those of the runs. Intervals are those of the command.
    """
    runs = explorer.reader.runs(key)

    def compute() -> dict[str, Any]:
        content: dict[str, Any] = plain(
            _score(explorer.reader, runs, options, only, intervals=intervals, per_query=per_query)
        )
        return content

    return Json(explorer.reader.cached(runs.values(), ("score", options.identity, intervals, per_query, only), compute))


def _score(
    reader: StoreReader, runs: StoredRuns, options: ScoringOptions, only: str, *, intervals: bool, per_query: bool
) -> dict[str, Any]:
    metrics, profile = options.for_runs(runs)
    notes = [reader.counted(run, profile, resolve_conventions(profile, options.changes)).note for run in runs.values()]
    scores = [
        replace(reader.scores(run, metrics, profile, options.changes), bootstrap=options.bootstrap)
        for run in runs.values()
    ]
    if only:
        pairs = zip(scores, runs.values(), strict=True)
        scores = [of_run.restrict(reader.slice_queries(run, only)) for of_run, run in pairs]
    return {
        **scores_json(scores, intervals=intervals, per_query=per_query),
        "models": {name: run.model for name, run in runs.items()},
        "basis": basis_line(scores[0], intervals=intervals),
        "conventions_line": conventions_line(scores[0]),
        "notes": [*dict.fromkeys(note for note in notes if note), *counts_lines(scores)],
    }


@routes.get("/metrics", summary="All metrics")
def metrics() -> Json:
    """Every metric with its formula, range, direction, cutoff and parameters."""
    return Json({"metrics": [_metric(definition) for definition in REGISTRY.values()]})


@routes.get("/profiles", summary="All profiles")
def profiles() -> Json:
    """Every profile with its conventions and the system that it reproduces."""
    return Json({"profiles": [_profile(profile) for profile in PROFILES.values()]})


_NUMBERS = {
    "depth": ({"low": 1}, "read each ranking down to this rank only; if empty, read all"),
    "relevance_level": ({"low": 0}, "smallest grade that counts as relevant; if empty, every grade above 0"),
}


@routes.get("/conventions", summary="All conventions")
def conventions() -> Json:
    """Every convention with its choices and their meanings; the defaults are those of the standard profile."""
    standard = Conventions().as_dict()
    listed = [
        {
            "name": field.name,
            "default": standard[field.name],
            "choices": [{"value": value, "meaning": meaning} for value, meaning in CHOICES[field.name].items()]
            if field.name in CHOICES
            else None,
            "number": _NUMBERS[field.name][0] if field.name in _NUMBERS else None,
            "meaning": _NUMBERS[field.name][1] if field.name in _NUMBERS else "",
        }
        for field in fields(Conventions)
        # The convention on the scores of a run file was applied before the run was stored.
        if field.name != "scores"
    ]
    return Json({"conventions": listed})


def _metric(definition: Definition) -> dict[str, Any]:
    shown = (
        "name",
        "title",
        "formula",
        "range",
        "direction",
        "cutoff",
        "aggregate",
        "expected",
        "subtopics",
        "aliases",
        "notes",
    )
    return {
        **{name: getattr(definition, name) for name in shown},
        "parameters": [
            {
                "name": parameter.name,
                "doc": parameter.doc,
                "default": parameter.default,
                "choices": parameter.choices,
                "number": parameter.number,
                "allowed": parameter.allowed,
            }
            for parameter in definition.parameters
        ],
    }


def _profile(profile: Profile) -> dict[str, Any]:
    return {
        "name": profile.name,
        "title": profile.title,
        "conventions": profile.conventions.as_dict(),
        "settings": profile.settings,
        "metrics": profile.metrics,
        "notes": profile.notes,
    }
