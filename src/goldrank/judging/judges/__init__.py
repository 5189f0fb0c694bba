"""Model judges: one module per kind, selected by a spec string."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from goldrank.encoders import Access, ModelKind
from goldrank.encoders.base import PairScorer
from goldrank.errors import AmbiguousNameError, GoldrankError, InputError, shorten, unknown_name
from goldrank.judging.judges.base import Judge, Question, Verdict, remarks_of
from goldrank.judging.labels import GradeScale
from goldrank.specs import Spec

__all__ = ["JUDGES", "Judge", "Question", "Verdict", "find_judge", "load_judge", "remarks_of"]


def _kind(module: str, maker: str, summary: str, extra: str, example: str, access: Access = "local") -> ModelKind:
    install = f"pip install 'goldrank[{extra}]'" if extra else ""
    return ModelKind(f"goldrank.judging.judges.{module}", maker, summary, install, example, access)


JUDGES: dict[str, ModelKind] = {
    "openai": _kind(
        "chat",
        "ChatJudge",
        "an OpenAI-compatible chat server",
        "",
        "openai:llama-3.1-8b@http://localhost:8000/v1",
        "network",
    ),
    "cross": _kind(
        "pair_scores",
        "PairScoreJudge",
        "a cross-encoder of sentence-transformers; its scores are cut into grades",
        "st",
        "cross:cross-encoder/ms-marco-MiniLM-L6-v2",
        "hub",
    ),
    "pairs": _kind(
        "pair_scores",
        "PairScoreJudge",
        "your own function, pairs to scores, which are cut into grades",
        "",
        "pairs:mymodel:score",
        "code",
    ),
    "overlap": _kind(
        "pair_scores", "PairScoreJudge", "share of words in common, cut into grades; built in", "", "overlap"
    ),
    "python": _kind(
        "function", "FunctionJudge", "your own function(query, passage) to a grade", "", "python:mymodel:grade", "code"
    ),
    "file": _kind("grade_file", "GradeFile", "grades made elsewhere: qrels, CSV …", "", "file:grades.txt"),
}


def load_judge(spec: str | Spec | Judge | PairScorer | Callable[..., Any], scale: GradeScale) -> Judge:
    """Load the judge that *spec* names, or wrap a function of (query, passage); a path is a file of grades.

    >>> load_judge("overlap(thresholds=0.1/0.3/0.6)", GradeScale()).name
    'overlap 1 thresholds 0.1/0.3/0.6'
    >>> load_judge("opnai:m@http://host/v1", GradeScale())  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    goldrank.errors.UnknownNameError: there is no kind of judge 'opnai'; did you mean 'openai' ...
    """
    if isinstance(spec, str):
        spec = Spec("file", spec) if _is_file(spec) else Spec.parse(spec)
    if isinstance(spec, Spec):
        kind = JUDGES.get(spec.kind)
        if kind is None:
            raise unknown_name("kind of judge", spec.kind, JUDGES, "goldrank list judges")
        judge: Judge = getattr(import_module(kind.module), kind.maker)(spec, scale)
        return judge
    if isinstance(spec, Judge):
        return spec
    if isinstance(spec, PairScorer):
        from goldrank.judging.judges.pair_scores import PairScoreJudge

        return PairScoreJudge(Spec("pairs"), scale, spec)
    if not callable(spec):
        raise InputError(f"{shorten(spec)} is not a judge", remedy="give a spec string or a function")
    from goldrank.encoders.function import spec_of_function
    from goldrank.judging.judges.function import FunctionJudge

    return FunctionJudge(spec_of_function(spec), scale, spec)


def _is_file(text: str) -> bool:
    """Return True for a path: of a file that exists, or one that cannot be a spec."""
    return Path(text).expanduser().is_file() or re.fullmatch(r"\w+(?:[:(].*)?", text, re.DOTALL) is None


def find_judge(names: Sequence[str], spec: str) -> str:
    """Return the name of the judge that *spec* means among those that have graded something.

    The spec may leave out options and versions as long as one judge fits.

    >>> find_judge(["openai:m@http://host/v1", "overlap 1"], "overlap")
    'overlap 1'

    Raises:
        InputError: No judge fits, or several do.
    """
    if spec in names:
        return spec
    if _is_file(spec):
        fitting = [name for name in names if name.startswith(f"file:{Path(spec).name} ")]
    else:
        fitting = [name for name in names if name.startswith((f"{spec} ", f"{spec}("))]
    if not fitting:
        fitting = [name for name in names if name.startswith(_without_options(spec))]
    if len(fitting) > 1:
        raise AmbiguousNameError(
            f"several judges fit {shorten(spec)}: {', '.join(fitting)}", remedy="write the whole name in quotes"
        )
    if not fitting:
        if not names:
            raise InputError("no model judge has graded anything", remedy="goldrank judge grade --judge SPEC does")
        raise unknown_name("judge", spec, names, f"those that have graded: {', '.join(names)}")
    return fitting[0]


def _without_options(spec: str) -> str:
    try:
        parsed = Spec.parse(spec)
    except GoldrankError:
        return spec
    return str(Spec(parsed.kind, parsed.argument))
