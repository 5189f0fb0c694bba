"""Options that several commands share, the values they stand for, and the output of results."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from goldrank.cli import printing
from goldrank.errors import DataWarning, InputError, shorten, unknown_name
from goldrank.hits import Gold, Run
from goldrank.io.files import parse_corpus
from goldrank.io.labels import assign_labels, refuse_shared_names
from goldrank.metrics import CHOICES, Profile, parse_all
from goldrank.metrics.abstention import apply_inner
from goldrank.reporting.text.grids import Layout
from goldrank.scoring import Bootstrap
from goldrank.stats import check_alpha, check_level
from goldrank.terminal import display_width, output_width, wrap

if TYPE_CHECKING:
    from goldrank.data.collections import Collection
    from goldrank.reporting.text.views import View

STATISTICS = ("level", "interval", "resamples", "seed")
CONVENTIONS = (*CHOICES, "depth", "relevance_level")
FORMATS = ("table", "json", "csv", "markdown", "latex")
INTERVALS = ("bca", "percentile")
SIMILARITIES = ("cosine", "dot", "l2")
CONVENTION_HELP = {
    "ties": "order of items with equal scores",
    "precision": "floating-point type in which scores are compared",
    "missing": "queries of the gold without results",
    "self_matches": "results whose id is the id of the query",
    "positives": "whether the other relevant items of a query can outrank a relevant item",
    "unjudged": "results that the gold does not judge",
    "outside": "gold items that are not in the corpus",
    "scores": "what the scores of a run mean",
}


class Parser(argparse.ArgumentParser):
    """A parser that raises InputError instead of printing its usage and exiting."""

    intermixed = False
    """Whether options may stand between positional arguments; by default argparse ends a list at the first option."""
    remedy = ""
    """What to write instead of an argument that is one too many."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the arguments, and record in ``given`` the long form of each option of the command line."""
        self._given: dict[str, str] = {}
        parsed, rest = super().parse_known_args(args, namespace)
        parsed.given = {**getattr(parsed, "given", {}), **self._given}
        return parsed, rest

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        # argparse calls this for every option on the command line, and for no other.
        if action.option_strings:
            long = [option for option in action.option_strings if option.startswith("--")]
            self._given[action.dest] = (long or action.option_strings)[0]
        return super()._get_values(action, arg_strings)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the arguments of the command."""
        parse = self.parse_known_intermixed_args if self.intermixed else self.parse_known_args
        parsed, unknown = parse(args, namespace)
        if unknown:
            _parser_of(parsed, self)._refuse_unknown(unknown[0])
        return parsed

    def _refuse_unknown(self, argument: str) -> NoReturn:
        if argument.startswith("-"):
            option = argument.partition("=")[0]
            known = [name for name in self._option_string_actions if name.startswith("--")]
            raise unknown_name("option", option, known, f"{self.prog} --help")
        raise InputError(
            f"the argument {shorten(argument)} is one too many", remedy=self.remedy or f"see {self.prog} --help"
        )

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            choices = [str(choice) for choice in action.choices]
            options = [option for option in action.option_strings if option.startswith("--")]
            kind = f"value of {options[0]}" if options else f"{self.prog.removeprefix('goldrank ')} command"
            raise unknown_name(kind, str(value), choices, f"one of {', '.join(choices)}")

    def format_help(self) -> str:
        """Return the help, with the lines of long examples continued by a backslash, and no line too long."""
        width = output_width(sys.stdout) or _HELP_WIDTH
        return "".join(f"{part}\n" for line in super().format_help().splitlines() for part in wrap_command(line, width))

    def error(self, message: str) -> NoReturn:
        """Raise InputError with the message that argparse would print."""
        raise InputError(message, remedy=f"see {self.prog} --help")


_HELP_WIDTH = 80


def wrap_command(line: str, width: int) -> list[str]:
    """Return a line of help in lines of at most *width* columns; a command is continued by backslashes.

    >>> wrap_command("  goldrank score qrels.txt bm25.run", 30)
    ['  goldrank score qrels.txt \\\\', '      bm25.run']
    """
    if not line.startswith("  goldrank ") or display_width(line) <= width:
        return wrap(line, width, hanging="  ")
    lines = wrap(line, width - 2, hanging="    ", break_words=False)
    return [*(f"{part} \\" for part in lines[:-1]), lines[-1]]


def _parser_of(parsed: argparse.Namespace, parser: Parser) -> Parser:
    """Return the parser of the action that was chosen on the command line, or the parser itself if it has none."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            inner = action.choices.get(getattr(parsed, action.dest, ""))
            return parser if inner is None else _parser_of(parsed, inner)
    return parser


def new_parser(command: str, description: str, examples: str) -> Parser:
    """Return a parser with the layout that all commands share."""
    return Parser(
        prog=f"goldrank {command}",
        description=description,
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_data(parser: Parser) -> None:
    """Add the gold, the runs and the options for reading them."""
    parser.intermixed = True
    parser.add_argument(
        "gold",
        metavar="GOLD",
        nargs="?",
        help="relevance judgements (qrels) as TREC, BEIR TSV, CSV, JSON(L) or Parquet, - for standard input; or the "
        "key of a stored run, which has its own gold",
    )
    parser.add_argument(
        "runs", metavar="RUN", nargs="*", help="run files in the same formats, also compressed; or more keys"
    )
    add_stored_task(parser)
    add_file_options(parser)


def add_stored_task(parser: argparse.ArgumentParser) -> None:
    """Add ``--task`` for all stored runs of a task."""
    parser.add_argument(
        "--task",
        action="append",
        metavar="TASK",
        help="instead of keys, all stored runs of a task, on the data that was evaluated last; repeatable",
    )


def add_file_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for reading files of gold and runs."""
    parser.add_argument("--gold-format", metavar="FORMAT", help="format of GOLD (default: detected from the content)")
    add_run_format(parser)
    parser.add_argument(
        "--corpus", metavar="N|FILE", help="number of items in the corpus, or a file with one id per line"
    )


def add_texts(parser: argparse.ArgumentParser) -> None:
    """Add ``--texts``."""
    parser.add_argument(
        "--texts",
        action="append",
        metavar="DATA",
        help="texts of queries and items of files: a collection (name or path), or a table of id and text; repeatable",
    )


def add_run_format(parser: argparse.ArgumentParser) -> None:
    """Add ``--run-format``."""
    parser.add_argument(
        "--run-format", metavar="FORMAT", help="format of the runs (default: detected from the content)"
    )


def add_metric(parser: argparse.ArgumentParser, help: str, dest: str = "metric") -> None:
    """Add ``-M/--metric``; in a command without ``--model``, refuse ``-m`` with a hint at ``-M``."""
    parser.add_argument("-M", "--metric", dest=dest, action="append", metavar="METRIC", help=help)
    if "-m" not in parser._option_string_actions:
        parser.add_argument("-m", action=_ModelRefusal, help=argparse.SUPPRESS)


class _ModelRefusal(argparse.Action):
    """Refuse ``-m`` in a command that takes metrics and no model."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option: str | None = None) -> None:
        raise InputError("-m names a model, and this command takes none", remedy=f"for a metric write -M {values}")


def add_metrics(parser: argparse.ArgumentParser) -> None:
    """Add the metrics, the profile and the single conventions."""
    add_metric(parser, "such as ndcg@10, mrr, map(denominator=hits)@10 or ndcg@1,5,10; repeatable")
    add_profile(parser)
    add_depth(add_conventions(parser))


def add_profile(parser: argparse.ArgumentParser) -> None:
    """Add ``--profile``, which is None if it is not given, because tasks and stored runs have profiles of their own."""
    parser.add_argument("--profile", metavar="PROFILE", help="set of conventions (see goldrank list profiles)")


def add_conventions(parser: argparse.ArgumentParser, without: Sequence[str] = ()) -> argparse._ArgumentGroup:
    """Add an option for every convention but those in *without*, and the relevance level."""
    group = parser.add_argument_group("conventions (override the profile; see goldrank list conventions)")
    for name, choices in CHOICES.items():
        if name not in without:
            group.add_argument(f"--{name.replace('_', '-')}", choices=tuple(choices), help=CONVENTION_HELP[name])
    group.add_argument(
        "-l",
        "--relevance-level",
        type=_parse_grade,
        metavar="N",
        help="smallest grade that counts as relevant in metrics with binary relevance (default: any above 0)",
    )
    return group


def add_depth(group: argparse._ActionsContainer) -> None:
    """Add ``--depth``."""
    group.add_argument("--depth", type=int, metavar="N", help="use only the first N results of each query")


def add_scores(parser: argparse.ArgumentParser) -> None:
    """Add ``--scores``."""
    parser.add_argument("--scores", choices=tuple(CHOICES["scores"]), help=CONVENTION_HELP["scores"])


def add_per_query(parser: argparse.ArgumentParser) -> None:
    """Add ``-q/--per-query``."""
    parser.add_argument("-q", "--per-query", action="store_true", help="show the value of every query")


def describe_choices(meanings: Mapping[str, str]) -> str:
    """Return what each value of an option means, for its help."""
    return "; ".join(f"{name}: {meaning}" for name, meaning in meanings.items())


def keywords(args: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """Return the options of these names that are given, as keywords of a function."""
    return {name: value for name in names if (value := getattr(args, name, None)) is not None}


def refuse_unused(args: argparse.Namespace, names: Iterable[str], why: str, remedy: str = "leave it out") -> None:
    """Raise InputError if one of these options is on the command line, where it would have no effect.

    Args:
        args: The arguments of the command.
        names: The options as attributes of *args*.
        why: The end of the sentence "--threads has no effect …".
        remedy: What to do instead.
    """
    for name in names:
        if name in args.given:
            raise InputError(f"{args.given[name]} has no effect {why}", remedy=remedy)


def refuse_unused_level(args: argparse.Namespace, chosen: Profile) -> None:
    """Raise InputError for a relevance level that none of the given metrics uses."""
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
            remedy="leave it out, or add a metric with binary relevance such as precision, recall or mrr",
        )


def _parse_grade(text: str) -> float:
    grade = _parse_number(text)
    return int(grade) if grade.is_integer() else grade


def _parse_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        # argparse would name the function that calls this one.
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def parse_finite(text: str, option: str) -> float:
    """Return the number of an option; raise InputError if it is none, or not finite."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{option}: {shorten(text)} is not a number", remedy=f"write a number, as in {option} 0.01")
    return number


def parse_numbers(given: Sequence[str], option: str) -> dict[str, float]:
    """Return the numbers of an option ``METRIC=VALUE`` that can be repeated.

    >>> parse_numbers(["ndcg@10=0.4", "map(denominator=hits)=0.2"], "--fail-under")
    {'ndcg@10': 0.4, 'map(denominator=hits)': 0.2}
    """
    numbers: dict[str, float] = {}
    for text in given:
        name, _, value = (part.strip() for part in text.rpartition("="))
        if not name:
            raise InputError(f"{option} {shorten(text)} names no metric", remedy=f"write {option} METRIC=VALUE")
        if name in numbers:
            raise InputError(f"{option} is given twice for {name}", remedy="give it once")
        numbers[name] = parse_finite(value, option)
    return numbers


def add_statistics(
    parser: argparse.ArgumentParser, title: str = "intervals", *, defaults: bool = True
) -> argparse._ArgumentGroup:
    """Add the options of the bootstrap; without *defaults*, options that are not given are None."""
    usual = Bootstrap()
    group = parser.add_argument_group(title)
    group.add_argument("--level", type=float, help=f"confidence level (default {usual.level})")
    group.add_argument("--interval", choices=INTERVALS, help=f"kind of bootstrap interval (default {usual.method})")
    add_resamples(group)
    if defaults:
        parser.set_defaults(level=usual.level, interval=usual.method, resamples=usual.resamples, seed=usual.seed)
    return group


def add_resamples(group: argparse._ActionsContainer) -> None:
    """Add the number of resamples and the seed."""
    usual = Bootstrap()
    group.add_argument(
        "--resamples", type=int, metavar="N", help=f"resamples of the bootstrap (default {usual.resamples})"
    )
    group.add_argument("--seed", type=int, metavar="N", help=f"seed of all random numbers (default {usual.seed})")


def add_alpha(group: argparse._ActionsContainer, default: float | None = 0.05) -> None:
    """Add ``--alpha``."""
    group.add_argument(
        "--alpha", type=_parse_alpha, default=default, metavar="LEVEL", help="significance level (default 0.05)"
    )


def _parse_alpha(text: str) -> float:
    alpha = _parse_number(text)
    check_alpha(alpha)
    return alpha


def add_similarity(group: argparse._ActionsContainer, default: str | None = "cosine") -> None:
    """Add ``--similarity``."""
    group.add_argument(
        "--similarity", choices=SIMILARITIES, default=default, help="similarity of vectors (default cosine)"
    )


def add_models_and_tasks(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    """Add ``-m/--model`` and ``-t/--task``, each with one or more names."""
    parser.add_argument(
        "-m", "--model", dest="models", nargs="+", action="extend", required=required, metavar="MODEL",
        help="models (see goldrank list models)",
    )  # fmt: skip
    parser.add_argument(
        "-t", "--task", dest="tasks", nargs="+", action="extend", required=required, metavar="TASK",
        help="tasks by name, NAME:PATH or path, also of qrels alone for run files (see goldrank list tasks)",
    )  # fmt: skip


def add_questions(parser: argparse.ArgumentParser) -> None:
    """Add ``--questions``."""
    parser.add_argument(
        "--questions",
        metavar="FILE",
        help="questions for a folder of documents: CSV, TSV, JSON Lines, Parquet or XLSX with columns such as question "
        "and expected_file; other columns are named as FILE(query=COLUMN,items=COLUMN,grade=COLUMN)",
    )


def add_label(parser: argparse.ArgumentParser, what: str) -> None:
    """Add ``--label``, which gives a short name to a model, run file or stored run."""
    parser.add_argument(
        "--label", action="append", default=[], metavar="NAME=SPEC",
        help=f"name of {what} in tables and figures, as in --label x=SPEC; SPEC need not be given again; repeatable",
    )  # fmt: skip


def labels(args: argparse.Namespace) -> dict[str, str]:
    """Return what each name that ``--label`` gives stands for."""
    specs: dict[str, str] = {}
    for label in getattr(args, "label", ()):
        name, equals, spec = (part.strip() for part in label.partition("="))
        if not (name and equals and spec):
            raise InputError(f"--label {shorten(label)} is not a name with a spec", remedy="write --label NAME=SPEC")
        if name in specs or spec in specs.values():
            raise InputError(f"--label {shorten(label)} repeats a name or a spec", remedy="give each one name")
        specs[name] = spec
    return specs


def labelled(names: Mapping[str, str], labels: Mapping[str, str]) -> dict[str, str]:
    """Return the entries of *names* under their labels, or under their names if they have none.

    Raises:
        InputError: A label stands for no entry, or is the name of another one.
    """
    assigned = assign_labels(labels, {entry: (name,) for name, entry in names.items()})
    refuse_shared_names({entry: assigned.get(entry, name) for name, entry in names.items()}, assigned)
    return {assigned.get(entry, name): entry for name, entry in names.items()}


def add_overwrite(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """Add ``--overwrite`` for stored results (alone: ``always``), and ``--reuse`` for those of live models."""
    from goldrank.runs.evaluate import OVERWRITE

    parser.add_argument(
        "--overwrite", nargs="?", const="always", choices=tuple(OVERWRITE), default=default,
        help=f"{describe_choices(OVERWRITE)} (default missing; always without a value)",
    )  # fmt: skip
    parser.add_argument(
        "--reuse", action="store_true", default=None,
        help="take stored results and cached vectors of live models too (servers, search functions, databases)",
    )  # fmt: skip


def add_figure_style(parser: argparse.ArgumentParser) -> None:
    """Add the theme and the size of figures."""
    from goldrank.reporting.render.themes import SIZES, THEMES

    parser.add_argument("--theme", choices=tuple(THEMES), default="light", help="colours of figures (default light)")
    parser.add_argument(
        "--size", choices=tuple(SIZES), default="double", help="width of figures in paper columns (default double)"
    )


def add_output(parser: argparse.ArgumentParser, formats: Sequence[str] = FORMATS) -> None:
    """Add the format and the file of the result, and the options of `add_general`."""
    add_result(parser, formats)
    add_general(parser)


def add_result(parser: argparse.ArgumentParser, formats: Sequence[str] = FORMATS) -> None:
    """Add the format and the file of the result."""
    add_format(parser, formats)
    parser.add_argument("-o", "--output", metavar="FILE", help="write the result there instead of to standard output")


def add_format(parser: argparse.ArgumentParser, formats: Sequence[str] = FORMATS) -> None:
    """Add ``--format``, whose default is the first of *formats*."""
    parser.add_argument("--format", choices=formats, default=formats[0], help=f"output format (default {formats[0]})")


def add_general(parser: argparse.ArgumentParser) -> None:
    """Add ``--quiet``, ``--verbose`` and ``--debug``, which `goldrank.cli.main` handles."""
    group = parser.add_argument_group("messages")
    group.add_argument("--quiet", action="store_true", help="print results, warnings and errors only, and no progress")
    group.add_argument("--verbose", action="store_true", help="print all conventions below tables")
    group.add_argument("--debug", action="store_true", help="show the traceback of an error")


def conventions(args: argparse.Namespace) -> dict[str, Any]:
    """Return the conventions that are on the command line."""
    return keywords(args, CONVENTIONS)


def bootstrap(args: argparse.Namespace) -> Bootstrap:
    """Return the settings of the bootstrap that the options of `add_statistics` stand for."""
    return checked_bootstrap(args.resamples, args.level, args.interval, args.seed)


def checked_bootstrap(resamples: int, level: float = 0.95, method: str = "bca", seed: int = 0) -> Bootstrap:
    """Return the settings of the bootstrap.

    Raises:
        InputError: One of the settings is out of its range.
    """
    check_level(level)
    if resamples < 100:
        raise InputError(f"{resamples} resamples are too few for an interval", remedy="give 100 or more")
    if method not in INTERVALS:
        raise unknown_name("kind of interval", method, INTERVALS, " or ".join(INTERVALS))
    if seed < 0:
        raise InputError(f"the seed {seed} is negative", remedy="give a whole number from 0 up")
    return Bootstrap(resamples, level, method, seed)


Table = TypeVar("Table", Gold, Run)


def say_reading(table: Table) -> Table:
    """Say what each named column of gold or a run was read as, and return the table."""
    if table.reading:
        printing.remark(f"note: {table.reading}.")
    return table


def file_keywords(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options for files of gold and runs as keywords of `report` and `plot`."""
    return {"gold": args.gold, **keywords(args, ("texts", "corpus", "gold_format", "run_format"))}


def read_gold(args: argparse.Namespace) -> Gold:
    """Read the gold file."""
    return say_reading(Gold.read(args.gold, format=args.gold_format))


def read_run(args: argparse.Namespace, path: str) -> Run:
    """Read a run file."""
    if path == "-" and args.gold == "-":
        raise InputError("gold and run cannot both come from standard input", remedy="give one of them as a file")
    threads = max(1, args.threads // len(args.runs)) if "threads" in args else None
    return say_reading(Run.read(path, format=args.run_format, threads=threads))


def read_corpus(args: argparse.Namespace) -> int | frozenset[str] | None:
    """Return the corpus as its size or its ids."""
    return None if args.corpus is None else parse_corpus(args.corpus)


def add_scored_pairs(parser: argparse.ArgumentParser) -> None:
    """Add the options that build EvalRank data from scored pairs; options that are not given are None."""
    group = parser.add_argument_group("EvalRank data from scored pairs")
    group.add_argument(
        "--from-pairs",
        nargs="+",
        action="extend",
        metavar="FILE",
        help="files or folders of STS-B, STS, STR, SICK or word similarity, or tables of two texts and a score",
    )
    group.add_argument(
        "--top", type=float, metavar="SHARE", help="share of the pairs of each source that are positive (default 0.25)"
    )
    group.add_argument(
        "--reverse",
        action=argparse.BooleanOptionalAction,
        help="use the second text of a positive pair as a query for the first, too (default: yes)",
    )
    group.add_argument(
        "--self-pairs",
        choices=("keep", "drop"),
        help="pairs of a text with itself (default, as in EvalRank: keep sentences, drop words)",
    )
    group.add_argument(
        "--case", choices=("keep", "lower"), help="case of the texts (default, as in EvalRank: lower words only)"
    )
    group.add_argument(
        "--background", nargs="+", action="extend", metavar="FILE", help="more background texts, one per line"
    )


def collection_from_pairs(args: argparse.Namespace) -> Collection | None:
    """Return the EvalRank data that the options of `add_scored_pairs` ask for, or None."""
    names = ("top", "reverse", "self_pairs", "case", "background")
    if args.from_pairs is None:
        refuse_unused(args, names, "without --from-pairs", "name the files of pairs with --from-pairs, or leave it out")
        return None
    from goldrank.tasks.evalrank import from_pairs

    return from_pairs(args.from_pairs, **keywords(args, names))


def refuse_unwritable(args: argparse.Namespace) -> None:
    """Raise InputError before long work if the folder of the output does not exist."""
    if args.output is not None:
        refuse_missing_folder(args.output)


def refuse_missing_folder(file: str) -> None:
    """Raise InputError if the folder of *file* does not exist."""
    if not Path(file).absolute().parent.is_dir():
        raise InputError("the folder does not exist", where=file, remedy="create it first")


def print_warnings(warnings: Iterable[DataWarning], args: argparse.Namespace) -> None:
    """Print warnings to standard error unless the printed result itself begins with them."""
    if args.output is None and args.format in ("table", "json"):
        return
    printing.warn(warnings)


def emit(result: View | str, args: argparse.Namespace) -> None:
    """Print *result* so that it fits the terminal, or write it completely to the output file, atomically."""
    text = result if isinstance(result, str) else result.render(args.format, layout(args))
    if args.output is None:
        printing.show(text)
        return
    from goldrank.io.files import write_atomically

    write_atomically(args.output, lambda stream: stream.write((text + "\n").encode()))


def layout(args: argparse.Namespace) -> Layout:
    """Return how tables are laid out: for the terminal, or completely for a file or another document."""
    return printing.layout() if args.output is None and args.format == "table" else Layout()
