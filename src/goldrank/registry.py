"""Registries: things by name, built in or added by installed packages through entry points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn, TypeVar

from goldrank.errors import GoldrankError, reason_of

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


class Registry(Mapping[str, T]):
    """Things of one type by name: those of goldrank first, then those of installed packages.

    A package adds a thing with an entry point in the group of the registry. The entry point has the name of the thing
    and refers to the thing itself::

        [project.entry-points."goldrank.metrics"]
        mymetric = "mypackage:MYMETRIC"

    Entry points are read when a name is not built in or when all names are listed, and an object is imported when it is
    used, so that packages that are not used cost no time.

    >>> registry = Registry("goldrank.examples", int, {"one": 1})
    >>> registry["one"], "two" in registry, list(registry)
    (1, False, ['one'])
    """

    def __init__(self, group: str, kind: type[T], built_in: Mapping[str, T]) -> None:
        self.group = group
        self._kind = kind
        self._built_in = built_in
        self._loaded: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name in self._built_in:
            return self._built_in[name]
        if name not in self._loaded:
            self._loaded[name] = self._load(self._entry_points[name])
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._built_in or name in self._entry_points

    def __iter__(self) -> Iterator[str]:
        yield from self._built_in
        yield from self._entry_points

    def __len__(self) -> int:
        return len(self._built_in) + len(self._entry_points)

    @property
    def added(self) -> dict[str, T]:
        """What installed packages add, by name."""
        return {name: self[name] for name in self._entry_points}

    @cached_property
    def _entry_points(self) -> dict[str, EntryPoint]:
        from importlib.metadata import entry_points  # takes as long to import as a tenth of a command

        added: dict[str, EntryPoint] = {}
        for entry in entry_points(group=self.group):
            other = added.setdefault(entry.name, entry)
            if entry.name in self._built_in:
                self._refuse(entry, "a name that goldrank has already")
            if other.value != entry.value:
                self._refuse(entry, f"a name that {_package(other)} adds as well")
        return added

    def _load(self, entry: EntryPoint) -> T:
        try:
            value = entry.load()
        except Exception as error:
            self._refuse(entry, f"which cannot be imported ({type(error).__name__}: {reason_of(error)})")
        if not isinstance(value, self._kind):
            self._refuse(entry, f"which is of the type {type(value).__name__} and not {self._kind.__name__}")
        name = getattr(value, "name", entry.name)
        if name != entry.name:
            self._refuse(entry, f"whose own name is {name!r}")
        return value

    def _refuse(self, entry: EntryPoint, reason: str) -> NoReturn:
        package = _package(entry)
        raise GoldrankError(
            f"the package {package} adds {entry.name!r} to the entry points {self.group}, {reason}; "
            f"update or uninstall {package}"
        )


def _package(entry: EntryPoint) -> str:
    return entry.value.partition(":")[0] if entry.dist is None else entry.dist.name
