"""`goldrank audit`: does an approximate index hurt the metric of the task?"""

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


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    command = options.new_parser("audit", "Does an approximate index hurt the metric of the task?", _EXAMPLES)
    command.add_argument("data", metavar="DATA", nargs="+", help="a BEIR folder, or the files CORPUS QUERIES QRELS")
    command.add_argument("-m", "--model", required=True, metavar="MODEL", help="what encodes corpus and queries")
    indexes = "a faiss factory, or a database (pgvector:URL…); repeat it"
    command.add_argument("--factory", action="append", required=True, metavar="F", help=indexes)
    command.add_argument("-k", type=int, default=10, help="neighbours that the recall counts (default 10)")
    options.add_metric(command, "of the task (default ndcg@10)")
    command.add_argument("--similarity", choices=("cosine", "dot", "l2"), default="cosine")
    command.add_argument("--exclude-self", action="store_true", help="leave out the item whose id is the query's")
    command.add_argument("--alpha", type=float, default=0.05, help="level of significance (default 0.05)")
    command.add_argument(
        "--plot", metavar="FILE", help="draw each metric and the recall against speed; .png, .pdf or .svg"
    )
    options.add_statistics(command)
    options.add_output(command)
    return command


def run(args: argparse.Namespace) -> int:
    """Audit and show."""
    how, metrics = options.bootstrap(args), parse_all(args.metric or ["ndcg@10"])
    if args.plot is not None:
        figure_files.check_file(args.plot)
    result = audit(
        args.data[0] if len(args.data) == 1 else args.data,
        args.model,
        args.factory,
        metrics=metrics,
        k=args.k,
        similarity=args.similarity,
        exclude_self=args.exclude_self,
        alpha=args.alpha,
        bootstrap=how,
    )
    if args.plot is not None:
        figure_files.draw_into(args.plot, index_trade_off(result))
    options.emit(view(result).render(args.format), args)
    return 0
