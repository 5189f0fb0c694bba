"""A table of scores: models by evaluators."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import numpy as np

from goldrank.errors import InputError, shorten
from goldrank.stats.resampling import Floats

KINDS = ("intrinsic", "downstream")


@dataclass(frozen=True)
class ScoreRow:
    """One value: what an evaluator gave a model."""

    model: str
    evaluator: str
    value: float
    """NaN where there is none."""
    kind: str = ""
    """``intrinsic``, ``downstream`` or nothing."""
    family: str = ""
    """Models of one family are not independent of each other."""
    lower: bool = False
    """Whether a lower value is better."""
    place: str = ""


@dataclass(frozen=True, eq=False)
class Table:
    """Models by evaluators, NaN where a model has no value.

    >>> rows = [ScoreRow("a", "mrr", 0.5), ScoreRow("a", "accuracy", 0.8), ScoreRow("b", "mrr", 0.25)]
    >>> table = Table.of(rows, "example")
    >>> table.models, table.evaluators, table.missing
    (['a', 'b'], ['mrr', 'accuracy'], 1)
    """

    models: list[str]
    evaluators: list[str]
    values: Floats
    kinds: dict[str, str] = field(default_factory=dict)
    families: dict[str, str] = field(default_factory=dict)
    """By model, where one is given."""
    lower: frozenset[str] = frozenset()
    """Evaluators for which a lower value is better."""
    source: str = ""
    remarks: tuple[str, ...] = ()

    @classmethod
    def of(cls, rows: Iterable[ScoreRow], source: str, remarks: Sequence[str] = ()) -> Table:
        """The table of these rows; a model may have one value from each evaluator, given once or alike."""
        given: dict[tuple[str, str], ScoreRow] = {}
        kinds: dict[str, str] = {}
        families: dict[str, str] = {}
        lower = set()
        for row in rows:
            first = given.setdefault((row.model, row.evaluator), row)
            if not _alike(first.value, row.value):
                raise InputError(
                    f"{shorten(row.evaluator)} gives {shorten(row.model)} the value {row.value:g}, but "
                    f"{first.value:g} at {first.place or 'its first mention'}",
                    where=row.place or source,
                    remedy="keep one of the two, name variants of a model apart, or choose rows with --where",
                )
            _settle(kinds, row.evaluator, row.kind, "evaluator", row.place or source)
            _settle(families, row.model, row.family, "model", row.place or source)
            lower |= {row.evaluator} if row.lower else set()
        if not given:
            raise InputError(
                "the table holds no values", where=source, remedy="check it, and what --where leaves of it"
            )
        models = list(dict.fromkeys(model for model, _ in given))
        evaluators = list(dict.fromkeys(evaluator for _, evaluator in given))
        values = np.full((len(models), len(evaluators)), math.nan)
        lines, columns = ({name: at for at, name in enumerate(names)} for names in (models, evaluators))
        for (model, evaluator), row in given.items():
            values[lines[model], columns[evaluator]] = row.value
        return cls(models, evaluators, values, kinds, families, frozenset(lower), source, tuple(remarks))

    @property
    def missing(self) -> int:
        """How many values are not there."""
        return int(np.isnan(self.values).sum())

    def column(self, evaluator: str) -> Floats:
        """The values of an evaluator, one per model."""
        found: Floats = self.values[:, self.evaluators.index(evaluator)]
        return found

    def of_kind(self, kind: str) -> list[str]:
        """The evaluators of that kind."""
        return [name for name in self.evaluators if self.kinds.get(name) == kind]

    def select(self, wanted: Sequence[str]) -> list[str]:
        """The evaluators meant by names, by first words of names, or by patterns such as ``STS*``.

        >>> rows = [ScoreRow("a", name, 1.0) for name in ("MR accuracy", "MRPC accuracy", "MRPC f1")]
        >>> Table.of(rows, "example").select(["MRPC", "MR acc*"])
        ['MRPC accuracy', 'MRPC f1', 'MR accuracy']
        """
        chosen: list[str] = []
        for name in wanted:
            exact = [known for known in self.evaluators if known == name]
            found = exact or [k for k in self.evaluators if k.startswith(f"{name} ") or fnmatchcase(k, name)]
            if not found:
                raise InputError(
                    f"there is no evaluator {shorten(name)}",
                    where=self.source or None,
                    remedy=_nearest(name, self.evaluators),
                )
            chosen += found
        return list(dict.fromkeys(chosen))


def _alike(first: float, second: float) -> bool:
    return first == second or (math.isnan(first) and math.isnan(second))


def _settle(known: dict[str, str], name: str, given: str, what: str, where: str) -> None:
    """Note what is said of a name, which may be said once or alike."""
    if given and known.setdefault(name, given) != given:
        raise InputError(
            f"the {what} {shorten(name)} is of {shorten(known[name])} in one row and of {shorten(given)} in another",
            where=where,
            remedy="make the rows agree",
        )


def _nearest(name: str, known: Sequence[str], limit: int = 12) -> str:
    """Which evaluators may have been meant, whatever their case and whether or not their metric was written."""
    spelt = {spelling.lower(): one for one in known for spelling in (one.partition(" ")[0], one)}
    near = [spelt[found] for found in difflib.get_close_matches(name.lower(), list(spelt), n=3, cutoff=0.6)]
    meant = f"did you mean {' or '.join(map(repr, dict.fromkeys(near)))}? " if near else ""
    more = f" and {len(known) - limit} more" if len(known) > limit else ""
    return f"{meant}the table has {', '.join(known[:limit])}{more}"
