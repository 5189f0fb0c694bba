"""`goldrank plot`: figures from stored results, without a model."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from goldrank.cli import options, printing, result_folders, stored_runs
from goldrank.cli.masked_command import add_rules, aliases_of, predictions_of, rules_of
from goldrank.errors import InputError, shorten, unknown_name
from goldrank.masked.scoring.profiles import READINGS
from goldrank.reporting.figures.comparison import NAMES as RANKS
from goldrank.reporting.figures.description import Figure, LeftOut
from goldrank.reporting.render.matplotlib_files import draw, require_matplotlib
from goldrank.reporting.render.themes import SIZES, THEMES
from goldrank.runs import stored_scores
from goldrank.runs.stored_scores import distinct_names
from goldrank.units import parse_amount

if TYPE_CHECKING:
    from goldrank.hits import Hits
    from goldrank.reporting.figures.masked import MaskedRun
    from goldrank.store import StoredRun

_EXAMPLES = """\
  goldrank plot masked-persons-names-majority-3f2a
  goldrank plot KEY KEY --figure accuracy-by-k calibration --unit example -o figures --format pdf
  goldrank plot KEY KEY KEY --figure accuracy-by-size --sizes sizes.csv --theme dark
  goldrank plot KEY --by views masks
  goldrank plot KEY KEY --figure leaderboard differences -M ndcg@10

Figures of masked runs: accuracy-by-k, accuracy-by-size, accuracy-by-length, accuracy-by-family, accuracy-by-column,
distance-histogram, frequent-answers, calibration. Figures of runs that rank: rank-curve, metric-by-cutoff,
precision-recall, rank-histogram; of two or more on the same gold also leaderboard, critical-difference,
paired-scatter, differences, metric-by-seconds. Without --figure all are drawn that the runs allow. SIZES is a table
with the columns model, parameters (such as 110M) and perhaps family.
"""
BY_COLUMN = "accuracy-by-column"
_SEPARATE = ("rank-curve", "rank-histogram")
"""Figures that show runs side by side, be they of one task or not."""
_OF_MASKS = ("unit", "sizes", "k", "pool", "matcher", "tier", "aliases")


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = options.new_parser("plot", "Figures from stored results, without a model.", _EXAMPLES)
    made.intermixed = True
    made.add_argument("keys", metavar="KEY|FILE|FOLDER", nargs="+", help="stored runs, or guesses at masks")
    made.add_argument("--data", metavar="DATA", help="the examples that files of guesses at masks are about")
    made.add_argument("--figure", nargs="+", action="extend", metavar="NAME", help="only these (default: all)")
    made.add_argument(
        "--unit", choices=("mask", "example", "page"), default="mask", help="what accuracy counts (default mask)"
    )
    made.add_argument(
        "--by",
        nargs="+",
        action="extend",
        metavar="COLUMN",
        help="columns of the examples for accuracy-by-column (default: all that the data has)",
    )
    made.add_argument("--sizes", metavar="FILE", help="CSV or TSV with model, parameters and perhaps family")
    made.add_argument(
        "--profile",
        metavar="P",
        help="conventions of rank figures (default: the runs' own); of masked runs source (default, a part of the name "
        "is right) or strict (the same person), with the other reading beside it",
    )
    options.add_metric(made, "of rank figures (default: the runs' own; repeatable)")
    made.add_argument("-o", "--output", metavar="FOLDER", help="where to write (default ./figures-KEY)")
    made.add_argument("--format", choices=("png", "svg", "pdf"), default="png", help="of the files (default png)")
    made.add_argument("--theme", choices=tuple(THEMES), default="light", help="colours (default light)")
    made.add_argument("--size", choices=tuple(SIZES), default="double", help="columns of a paper (default double)")
    add_rules(made, profile=False)
    stored_runs.add_store(made)
    made.add_argument("--debug", action="store_true", help="show a traceback on errors")
    return made


def run(args: argparse.Namespace) -> int:
    """Draw every figure that the runs allow, and say which ones they do not."""
    _refuse_unknown(args.figure or ())
    sizes = {} if args.sizes is None else read_sizes(args.sizes)
    require_matplotlib()
    given = result_folders.expand(args.keys, args.store)
    files = options.run_names([one for one in given if Path(one).is_file()])
    runs = _find([one for one in given if one not in files.values()], args.store)
    _refuse_unused(args, runs, files)
    folder = _folder(args, [*runs, *files])
    drawn: list[Path] = []
    left_out = []
    for made in _figures(runs, files, sizes, args):
        if isinstance(made, LeftOut):
            left_out.append(made)
            continue
        folder.mkdir(parents=True, exist_ok=True)
        # Two columns may differ only in characters that the name of a file cannot hold.
        again = sum(one.stem.partition("~")[0] == made.name for one in drawn)
        path = folder / f"{made.name}{f'~{again + 1}' if again else ''}.{args.format}"
        draw(made, path, args.theme, args.size)
        printing.show(str(path))
        drawn.append(path)
    if not drawn:
        reasons = "; ".join(f"{one.name}: {one.reason}" for one in left_out)
        raise InputError(f"nothing can be drawn ({reasons})", remedy="choose other runs or figures")
    stored_runs.print_notes([f"left out {one.name}: {one.reason}" for one in left_out])
    return 0


def _refuse_unused(args: argparse.Namespace, runs: Mapping[str, StoredRun], files: Mapping[str, str]) -> None:

    if not files:
        options.refuse_unused(args, ["data"], "on stored runs", "leave it out, or give a file of guesses at masks")
    masked = bool(files) or any(one.result_kind == "masked" for one in runs.values())
    ranked = any(one.result_kind == "ranked" for one in runs.values())
    asked = set(args.figure or ())
    of_masks, of_ranks = [*_OF_MASKS], ["metric"]
    (of_masks if args.profile in READINGS else of_ranks).append("profile")
    if not masked:
        options.refuse_unused(args, ["by", *of_masks], "on these runs, none of which holds guesses at masks")
    elif asked and asked <= set(RANKS) and not args.by:
        options.refuse_unused(args, of_masks, "on figures of rankings")
    elif asked and not asked & {"accuracy-by-size", "accuracy-by-family"}:
        options.refuse_unused(args, ["sizes"], "unless accuracy-by-size or accuracy-by-family is drawn")
    if not ranked:
        if masked and args.profile not in (None, *READINGS):
            raise unknown_name("profile of masked runs", args.profile, READINGS, ", ".join(READINGS))
        options.refuse_unused(args, of_ranks, "on these runs, none of which holds rankings")
    elif asked and not asked & set(RANKS):
        options.refuse_unused(args, of_ranks, "on figures of masked runs")


def _refuse_unknown(names: Sequence[str]) -> None:
    from goldrank.reporting.figures.masked import FIGURES

    known = [*FIGURES, BY_COLUMN, *RANKS]
    for name in names:
        if name not in known:
            raise unknown_name("figure", name, known, "goldrank plot --help")


def _find(keys: Sequence[str], where: str | None) -> dict[str, StoredRun]:
    from goldrank.store import Store

    found: dict[str, StoredRun] = {}
    for key in keys:
        one = Store.open(where).get(key)
        if one.key in found:
            raise InputError(f"the run {one.key} is given twice", remedy="name each run once")
        found[one.key] = one
    return found


def _folder(args: argparse.Namespace, keys: Sequence[str]) -> Path:
    more = f"-and-{len(keys) - 1}-more" if len(keys) > 1 else ""
    folder = Path(f"figures-{keys[0]}{more}" if args.output is None else args.output)
    if folder.exists() and not folder.is_dir():
        raise InputError("this is a file, not a folder", where=str(folder), remedy="name a folder to write into")
    return folder


def _figures(
    runs: Mapping[str, StoredRun], files: Mapping[str, str], sizes: Mapping[str, Known], args: argparse.Namespace
) -> Iterator[Figure | LeftOut]:

    masked = {key: one for key, one in runs.items() if one.result_kind == "masked"}
    ranked = {key: one for key, one in runs.items() if one.result_kind == "ranked"}
    asked = args.figure
    if masked or files:
        yield from _masked_figures(masked, files, sizes, args)
    elif asked:
        yield from (LeftOut(name, "no run holds guesses at masks") for name in asked if name not in RANKS)
    if ranked:
        yield from _rank_figures(ranked, args)
    elif asked:
        yield from (LeftOut(name, "no run holds rankings") for name in asked if name in RANKS)
    for key, one in runs.items():
        if one.result_kind == "measured":
            yield LeftOut(f"all of {key}", f"it is a measurement ({', '.join(one.measured)}), which has no ranks")


def _rank_figures(ranked: Mapping[str, StoredRun], args: argparse.Namespace) -> Iterator[Figure | LeftOut]:
    from goldrank.reporting.figures.comparison import OF_ONE, make_figures
    from goldrank.runs.stored_scores import own_metrics
    from goldrank.scoring import score_hits

    asked = None if args.profile in READINGS else args.profile
    profile = stored_scores.own_profile(dict(ranked), asked)
    hits, notes = stored_scores.count(dict(ranked), profile, {})
    stored_runs.print_notes(notes)
    metrics = own_metrics(ranked, args.metric, profile, profile_was_asked=asked is not None)
    names = distinct_names(ranked)
    named = {names[key]: one for key, one in hits.items()}
    scores = {name: score_hits(one, metrics, profile=profile, name=name) for name, one in named.items()}
    seconds = {names[key]: one.seconds for key, one in ranked.items() if one.seconds}
    usual = RANKS if len(ranked) > 1 else OF_ONE
    wanted = [name for name in RANKS if name in (args.figure or usual)]
    if reason := _not_comparable(ranked, hits):
        yield from (LeftOut(name, reason) for name in wanted if name not in _SEPARATE)
        wanted = [name for name in wanted if name in _SEPARATE]
    for name in wanted:
        yield from make_figures(scores, named, seconds=seconds, names=[name])


def _not_comparable(ranked: Mapping[str, StoredRun], hits: Mapping[str, Hits]) -> str | None:
    """Why the runs cannot be compared query by query, if they cannot."""
    from goldrank.runs.stored_scores import refuse_different_gold

    try:
        refuse_different_gold(ranked, hits)
    except InputError as error:
        return error.what
    return None


def _masked_figures(
    masked: Mapping[str, StoredRun], files: Mapping[str, str], sizes: Mapping[str, Known], args: argparse.Namespace
) -> Iterator[Figure | LeftOut]:
    from goldrank.reporting.figures.masked import FIGURES, accuracy_by_column

    wanted = args.figure
    if wanted is not None and set(wanted) <= set(RANKS) and not args.by:
        return
    runs = [*_scored(masked, sizes, args), *_scored_files(files, sizes, args)]
    columns = list(dict.fromkeys(name for one in runs for name in one.scores.examples))
    for column in args.by or ():
        if column not in columns:
            raise unknown_name("column", column, columns, ", ".join(columns))
    for name, make in FIGURES.items():
        if wanted is None or name in wanted:
            yield make(runs, args.unit)
    if wanted is None or BY_COLUMN in wanted or args.by:
        for column in args.by or [name for name in columns if name not in ("page", "sequence", "length")]:
            yield accuracy_by_column(runs, column, args.unit)


def _scored(masked: Mapping[str, StoredRun], sizes: Mapping[str, Known], args: argparse.Namespace) -> list[MaskedRun]:
    from goldrank.analysis.meta import families_by_name
    from goldrank.reporting.figures.masked import MaskedRun
    from goldrank.runs.masked import scores_of

    profile = args.profile if args.profile in READINGS else None
    rules, aliases, names = rules_of(args, profile), aliases_of(args), distinct_names(masked)
    families = families_by_name(list(dict.fromkeys(one.model for one in masked.values())))
    made = []
    for key, one in masked.items():
        known = sizes.get(one.model) or sizes.get(one.model.partition(":")[2]) or Known(None, "")
        measured = one.environment.get("parameters")
        made.append(
            MaskedRun(
                names[key],
                scores_of(one, rules, aliases),
                known.family or families[one.model],
                known.parameters if known.parameters is not None else measured,
                int(one.inputs["k"]),
            )
        )
    return made


def _scored_files(
    files: Mapping[str, str], sizes: Mapping[str, Known], args: argparse.Namespace
) -> Iterator[MaskedRun]:
    """The scores of files by their names, with the size that a table or the name says."""
    from goldrank.masked.scoring.levels import score_predictions
    from goldrank.reporting.figures.masked import MaskedRun

    rules, aliases = rules_of(args, args.profile if args.profile in READINGS else None), aliases_of(args)
    for name, path in files.items():
        predictions, notes = predictions_of(path, args.data)
        scores = score_predictions(predictions, rules, aliases=aliases)
        stored_runs.print_notes([f"{path}: {note}".rstrip(".") for note in notes()])
        family, parameters = result_folders.named_size(name)
        known = sizes.get(name, Known(None, ""))
        yield MaskedRun(
            name,
            scores,
            known.family or family,
            parameters if known.parameters is None else known.parameters,
            int(scores.levels["mask"].hits.depth.max()),
        )


@dataclass(frozen=True)
class Known:
    """What a table of sizes says of a model."""

    parameters: float | None
    family: str


def read_sizes(path: str) -> dict[str, Known]:
    """The sizes and families of models from a CSV or TSV file with the columns model, parameters and perhaps family."""
    from goldrank.io.column_names import listing, normal
    from goldrank.io.files import display_name, read_bytes
    from goldrank.io.formats.delimited import split_rows

    data, name = read_bytes(path), display_name(path)
    rows = split_rows(data, name, "tsv" if b"\t" in data.partition(b"\n")[0] else "csv")
    _, header = next(rows, (1, []))
    columns = [normal(cell) for cell in header]
    for needed in ("model", "parameters"):
        if needed not in columns:
            raise InputError(
                f"there is no column {needed} (columns: {listing(columns)})",
                where=f"{name}:1",
                remedy="name the columns model, parameters and, if you like, family",
            )
    found: dict[str, Known] = {}
    for line, row in rows:
        cells = {column: cell.strip() for column, cell in zip(columns, row, strict=True)}
        if cells["model"] in found:
            raise InputError(
                f"the model {shorten(cells['model'])} stands twice", where=f"{name}:{line}", remedy="keep one"
            )
        parameters = cells["parameters"]
        found[cells["model"]] = Known(
            parse_amount(parameters, "the number of parameters", where=f"{name}:{line}") if parameters else None,
            cells.get("family", ""),
        )
    return found
