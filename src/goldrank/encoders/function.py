"""Any Python function as an encoder: texts to an array, or texts and side to an array."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from goldrank.encoders.base import BatchEncoder, Options, Side
from goldrank.encoders.provenance import stamp
from goldrank.encoders.spec import Spec
from goldrank.errors import GoldrankError, InputError


class CallableEncoder(BatchEncoder):
    """Calls a function with a list of texts, and with ``"query"`` or ``"item"`` if it takes a second argument."""

    def __init__(self, spec: Spec, function: Callable[..., Any] | None = None) -> None:
        options, _ = Options.take(spec, without=("dtype", "max_length"))
        super().__init__(spec, options)
        self._function = function or _imported(spec.argument)
        self._takes_side = _takes_side(self._function)
        self._version = _source(self._function)

    @property
    def version(self) -> str:
        """A stamp of the file the function stands in."""
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


def named(function: Callable[..., Any]) -> Spec:
    """The spec that stands for a function given as such."""
    module = getattr(function, "__module__", None) or type(function).__module__
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return Spec("python", f"{module}:{name}")


def _imported(argument: str) -> Callable[..., Any]:
    module, _, name = argument.partition(":")
    if not module or not name:
        raise InputError(f"python:{argument} names no function", remedy="write python:module:function")
    try:
        # A command does not look where it was started, unlike `python -c`; people keep their models there.
        sys.path.insert(0, str(Path.cwd()))
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"python:{argument} cannot be imported ({error})",
            remedy="start goldrank where the module lies, or install it",
        ) from error
    finally:
        sys.path.remove(str(Path.cwd()))
    if not callable(found):
        raise InputError(f"python:{argument} is no function but {type(found).__name__}", remedy="name a function")
    return found  # type: ignore[no-any-return]


def _takes_side(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    placed = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    # A second argument with a default that is not called side means something else (a batch size, say).
    return len(placed) > 1 and (placed[1].default is inspect.Parameter.empty or placed[1].name == "side")


def _source(function: Callable[..., Any]) -> str:
    """The stamp of the source file; for what has none, or holds state, something that never comes again."""
    code = getattr(function, "__code__", None)
    name = getattr(function, "__qualname__", "<")
    if code is not None and "<" not in name and not function.__closure__ and Path(code.co_filename).is_file():
        return stamp(Path(code.co_filename))
    return f"unnamed {os.urandom(8).hex()}"
