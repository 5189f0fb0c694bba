"""A Python function as an encoder, and the import of functions that a spec names."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
        options, _ = Options.split(spec, without=("dtype", "max_length"))
        super().__init__(spec, options)
        self._function = function or import_function(spec)
        self._takes_side = takes_argument(self._function, 1, "side")
        self._version = source_stamp(self._function, by_name=function is None)

    @property
    def version(self) -> str:
        """A stamp of the function's file and of the files that it imports from its project."""
        return self._version

    def encode_batch(self, texts: list[str], side: Side) -> NDArray[Any]:
        """Return what the function returns."""
        with report_failure(str(self.spec)):
            vectors: NDArray[Any] = self._function(texts, side) if self._takes_side else self._function(texts)
        return vectors


@contextmanager
def report_failure(what: str) -> Iterator[None]:
    """Turn any exception of a user's code into a `GoldrankError` that says *what* failed."""
    try:
        yield
    except GoldrankError:
        raise
    except Exception as error:
        raise GoldrankError(f"{what} failed: {type(error).__name__}: {error}") from error


def encode_function_of(model: Any) -> Callable[[list[str], Side], Any]:
    """Return a function of texts and side that calls ``encode_query``, ``encode_document`` or ``encode`` of *model*."""
    query, item = getattr(model, "encode_query", model.encode), getattr(model, "encode_document", model.encode)

    def encode(texts: list[str], side: Side) -> Any:
        vectors = (query if side == "query" else item)(texts)
        return vectors.detach().cpu().numpy() if hasattr(vectors, "detach") else vectors

    return encode


def spec_of_function(function: Callable[..., Any], kind: str = "python") -> Spec:
    """Return the spec of a function object."""
    module = getattr(function, "__module__", None) or type(function).__module__
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return Spec(kind, f"{module}:{name}")


def import_function(spec: Spec) -> Callable[..., Any]:
    """Import the function that a spec of the form ``kind:module:function`` names."""
    written = f"{spec.kind}:{spec.argument}"
    module, _, name = spec.argument.partition(":")
    if not module or not name:
        raise InputError(f"{written} names no function", remedy=f"write {spec.kind}:module:function")
    folder = str(Path.cwd())
    try:
        # Unlike `python -c`, an installed command does not search the working directory, where models often are.
        sys.path.insert(0, folder)
        function: Any = importlib.import_module(module)
        for part in name.split("."):
            function = getattr(function, part)
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"{written} cannot be imported ({error})",
            remedy="start goldrank in the folder of the module, or install it",
        ) from error
    finally:
        sys.path.remove(folder)
    if not callable(function):
        raise InputError(f"{written} is not a function but {type(function).__name__}", remedy="name a function")
    return function  # type: ignore[no-any-return]


def takes_argument(function: Callable[..., Any], position: int, name: str) -> bool:
    """Return True if a function has a parameter *name*, or any required parameter, at *position* (from 0)."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    placed = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    # A parameter with a default and another name has another meaning, such as a batch size.
    return len(placed) > position and (
        placed[position].default is inspect.Parameter.empty or placed[position].name == name
    )
