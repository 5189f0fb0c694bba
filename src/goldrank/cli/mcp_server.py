"""The MCP server: tools that run commands in this process and answer with their JSON, restricted to one folder."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import jsonschema
from mcp import types
from mcp.server import Server
from mcp.server.stdio import stdio_server

import goldrank
from goldrank import progress
from goldrank.cli import printing
from goldrank.errors import GoldrankError, InputError, shorten, unknown_name
from goldrank.io.files import is_stored_key
from goldrank.metrics import CHOICES
from goldrank.redaction import redact
from goldrank.reporting.text.comparison import TESTS
from goldrank.schemas import load_schema

Arguments = Mapping[str, Any]
Schema = dict[str, Any]


def _text(description: str) -> Schema:
    return {"type": "string", "minLength": 1, "description": description}


def _texts(description: str) -> Schema:
    return {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1, "description": description}


_METRICS = _texts("metrics such as ndcg@10, mrr or recall@100; by default those of the profile")
_PROFILE = _text("named set of conventions, such as standard, trec_eval or beir; by default standard or the run's own")
_RUNS: dict[str, Schema] = {
    "gold": _text("file of relevance judgements (qrels) for run files, relative to the root"),
    "runs": _texts("run files, relative to the root"),
    "keys": _texts("keys of stored runs (tool runs_list), instead of gold and runs"),
}
_CONVENTIONS: Schema = {
    "type": "object",
    "description": "single conventions that override the profile",
    "properties": {name: {"enum": list(values), "description": str(values)} for name, values in CHOICES.items()},
    "additionalProperties": False,
}
_SCORING = {**_RUNS, "metrics": _METRICS, "profile": _PROFILE, "conventions": _CONVENTIONS}
_ALPHA: Schema = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "description": "default 0.05"}
_REPORT = {
    **_SCORING,
    "texts": _texts("collections or tables with the texts of queries and items of run files, relative to the root"),
    "worst": {"type": "integer", "minimum": 0, "description": "queries to show per task (default 10)"},
    "title": _text("title of the report"),
    "alpha": _ALPHA,
}


@dataclass(frozen=True)
class Tool:
    """A command that agents may call, with typed arguments."""

    command: str
    """The command with its action, such as ``runs list``."""
    description: str
    arguments: Mapping[str, Schema]
    required: tuple[str, ...] = ()
    schema: str | None = None
    """The name of the schema of the result; None for the path of a file that was written."""

    def definition(self, name: str) -> types.Tool:
        """Return the tool as clients see it."""
        written = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
        return types.Tool(
            name=name,
            description=self.description,
            input_schema=self.input_schema,
            output_schema=written if self.schema is None else load_schema(self.schema),
            annotations=types.ToolAnnotations(
                read_only_hint=self.schema is not None, destructive_hint=False, open_world_hint=False
            ),
        )

    @property
    def input_schema(self) -> Schema:
        """The schema of the arguments."""
        return {
            "type": "object",
            "properties": dict(self.arguments),
            "required": list(self.required),
            "additionalProperties": False,
        }


_READING = {
    "score": Tool("score", "Score runs against gold, with confidence intervals.", {
        **_SCORING, "per_query": {"type": "boolean", "description": "also the value of every query"},
    }, schema="score"),
    "compare": Tool("compare", "Compare two runs or more by paired significance tests. comparison.decisions has "
                    "cannot_tell: true where the data cannot decide which run is best.", {
        **_SCORING, "alpha": _ALPHA,
        "test": {"enum": list(TESTS), "description": "paired test; default randomisation"},
        "correction": {"enum": ["holm", "bh", "none"], "description": "for multiple comparisons; default holm"},
    }, schema="compare"),
    "gate": Tool("gate", "Decide whether a new run is worse than a base run: answer is not_worse, worse or "
                 "cannot_tell, with the number of queries that would be needed.", {
        "gold": _RUNS["gold"],
        "base": _text("base run file, or a baseline of goldrank baseline save, relative to the root"),
        "new": _text("new run file, relative to the root"),
        "keys": {**_RUNS["keys"], "maxItems": 2, "description": "two stored runs, base and new, instead of files"},
        "metrics": _METRICS, "profile": _PROFILE, "conventions": _CONVENTIONS, "alpha": _ALPHA,
        "margin": {"type": "number", "minimum": 0, "description": "by how much the new run may be worse"},
        "fail_under": {
            "type": "object", "additionalProperties": {"type": "number"},
            "description": "lowest value of the new run by metric, such as recall@100: 0.85",
        },
    }, schema="gate"),
    "explain": Tool("explain", "Explain metrics: definition, formula, variants, and the tools that print them.", {
        "metrics": _texts("metrics such as ndcg@10"), "profile": _text("explain the variant of this profile"),
    }, ("metrics",), "explain"),
    "runs_list": Tool("runs list", "List stored runs, each with its key and its first metric.", {
        "task": _text("only runs of this task; * matches any text"),
        "model": _text("only runs of this model; * matches any text"),
    }, schema="runs-list"),
    "runs_show": Tool("runs show", "Show the settings, environment and scores of a stored run.", {
        "key": _text("key of the run, or an unambiguous beginning of it"),
    }, ("key",), "runs-show"),
    "report": Tool("report", "Report on runs: verdicts, tables, all numbers, and the queries that differ most.",
                   _REPORT, schema="report"),
}  # fmt: skip
_WRITING = {
    "report_file": Tool("report", "Write a report of runs to a new file that opens offline.", {
        **_REPORT, "output": _text("new file below the root, .html or .md"),
    }, ("output",)),
}  # fmt: skip


class Tools:
    """The tools of a server, and what they may read and write.

    Args:
        root: The folder whose files may be read, resolved.
        store: The store of the runs; None for the default one.
        allow_writes: Whether reports may be written below the root.
    """

    def __init__(self, root: Path, store: str | None = None, *, allow_writes: bool = False) -> None:
        self.root = root
        self.store = store
        self.all = {**_READING, **(_WRITING if allow_writes else {})}

    def call(self, name: str, arguments: Arguments) -> dict[str, Any]:
        """Run a tool and return its result.

        Raises:
            GoldrankError: The arguments are refused, or the command fails.
        """
        if name not in self.all:
            raise unknown_name("tool", name, self.all, ", ".join(self.all))
        tool = self.all[name]
        try:
            jsonschema.validate(arguments, tool.input_schema)
        except jsonschema.ValidationError as error:
            where = ".".join(map(str, error.absolute_path)) or "the arguments"
            raise InputError(f"{where}: {shorten(error.message, 200)}", remedy="see the schema of the tool") from None
        command, *action = tool.command.split()
        module = import_module(f"goldrank.cli.{command}_command")
        words = [*action, *["--format=json"] * (tool.schema is not None), *self._command_line(command, arguments)]
        output = io.StringIO()
        with printing.verbosity(quiet=True, verbose=False), progress.shown(False), printing.results_to(output):
            module.run(module.build_parser().parse_args(words))
        if tool.schema is None:
            return {"path": output.getvalue().rstrip("\n")}
        content: dict[str, Any] = json.loads(output.getvalue())
        return content

    def _command_line(self, command: str, arguments: Arguments) -> list[str]:
        """Return the arguments as words; each value is joined to its option, so that none can be an option itself."""
        words = []
        if command in ("score", "compare", "gate", "report"):
            words += self._given_runs(arguments, ("gold", "base", "new") if command == "gate" else ("gold", "runs"))
        if self.store is not None and ("keys" in arguments or command == "runs"):
            words.append(f"--store={self.store}")
        write: dict[str, Callable[[Any], list[str]]] = {
            "metrics": lambda values: [f"--metric={value}" for value in values],
            "conventions": lambda values: [f"--{name.replace('_', '-')}={value}" for name, value in values.items()],
            "fail_under": lambda values: [f"--fail-under={name}={value}" for name, value in values.items()],
            "texts": lambda values: [f"--texts={self.readable(value)}" for value in values],
            "per_query": lambda value: ["--per-query"] if value else [],
            "output": lambda value: [f"--output={self.new_file(value)}"],
            "key": lambda value: [_checked_key(value)],
        }
        positional = (*_RUNS, "base", "new", *(["metrics"] if command == "explain" else []))
        for name, value in arguments.items():
            if name not in positional:
                words += write[name](value) if name in write else [f"--{name}={value}"]
        return [*words, "--", *arguments["metrics"]] if command == "explain" else words

    def _given_runs(self, arguments: Arguments, files: tuple[str, ...]) -> list[str]:
        if "keys" in arguments and not set(files) & set(arguments):
            return [_checked_key(key) for key in arguments["keys"]]
        if "keys" in arguments or not set(files) <= set(arguments):
            remedy = f"give {', '.join(files[:-1])} and {files[-1]}, or keys, but not both"
            raise InputError("runs are files or stored", remedy=remedy)
        paths = [path for name in files for path in ([arguments[name]] if name != "runs" else arguments[name])]
        return [self.readable(path) for path in paths]

    def readable(self, path: str) -> str:
        """Return the absolute path of a file or folder below the root.

        Raises:
            InputError: There is none, or it or a link in it leads out of the root.
        """
        resolved = self._below_root(path)
        if not resolved.exists():
            raise InputError("there is no such file", where=path, remedy=f"name a file below {self.root}")
        links = (entry for entry in resolved.rglob("*") if entry.is_symlink()) if resolved.is_dir() else ()
        for link in links:
            self._below_root(str(link))
        return str(resolved)

    def new_file(self, path: str) -> str:
        """Return the absolute path of a new report below the root.

        Raises:
            InputError: The file exists, does not end in .html or .md, or lies outside the root.
        """
        resolved = self._below_root(path)
        if resolved.exists():
            raise InputError("the file exists", where=path, remedy="name a new file")
        if resolved.suffix not in (".html", ".md"):
            # A PDF would start a browser.
            raise InputError("this is not the name of a report", where=path, remedy="end it in .html or .md")
        return str(resolved)

    def _below_root(self, path: str) -> Path:
        try:
            resolved = (self.root / path).resolve()
        except (OSError, RuntimeError, ValueError):
            raise InputError("this is not a path", where=shorten(path), remedy="name a file below the root") from None
        if not resolved.is_relative_to(self.root):
            raise InputError(
                f"the path leads out of {self.root}", where=shorten(path),
                remedy="name a file below it, or start goldrank mcp with another --root",
            )  # fmt: skip
        return resolved


def _checked_key(key: str) -> str:
    """Return the key of a stored run. A file of that name, which a command would read instead, is refused."""
    if not is_stored_key(key):
        raise InputError(f"{shorten(key)} is not the key of a stored run", remedy="see the tool runs_list")
    return key


def create_server(tools: Tools) -> Server[Any]:
    """Return the server of these tools."""
    # Commands share the process, so that one runs at a time.
    limiter = anyio.CapacityLimiter(1)

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool.definition(name) for name, tool in tools.all.items()])

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        work = partial(tools.call, params.name, params.arguments or {})
        content = None
        try:
            content = await anyio.to_thread.run_sync(work, limiter=limiter)
            text = json.dumps(content, ensure_ascii=False)
        except Exception as error:
            fault = "" if isinstance(error, GoldrankError) else f"internal error, {type(error).__name__}: "
            text = redact(f"{fault}{error}")
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=text)], structured_content=content, is_error=content is None
        )

    return Server(
        "goldrank",
        version=goldrank.__version__,
        instructions="Evaluate rankings against relevance judgements. Values have confidence intervals; a comparison "
        "says cannot_tell where the data cannot decide. Paths are relative to the root folder of the server.",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def serve(tools: Tools) -> None:
    """Serve on standard input and output until the input ends."""

    async def run() -> None:
        server = create_server(tools)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(run)
