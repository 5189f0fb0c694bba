"""The table of scores that a meta-evaluation reads: models by evaluators."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import numpy as np

from goldrank.errors import InputError, list_first, shorten
from goldrank.stats.resampling import Floats

KINDS = ("intrinsic", "downstream")


@dataclass(frozen=True)
class ScoreRow:
    """The value that one evaluator gives one model."""

    model: str
    evaluator: str
    value: float
    """NaN if it is missing."""
    kind: str = ""
    """``intrinsic``, ``downstream``, or empty if unknown."""
    family: str = ""
    """The family of the model; models of one family are not independent."""
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
    """The family of each model for which one is given."""
    lower: frozenset[str] = frozenset()
    """Evaluators for which a lower value is better."""
    source: str = ""
    remarks: tuple[str, ...] = ()
    reading: str = ""
    """A line that says what each column was read as, and which columns were ignored; empty for stored runs."""

    @classmethod
    def of(cls, rows: Iterable[ScoreRow], source: str, remarks: Sequence[str] = ()) -> Table:
        """Build the table; a value may be given repeatedly if it is always the same.

        Raises:
            InputError: if there are no rows, or if two rows contradict each other.
        """
        first_rows: dict[tuple[str, str], ScoreRow] = {}
        kinds: dict[str, str] = {}
        families: dict[str, str] = {}
        lower = set()
        for row in rows:
            first = first_rows.setdefault((row.model, row.evaluator), row)
            if not _alike(first.value, row.value):
                raise InputError(
                    f"{shorten(row.evaluator)} gives {shorten(row.model)} the value {row.value:g}, but "
                    f"{first.value:g} at {first.place or 'its first mention'}",
                    where=row.place or source,
                    remedy="keep one of the two, name variants of a model apart, or choose rows with --where",
                )
            _set_once(kinds, row.evaluator, row.kind, "kind of the evaluator", row.place or source)
            _set_once(families, row.model, row.family, "family of the model", row.place or source)
            lower |= {row.evaluator} if row.lower else set()
        if not first_rows:
            raise InputError(
                "the table holds no values", where=source, remedy="check the file and the conditions of --where"
            )
        models = list(dict.fromkeys(model for model, _ in first_rows))
        evaluators = list(dict.fromkeys(evaluator for _, evaluator in first_rows))
        values = np.full((len(models), len(evaluators)), math.nan)
        lines, columns = ({name: at for at, name in enumerate(names)} for names in (models, evaluators))
        for (model, evaluator), row in first_rows.items():
            values[lines[model], columns[evaluator]] = row.value
        return cls(models, evaluators, values, kinds, families, frozenset(lower), source, tuple(remarks))

    @property
    def missing(self) -> int:
        """The number of missing values."""
        return int(np.isnan(self.values).sum())

    def column(self, evaluator: str) -> Floats:
        """Return the values of an evaluator, one per model."""
        values: Floats = self.values[:, self.evaluators.index(evaluator)]
        return values

    def of_kind(self, kind: str) -> list[str]:
        """Return the evaluators of a kind."""
        return [name for name in self.evaluators if self.kinds.get(name) == kind]

    def select(self, wanted: Sequence[str]) -> list[str]:
        """Return the evaluators given by name, by the first words of their names, or by patterns such as ``STS*``.

        >>> rows = [ScoreRow("a", name, 1.0) for name in ("MR accuracy", "MRPC accuracy", "MRPC f1")]
        >>> Table.of(rows, "example").select(["MRPC", "MR acc*"])
        ['MRPC accuracy', 'MRPC f1', 'MR accuracy']
        """
        chosen: list[str] = []
        for name in wanted:
            exact = [known for known in self.evaluators if known == name]
            matches = exact or [k for k in self.evaluators if k.startswith(f"{name} ") or fnmatchcase(k, name)]
            if not matches:
                raise InputError(
                    f"there is no evaluator {shorten(name)}",
                    where=self.source or None,
                    remedy=_nearest(name, self.evaluators),
                )
            chosen += matches
        return list(dict.fromkeys(chosen))


def _alike(first: float, second: float) -> bool:
    return first == second or (math.isnan(first) and math.isnan(second))


def _set_once(known: dict[str, str], name: str, value: str, what: str, where: str) -> None:
    """Record the value of a name; refuse a second value that differs."""
    if value and known.setdefault(name, value) != value:
        raise InputError(
            f"the {what} {shorten(name)} is {shorten(known[name])} in one row and {shorten(value)} in another",
            where=where,
            remedy="make the rows agree",
        )


def _nearest(name: str, known: Sequence[str]) -> str:
    """Suggest evaluators with similar names, ignoring case and whether the metric was written."""
    spellings = {spelling.lower(): full for full in known for spelling in (full.partition(" ")[0], full)}
    near = [spellings[match] for match in difflib.get_close_matches(name.lower(), list(spellings), n=3, cutoff=0.6)]
    suggestion = f"did you mean {' or '.join(map(repr, dict.fromkeys(near)))}? " if near else ""
    return f"{suggestion}the table has {list_first(known, 12)}"
