"""The settings of `goldrank run`: read from a TOML file, overridden by options, and validated."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from goldrank.cli import options, printing
from goldrank.data.text_rule import TextRule
from goldrank.encoders.consent import Effects, effects_of, is_address
from goldrank.errors import InputError, shorten, unknown_name
from goldrank.io.files import read_bytes
from goldrank.metrics import CHOICES
from goldrank.runs.evaluate import OVERWRITE
from goldrank.runs.run import Measures
from goldrank.scoring import Bootstrap
from goldrank.tasks.settings import Settings
from goldrank.tasks.task import Task

_LISTS = ("models", "tasks", "metrics")
_TEXT = ("parts", "separator", "sections", "words")
_SHARING = ("engine", "work_folder", "shard_items")
_ENTRIES: dict[str, tuple[tuple[type, ...], str]] = {
    **dict.fromkeys(("sections", "words", "depth"), ((int,), "a whole number")),
    **dict.fromkeys(("parts", "separator"), ((str,), "text")),
}
# The settings that are texts or whole numbers, in the order in which they are checked.
_PLAIN = {
    str: ("similarity", "index", "scoring", "transform", "fit_on", "oov", "rerank", "chunk", "split", "preset"),
    int: ("rerank_depth", "limit", "seed"),
}


@dataclass(frozen=True)
class RunConfig:
    """The validated settings of a run."""

    models: list[str]
    tasks: list[str | Task]
    settings: Settings
    measures: Measures
    overwrite: str = "missing"
    reuse: bool = False
    store: str | None = None
    engine: str = "local"
    work_folder: str | None = None
    shard_items: int | None = None
    questions: str | None = None


@dataclass
class _Given:
    """The values of the file and the command line by name; the command line overrides the file."""

    values: dict[str, Any] = field(default_factory=dict)
    where: str = ""
    flags: set[str] = field(default_factory=set)
    """The names that are on the command line."""

    def take(self, name: str, kind: type | tuple[type, ...], default: Any) -> Any:
        value = self.values.get(name, default)
        if value is default:
            return default
        if not isinstance(value, kind) or isinstance(value, bool):
            wanted = "a number" if kind in (int, float, (int, float)) else "text" if kind is str else "a list of texts"
            raise InputError(
                f"{name} is {shorten(value)}", where=self.where, remedy=f"{name} is {wanted}; see goldrank run --help"
            )
        return value


_STATISTICS = {"level": 0.95, "resamples": 10_000, "interval": "bca", "alpha": 0.05}


def known_names() -> list[str]:
    """Return every name that is allowed in a run file."""
    settings = [entry.name for entry in fields(Settings) if entry.name != "given"]
    others = ["questions", "profile", "conventions", "overwrite", "reuse", "store"]
    return [*_LISTS, *settings, *_STATISTICS, *others, *_SHARING]


def configured(args: argparse.Namespace) -> RunConfig:
    """Return the settings of the command line, on top of those of the file that ``--config`` names."""
    given = _Given()
    if args.config is not None:
        given.values, given.where = _read(args.config), str(args.config)
        _ask_for_consent(given, args)
    conventions = (*CHOICES, "relevance_level")
    flags = {name: getattr(args, name, None) for name in (*known_names(), *conventions)}
    given.flags = {name for name, value in flags.items() if value is not None}
    for name, value in flags.items():
        if value is None:
            continue
        if name in conventions:
            given.values["conventions"] = {**_table(given, "conventions"), name: value}
        elif name in ("text", "query_text"):
            given.values[name] = {**_table(given, name), "parts": value}
        else:
            given.values[name] = value
    for name in ("separator", "sections", "words"):
        if (value := getattr(args, name, None)) is not None:
            given.values["text"] = {**_table(given, "text"), name: value}
            given.flags.add("text")
    return _checked(given)


def _ask_for_consent(given: _Given, args: argparse.Namespace) -> None:
    """Raise InputError if the run file, and not the command line, names code or a connection without permission."""
    for name, place, effects in _file_effects(given, args):
        wanted = [
            flag
            for flag, needed, allowed in (
                ("--allow-code", effects.code, args.allow_code),
                ("--allow-connections", effects.connection, args.allow_connections),
            )
            if needed and not allowed
        ]
        if wanted:
            raise InputError(
                f"{name} names {shorten(place, 160)}, which {effects}, even with --dry-run",
                where=given.where,
                remedy=f"read the file, and add {' '.join(wanted)} if you trust it, or give it on the command line",
            )
        printing.remark(f"note: {given.where}: {name} names {shorten(place, 160)}, which {effects}")


def _file_effects(given: _Given, args: argparse.Namespace) -> Iterator[tuple[str, str, Effects]]:
    """Yield the entries of a run file that do more than read local files, unless an option overrides them."""
    for name in ("models", "rerank", "tasks", "questions", "index", "store", "engine", "work_folder"):
        if getattr(args, name, None) is not None:
            continue
        value = given.values.get(name)
        for place in value if isinstance(value, list) else [value]:
            if not isinstance(place, str):
                continue  # reported later, by `_texts` or `take`
            if name in ("models", "rerank"):
                effects = effects_of(place)
            elif name == "engine":
                # The workers of a Ray cluster send pickles, which can run code; its address may have no scheme.
                elsewhere = place not in ("local", "ray")
                effects = Effects(code=elsewhere, connection=elsewhere)
            else:
                effects = Effects(connection=is_address(place))
            if effects:
                yield name, place, effects


def _table(given: _Given, name: str) -> dict[str, Any]:
    value = given.values.get(name, {})
    if isinstance(value, str):
        return {"parts": value}
    if not isinstance(value, Mapping):
        example = 'ties = "docid"' if name == "conventions" else 'parts = "title+text"'
        raise InputError(f"{name} is not a table", where=given.where, remedy=f"write [{name}] and {example}")
    for entry, content in value.items():
        kinds, wanted = _ENTRIES.get(entry, ((str, int, float), "text or a number"))
        if not isinstance(content, kinds) or isinstance(content, bool):
            what = f"{shorten(entry)} in [{name}] is {shorten(content)}"
            raise InputError(what, where=given.where, remedy=f"{shorten(entry)} is {wanted}")
    return dict(value)


def _read(path: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        values = tomllib.loads(read_bytes(path).decode())
    except (ValueError, RecursionError) as error:
        # The parser also raises plain ValueErrors, for dates and for integers of thousands of digits.
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else shorten(str(error), 200)[1:-1]
        raise InputError(
            f"the run file is not valid TOML ({reason})", where=path, remedy='write lines such as name = "value"'
        ) from None
    for name in values:
        if name not in known_names():
            raise unknown_name(f"entry of {path}", name, known_names(), f"it may hold {', '.join(known_names())}")
    return values


def _checked(given: _Given) -> RunConfig:
    lists = {name: _texts(given, name) for name in _LISTS}
    # Defaults that a run file repeats count as given only with a preset, whose settings they override.
    stated = given.flags if given.values.get("preset") is None else given.values
    usual = Settings()
    settings = Settings(
        **{name: given.take(name, kind, getattr(usual, name)) for kind, names in _PLAIN.items() for name in names},
        depth=_depth(given),
        text=_rule(given, "text"),
        query_text=_rule(given, "query_text"),
        given=frozenset(stated).intersection(known_names()),
    )
    overwrite = given.take("overwrite", str, "missing")
    if overwrite not in OVERWRITE:
        raise unknown_name("way to overwrite", overwrite, OVERWRITE, f"one of {', '.join(OVERWRITE)}")
    measures = Measures(
        lists["metrics"] or None,
        given.take("profile", str, None),
        _table(given, "conventions"),
        _bootstrap(given, settings.seed),
        float(given.take("alpha", (int, float), _STATISTICS["alpha"])),
    )
    return RunConfig(
        lists["models"],
        [*lists["tasks"]],
        settings,
        measures,
        overwrite,
        _flag(given, "reuse"),
        given.take("store", str, None),
        given.take("engine", str, "local"),
        given.take("work_folder", str, None),
        given.take("shard_items", int, None),
        given.take("questions", str, None),
    )


def _flag(given: _Given, name: str) -> bool:
    value = given.values.get(name, False)
    if not isinstance(value, bool):
        raise InputError(f"{name} is {shorten(value)}", where=given.where, remedy=f"{name} is true or false")
    return value


def _texts(given: _Given, name: str) -> list[str]:
    value = given.take(name, (str, list), [])
    listed = [value] if isinstance(value, str) else value
    if not all(isinstance(entry, str) for entry in listed):
        raise InputError(f"an entry of {name} is not a text", where=given.where, remedy=f'write {name} = ["…"]')
    return list(listed)


def _depth(given: _Given) -> int | str | None:
    value = given.take("depth", (int, str), None)
    return int(value) if isinstance(value, str) and value.isdecimal() else value


def _rule(given: _Given, name: str) -> TextRule | None:
    if name not in given.values:
        return None
    table = _table(given, name)
    for entry in table:
        if entry not in _TEXT:
            raise unknown_name(f"entry of {name}", entry, _TEXT, f"it may hold {', '.join(_TEXT)}")
    parts = table.pop("parts", "+".join(TextRule().parts))
    try:
        return TextRule.parse(parts, **table)
    except (TypeError, AttributeError):
        raise InputError(f"{name} is invalid", where=given.where, remedy='write parts = "title+text"') from None


def _bootstrap(given: _Given, seed: int) -> Bootstrap:
    return options.checked_bootstrap(
        given.take("resamples", int, _STATISTICS["resamples"]),
        float(given.take("level", (int, float), _STATISTICS["level"])),
        given.take("interval", str, _STATISTICS["interval"]),
        seed,
    )
