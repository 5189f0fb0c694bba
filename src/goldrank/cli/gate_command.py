"""`goldrank gate`: decide whether a run is worse than another, for continuous integration."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from goldrank.baselines import is_baseline, read_baseline
from goldrank.cli import options, slice_options, stored_runs
from goldrank.errors import GoldrankError, InputError
from goldrank.gating import MARGIN, GateResult
from goldrank.io.files import is_stored_key, run_names, write_atomically
from goldrank.redaction import redact
from goldrank.reporting.text.gate import to_annotations, to_junit, to_markdown, view
from goldrank.runs.gate import gate

FORMATS = ("table", "json", "csv", "markdown", "github")
_EXAMPLES = """\
  goldrank gate qrels.txt main.run branch.run -M ndcg@10 --margin 0.01
  goldrank baseline save qrels.txt main.run -M ndcg@10 -o baseline.json
  goldrank gate baseline.json branch.run --fail-under recall@100=0.85
  goldrank gate qrels.txt baseline.json branch.run --format github --junit gate.xml
  goldrank gate wines-bm25-91c0 wines-wordllama-3f2a -M mrr --cannot-tell pass
  goldrank gate qrels.txt main.run branch.run -M ndcg@10 --slices queries.csv --slice language
  goldrank gate qrels.txt main.run so-far.run -M ndcg@10 --sequential

exit codes: 0 not worse, 1 worse, 3 cannot tell, 2 bad input, 70 the gate itself failed
"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = options.new_parser("gate", "Decide whether a new run is worse than a base run.", _EXAMPLES)
    parser.intermixed = True
    parser.add_argument("inputs", metavar="INPUT", nargs="+", help=_INPUTS)
    options.add_file_options(parser)
    options.add_texts(parser)
    stored_runs.add_store(parser)
    options.add_metrics(parser)
    group = parser.add_argument_group("decision")
    group.add_argument(
        "--margin", action="append", metavar="[METRIC=]VALUE",
        help=f"by how much the new run may be worse (default {MARGIN} for metrics between 0 and 1); repeatable",
    )  # fmt: skip
    group.add_argument(
        "--fail-under", action="append", metavar="METRIC=VALUE",
        help="answer worse if the metric of the new run is below this value (above, where lower is better); repeatable",
    )  # fmt: skip
    group.add_argument(
        "--sequential", action="store_true",
        help="use tests that stay valid at every look while queries are added in the order of the gold; the new run "
        "may answer only the first ones",
    )  # fmt: skip
    group.add_argument(
        "--planned", type=int, metavar="N", help="queries planned for --sequential (default: those of the gold)"
    )
    group.add_argument("--cannot-tell", choices=("pass", "fail"), help="let cannot tell exit with 0 or 1 instead of 3")
    options.add_alpha(group)
    slice_options.add_slices(parser)
    options.add_statistics(parser)
    parser.add_argument("--junit", metavar="FILE", help="write JUnit XML there, also if the input is refused")
    options.add_output(parser, FORMATS)
    return parser


_INPUTS = (
    "[GOLD] BASE NEW: gold, the base run or a baseline of goldrank baseline save, and the new run; without GOLD the "
    "keys of two stored runs, or a baseline with a key or with a run of its own gold"
)


def run(args: argparse.Namespace) -> int:
    """Decide, print the result, and return the exit code of the answer."""
    if args.junit is not None:
        options.refuse_missing_folder(args.junit)
        if Path(args.junit).is_file():
            # A file of an earlier run would look like an answer, also if this process is killed.
            Path(args.junit).unlink()
    try:
        result = _decide(args)
    except Exception as error:
        fault = "" if isinstance(error, GoldrankError) else f"internal error, {type(error).__name__}: "
        _write_junit(args, to_junit(None, redact(f"{fault}{error}")))
        raise
    _write_junit(args, to_junit(result))
    options.print_warnings(() if args.format in ("markdown", "github") else result.warnings, args)
    writers = {"markdown": to_markdown, "github": to_annotations}
    options.emit(writers[args.format](result) if args.format in writers else view(result), args)
    return result.exit_code


def _write_junit(args: argparse.Namespace, content: bytes) -> None:
    if args.junit is not None:
        write_atomically(args.junit, lambda stream: stream.write(content))


def _decide(args: argparse.Namespace) -> GateResult:
    if not 2 <= len(args.inputs) <= 3:
        raise InputError(
            f"{len(args.inputs)} arguments are given", remedy="give [GOLD] BASE NEW: see goldrank gate --help"
        )
    *gold, base, new = args.inputs
    how: dict[str, Any] = {
        "margin": _parse_margin(args.margin),
        "fail_under": options.parse_numbers(args.fail_under or [], "--fail-under"),
        **options.keywords(args, ("sequential", "planned", "alpha", "cannot_tell", "profile", "slice")),
        "bootstrap": options.bootstrap(args),
        **options.conventions(args),
        "slices": slice_options.read_given(args),
    }
    if not slice_options.wants_slices(args):
        options.refuse_unused(args, ["texts"], "without --slice", "name an attribute that is derived from texts")
    baseline = None
    if is_baseline(base) or (not gold and Path(base).exists()):
        baseline = read_baseline(base)
    if not gold and (baseline is None or is_stored_key(new)):
        options.refuse_unused(args, ["gold_format", "run_format", "corpus", "texts"], "on stored runs")
        return gate(baseline or base, new, args.metric, store=args.store, **how)
    options.refuse_unused(args, ["store"], "on files")
    args.gold = gold[0] if gold else str(baseline and baseline.find_gold())
    args.runs = [new] if baseline else [base, new]
    stored_runs.refuse_no_runs(args)
    names = run_names(args.runs)
    runs = [options.read_run(args, path) for path in names.values()]
    shown = (baseline.name if baseline else next(iter(names)), list(names)[-1])
    return gate(
        baseline or runs[0],
        runs[-1],
        args.metric,
        gold=options.read_gold(args),
        texts=args.texts or (),
        corpus=options.read_corpus(args),
        names=shown,
        **how,
    )


def _parse_margin(given: list[str] | None) -> float | dict[str, float]:
    if not given:
        return MARGIN
    if len(given) == 1 and "=" not in given[0].rpartition(")")[2]:
        return options.parse_finite(given[0], "--margin")
    return options.parse_numbers(given, "--margin")
