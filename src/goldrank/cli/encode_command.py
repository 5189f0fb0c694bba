"""`goldrank encode`: texts in shards to vectors in shards, here or by a cluster, going on where it was stopped."""

from __future__ import annotations

import argparse
from typing import Any

from goldrank.cli import options, printing
from goldrank.cli.engine_options import add_engine, sharing
from goldrank.data.text_rule import PARTS, TextRule
from goldrank.engines.local import LocalEngine
from goldrank.errors import InputError, counts
from goldrank.io.remote import absolute
from goldrank.reporting.text.results import to_json
from goldrank.tasks.ranking.sharding import ITEMS, Sharding

_EXAMPLES = """\
  goldrank encode corpus.jsonl -m wordllama -o vectors
  goldrank encode shards/ -m st:BAAI/bge-base-en-v1.5 -o vectors --engine ray
  goldrank encode s3://bucket/texts -m wordllama -o s3://bucket/vectors --engine ray://head:10001
  goldrank run -m vectors:vectors -t my-task --engine ray

The vectors are Parquet files with the columns id and vector. Run the same command again after a crash: shards that
are there are not made again.
"""


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = options.new_parser("encode", "Encode texts in files of any number into shards of vectors.", _EXAMPLES)
    made.add_argument("files", metavar="FILE", nargs="+", help="Parquet or JSON Lines with id and text; folders; URLs")
    made.add_argument("-m", "--model", required=True, metavar="MODEL", help="what encodes (goldrank list models)")
    made.add_argument("-o", "--output", required=True, metavar="FOLDER", help="where the vectors go, a path or URL")
    made.add_argument("--side", choices=("item", "query"), default="item", help="as what texts are encoded")
    made.add_argument("--text", metavar="PARTS", default="title+heading+text", help=f"joined by +: {', '.join(PARTS)}")
    made.add_argument("--format", choices=("table", "json"), default="table", help="output format (default table)")
    add_engine(made, folder=False)
    made.add_argument("--debug", action="store_true", help="show a traceback on errors")
    return made


def run(args: argparse.Namespace) -> int:
    """Encode and say what was made."""
    from goldrank import encoders
    from goldrank.encoders.truncation import warnings_of
    from goldrank.tasks.ranking.shard_encoding import encode_files, files_at

    encoder = encoders.load(args.model)
    if not isinstance(encoder, encoders.Encoder):
        raise InputError(f"{args.model} ranks without vectors", remedy="choose a model of vectors")
    files = files_at(args.files)
    rule = TextRule.parse(args.text)
    with sharing(args.engine, None, args.shard_items) as shared:
        sharding = shared or Sharding.of(LocalEngine(), None, args.shard_items or ITEMS)
        folder = absolute(args.output)
        made = encode_files(encoder, files, folder, sharding.engine, rule=rule, side=args.side, items=sharding.items)
    warnings = warnings_of({"texts": made.truncated}, args.model)
    if args.format == "json":
        about: dict[str, Any] = {
            "folder": args.output,
            "model": encoder.identity,
            "texts": made.count,
            "dimension": made.dimension,
            "shards": len(made.shards),
            "made": made.made,
        }
        about = {"warnings": [warning.to_dict() for warning in warnings], **about}
        printing.show(to_json(about))
        return 0
    for warning in warnings:
        printing.show(f"Warning: {warning}")
    before = len(made.shards) - made.made
    again = f", {before} of which were there before" if before else ""
    printing.show(
        f"{args.output}: vectors of {counts(made.count, 'text')} in {made.dimension} dimensions, "
        f"{counts(len(made.shards), 'shard')}{again}."
    )
    return 0
