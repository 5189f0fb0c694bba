"""The playground: any metric under any convention from the stored hits, and what there is to choose from."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Annotated, Any

from fastapi import APIRouter, Query

from goldrank.metrics import CHOICES, PROFILES, REGISTRY, Conventions, Definition, Profile
from goldrank.reporting.text.results import basis_line, conventions_line, counts_lines, scores_json
from goldrank.runs.stored_scores import StoredRuns
from goldrank.scoring import agree
from goldrank.web.dependencies import Asked, Conditions, Explorer, Keys
from goldrank.web.responses import ERRORS, Json, plain
from goldrank.web.store_reader import Reader, size_of

routes = APIRouter(tags=["metrics"], responses=ERRORS)


@routes.get("/score", summary="Score stored runs")
def score(
    explorer: Explorer,
    key: Keys,
    asked: Asked,
    intervals: Annotated[bool, Query(description="Whether to resample; the means alone come at once.")] = True,
    per_query: Annotated[bool, Query(description="Whether to give the value of every query.")] = False,
) -> Json:
    """The metrics of some runs under any profile and conventions, in the shape of `goldrank score --format json`.

    Without a choice of metrics, profile or conventions the runs' own apply. Intervals are from 1,000 resamples unless
    told otherwise; the command takes 10,000.
    """
    runs = explorer.reader.runs(key)

    def make() -> tuple[dict[str, Any], int]:
        made = plain(_scored(explorer.reader, runs, asked, intervals=intervals, per_query=per_query))
        return made, size_of(made)

    return Json(explorer.reader.kept(runs.values(), ("score", asked.identity, intervals, per_query), make))


def _scored(reader: Reader, runs: StoredRuns, asked: Conditions, *, intervals: bool, per_query: bool) -> dict[str, Any]:
    metrics, profile = asked.for_runs(runs)
    notes = [reader.counted(run, profile, agree(profile, asked.changes)).note for run in runs.values()]
    scores = [
        replace(reader.scores(run, metrics, profile, asked.changes), bootstrap=asked.bootstrap) for run in runs.values()
    ]
    return {
        **scores_json(scores, intervals=intervals, per_query=per_query),
        "models": {name: run.model for name, run in runs.items()},
        "basis": basis_line(scores[0], intervals=intervals),
        "said": conventions_line(scores[0]),
        "notes": [*dict.fromkeys(note for note in notes if note), *counts_lines(scores)],
    }


@routes.get("/metrics", summary="All metrics")
def metrics() -> Json:
    """Every metric with its formula, range, direction, cutoff and parameters."""
    return Json({"metrics": [_metric(definition) for definition in REGISTRY.values()]})


@routes.get("/profiles", summary="All profiles")
def profiles() -> Json:
    """Every named set of conventions, and what it reproduces."""
    return Json({"profiles": [_profile(profile) for profile in PROFILES.values()]})


_NUMBERS = {
    "depth": ({"low": 1}, "read no ranking further than this; nothing reads all"),
    "relevance_level": ({"low": 0}, "smallest grade that counts as relevant; nothing counts every grade above 0"),
}


@routes.get("/conventions", summary="All conventions")
def conventions() -> Json:
    """Every convention with its choices and what they mean; the standard ones are the defaults."""
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
        # What the scores of a run file are was decided before the run was stored.
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
