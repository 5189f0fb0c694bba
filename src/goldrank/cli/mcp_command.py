"""`goldrank mcp`: serve commands to agents over the Model Context Protocol, on standard input and output."""

from __future__ import annotations

import argparse
from pathlib import Path

from goldrank.cli import options, printing, stored_runs
from goldrank.errors import InputError, MissingExtraError

_EXAMPLES = """\
  goldrank mcp
  goldrank mcp --root ./evaluation --store ./runs
  goldrank mcp --root ./evaluation --allow-writes

An agent starts this command itself; its configuration names the command and
its options. Tools read files below the root and stored runs, and nothing else.
None of them runs a model.
"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    about = "Serve score, compare, gate, explain, runs and report to agents over MCP (stdio), read-only."
    parser = options.new_parser("mcp", about, _EXAMPLES)
    parser.add_argument(
        "--root", metavar="FOLDER", default=".", help="folder whose files tools may read (default: the working folder)"
    )
    stored_runs.add_store(parser)
    parser.add_argument(
        "--allow-writes", action="store_true", help="add the tool report_file, which writes new reports below the root"
    )
    options.add_general(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Serve until the client closes standard input."""
    try:
        from goldrank.cli.mcp_server import Tools, serve
    except ImportError:
        raise MissingExtraError("goldrank mcp", "mcp", "mcp") from None
    root = Path(args.root)
    if not root.is_dir():
        raise InputError("this is not a folder", where=args.root, remedy="name the folder of the data with --root")
    tools = Tools(root.resolve(), args.store, allow_writes=args.allow_writes)
    printing.remark(f"serving {', '.join(tools.all)} over MCP; files below {tools.root}")
    serve(tools)
    return 0
