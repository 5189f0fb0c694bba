"""`goldrank schema`: print the JSON Schema of an output, or the names of all schemas."""

from __future__ import annotations

import argparse

from goldrank.cli import options, printing
from goldrank.reporting.text.grids import Cell, Grid, render
from goldrank.reporting.text.results import to_json
from goldrank.schemas import load_schema, schema_names

_EXAMPLES = """\
  goldrank schema
  goldrank schema compare
"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    about = "Print the JSON Schema of what a command prints with --format json, or the names of all schemas."
    parser = options.new_parser("schema", about, _EXAMPLES)
    parser.add_argument("name", metavar="NAME", nargs="?", choices=schema_names(), help="name of a schema")
    options.add_general(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Print a schema, or the table of all schemas."""
    if args.name is not None:
        printing.show(to_json(load_schema(args.name)))
        return 0
    schemas = {name: load_schema(name) for name in schema_names()}
    rows = [[Cell(name), Cell(schema["title"]), Cell(schema["description"])] for name, schema in schemas.items()]
    printing.show(render([Grid(["schema", "printed by", "content"], rows, text_columns=3)], "table", printing.layout()))
    return 0
