"""What loading a model does besides reading local files, for specs that come from data and not from the user."""

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
    """What a user has to agree to before something is loaded that data names."""

    code: bool = False
    """Whether Python code runs that is not goldrank's."""
    connection: bool = False
    """Whether a connection is opened to a named server, which may get texts and keys."""
    download: bool = False
    """Whether a model is downloaded from a hub, which gets neither."""

    def __or__(self, other: Effects) -> Effects:
        return Effects(self.code or other.code, self.connection or other.connection, self.download or other.download)

    def __bool__(self) -> bool:
        return self.code or self.connection or self.download

    def __str__(self) -> str:
        said = {"runs code": self.code, "opens a connection": self.connection, "downloads a model": self.download}
        return " and ".join(text for text, so in said.items() if so) or "reads local files only"


def effects_of(model: str) -> Effects:
    """Return what loading and using the model *model* does, by the `access` of its kind; nothing is loaded.

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
    # An unknown kind is refused by whoever loads it.
    access = "local" if kind is None else kind.access
    here = bool(spec.argument) and Path(spec.argument).expanduser().exists()
    trusting = spec.options.get("trust_remote_code", "").lower() == "true"
    named = [spec.argument, *(value for name, value in spec.options.items() if name not in _TEXT_OPTIONS)]
    return Effects(
        code=access == "code" or (access == "hub" and (here or trusting)),
        connection=access == "network" or any(is_address(text) for text in named),
        download=access in ("hub", "download") and not here,
    )


def is_address(place: str) -> bool:
    r"""Return True if *place* is on another machine: a URL that is no file or SQLite database, or a Windows share.

    >>> is_address("s3://bucket/a"), is_address(r"\\host\share"), is_address("sqlite:///a.db"), is_address("a/b")
    (True, True, False, False)
    """
    if place.startswith(("\\\\", "//")):
        return True
    scheme, found, _ = place.partition("://")
    return bool(found) and scheme.rpartition("@")[2].rpartition(":")[2].lower() not in ("file", "sqlite")


def described(model: str) -> str:
    """Return the model and what it does, as part of a sentence.

    >>> described("python:mymodel:encode")
    "'python:mymodel:encode', which runs code"
    """
    return f"{shorten(model, 160)}, which {effects_of(model)}"
