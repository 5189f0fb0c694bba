"""Generate the reference pages from the commands, the public API and the registries of metrics, profiles and tasks."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import goldrank
from goldrank.cli.main import COMMANDS
from goldrank.metrics import CHOICES, PROFILES, REGISTRY, Definition, Profile
from goldrank.metrics.names import foreign_names
from goldrank.schemas import load_schema, schema_names
from goldrank.tasks import TASKS, MeasurementTask, RankingTask, Task

FOLDER = Path(__file__).parent / "reference"
_BETTER = {"higher": "higher is better", "lower": "lower is better", "neither": "neither direction is better"}


def api_page() -> str:
    """Return the page of all public names, which mkdocstrings fills in from their docstrings."""
    names = {name: getattr(goldrank, name) for name in goldrank.__all__}
    modules = [name for name, value in names.items() if isinstance(value, ModuleType)]
    paths = {name: f"{value.__module__}.{name}" for name, value in names.items() if hasattr(value, "__module__")}
    paths |= {f"{name}.{part}": f"goldrank.{name}.{part}" for name in modules for part in names[name].__all__}
    functions = {name: path for name, path in paths.items() if name.rpartition(".")[2][0].islower()}
    sections = {"Functions": functions, "Classes": {name: paths[name] for name in paths if name not in functions}}
    return (
        "# Python API\n\nThe public names of `goldrank`: `import goldrank as gr`, then `gr.score(...)`. "
        "[What is public](../public-api.md) states what may change between releases.\n\n"
        + "\n\n".join(
            f"## {title}\n\n" + "\n\n".join(f"::: {paths[name]}" for name in sorted(section))
            for title, section in sections.items()
        )
        + "\n"
    )


def commands_page() -> str:
    """Return the page of all commands with every option, from the parsers that read the command line."""
    index = "\n".join(f"| [`{name}`](#goldrank-{name}) | {_cell(summary)} |" for name, summary in COMMANDS.items())
    sections = [section for name in COMMANDS for section in _command(_parser(name), COMMANDS[name])]
    return (
        "# Commands\n\n`goldrank COMMAND --help` prints the same. This page is generated from the source code; "
        "[Python](../guide/python.md) has the call for each command.\n\n"
        f"| command | |\n| :-- | :-- |\n{index}\n\n" + "\n\n".join(sections) + "\n"
    )


def metrics_page() -> str:
    """Return the page of all metrics with formula, parameters and the variants of other tools."""
    index = "\n".join(
        f"| [`{d.name}`](#{_anchor(d)}) | {d.title} | {d.range} | {_BETTER[d.direction]} |" for d in _all()
    )
    return (
        "# Metrics\n\n"
        "Write `name`, `name@k` or `name(parameter=value)@k`. This page is generated from the source code; "
        "`goldrank explain NAME` prints the same information.\n\n"
        f"| metric | | range | |\n| :-- | :-- | :-- | :-- |\n{index}\n\n" + "\n\n".join(map(_metric, _all())) + "\n"
    )


def profiles_page() -> str:
    """Return the page of all profiles and conventions."""
    meanings = "\n\n".join(
        f"### {name}\n\n" + "\n".join(f"- `{value}`: {meaning}" for value, meaning in values.items())
        for name, values in CHOICES.items()
    )
    return (
        "# Profiles and conventions\n\nA profile is a named set of conventions that reproduces the results of a "
        "known system. `goldrank score … --profiles sdr,standard` compares several and explains the differences.\n\n"
        + "\n\n".join(map(_profile, PROFILES.values()))
        + f"\n\n## What the conventions mean\n\n{meanings}"
        + "\n\n### depth\n\n- a number: the rank at which every ranking is cut\n"
        "\n### relevance_level\n\n- a number: the smallest grade that counts as relevant, for every metric with binary "
        "relevance without its own `rel`\n"
    )


def tasks_page() -> str:
    """Return the page of all named tasks with their data and metrics."""
    index = "\n".join(f"| [`{t.name}`](#{t.name}) | {t.kind} | {_cell(t.summary)} |" for t in TASKS.values())
    return (
        "# Tasks\n\nA task is a data set together with the way to evaluate a model on it: "
        "`goldrank run -m wordllama -t NAME`, or `NAME:PATH` for data in another folder. "
        "[Collections](../guide/collections.md#named-tasks-and-downloads) says where a named task looks for its data. "
        "In a *related* task the articles with gold are the queries, and each is excluded from its own ranking; a "
        "*retrieval* task has separate queries. The other tasks evaluate vectors and produce correlations or "
        "accuracies. This page is generated from the source code.\n\n"
        f"| task | kind | |\n| :-- | :-- | :-- |\n{index}\n\n" + "\n\n".join(map(_task, TASKS.values())) + "\n"
    )


def schemas_page() -> str:
    """Return the page of all JSON outputs, with the fields of each and of the parts that they share."""
    schemas = {name: load_schema(name) for name in schema_names()}
    parts = {part: schema for entry in schemas.values() for part, schema in entry.get("$defs", {}).items()}
    index = "\n".join(f"| [`{name}`](#{name}) | `{entry['title']}` |" for name, entry in schemas.items())
    outputs = [f"## {name}\n\n`{entry['title']}`: {entry['description']}\n\n{_fields(entry)}" for name, entry in
               schemas.items()]  # fmt: skip
    shared = [
        f"### part-{part}\n\n" + f"{schema.get('description', '')}\n\n{_fields(schema)}".lstrip()
        for part, schema in sorted(parts.items())
    ]
    return (
        "# JSON outputs\n\n`goldrank schema NAME` prints the JSON Schema. This page is generated from the schemas; "
        "[Scripts and agents](../guide/agents.md) says how they are used.\n\n"
        f"| schema | printed by |\n| :-- | :-- |\n{index}\n\n" + "\n\n".join([*outputs, "## Parts", *shared]) + "\n"
    )


def _fields(schema: dict[str, Any]) -> str:
    rows = list(_rows(schema, ""))
    if not rows:
        return f"Type: {_type(schema)}."
    table = "\n".join(f"| {path} | {kind} | {_cell(text)} |" for path, kind, text in rows)
    return f"| field | type | |\n| :-- | :-- | :-- |\n{table}"


def _rows(schema: dict[str, Any], path: str) -> Iterator[tuple[str, str, str]]:
    """Yield the path, type and description of every field; a field in brackets is not always there."""
    for choice in schema.get("anyOf", ()):
        yield from _rows(choice, path)
    for name, entry in schema.get("properties", {}).items():
        inner = f"{path}{name}"
        yield (
            f"`{inner}`" if name in schema.get("required", ()) else f"(`{inner}`)",
            _type(entry),
            entry.get("description", ""),
        )
        yield from _rows(entry, f"{inner}.")
    for key, mark in (("items", "[]"), ("additionalProperties", "*")):
        if isinstance(schema.get(key), dict):
            yield from _rows(schema[key], f"{path.removesuffix('.')}{'.' * (mark == '*' and path != '')}{mark}.")


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        part = schema["$ref"].rpartition("/")[2]
        return f"[{part}](#part-{part})"
    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        return ", ".join(f"`{'null' if value is None else value}`" for value in values)
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(map(_type, schema["anyOf"])))
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    for key, kind, words in (("items", "array", "list of"), ("additionalProperties", "object", "object, each")):
        if isinstance(schema.get(key), dict):
            return " or ".join(f"{words} {_type(schema[key])}" if each == kind else each for each in kinds)
    return " or ".join(kinds)


def _parser(name: str) -> argparse.ArgumentParser:
    parser = import_module(f"goldrank.cli.{name}_command").build_parser()
    assert isinstance(parser, argparse.ArgumentParser)
    return parser


def _command(parser: argparse.ArgumentParser, summary: str) -> Iterator[str]:
    """Yield the section of a command, and those of its subcommands."""
    groups = [(group.title or "", [a for a in group._group_actions if _is_shown(a)]) for group in parser._action_groups]
    nested = [a for _, actions in groups for a in actions if isinstance(a, argparse._SubParsersAction)]
    text = parser.description or f"{summary[:1].upper()}{summary[1:]}."
    level = "##" if parser.prog.count(" ") == 1 else "###"
    lines = [f"{level} {parser.prog}", _prose(text), f"```console\n$ {_usage(parser)}\n```"]
    for title, actions in groups:
        rows = [_option(parser, a) for a in actions if a not in nested]
        if rows:
            heading = {"positional arguments": "argument", "options": "option"}.get(title, title)
            lines.append(f"| {_cell(heading)} | |\n| :-- | :-- |\n" + "\n".join(rows))
    if parser.epilog:
        title, _, commands = parser.epilog.partition("\n")
        examples = "\n".join(f"$ {line.strip()}" for line in commands.splitlines() if line.startswith("  "))
        remarks = " ".join(line for line in commands.splitlines() if line and not line.startswith("  "))
        assert title == "examples:", parser.prog
        lines.append(f"Examples:\n\n```console\n{examples}\n```")
        if remarks:
            lines.append(f"{remarks[0].upper()}{_prose(remarks[1:])}.")
    yield "\n\n".join(lines)
    for action in nested:
        summaries = {choice.dest: choice.help or "" for choice in action._choices_actions}
        for name, subparser in action.choices.items():
            yield from _command(subparser, summaries[name])


def _is_shown(action: argparse.Action) -> bool:
    return action.help != argparse.SUPPRESS and not isinstance(action, argparse._HelpAction)


def _usage(parser: argparse.ArgumentParser) -> str:
    """Return the command with its arguments, but without its options, of which many commands have twenty."""
    actions = [action for action in parser._actions if _is_shown(action)]
    required = [
        f"{max(a.option_strings, key=len)} {_value(parser, a)}" for a in actions if a.option_strings and a.required
    ]
    positional = [
        "COMMAND …" if isinstance(action, argparse._SubParsersAction) else _value(parser, action)
        for action in actions
        if not action.option_strings
    ]
    options = ["[OPTIONS]"] if any(action.option_strings and not action.required for action in actions) else []
    return " ".join([parser.prog, *positional, *required, *options])


def _value(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    formatter = parser._get_formatter()
    default = formatter._get_default_metavar_for_optional if action.option_strings else None
    name = (default or formatter._get_default_metavar_for_positional)(action)
    return formatter._format_args(action, name)


def _option(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    value = _value(parser, action)
    names = ", ".join(f"`{name}`" for name in action.option_strings) or f"`{_cell(value)}`"
    if action.option_strings and value:
        names += f" `{_cell(value)}`"
    return f"| {names} | {_cell(_prose(parser._get_formatter()._expand_help(action)))} |"


def _prose(text: str) -> str:
    """Return a help text as Markdown, in which nothing is a tag, an emphasis or a link."""
    for character in "\\`*_<>[]":
        text = text.replace(character, "\\" + character)
    return " ".join(text.split())


def _all() -> list[Definition]:
    return list(REGISTRY.values())


def _anchor(definition: Definition) -> str:
    return definition.name


def _metric(definition: Definition) -> str:
    lines = [
        f"## {definition.name}",
        f"**{definition.title}.** Range {definition.range}; {_BETTER[definition.direction]}.",
        f"> {definition.formula}",
    ]
    if definition.notes:
        lines.append(definition.notes)
    if definition.aliases:
        lines.append("Also written: " + ", ".join(f"`{alias}`" for alias in definition.aliases) + ".")
    if foreign := foreign_names(definition.name):
        names = ", ".join(f"`{name}` is `{read}`" for name, read in foreign.items())
        lines.append(f"Names of other tools: {names}.")
    if definition.parameters:
        rows = [
            f"| `{p.name}` | {_cell(p.allowed)} | {'' if p.default is None else f'`{p.default}`'} | {_cell(p.doc)} |"
            for p in definition.parameters
        ]
        lines.append("| variant | values | default | meaning |\n| :-- | :-- | :-- | :-- |\n" + "\n".join(rows))
    if definition.tools:
        rows = [f"| {_cell(tool)} | {_cell(what)} |" for tool, what in definition.tools]
        lines.append("| tool | prints |\n| :-- | :-- |\n" + "\n".join(rows))
    if not definition.expected:
        lines.append("Not available with `ties=expected`: the mean over all orders has no closed form.")
    lines.append(f"Source: {definition.cite}.")
    return "\n\n".join(lines)


def _profile(profile: Profile) -> str:
    conventions = ", ".join(f"{k}={v}" for k, v in profile.conventions.as_dict().items() if v is not None)
    settings = "; ".join(
        f"`{name}`: " + ", ".join(f"{k}={v}" for k, v in values.items()) for name, values in profile.settings.items()
    )
    lines = [f"## {profile.name}", profile.title, f"- conventions: {conventions}"]
    if settings:
        lines[-1] += f"\n- variants: {settings}"
    lines[-1] += f"\n- prints by default: {', '.join(f'`{metric}`' for metric in profile.metrics)}"
    return "\n\n".join([*lines, profile.notes] if profile.notes else lines)


def _task(task: Task) -> str:
    about = task.about
    facts = {
        "kind": task.kind,
        "source": about and about.source,
        "licence": about and about.licence,
        "counts": about and about.counts,
        "profile of the published results": about
        and about.original
        and f"[{about.original}](profiles.md#{about.original})",
        **(_ranked(task) if isinstance(task, RankingTask) else _measured(task)),
        "version": str(task.version),
    }
    rows = "\n".join(f"| {name} | {_cell(value)} |" for name, value in facts.items() if value)
    lines = [f"## {task.name}", f"{task.summary[:1].upper()}{task.summary[1:]}.", f"| | |\n| :-- | :-- |\n{rows}"]
    return "\n\n".join([*lines, about.notes] if about and about.notes else lines)


def _measured(task: Task) -> dict[str, str]:
    assert isinstance(task, MeasurementTask)
    return {"relevant settings": ", ".join(task.settings_used)}


def _ranked(task: RankingTask) -> dict[str, str]:
    return {
        "default metrics": ", ".join(f"`{metric}`" for metric in task.default_metrics),
        "profile": task.profile + "".join(f", {name}={value}" for name, value in task.conventions.items()),
        "text of an item": str(task.text),
        "text of a query": str(task.text if task.kind == "related" else task.query_text),
        "ranking depth": "all" if task.depth is None else str(task.depth),
    }


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "commands.md").write_text(commands_page())
    (FOLDER / "api.md").write_text(api_page())
    (FOLDER / "metrics.md").write_text(metrics_page())
    (FOLDER / "profiles.md").write_text(profiles_page())
    (FOLDER / "tasks.md").write_text(tasks_page())
    (FOLDER / "schemas.md").write_text(schemas_page())
