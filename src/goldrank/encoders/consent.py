"""Determine whether a model runs code, opens connections or downloads, for specs that come from data, not users."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from goldrank.encoders import KINDS
from goldrank.encoders.pair_scorers import PAIR_KINDS
from goldrank.errors import shorten
from goldrank.fusion import Fusion, is_fusion
from goldrank.specs import Spec

_TEXT_OPTIONS = ("query_prompt", "item_prompt")


@dataclass(frozen=True)
class Effects:
    """The effects of loading a model that a user has to agree to if the spec comes from data."""

    code: bool = False
    """Whether Python code runs that is not part of goldrank."""
    connection: bool = False
    """Whether a connection is opened to a named server, which may receive texts and keys."""
    download: bool = False
    """Whether a model is downloaded from a hub, which receives neither."""

    def __or__(self, other: Effects) -> Effects:
        return Effects(self.code or other.code, self.connection or other.connection, self.download or other.download)

    def __bool__(self) -> bool:
        return self.code or self.connection or self.download

    def __str__(self) -> str:
        effects = {"runs code": self.code, "opens a connection": self.connection, "downloads a model": self.download}
        return " and ".join(text for text, applies in effects.items() if applies) or "reads local files only"


def effects_of(model: str) -> Effects:
    """Return the effects of loading and using a model, by the `access` of its kind; nothing is loaded.

    >>> str(effects_of("fuse:rrf(bm25,python:mymodel:encode)")), str(effects_of("openai:m@http://host/v1"))
    ('runs code', 'opens a connection')
    >>> bool(effects_of("words:glove.6B.50d.txt"))
    False
    """
    if is_fusion(model):
        effects = Effects()
        for part in Fusion.parse(model).parts:
            effects |= effects_of(part)
        return effects
    spec = Spec.parse(model)
    kind = KINDS.get(spec.kind) or PAIR_KINDS.get(spec.kind)
    # An unknown kind is refused when it is loaded.
    access = "local" if kind is None else kind.access
    is_local = bool(spec.argument) and Path(spec.argument).expanduser().exists()
    trusts_code = spec.options.get("trust_remote_code", "").lower() == "true"
    locations = [spec.argument, *(value for name, value in spec.options.items() if name not in _TEXT_OPTIONS)]
    return Effects(
        code=access == "code" or (access == "hub" and (is_local or trusts_code)),
        connection=access == "network" or any(is_address(text) for text in locations),
        download=access in ("hub", "download") and not is_local,
    )


def is_address(place: str) -> bool:
    r"""Return True if *place* is remote: a URL other than of a file or an SQLite database, or a Windows share.

    >>> is_address("s3://bucket/a"), is_address(r"\\host\share"), is_address("sqlite:///a.db"), is_address("a/b")
    (True, True, False, False)
    """
    if place.startswith(("\\\\", "//")):
        return True
    scheme, separator, _ = place.partition("://")
    return bool(separator) and scheme.rpartition("@")[2].rpartition(":")[2].lower() not in ("file", "sqlite")


def describe_effects(model: str) -> str:
    """Return the model and its effects, as part of a sentence.

    >>> describe_effects("python:mymodel:encode")
    "'python:mymodel:encode', which runs code"
    """
    return f"{shorten(model, 160)}, which {effects_of(model)}"
