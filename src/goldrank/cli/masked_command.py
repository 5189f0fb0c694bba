"""`goldrank masked`: make, check, predict and score masked examples, and match names."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldrank.cli import options, printing, stored_runs
from goldrank.cli.engine_options import add_engine, sharing
from goldrank.errors import InputError, counts
from goldrank.io.column_names import FieldRoles
from goldrank.reporting.text.grids import Cell, Grid, render
from goldrank.reporting.text.results import to_json

if TYPE_CHECKING:
    from goldrank.masked.examples.checks import ExampleReport
    from goldrank.masked.examples.mentions import Finder
    from goldrank.masked.scoring.profiles import Masking
    from goldrank.runs.evaluate import Outcome

_EXAMPLES = """\
  goldrank masked predict persons -m names:majority retrieve:wordllama
  goldrank masked make pages.jsonl -o examples.jsonl.xz --max-characters 512
  goldrank masked make pages.jsonl -o examples.jsonl --profile source
  goldrank masked check examples.jsonl.xz
  goldrank masked predict examples.jsonl.xz -m names:majority retrieve:wordllama -k 5
  goldrank masked predict examples.jsonl.xz -m fill-mask:roberta-base --context revealed
  goldrank masked score masked-examples-retrieve-wordllama-3f2a --by length
  goldrank masked score KEY KEY --profile strict
  goldrank masked score KEY --page 12 --example 0
  goldrank masked score KEY KEY --matcher original
  goldrank masked score predictions.parquet --data examples.jsonl.xz
  goldrank masked score results/1000_basic --data examples.jsonl.xz
  goldrank masked score predictions.parquet --engine ray
  goldrank masked match "John F. Kennedy" Kennedy "Robert Kennedy" "J. F. K."

persons is the name of a built-in set of thirty short pages.
"""
_FORMATS = ("table", "json", "markdown")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = options.new_parser("masked", "Evaluate how well models name the person behind a mask.", _EXAMPLES)
    actions = parser.add_subparsers(dest="action", required=True, metavar="make|check|predict|score|match")
    for add in (_add_make, _add_check, _add_predict, _add_score, _add_match):
        options.add_general(add(actions))
    return parser


def _add_make(actions: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(
        "make", help="mask the persons in pages, and cut the pages into examples"
    )
    parser.add_argument(
        "pages", metavar="PAGES", help="JSONL, CSV or Parquet with id, title, text; a folder; or persons"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        required=True,
        help="JSON Lines file to write, also compressed (.gz, .xz, .zst)",
    )
    parser.add_argument(
        "--max-characters", type=int, default=512, metavar="N", help="maximum length of an example (default 512)"
    )
    parser.add_argument("--merge", action="store_true", help="merge masks that are separated only by blanks")
    parser.add_argument(
        "--profile",
        choices=("strict", "source"),
        default="strict",
        help="mask mentions of the person (strict, default), or every part of the name as written (source)",
    )
    _add_ner(parser)
    _add_aliases(parser)
    return parser


def _add_examples(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "data", metavar="DATA", help="examples as JSONL, plain or compressed; - for standard input; or persons"
    )


def _add_ner(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--ner",
        nargs="?",
        const="en_core_web_sm",
        metavar="MODEL",
        help="find mentions with a named-entity tagger: of spaCy (extra ner; default en_core_web_sm), or "
        "hf:NAME_OR_PATH of transformers (extra fill-mask), such as hf:dslim/bert-base-NER, the tagger of "
        "the source",
    )


def _finder(masking: Masking, model: str | None) -> Finder:
    from goldrank.masked.examples.masking import FINDERS
    from goldrank.masked.examples.ner import ner_finder

    return FINDERS[masking] if model is None else ner_finder(model, masking)


def _add_check(actions: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(
        "check", help="find leaks, mismatches, adjacent masks and namesakes"
    )
    _add_examples(parser)
    parser.add_argument("--strict", action="store_true", help="exit with code 1 if there are warnings")
    parser.add_argument(
        "--remask", choices=("strict", "source"), help="only count the examples that stay the same if masked again"
    )
    _add_ner(parser)
    _add_aliases(parser)
    options.add_result(parser, _FORMATS)
    return parser


def _add_predict(actions: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser("predict", help="predict every mask, and store the guesses")
    _add_examples(parser)
    parser.add_argument(
        "-m", "--model", nargs="+", required=True, metavar="MODEL", help="predictors (see goldrank list predictors)"
    )
    parser.add_argument("-k", type=int, default=5, metavar="K", help="guesses per mask (default 5)")
    parser.add_argument(
        "--context",
        choices=("masked", "revealed"),
        default="masked",
        help="whether the other masks of an example stay masked (default) or show the name",
    )
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N examples")
    parser.add_argument("--overwrite", action="store_true", help="predict again what is already stored")
    parser.add_argument("--reuse", action="store_true", help="take stored guesses of live models too (chat servers)")
    stored_runs.add_store(parser)
    return parser


def _add_score(actions: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(
        "score", help="score per mask, example and page, with intervals"
    )
    parser.add_argument("runs", metavar="KEY|FILE|FOLDER", nargs="+", help="stored runs, or predictions")
    parser.add_argument("--data", metavar="DATA", help="the examples that the files of predictions were made for")
    parser.add_argument("--pad", action="store_true", help="pad lists of unequal length, and report it")
    add_rules(parser)
    parser.add_argument(
        "--groups",
        action="store_true",
        help="show the pooled guesses of every example and page (default: of a single page); with --format csv, only "
        "these",
    )
    parser.add_argument("--page", metavar="ID", help="show only the pooled guesses of this page")
    parser.add_argument("--example", type=int, metavar="N", help="show only those of the example with this number")
    parser.add_argument("--by", metavar="COLUMN", help="split by masks, length, type or any column of the data")
    parser.add_argument(
        "--bins", type=int, default=4, metavar="N", help="number of classes of a numeric column (default 4)"
    )
    parser.add_argument(
        "--original", action="store_true", help="also PNMS, LNMS, W-PNMS and NLD, as coded and corrected"
    )
    options.add_alpha(parser)
    stored_runs.add_store(parser)
    options.add_statistics(parser)
    add_engine(parser, shards=False)
    options.add_result(parser)
    return parser


def _add_match(actions: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(
        "match", help="test whether guesses name the person of a title"
    )
    parser.add_argument("title", metavar="TITLE", help="such as 'John F. Kennedy'")
    parser.add_argument("guesses", metavar="GUESS", nargs="+", help="guessed names")
    parser.add_argument("--alias", action="append", default=[], metavar="NAME", help="another name of the person")
    options.add_result(parser, _FORMATS)
    return parser


RULES = ("k", "pool", "matcher", "tier", "aliases")
"""The options of `add_rules` besides the profile."""
_PROFILE_HELP = (
    "which guesses are right: source (default), those that share a part of the name, or strict, those that name the "
    "same person; the other reading is shown beside it"
)


def add_rules(parser: argparse.ArgumentParser, *, profile: bool = True) -> None:
    """Add the options on right guesses and pooling; `goldrank plot` already has a profile."""
    group = parser.add_argument_group("rules")
    if profile:
        group.add_argument("--profile", choices=("source", "strict"), help=_PROFILE_HELP)
    group.add_argument("-k", type=int, metavar="K", help="use only the first K guesses of each mask")
    group.add_argument(
        "--pool",
        choices=("gold", "alias"),
        help="for experts: pool all right guesses (gold, as in source), or all names of a person, right or wrong "
        "(alias, as in strict)",
    )
    group.add_argument(
        "--matcher",
        choices=("names", "tokens", "surname", "original", "seed"),
        help="for experts: tokens (as in source): any whole name of the title; names (as in strict): the same person; "
        "surname: the surname; original: case-sensitive parts of words; seed: any part, regardless of case",
    )
    group.add_argument(
        "--tier",
        choices=("exact", "all", "surname", "given", "initial"),
        help="for experts: the lowest tier of agreement that is right (default given)",
    )
    _add_aliases(group)


def _add_aliases(parser: Any) -> None:
    parser.add_argument("--aliases", metavar="FILE", help="other names of the persons: a table of title and alias")


def run(args: argparse.Namespace) -> int:
    """Run the subcommand."""
    actions = {"make": _make, "check": _check, "predict": _predict, "score": _score, "match": _match}
    return actions[args.action](args)


def _make(args: argparse.Namespace) -> int:
    from goldrank.masked.examples.files import write_chunks
    from goldrank.masked.examples.masking import MaskingCounts, mask_pages, pages_at
    from goldrank.masked.names.aliases import aliases_of
    from goldrank.masked.scoring.profiles import find_profile

    options.refuse_unwritable(args)
    masking = find_profile(args.profile).masking
    if args.aliases is not None and masking == "parts":
        raise InputError("--profile source masks parts of the title only", remedy="omit --aliases, or use strict")
    masking_counts, fields, alias_columns = MaskingCounts(), FieldRoles(), FieldRoles()
    chunks = mask_pages(
        pages_at(args.pages, fields),
        masking_counts,
        size=args.max_characters,
        merge=args.merge,
        finder=_finder(masking, args.ner),
        aliases=aliases_of(args.aliases, alias_columns),
    )
    write_chunks(chunks, args.output)
    stored_runs.print_notes([fields.reading, alias_columns.reading])
    of = f"{counts(masking_counts.masks, 'mask')} of {counts(masking_counts.pages, 'page')}"
    printing.show_prose(f"{args.output}: {counts(masking_counts.chunks, 'example')} with {of}.")
    if masking_counts.dropped:
        whole = f", including all of {counts(masking_counts.unnamed, 'page')}" if masking_counts.unnamed else ""
        printing.show_prose(f"Left out: {counts(masking_counts.dropped, 'part')} without the person's name{whole}.")
    return 0


def _check(args: argparse.Namespace) -> int:
    from goldrank.masked.examples.checks import check_chunks, check_file
    from goldrank.masked.examples.masking import examples_at, is_built_in
    from goldrank.masked.names.aliases import aliases_of

    options.refuse_unwritable(args)
    if args.remask is not None:
        return _remask(args)
    options.refuse_unused(args, ["ner"], "without --remask", "add --remask, or omit --ner")
    columns = FieldRoles()
    aliases = aliases_of(args.aliases, columns)
    built_in = is_built_in(args.data)
    report = (
        check_chunks(examples_at(args.data), aliases=aliases) if built_in else check_file(args.data, aliases=aliases)
    )
    stored_runs.print_notes([report.reading, columns.reading])
    options.emit(to_json(asdict(report), "masked-check") if args.format == "json" else _check_table(report, args), args)
    return 1 if report.of("error") or (args.strict and report.of("warning")) else 0


def _remask(args: argparse.Namespace) -> int:
    """Restore the examples, mask them again and report how many stay the same."""
    from goldrank.masked.examples.masking import examples_at
    from goldrank.masked.examples.part_mentions import count_same
    from goldrank.masked.scoring.profiles import find_profile

    for option, idle in (("--strict", args.strict), ("--aliases", args.aliases is not None)):
        if idle:
            raise InputError(f"{option} has no effect with --remask", remedy="omit one of them")
    if args.format == "markdown":
        raise InputError("--remask has no markdown output", remedy="use --format table or json")
    fields = FieldRoles()
    chunks = list(examples_at(args.data, fields))
    stored_runs.print_notes([fields.reading])
    masks = sum(len(chunk.masks) for chunk in chunks)
    same, same_masks = count_same(chunks, _finder(find_profile(args.remask).masking, args.ner))
    if args.format == "json":
        result = {"profile": args.remask, "examples": len(chunks), "same_examples": same}
        options.emit(to_json({**result, "masks": masks, "same_masks": same_masks}, "masked-check-remask"), args)
        return 0
    options.emit(
        f"Restored and masked again with --profile {args.remask}: {same} of {counts(len(chunks), 'example')} and "
        f"{same_masks} of {counts(masks, 'mask')} stay the same.",
        args,
    )
    return 0


def _check_table(report: ExampleReport, args: argparse.Namespace) -> str:
    sizes = f"{counts(report.pages, 'page')}, {counts(report.chunks, 'example')}, {counts(report.masks, 'mask')}."
    if not report.findings:
        return f"{sizes}\n\nThe check found no problems."
    rows = [
        [
            Cell(finding.severity, best=finding.severity == "error"),
            Cell(finding.sentence),
            Cell("; ".join(finding.examples)),
        ]
        for finding in report.findings
    ]
    grid = Grid(["severity", "finding", "examples"], rows, notes=[sizes], text_columns=3)
    return render([grid], args.format, options.layout(args))


def _predict(args: argparse.Namespace) -> int:
    from goldrank.runs.masked_results import predict

    def show(outcome: Outcome) -> None:
        printing.show(outcome.stored.key + ("" if outcome.fresh else " (stored before)"))
        for remark in outcome.remarks:
            printing.remark(f"note: {remark}.")

    predictions = predict(
        args.data,
        args.model,
        args.store,
        **options.keywords(args, ("k", "context", "limit", "overwrite", "reuse")),
        on_outcome=show,
    )
    stored_runs.print_notes(list(predictions.readings))
    return 0


def _score(args: argparse.Namespace) -> int:
    from goldrank.reporting.text.masked import result_view
    from goldrank.runs.masked_results import score
    from goldrank.runs.prediction_files import expand
    from goldrank.store import Store

    how, store = options.bootstrap(args), Store.open(args.store)
    options.refuse_unwritable(args)
    notes: list[str] = []
    args.runs = expand(args.runs, store, notes)
    stored_runs.print_notes(notes)
    _refuse_unused(args)
    with sharing(args.engine, args.work_folder) as sharding:
        result = score(
            args.runs,
            **options.keywords(args, ("data", "pad", "profile", *RULES, "original", "alpha")),
            **options.keywords(args, ("groups", "page", "example", "by", "bins")),
            bootstrap=how,
            store=store,
            sharding=sharding,
        )
    stored_runs.print_notes([*result.readings, *result.notes])
    groups_only = args.groups or args.page is not None or args.example is not None
    options.emit(result_view(result, group_rows=groups_only), args)
    return 0


def _refuse_unused(args: argparse.Namespace) -> None:
    """Raise an error for options of `score` that have no effect."""
    if args.page is not None or args.example is not None:
        options.refuse_unused(args, ["groups"], "beside --page or --example, which choose the groups")
    files = [run for run in args.runs if Path(run).is_file()]
    if not files:
        options.refuse_unused(args, ["data", "pad"], "on stored runs", "leave it out, or give a file of predictions")
    if len(files) == len(args.runs):
        options.refuse_unused(args, ["store"], "on files")
    if args.by is None:
        options.refuse_unused(args, ["bins"], "without --by", "name the column with --by, or leave it out")
    if args.format == "csv":
        options.refuse_unused(args, ["by", "original", "alpha"], "on --format csv", "use --format json for all results")
    if len(args.runs) == 1:
        options.refuse_unused(args, ["alpha"], "on one run, which is compared with nothing")
    if args.engine in (None, "local"):
        options.refuse_unused(args, ["work_folder"], "without a cluster", "add --engine ray, or leave it out")


def _match(args: argparse.Namespace) -> int:
    from goldrank.masked.names.matching import Person

    person = Person(args.title, args.alias)
    matches = [(guess, person.match(guess)) for guess in args.guesses]
    if args.format == "json":
        entries = [
            {"guess": guess, "tier": match and match.tier.name.lower(), "evidence": match and match.evidence}
            for guess, match in matches
        ]
        options.emit(to_json({"title": args.title, "guesses": entries}, "masked-match"), args)
        return 0
    rows = [
        [
            Cell(guess),
            Cell(match.tier.name.lower() if match else "–", best=bool(match)),
            Cell(match.evidence if match else ""),
        ]
        for guess, match in matches
    ]
    grid = Grid(["guess", "tier", "evidence"], rows, title=args.title, text_columns=3)
    options.emit(render([grid], args.format, options.layout(args)), args)
    return 0
