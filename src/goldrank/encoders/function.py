"""A Python function as an encoder, and the import of functions that a spec names."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from goldrank.encoders.base import LIVE, BatchEncoder, Options, Side, parse_bool
from goldrank.encoders.objects import encode_function_of, refuse_class
from goldrank.encoders.source_files import source_stamp
from goldrank.errors import GoldrankError, InputError
from goldrank.specs import Spec


class CallableEncoder(BatchEncoder):
    """Calls a function with a list of texts, and with ``"query"`` or ``"item"`` if it takes a second argument.

    ``live=true`` says that it reads data or asks a server, so that its code alone does not determine its vectors.
    """

    def __init__(self, spec: Spec, function: Callable[..., Any] | None = None) -> None:
        options, own = Options.split(spec, "live", without=("dtype", "max_length"))
        super().__init__(spec, options)
        self._function = function or _encode_function(import_object(spec), spec)
        self._takes_side = takes_argument(self._function, 1, "side")
        self._stamp = stamp_of_function(spec, function, own)

    @property
    def live(self) -> bool:
        """Whether the vectors may change while the code stays the same, or the code cannot be known."""
        return self._stamp.version is None

    @property
    def resumable(self) -> bool:
        """Whether another process can import the function."""
        return self._stamp.named

    @property
    def version(self) -> str:
        """A stamp of the function's file and of the files that it imports from its project."""
        return self._stamp.version or LIVE

    def encode_batch(self, texts: list[str], side: Side) -> NDArray[Any]:
        """Return what the function returns."""
        with report_failure(str(self.spec)):
            vectors: NDArray[Any] = self._function(texts, side) if self._takes_side else self._function(texts)
        return vectors


@dataclass(frozen=True)
class FunctionStamp:
    """The identity of a function."""

    version: str | None
    """A digest of its code; None if that does not determine what it returns."""
    named: bool
    """Whether the function was imported by its name, so that another process can import it too."""


def stamp_of_function(spec: Spec, given: Callable[..., Any] | None, own: Mapping[str, str]) -> FunctionStamp:
    """Return the stamp of the function that a spec names; *given* is the function if the caller has it in memory.

    A function in memory has no digest, because it may read variables that change, such as a model in training.
    """
    if given is not None:
        return FunctionStamp(None, named=False)
    if parse_bool("live", own.get("live", "false")):
        return FunctionStamp(None, named=True)
    return FunctionStamp(source_stamp(import_object(spec), spec.argument.partition(":")[0]), named=True)


@contextmanager
def report_failure(what: str) -> Iterator[None]:
    """Turn any exception of a user's code into a `GoldrankError` that says *what* failed."""
    try:
        yield
    except GoldrankError:
        raise
    except Exception as error:
        raise GoldrankError(f"{what} failed: {type(error).__name__}: {error}") from error


def spec_of_function(function: Callable[..., Any] | object, kind: str = "python") -> Spec:
    """Return the spec of a function object."""
    module = getattr(function, "__module__", None) or type(function).__module__
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return Spec(kind, f"{module}:{name}")


def _encode_function(model: Any, spec: Spec) -> Callable[..., Any]:
    """Return the function that encodes: a function itself, or the method of an object."""
    return encode_function_of(model) or checked_function(model, spec)


def import_function(spec: Spec) -> Callable[..., Any]:
    """Import the function that a spec of the form ``kind:module:function`` names."""
    return checked_function(import_object(spec), spec)


def checked_function(function: Any, spec: Spec) -> Callable[..., Any]:
    """Return *function* if it can be called."""
    if not callable(function):
        written = f"{spec.kind}:{spec.argument}"
        raise InputError(f"{written} is not a function but {type(function).__name__}", remedy="name a function")
    return function  # type: ignore[no-any-return]


def import_object(spec: Spec) -> Any:
    """Import the function or object that a spec of the form ``kind:module:name`` names."""
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
    refuse_class(function, written)
    return function


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
