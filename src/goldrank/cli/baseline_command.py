"""`goldrank baseline`: save the scores of a run for each query, for `goldrank gate`."""

from __future__ import annotations

import argparse

from goldrank.cli import options, printing, stored_runs
from goldrank.errors import InputError
from goldrank.io.files import run_names
from goldrank.runs.gate import save_baseline

_EXAMPLES = """\
  goldrank baseline save qrels.txt main.run -M ndcg@10 -M recall@100 -o baseline.json
  goldrank baseline save wines-bm25-91c0 -o baseline.json
"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = options.new_parser("baseline", "Save the scores of a run as a baseline for goldrank gate.", _EXAMPLES)
    actions = parser.add_subparsers(dest="action", required=True, metavar="save")
    saving = actions.add_parser("save", help="write the scores of each query to a JSON file that can be committed")
    saving.intermixed = True
    saving.add_argument("inputs", metavar="INPUT", nargs="+", help="GOLD RUN, or the key of a stored run")
    options.add_file_options(saving)
    stored_runs.add_store(saving)
    options.add_metrics(saving)
    saving.add_argument("-o", "--output", required=True, metavar="FILE", help="the baseline to write")
    options.add_general(saving)
    return parser


def run(args: argparse.Namespace) -> int:
    """Write the baseline and say what it holds."""
    if len(args.inputs) > 2:
        raise InputError(f"{len(args.inputs)} arguments are given", remedy="give GOLD and one run, or a key")
    how = {"profile": args.profile, **options.conventions(args)}
    if len(args.inputs) == 1:
        options.refuse_unused(args, ["gold_format", "run_format", "corpus"], "on stored runs")
        baseline = save_baseline(args.output, args.inputs[0], args.metric, store=args.store, **how)
    else:
        options.refuse_unused(args, ["store"], "on files")
        args.gold, *args.runs = args.inputs
        stored_runs.refuse_no_runs(args)
        [(name, path)] = run_names(args.runs).items()
        baseline = save_baseline(
            args.output,
            options.read_run(args, path),
            args.metric,
            gold=options.read_gold(args),
            name=name,
            corpus=options.read_corpus(args),
            **how,
        )
    means = ", ".join(f"{metric} {value:.4f}" for metric, value in baseline.means.items())
    printing.show(f"{args.output}: {baseline.run}, {len(baseline.queries)} queries, {means}")
    return 0
