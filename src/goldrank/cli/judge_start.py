"""`goldrank judge start`: rank, pool the results of all systems, and plan what is judged."""

from __future__ import annotations

import argparse

from goldrank.cli import judge_serve, options, printing, serving, slice_options
from goldrank.data.chunking import CHUNKINGS
from goldrank.judging.labels import GradeScale
from goldrank.judging.plans import DESIGNS
from goldrank.judging.pools import POOLINGS
from goldrank.judging.project import FOLDER, JudgingProject
from goldrank.judging.strata import ALLOCATIONS

EXAMPLES = """\
  goldrank judge start ./docs --queries queries.txt -m bm25 wordllama "fuse:rrf(bm25,wordllama)"
  goldrank judge start ./docs --queries queries.csv -m bm25 wordllama --depth 10 --budget 400
  goldrank judge start questions -m bm25 wordllama --grades no partly yes --folder my-judging
  goldrank judge start ./docs --queries queries.txt -m bm25 wordllama --sample next
  goldrank judge start ./docs --queries queries.txt -m bm25 wordllama --pooling mtf --pool-size 15
  goldrank judge start ./docs --queries queries.jsonl -m bm25 wordllama --budget 400 --strata language
  goldrank judge start ./docs --queries queries.txt -m bm25 wordllama --slices kinds.csv --allocation equal
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the action."""
    parser.add_argument(
        "docs",
        metavar="DOCS",
        help="folder of documents, file of texts with ids, or task or collection whose gold is not used",
    )
    parser.add_argument(
        "--queries",
        metavar="FILE",
        help="queries, one per line, or a table with a column such as query or question (default: the collection's)",
    )
    parser.add_argument(
        "-m", "--model", dest="models", nargs="+", action="extend", required=True, metavar="MODEL",
        help="systems whose results are pooled, two or more to compare them (see goldrank list models)",
    )  # fmt: skip
    options.add_label(parser, "a model")
    parser.add_argument("--folder", default=FOLDER, metavar="FOLDER", help=f"where to store it (default {FOLDER})")
    group = parser.add_argument_group("pool and plan")
    group.add_argument(
        "--depth", type=int, default=20, metavar="N", help="how many results of each system are pooled (default 20)"
    )
    group.add_argument("--pooling", choices=tuple(POOLINGS), default="depth", help=options.describe_choices(POOLINGS))
    group.add_argument(
        "--pool-size", type=int, metavar="SIZE", help="items to judge of each query with mtf and adaptive (default N)"
    )
    group.add_argument("--budget", type=int, metavar="N", help="about how many labels to plan (default: all)")
    group.add_argument(
        "--sample",
        choices=tuple(DESIGNS),
        default="queries",
        help=f"what is judged (default queries). {options.describe_choices(DESIGNS)}",
    )
    group.add_argument(
        "--strata",
        metavar="ATTRIBUTE",
        help="draw queries from each slice of this attribute: a further field of the queries, a column of --slices, or "
        "a derived one such as query_length (default: the column of --slices, if there is one)",
    )
    slice_options.add_slices_file(group)
    group.add_argument(
        "--allocation",
        choices=tuple(ALLOCATIONS),
        help=f"{options.describe_choices(ALLOCATIONS)} (default proportional)",
    )
    group.add_argument(
        "--second-judge", type=float, metavar="SHARE",
        help="share of the queries that a second judge judges, too, to measure agreement (default 0.1)",
    )  # fmt: skip
    group.add_argument(
        "--grades", nargs="+", metavar="NAME", help="names of the grades from 0 up (default: four, as in UMBRELA)"
    )
    group.add_argument("--limit", type=int, metavar="N", help="use only N random queries")
    group.add_argument("--seed", type=int, default=0, metavar="N", help="seed of all random choices (default 0)")
    ranking = parser.add_argument_group("ranking")
    options.add_similarity(ranking, default=None)
    chunkings = options.describe_choices(CHUNKINGS)
    ranking.add_argument("--chunk", metavar="CHUNKING", help=f"rank documents by their best chunk: {chunkings}")
    page = parser.add_argument_group("judging page, which is served until interrupted")
    page.add_argument("--no-serve", action="store_true", help="only store the project, as --format json does")
    judge_serve.add_page(page)
    options.add_format(parser, ("table", "json"))


def run(args: argparse.Namespace) -> int:
    """Create the project, or resume the one that is there."""
    from goldrank.judging.progress import status
    from goldrank.judging.starting import start
    from goldrank.reporting.text.judging import started_view

    page = ["judge", "port", "host", "token", "open"]
    if args.no_serve:
        options.refuse_unused(args, page, "with --no-serve", "leave one of the two out")
    if args.sample == "next":
        options.refuse_unused(args, page, "with --sample next", "give it to goldrank judge serve")
    serves = not args.no_serve and args.format == "table" and args.sample != "next"
    if serves:
        serving.check_installed("goldrank judge start without --no-serve")
    if args.pooling == "depth":
        options.refuse_unused(args, ["pool_size"], "with --pooling depth", "add --pooling mtf, or leave it out")
    labels = options.labels(args)
    specs = [*args.models, *(spec for spec in labels.values() if spec not in args.models)]
    for name, spec in labels.items():
        printing.remark(f"{name} is {spec}")
    existed = JudgingProject.exists(args.folder)
    project = start(
        args.docs,
        args.queries,
        options.labelled({spec: spec for spec in specs}, labels),
        depth=args.depth,
        pooling=args.pooling,
        size=args.pool_size,
        budget=args.budget,
        sample=args.sample,
        strata=args.strata,
        slices=slice_options.read_given(args),
        allocation=args.allocation,
        double=args.second_judge,
        scale=GradeScale() if args.grades is None else GradeScale(tuple(args.grades)),
        seed=args.seed,
        folder=args.folder,
        report=printing.remark,
        **options.keywords(args, ("similarity", "chunk", "limit")),
    )
    for line in project.provenance["documents"]["remarks"]:
        printing.remark(f"note: {line}.")
    view = started_view(status(project), resumed=existed)
    printing.show(view.render(args.format, printing.layout()))
    if serves:
        judge_serve.serve(project, args)
    return 0
