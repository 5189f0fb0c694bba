"""Declare metrics (formula, parameters, citations and function) and parse their written form."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from goldrank.errors import GoldrankError, InputError, shorten, unknown_name
from goldrank.hits import Floats
from goldrank.metrics.names import as_text, expand, is_measure, split, translate, unknown_metric
from goldrank.metrics.placement import Placement
from goldrank.registry import Registry

Setting = str | int | float | None
Direction = Literal["higher", "lower", "neither"]
Aggregate = Literal["mean", "geometric", "median", "sum", "nauc"]
Cutoff = Literal["optional", "required", "none", "recall"]


@dataclass(frozen=True)
class Values:
    """One value per query (NaN if the metric is undefined), with weights if gold items are pooled.

    For the aggregate ``nauc`` the weights are the confidences of the run.
    """

    values: Floats
    weights: Floats | None = None


@dataclass(frozen=True)
class Parameter:
    """A parameter of a metric: its name, what it changes, and the values it takes."""

    name: str
    doc: str
    default: Setting
    choices: tuple[Setting, ...] = ()
    number: Literal["int", "float"] | None = None
    low: float = -math.inf
    high: float = math.inf

    def parse(self, text: str, metric: str) -> Setting:
        """Return the value that *text* names, or raise an error that lists the allowed values."""
        for choice in self.choices:
            if text == str(choice):
                return choice
        if self.number is not None:
            try:
                value: Setting = int(text) if self.number == "int" else float(text)
            except ValueError:
                value = None
            if isinstance(value, (int, float)) and math.isfinite(value) and self.low <= value <= self.high:
                return value
        raise InputError(f"{metric} has no {self.name}={shorten(text)}", remedy=f"use {self.allowed}")

    @property
    def allowed(self) -> str:
        """The allowed values, for people."""
        words = [str(choice) for choice in self.choices if choice is not None]
        if self.number is not None:
            bounds = [f"from {self.low:g}"] * (self.low > -math.inf) + [f"to {self.high:g}"] * (self.high < math.inf)
            words.append(" ".join(["a whole number" if self.number == "int" else "a number", *bounds]))
        return " | ".join(words)


@dataclass(frozen=True)
class GainsParameter(Parameter):
    """A parameter that maps grades to gains, written ``1:3.5/2:9`` or ``{1:3.5,2:9}``."""

    def parse(self, text: str, metric: str) -> Setting:
        """Return the gains in their normal form: ordered by grade, as ``1:3.5/2:9``."""
        gains: dict[float, float] = {}
        for entry in re.split(r"[/,]", text.strip().removeprefix("{").removesuffix("}")):
            try:
                grade, gain = (float(part) for part in entry.split(":"))
            except ValueError:
                grade = gain = math.nan
            if not (math.isfinite(grade) and math.isfinite(gain) and gain >= 0) or grade in gains:
                raise InputError(f"{metric} has no {self.name}={shorten(text)}", remedy=f"use {self.allowed}")
            gains[grade] = gain
        return "/".join(f"{_plain(grade)}:{_plain(gain)}" for grade, gain in sorted(gains.items()))

    @property
    def allowed(self) -> str:
        """The allowed values, for people."""
        return "grade:gain/grade:gain, each grade once and gains from 0 up"


def _plain(number: float) -> str:
    return str(int(number)) if number.is_integer() else repr(number)


RELEVANT = Parameter(
    "rel",
    "smallest grade that counts as relevant; by default the relevance level of all metrics (-l), or every grade above "
    "0",
    None,
    number="float",
)
AVERAGE = Parameter(
    "average",
    "where gold items are pooled: queries gives every query the same weight, however many it has (macro)",
    "items",
    ("items", "queries"),
)


@dataclass(frozen=True)
class Definition:
    """The declaration of a metric, from which `goldrank explain` and the reference page are generated."""

    name: str
    title: str
    formula: str
    compute: Callable[..., Values]
    range: str = "[0, 1]"
    direction: Direction = "higher"
    cutoff: Cutoff = "optional"
    parameters: tuple[Parameter, ...] = ()
    aggregate: Aggregate = "mean"
    proportion: bool = False
    """Whether each query scores 0 or 1, so that the mean is a proportion."""
    expected: bool = True
    """Whether the mean over all orders of tied items has a closed form."""
    aliases: tuple[str, ...] = ()
    cite: str = ""
    tools: tuple[tuple[str, str], ...] = ()
    """Pairs of a tool, and the name under which it prints this metric or a variant of it."""
    notes: str = ""
    subtopics: bool = False
    """Whether it reads the grade for each subtopic; other metrics read the highest grade of an item."""

    @property
    def defaults(self) -> dict[str, Setting]:
        """Each parameter with its default."""
        return {parameter.name: parameter.default for parameter in self.parameters}


_BUILT_IN: dict[str, Definition] = {}
_ALIASES: dict[str, str] = {}
REGISTRY: Registry[Definition] = Registry("goldrank.metrics", Definition, _BUILT_IN)


def register(definition: Definition) -> Definition:
    """Add a built-in metric under its name and aliases."""
    _add_names(definition)
    _BUILT_IN[definition.name] = definition
    return definition


def _add_names(definition: Definition) -> None:
    for name in (definition.name, *definition.aliases):
        if name.lower() in _ALIASES:
            raise GoldrankError(
                f"the metrics {definition.name!r} and {_ALIASES[name.lower()]!r} are both written {name!r}"
            )
        _ALIASES[name.lower()] = definition.name


@cache
def _add_installed() -> None:
    """Add the names of the metrics of installed packages."""
    for definition in REGISTRY.added.values():
        _add_names(definition)


@dataclass(frozen=True)
class Metric:
    """A metric with its cutoff and the parameters that are set: an immutable, hashable value.

    >>> str(Metric.parse("MAP(denominator=hits)@10"))
    'map(denominator=hits)@10'
    """

    definition: Definition
    cutoff: int | float | None = None
    settings: Mapping[str, Setting] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str, *, needs_cutoff: bool = True) -> Metric:
        """Parse ``name``, ``name@k`` or ``name(parameter=value, …)@k``, or a name that another tool uses.

        Args:
            text: The written metric, or a measure object of ir_measures.
            needs_cutoff: Whether to reject a metric without a cutoff that can only be computed with one.
        """
        written = translate(split(as_text(text)), _ALIASES)
        if written.name.lower() not in _ALIASES:
            _add_installed()
            written = translate(split(as_text(text)), _ALIASES)
        if written.name.lower() not in _ALIASES:
            raise unknown_metric(written.name.lower(), _ALIASES)
        definition = REGISTRY[_ALIASES[written.name.lower()]]
        options = {**_level_options(definition, written.level), **written.options}
        cutoff = _parse_cutoff(definition, written.cut, text, needs_cutoff)
        return cls(definition, cutoff, _parse_settings(definition, options))

    @classmethod
    def make(cls, name: str, cutoff: float | None = None, **settings: Setting | Mapping[float, float]) -> Metric:
        """Build a metric from its parts.

        Args:
            name: As in ``parse``.
            cutoff: The rank or the recall level at which rankings are cut.
            settings: The parameters; gains may be a dict.

        >>> str(Metric.make("ndcg", 10, gains={0: 0, 1: 1, 2: 3}))
        'ndcg(gains=0:0/1:1/2:3)@10'
        """
        options = ",".join(
            f"{key}={'/'.join(f'{grade}:{gain}' for grade, gain in value.items())}"
            if isinstance(value, Mapping)
            else f"{key}={value}"
            for key, value in settings.items()
        )
        return cls.parse(f"{name}({options})" + ("" if cutoff is None else f"@{cutoff}"))

    @property
    def name(self) -> str:
        """The name of the metric without cutoff and parameters."""
        return self.definition.name

    @property
    def parameters(self) -> dict[str, Setting]:
        """All parameters, set or default."""
        return {**self.definition.defaults, **self.settings}

    def with_defaults(self, settings: Mapping[str, Setting]) -> Metric:
        """Return the metric with *settings* for the parameters that are not set."""
        return Metric(self.definition, self.cutoff, {**settings, **self.settings})

    def compute(self, placement: Placement) -> Values:
        """Score every query of *placement*."""
        return self.definition.compute(placement, self.cutoff, **self.parameters)

    def __hash__(self) -> int:
        # The generated hash fails on the dict of settings.
        return hash((self.name, self.cutoff, frozenset(self.settings.items())))

    def __str__(self) -> str:
        written = ",".join(f"{name}={value}" for name, value in self.settings.items())
        cut = "" if self.cutoff is None else f"@{self.cutoff:g}"
        return self.name + (f"({written})" if written else "") + cut


def _level_options(definition: Definition, level: int | None) -> dict[str, str]:
    """Return the options that mean the relevance level of ranx: lower grades are not relevant and have no gain."""
    if level is None or level == 1:
        return {}
    names = [parameter.name for parameter in definition.parameters]
    if "rel" in names:
        return {"rel": str(level)}
    if "gains" in names:
        return {"gains": "/".join(f"{grade}:0" for grade in range(1, level))}
    raise InputError(f"{definition.name} has no relevance level", remedy=f"write {definition.name} without -l{level}")


def _parse_cutoff(definition: Definition, cut: str | None, text: str, needed: bool) -> int | float | None:
    if cut is None:
        if needed and definition.cutoff in ("required", "recall"):
            example = "0.1" if definition.cutoff == "recall" else "10"
            raise InputError(f"{definition.name} needs a cutoff", remedy=f"write {definition.name}@{example}")
        return None
    if definition.cutoff == "none":
        raise InputError(f"{definition.name} takes no cutoff", remedy=f"write {definition.name}")
    try:
        value: int | float = float(cut) if definition.cutoff == "recall" else int(cut)
    except ValueError:
        value = -1
    if definition.cutoff == "recall":
        if not 0 <= value <= 1:
            raise InputError(
                f"{shorten(text)} is not cut at a recall level",
                remedy=f"write {definition.name}@0.1, from 0 to 1",
            )
    elif value < 1:
        raise InputError(
            f"the cutoff of {shorten(text)} is not a rank",
            remedy=f"write a whole number from 1 up, as in {definition.name}@10",
        )
    return value


def _parse_settings(definition: Definition, options: Mapping[str, str]) -> dict[str, Setting]:
    known = {parameter.name: parameter for parameter in definition.parameters}
    for name in options:
        if name not in known:
            allowed = ", ".join(known) or "none"
            raise unknown_name(f"parameter of {definition.name}", name, known, f"it has: {allowed}")
    return {name: known[name].parse(value, definition.name) for name, value in options.items()}


def parse_all(metrics: str | Metric | Iterable[str | Metric]) -> list[Metric]:
    """Parse several metrics without duplicates, in the given order; a set is sorted, and ``ndcg@1,5,10`` is three."""
    given: Iterable[object]
    if isinstance(metrics, (str, Metric)) or is_measure(metrics):
        given = [metrics]
    else:
        given = sorted(metrics, key=str) if isinstance(metrics, Set) else metrics
    parsed: dict[str, Metric] = {}
    for entry in given:
        for metric in [entry] if isinstance(entry, Metric) else map(Metric.parse, expand(entry)):
            parsed.setdefault(str(metric), metric)
    if not parsed:
        raise InputError("no metric is given", remedy="name one, such as ndcg@10 (goldrank list metrics)")
    return list(parsed.values())
