"""`goldrank audit`: measure the effect of an approximate index on the metric of a task."""

from __future__ import annotations

import argparse

from goldrank.analysis.audit import audit
from goldrank.cli import figure_files, options
from goldrank.metrics import parse_all
from goldrank.reporting.figures.costs import index_trade_off
from goldrank.reporting.text.audit import view

_EXAMPLES = """\
  goldrank audit beir/scifact -m wordllama --factory HNSW32 --factory "IVF64,Flat(nprobe=8)"
  goldrank audit corpus.jsonl queries.jsonl qrels.tsv -m wordllama --factory PQ64x4fs,RFlat --metric mrr@10
  goldrank audit beir/scifact -m wordllama --factory HNSW16 --plot audit.png --format json
"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = options.new_parser("audit", "Measure the effect of an approximate index on the metric.", _EXAMPLES)
    parser.add_argument("data", metavar="DATA", nargs="+", help="a BEIR folder, or the files CORPUS QUERIES QRELS")
    parser.add_argument(
        "-m", "--model", required=True, metavar="MODEL", help="model that encodes the corpus and the queries"
    )
    parser.add_argument(
        "--factory",
        action="append",
        required=True,
        metavar="FACTORY",
        help="a faiss factory, or a database such as pgvector:URL; repeatable",
    )
    parser.add_argument("-k", type=int, default=10, metavar="K", help="neighbours for the recall (default 10)")
    options.add_metric(parser, "metric of the task (default ndcg@10); repeatable")
    options.add_similarity(parser)
    parser.add_argument("--exclude-self", action="store_true", help="exclude the item with the id of the query")
    options.add_alpha(parser)
    parser.add_argument("--plot", metavar="FILE", help="draw metrics and recall against speed as .png, .pdf or .svg")
    options.add_statistics(parser)
    options.add_output(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Audit the indexes and print the result."""
    how, metrics = options.bootstrap(args), parse_all(args.metric or ["ndcg@10"])
    if args.plot is not None:
        figure_files.check_file(args.plot)
    result = audit(
        args.data[0] if len(args.data) == 1 else args.data,
        args.model,
        args.factory,
        metrics=metrics,
        bootstrap=how,
        **options.keywords(args, ("k", "similarity", "exclude_self", "alpha")),
    )
    if args.plot is not None:
        figure_files.draw_into(args.plot, index_trade_off(result))
    options.emit(view(result), args)
    return 0
