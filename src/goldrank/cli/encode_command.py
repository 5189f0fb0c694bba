"""`goldrank encode`: encode files of texts into shards of vectors, locally or on a cluster; resumable."""

from __future__ import annotations

import argparse

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

The vectors are Parquet files with the columns id and vector. To resume after a
crash, run the same command again: finished shards are kept.
"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = options.new_parser("encode", "Encode files of texts into shards of vectors.", _EXAMPLES)
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="Parquet or JSON Lines files with id and text, their folders, or URLs"
    )
    parser.add_argument(
        "-m", "--model", required=True, metavar="MODEL", help="model that encodes (see goldrank list models)"
    )
    parser.add_argument(
        "-o", "--output", required=True, metavar="FOLDER", help="folder or URL to which the vectors are written"
    )
    parser.add_argument(
        "--side", choices=("item", "query"), default="item", help="encode as items (default) or as queries"
    )
    parser.add_argument(
        "--text",
        metavar="PARTS",
        default="title+heading+text",
        help=f"parts of each text, joined by +: {', '.join(PARTS)} (default all)",
    )
    options.add_format(parser, ("table", "json"))
    add_engine(parser, folder=False)
    options.add_general(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Encode the texts and print a summary."""
    from goldrank import encoders
    from goldrank.encoders.truncation import warnings_of
    from goldrank.tasks.ranking.shard_encoding import encode_files, files_at

    encoder = encoders.load(args.model)
    if not isinstance(encoder, encoders.Encoder):
        raise InputError(
            f"the model {args.model} ranks texts without vectors",
            remedy="choose a model with vectors (goldrank list models)",
        )
    files = files_at(args.files)
    rule = TextRule.parse(args.text)
    with sharing(args.engine, None, args.shard_items) as shared:
        sharding = shared or Sharding.of(LocalEngine(), None, args.shard_items or ITEMS)
        folder = absolute(args.output)
        encoded = encode_files(encoder, files, folder, sharding.engine, rule=rule, side=args.side, items=sharding.items)
    warnings = warnings_of({"texts": encoded.truncated}, args.model)
    if args.format == "json":
        content = {
            "warnings": [warning.to_dict() for warning in warnings],
            "folder": args.output,
            "model": encoder.identity,
            "texts": encoded.count,
            "dimension": encoded.dimension,
            "shards": len(encoded.shards),
            "new_shards": encoded.new,
        }
        printing.show(to_json(content, "encode"))
        return 0
    for warning in warnings:
        printing.show_prose(f"Warning: {warning}")
    existing = len(encoded.shards) - encoded.new
    resumed = f", of which {existing} existed before" if existing else ""
    printing.show_prose(
        f"{args.output}: vectors of {counts(encoded.count, 'text')} in {encoded.dimension} dimensions, "
        f"{counts(len(encoded.shards), 'shard')}{resumed}."
    )
    return 0
