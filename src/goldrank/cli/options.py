"""Options that several commands share, and what they stand for."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from goldrank.cli import printing
from goldrank.errors import DataWarning, InputError, shorten
from goldrank.hits import Gold, Run
from goldrank.metrics import CHOICES, Profile, parse_all
from goldrank.metrics.abstention import apply_inner
from goldrank.scoring import Bootstrap

if TYPE_CHECKING:
    from goldrank.data.collections import Collection

STATISTICS = ("level", "interval", "resamples", "seed")
CONVENTIONS = (*CHOICES, "depth", "relevance_level")
FORMATS = ("table", "json", "csv", "markdown", "latex")


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are one sentence like every other error, without the usage above it."""

    intermixed = False
    """Whether options may stand between the files; argparse by itself ends an optional list at the first one."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse, and note in ``given`` which options stand on the command line, with how each is written."""
        self._given: dict[str, str] = {}
        parsed, rest = super().parse_known_args(args, namespace)
        parsed.given = {**getattr(parsed, "given", {}), **self._given}
        return parsed, rest

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        # Called for every option that is there, and for no other.
        if action.option_strings:
            long = [option for option in action.option_strings if option.startswith("--")]
            self._given[action.dest] = (long or action.option_strings)[0]
        return super()._get_values(action, arg_strings)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the arguments of the command."""
        return self.parse_intermixed_args(args) if self.intermixed else super().parse_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would print."""
        raise InputError(message, remedy=f"see {self.prog} --help")


def new_parser(command: str, description: str, examples: str) -> Parser:
    """A parser with the look that all commands share."""
    return Parser(
        prog=f"goldrank {command}",
        description=description,
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_data(parser: Parser, runs: str) -> None:
    """Gold and runs, and how to read them."""
    parser.intermixed = True
    parser.add_argument(
        "gold", metavar="GOLD", help="qrels: TREC, BEIR tsv, csv, JSON(L) or Parquet; - is stdin; or a stored run's key"
    )
    parser.add_argument(
        "runs", metavar="RUN", nargs=runs, help="run files in the same formats, .gz/.zst/.xz too; or further keys"
    )
    parser.add_argument("--gold-format", metavar="F", help="format of GOLD (default: recognised by content)")
    parser.add_argument("--run-format", metavar="F", help="format of the runs (default: recognised by content)")
    parser.add_argument(
        "--corpus",
        metavar="N|FILE",
        help="number of items that could be ranked, or a file with one id a line",
    )


def add_metric(parser: argparse.ArgumentParser, help: str, dest: str = "metric") -> None:
    """Add `-M/--metric`; where the command takes no model, `-m` is refused with a hint at `-M`."""
    parser.add_argument("-M", "--metric", dest=dest, action="append", metavar="METRIC", help=help)
    if "-m" not in parser._option_string_actions:
        parser.add_argument("-m", action=_ModelRefusal, help=argparse.SUPPRESS)


class _ModelRefusal(argparse.Action):
    """Refuse `-m` in a command that takes metrics and no model."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option: str | None = None) -> None:
        raise InputError("-m names a model, and this command takes none", remedy=f"for a metric write -M {values}")


def add_metrics(parser: argparse.ArgumentParser) -> None:
    """Metrics, profile and single conventions."""
    add_metric(parser, "ndcg@10, mrr, map(denominator=hits)@10, ndcg@1,5,10; repeatable")
    parser.add_argument(
        "--profile", default="standard", metavar="P", help="conventions by name (goldrank list profiles)"
    )
    group = parser.add_argument_group("conventions (override the profile's; see goldrank list conventions)")
    for name, choices in CHOICES.items():
        group.add_argument(f"--{name.replace('_', '-')}", choices=tuple(choices), default=None)
    group.add_argument("--depth", type=int, default=None, metavar="N", help="read no ranking further than this")
    add_relevance_level(group)


def refuse_unused(args: argparse.Namespace, names: Iterable[str], why: str, remedy: str = "leave it out") -> None:
    """Raise InputError if one of these options stands on the command line, where it would have no effect.

    Args:
        args: the arguments of the command.
        names: the options as attributes of *args*.
        why: where they have none, which ends the sentence "--threads has no effect …".
        remedy: what to do instead.
    """
    for name in names:
        if name in args.given:
            raise InputError(f"{args.given[name]} has no effect {why}", remedy=remedy)


def refuse_unused_level(args: argparse.Namespace, chosen: Profile) -> None:
    """Raise InputError for a relevance level that no metric asked for reads; every profile has one that does."""
    level = args.relevance_level
    if level is None or not args.metric:
        return
    metrics = parse_all(args.metric)
    if all(
        apply_inner(chosen.apply(metric, level), chosen, level) == apply_inner(chosen.apply(metric), chosen, None)
        for metric in metrics
    ):
        raise InputError(
            f"--relevance-level has no effect on {', '.join(map(str, metrics))}: no binary relevance is read there",
            remedy="leave it out, or measure precision, recall or mrr, say",
        )


def _grade(text: str) -> float:
    value = float(text)
    return int(value) if value.is_integer() else value


def add_relevance_level(group: argparse._ArgumentGroup) -> None:
    """The smallest grade that counts as relevant."""
    group.add_argument(
        "-l",
        "--relevance-level",
        type=_grade,
        metavar="N",
        help="smallest grade that counts as relevant, for all metrics with binary relevance (default: any above 0)",
    )


def add_statistics(parser: argparse.ArgumentParser) -> None:
    """How intervals are made."""
    group = parser.add_argument_group("intervals")
    group.add_argument("--level", type=float, default=0.95, help="confidence level (default 0.95)")
    group.add_argument("--interval", choices=("bca", "percentile"), default="bca", help="kind of bootstrap")
    group.add_argument("--resamples", type=int, default=10_000, metavar="N", help="bootstrap resamples (default 10000)")
    group.add_argument("--seed", type=int, default=0, help="seed of all random numbers (default 0)")


def add_output(parser: argparse.ArgumentParser) -> None:
    """Format and destination."""
    parser.add_argument("--format", choices=FORMATS, default="table", help="output format (default table)")
    parser.add_argument("-o", "--output", metavar="FILE", help="write there instead of to standard output")
    parser.add_argument("--debug", action="store_true", help="show a traceback on errors")


def conventions(args: argparse.Namespace) -> dict[str, Any]:
    """The single conventions that were given."""
    return {name: getattr(args, name) for name in CONVENTIONS if getattr(args, name) is not None}


def bootstrap(args: argparse.Namespace) -> Bootstrap:
    """How intervals are made, checked."""
    if not 0 < args.level < 1:
        raise InputError(f"the level {args.level:g} is not between 0 and 1", remedy="give one such as 0.95")
    if args.resamples < 100:
        raise InputError(f"{args.resamples} resamples are too few for an interval", remedy="give 100 or more")
    if args.seed < 0:
        raise InputError(f"the seed {args.seed} is negative", remedy="give a whole number from 0 up")
    return Bootstrap(args.resamples, args.level, args.interval, args.seed)


def read_gold(args: argparse.Namespace) -> Gold:
    """The gold file."""
    return Gold.read(args.gold, format=args.gold_format)


def read_run(args: argparse.Namespace, path: str) -> Run:
    """One run file."""
    if path == "-" and args.gold == "-":
        raise InputError("gold and run cannot both come from standard input", remedy="give one of them as a file")
    return Run.read(path, format=args.run_format)


def read_corpus(args: argparse.Namespace) -> int | frozenset[str] | None:
    """The corpus as its size or its ids."""
    given: str | None = args.corpus
    if given is None:
        return None
    if given.isdecimal():
        return int(given)
    from goldrank.io.files import read_bytes

    ids = frozenset(line.strip() for line in read_bytes(given).decode().splitlines() if line.strip())
    if not ids:
        raise InputError("the corpus file holds no ids", where=given, remedy="write one item id a line")
    return ids


def run_names(paths: Iterable[str]) -> dict[str, str]:
    """A short, unique name for each run file: its stem, or the path where stems clash."""
    paths = list(paths)
    stems = [_stem(path) for path in paths]
    names = {path if stems.count(stem) > 1 else stem: path for path, stem in zip(paths, stems, strict=True)}
    if len(names) < len(paths):
        twice = next(path for path in paths if paths.count(path) > 1)
        raise InputError(f"the run {shorten(twice)} is given twice", remedy="name each run once")
    return names


def _stem(path: str) -> str:
    if path == "-":
        return "stdin"
    name = Path(path).name
    for suffix in (".gz", ".zst", ".xz", ".bz2"):
        name = name.removesuffix(suffix)
    return Path(name).stem or name


def add_scored_pairs(parser: argparse.ArgumentParser) -> None:
    """Pairs with scores to make EvalRank data of, and how; what is not given stays None."""
    group = parser.add_argument_group("EvalRank data made of pairs with scores")
    group.add_argument(
        "--from-pairs",
        nargs="+",
        action="extend",
        metavar="FILE",
        help="files or folders of STS-B, STS, STR, SICK, word similarity, or tables of two texts and a score",
    )
    group.add_argument(
        "--top", type=float, metavar="SHARE", help="of the pairs of every source, the best are positives (default 0.25)"
    )
    group.add_argument(
        "--reverse",
        action=argparse.BooleanOptionalAction,
        help="let the second text of a positive pair ask for the first too (default: yes)",
    )
    group.add_argument(
        "--self-pairs",
        choices=("keep", "drop"),
        help="pairs of a text with itself (default: keep sentences, drop words, as the authors did)",
    )
    group.add_argument(
        "--case", choices=("keep", "lower"), help="of texts (default: lower words, keep sentences, as the authors did)"
    )
    group.add_argument(
        "--background", nargs="+", action="extend", metavar="FILE", help="further background texts, one a line"
    )


def collection_from_pairs(args: argparse.Namespace) -> Collection | None:
    """The EvalRank data that was asked for, or None."""
    names = ("top", "reverse", "self_pairs", "case", "background")
    if args.from_pairs is None:
        refuse_unused(args, names, "without --from-pairs", "name the files of pairs with --from-pairs, or leave it out")
        return None
    from goldrank.tasks.evalrank import from_pairs

    given = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    return from_pairs(args.from_pairs, **given)


def refuse_unwritable(args: argparse.Namespace) -> None:
    """Raise now, before long work, if the output has no folder to go to."""
    if args.output is not None and not Path(args.output).absolute().parent.is_dir():
        raise InputError("there is no such folder to write to", where=args.output, remedy="make it first")


def print_warnings(warnings: Iterable[DataWarning], args: argparse.Namespace) -> None:
    """Print warnings to standard error where the result does not begin with them, or goes to a file."""
    if args.output is None and args.format in ("table", "json"):
        return
    for warning in warnings:
        printing.say(f"warning: {warning}")


def emit(text: str, args: argparse.Namespace) -> None:
    """Print *text*, or write it to the output file in one piece."""
    if args.output is None:
        printing.show(text)
        return
    from goldrank.io.files import write_atomically

    write_atomically(args.output, lambda stream: stream.write((text + "\n").encode()))
