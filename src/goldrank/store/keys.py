"""The names of a run: the digest of its inputs, and a short readable key."""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from typing import Any

from goldrank.errors import InputError, shorten
from goldrank.redaction import redact_all
from goldrank.specs import split_at_commas

_LONGEST_SLUG = 32
_LONGEST_SERVED = 64
"""Names of models behind a server are long and differ at their ends."""
_SHORTEST_DIGEST = 4
EVALUATED = "evaluated"
"""The input that distinguishes the dated versions of a run: the time of the evaluation."""
_DATE = re.compile(r"-\d{8}t\d{4,12}z$")


def digest(inputs: Mapping[str, Any]) -> str:
    """Return the sha256 of *inputs* as canonical JSON, which does not depend on the order of their keys.

    >>> digest({"task": "wines", "seed": 0}) == digest({"seed": 0, "task": "wines"})
    True
    >>> digest({"seed": 0}) == digest({"seed": 0.0})
    False
    """
    return hashlib.sha256(canonical_json(inputs, "inputs").encode()).hexdigest()


def canonical_json(content: Mapping[str, Any], name: str) -> str:
    """Return JSON in ASCII with sorted keys and floats by their repr; raise for values that JSON cannot hold.

    Secrets are redacted, so that none is stored, and inputs that differ only in a secret have the same digest.

    >>> canonical_json({"b": 0.1, "a": [True, None]}, "inputs")
    '{"a":[true,null],"b":0.1}'
    """
    _refuse_what_json_cannot_hold(dict(content), name)
    return json.dumps(redact_all(content), sort_keys=True, separators=(",", ":"), allow_nan=False)


def _refuse_what_json_cannot_hold(value: Any, path: str) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            # JSON has the same key for 1 and "1", so that different inputs would have the same digest.
            if not isinstance(key, str):
                raise InputError(f"the key {shorten(key)} in {path} is not a string", remedy="use str(…)")
            _refuse_what_json_cannot_hold(inner, f"{path}.{key}")
    elif isinstance(value, (list, tuple)):
        for i, inner in enumerate(value):
            _refuse_what_json_cannot_hold(inner, f"{path}[{i}]")
    elif isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{path} is {value}, which JSON cannot hold", remedy="give a finite number or null")
    elif not (value is None or isinstance(value, (str, bool, int, float))):
        raise InputError(
            f"{path} is of type {type(value).__name__}, which JSON cannot hold",
            remedy="use strings, numbers, true, false, null, lists and dicts",
        )


def undated(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs that all dated versions of a run share."""
    return {name: value for name, value in inputs.items() if name != EVALUATED}


def run_name(key: str) -> str:
    """Return the name of a run: its key without the date of a dated version.

    >>> run_name("wines-http-search-3f2a-20261116t1807z"), run_name("wines-bm25-91c0")
    ('wines-http-search-3f2a', 'wines-bm25-91c0')
    """
    return _DATE.sub("", key)


def versions_back(key: str) -> tuple[str, int | None]:
    """Return a key without its ``~N``, and N; None if it has none.

    >>> versions_back("wines-http-search~1"), versions_back("wines-http-search")
    (('wines-http-search', 1), ('wines-http-search', None))
    """
    name, tilde, back = key.rpartition("~")
    return (name, int(back)) if tilde and back.isdecimal() and len(back) < 10 else (key, None)


def dated_keys(name: str, evaluated: str) -> Iterator[str]:
    """Yield keys for the version of a run that was evaluated at an ISO time, the shortest first.

    >>> list(dated_keys("wines-http-search-3f2a", "2026-11-16T18:07:37.000123+00:00"))[:2]
    ['wines-http-search-3f2a-20261116t1807z', 'wines-http-search-3f2a-20261116t180737z']
    """
    when = datetime.fromisoformat(evaluated).astimezone(timezone.utc)
    for form in ("%Y%m%dt%H%Mz", "%Y%m%dt%H%M%Sz", "%Y%m%dt%H%M%S%fz"):
        yield f"{name}-{when.strftime(form)}"


def candidates(task: str, model: str, digest: str) -> Iterator[str]:
    """Yield keys for a run, the shortest first; longer ones show more of the digest.

    >>> list(candidates("wines", "wordllama", "3f2a91"))
    ['wines-wordllama-3f2a', 'wines-wordllama-3f2a91']
    """
    stem = f"{_slug(_last_part(task)) or 'task'}-{_model_slug(model) or 'model'}"
    for length in range(_SHORTEST_DIGEST, len(digest) + 1, 2):
        yield f"{stem}-{digest[:length]}"


def _model_slug(spec: str) -> str:
    """Return the kind of a model with the last part of its argument; for ``MODEL@URL`` the whole model without the URL.

    >>> _model_slug("fuse:rrf(bm25,wordllama)"), _model_slug("st:BAAI/bge-base-en-v1.5(dim=256)")
    ('rrf-bm25-wordllama', 'st-bge-base-en-v1-5')
    >>> _model_slug("llm:gpt-4o-mini@https://host/v1?api_key=x(key=MY_KEY)"), _model_slug("llm:org/llama-3.1-8b")
    ('llm-gpt-4o-mini', 'llm-org-llama-3-1-8b')
    """
    served = _SERVED.match(spec.strip())
    return _slug(served[1] or served[2], _LONGEST_SERVED) if served else _slug("-".join(_model_words(spec)))


# The part before the URL, which may hold a key, and whose last part is the same for all models of a server. The model
# ends at the first @, because a URL may contain another one.
_SERVED = re.compile(r"((?!fuse:)[^@(]+)@https?://|(llm:[^@(]+)")


def _model_words(spec: str) -> Iterator[str]:
    first, arrow, reranker = spec.strip().partition(" > ")
    if arrow:
        yield from (*_model_words(first), *_model_words(reranker))
        return
    kind, colon, argument = spec.strip().partition(":")
    if kind == "fuse" and colon:
        method, _, inside = argument.partition("(")
        yield method
        try:
            parts = split_at_commas(inside.removesuffix(")"), spec)
        except InputError:  # a spec that cannot be parsed gets a key too
            parts = inside.split(",")
        for part in parts:
            if not re.match(r"\w+\s*=", part):
                yield from _model_words(part)
    elif "(" in kind or not colon:
        yield spec.partition("(")[0]
    else:
        yield from (kind, _last_part(argument.partition("(")[0]))


def _last_part(path: str) -> str:
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1]


def _slug(text: str, longest: int = _LONGEST_SLUG) -> str:
    """Return lower-case ASCII words joined by hyphens.

    >>> _slug("Vins d'Alsace & café")
    'vins-d-alsace-cafe'
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:longest].rstrip("-")
