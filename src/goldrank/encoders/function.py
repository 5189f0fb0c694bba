"""Any Python function as an encoder: texts to an array, or texts and side to an array."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from goldrank.encoders.base import BatchEncoder, Options, Side
from goldrank.encoders.source_files import source_stamp
from goldrank.errors import GoldrankError, InputError
from goldrank.specs import Spec


class CallableEncoder(BatchEncoder):
    """Calls a function with a list of texts, and with ``"query"`` or ``"item"`` if it takes a second argument."""

    def __init__(self, spec: Spec, function: Callable[..., Any] | None = None) -> None:
        options, _ = Options.take(spec, without=("dtype", "max_length"))
        super().__init__(spec, options)
        self._function = function or imported(spec)
        self._takes_side = takes_argument(self._function, 1, "side")
        self._version = source_stamp(self._function, by_name=function is None)

    @property
    def version(self) -> str:
        """A stamp of the file the function stands in, and of what it imports from its project."""
        return self._version

    def encode_batch(self, texts: list[str], side: Side) -> NDArray[Any]:
        """What the function returns."""
        try:
            made: NDArray[Any] = self._function(texts, side) if self._takes_side else self._function(texts)
        except GoldrankError:
            raise
        except Exception as error:
            raise GoldrankError(f"{self.spec} failed: {type(error).__name__}: {error}") from error
        return made


def encoding_of(model: Any) -> Callable[[list[str], Side], Any]:
    """How an object with ``encode`` is asked: queries and items apart where it tells them apart."""
    query, item = getattr(model, "encode_query", model.encode), getattr(model, "encode_document", model.encode)

    def encode(texts: list[str], side: Side) -> Any:
        vectors = (query if side == "query" else item)(texts)
        return vectors.detach().cpu().numpy() if hasattr(vectors, "detach") else vectors

    return encode


def named(function: Callable[..., Any], kind: str = "python") -> Spec:
    """The spec that stands for a function given as such."""
    module = getattr(function, "__module__", None) or type(function).__module__
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return Spec(kind, f"{module}:{name}")


def imported(spec: Spec) -> Callable[..., Any]:
    """The function that a spec of the form ``kind:module:function`` names."""
    asked = f"{spec.kind}:{spec.argument}"
    module, _, name = spec.argument.partition(":")
    if not module or not name:
        raise InputError(f"{asked} names no function", remedy=f"write {spec.kind}:module:function")
    try:
        # A command does not look where it was started, unlike `python -c`; people keep their models there.
        sys.path.insert(0, str(Path.cwd()))
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"{asked} cannot be imported ({error})", remedy="start goldrank where the module lies, or install it"
        ) from error
    finally:
        sys.path.remove(str(Path.cwd()))
    if not callable(found):
        raise InputError(f"{asked} is no function but {type(found).__name__}", remedy="name a function")
    return found  # type: ignore[no-any-return]


def takes_argument(function: Callable[..., Any], position: int, name: str) -> bool:
    """Whether a function wants the argument at *position* (from 0) that is known here as *name*."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    placed = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    # One with a default and another name means something else (a batch size, say).
    return len(placed) > position and (
        placed[position].default is inspect.Parameter.empty or placed[position].name == name
    )
