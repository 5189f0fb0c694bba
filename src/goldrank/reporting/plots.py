"""Draw figures from stored results and from files of masked predictions, without a model."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from goldrank.analysis.meta import families_by_name
from goldrank.errors import InputError, shorten, unknown_name
from goldrank.hits import Hits
from goldrank.io.column_names import listing, normal
from goldrank.io.files import display_name, read_bytes, run_names
from goldrank.io.formats.delimited import split_rows
from goldrank.masked.names.aliases import GivenAliases, aliases_of
from goldrank.masked.scoring.levels import Rules, score_predictions
from goldrank.masked.scoring.profiles import READINGS
from goldrank.presentation import Result
from goldrank.reporting.figures.comparison import NAMES as RANKS
from goldrank.reporting.figures.comparison import OF_ONE, make_figures
from goldrank.reporting.figures.description import Figure, LeftOut, split_left_out
from goldrank.reporting.figures.masked import FIGURES, MaskedRun, accuracy_by_column
from goldrank.reporting.render.matplotlib_files import draw, require_matplotlib
from goldrank.reporting.render.themes import Size, Theme
from goldrank.runs import stored_scores
from goldrank.runs.masked import score_stored_run
from goldrank.runs.prediction_files import expand, named_size, predictions_of
from goldrank.runs.stored_scores import distinct_names, find_runs
from goldrank.scoring import Metrics, score_hits
from goldrank.store import Store, StoredRun
from goldrank.units import parse_amount

BY_COLUMN = "accuracy-by-column"
_SEPARATE = ("rank-curve", "rank-histogram")
"""Figures whose runs need not have the same gold."""


@dataclass(frozen=True, eq=False, repr=False)
class Plots(Result):
    """Figures of runs, with the files that they were drawn into."""

    figures: tuple[Figure, ...]
    left_out: tuple[LeftOut, ...]
    """Figures that the runs do not allow, with the reasons."""
    paths: tuple[Path, ...] = ()
    """The file of each figure; empty if none were written."""
    notes: tuple[str, ...] = ()
    """What a reader should know of the files of predictions, one sentence each."""
    theme: Theme = "light"
    size: Size = "double"

    def save(
        self, folder: str | PathLike[str], format: str = "png", on_file: Callable[[Path], None] = lambda path: None
    ) -> Plots:
        """Draw each figure into a file of its own, and return the figures with their paths."""
        place, paths = Path(folder), list[Path]()
        for figure in self.figures:
            place.mkdir(parents=True, exist_ok=True)
            # Two columns may differ only in characters that the name of a file cannot hold.
            again = sum(path.stem.partition("~")[0] == figure.name for path in paths)
            paths.append(place / f"{figure.name}{f'~{again + 1}' if again else ''}.{format}")
            draw(figure, paths[-1], self.theme, self.size)
            on_file(paths[-1])
        return replace(self, paths=tuple(paths))

    def _repr_html_(self) -> str:
        with TemporaryDirectory() as folder:
            images = [path.read_bytes() for path in self.save(folder).paths]
        tags = [f'<img src="data:image/png;base64,{b64encode(image).decode()}">' for image in images]
        return "\n".join([*tags, super()._repr_html_()])


@dataclass(frozen=True)
class _Request:
    """What is to be drawn, and how predictions are scored."""

    figures: Sequence[str] | None
    metrics: Metrics
    profile: str | None
    unit: str
    by: Sequence[str] | None
    sizes: Mapping[str, ModelSize]
    rules: Rules
    aliases: Mapping[str, Sequence[str]]
    data: str | PathLike[str] | None
    notes: list[str]


def plot(
    runs: Any,
    output: str | PathLike[str] | None = None,
    *,
    figures: Sequence[str] | None = None,
    metrics: Metrics = None,
    profile: str | None = None,
    unit: str = "mask",
    by: Sequence[str] | None = None,
    sizes: str | PathLike[str] | Mapping[str, ModelSize] | None = None,
    data: str | PathLike[str] | None = None,
    k: int | None = None,
    pool: str | None = None,
    matcher: str | None = None,
    tier: str | None = None,
    aliases: GivenAliases = None,
    format: str = "png",
    theme: Theme = "light",
    size: Size = "double",
    store: Store | str | PathLike[str] | None = None,
    on_file: Callable[[Path], None] = lambda path: None,
) -> Plots:
    """Draw figures of runs, without a model.

    Args:
        runs: Keys of stored runs, stored runs, the result of `run`, or files and folders of masked predictions.
        output: The folder to write into; None writes nothing. A notebook shows the figures either way.
        figures: Their names (``goldrank plot --help``); by default all that the runs allow.
        metrics, profile: Of figures of rankings; None for the runs' own. Masked runs know ``source`` and ``strict``.
        unit: What accuracy counts: ``mask``, ``example`` or ``page``.
        by: Columns of the examples for ``accuracy-by-column``.
        sizes: A table with the columns model, parameters and perhaps family.
        data: The examples that files of predictions are about.
        k, pool, matcher, tier, aliases: Rules of masked predictions, as in ``goldrank.masked.score``.
        format: Of the files: ``png``, ``svg`` or ``pdf``.
        theme: ``light`` or ``dark``.
        size: As wide as a ``single`` column of a paper, or as ``double``.
        store: Where keys are looked up.
        on_file: Is given each file as soon as it is written.

    Raises:
        InputError: Nothing can be drawn.

    >>> import goldrank, tempfile
    >>> boards = goldrank.run("bm25", "wines", store=tempfile.mkdtemp(), limit=5)
    >>> [figure.name for figure in plot(boards, figures=["rank-curve"]).figures]
    ['rank-curve']
    """
    refuse_unknown(figures or ())
    known = sizes if isinstance(sizes, Mapping) else {} if sizes is None else read_sizes(sizes)
    require_matplotlib()
    notes: list[str] = []
    stored, files = sources_of(runs, store, notes)
    reading = profile if profile in READINGS else None
    rules = Rules.of(reading, k, pool=pool, matcher=matcher, tier=tier)
    wanted = _Request(figures, metrics, profile, unit, by, known, rules, aliases_of(aliases), data, notes)
    drawable, left_out = split_left_out(_figures(stored, files, wanted))
    if not drawable:
        reasons = "; ".join(f"{figure.name}: {figure.reason}" for figure in left_out)
        raise InputError(f"nothing can be drawn ({reasons})", remedy="choose other runs or figures")
    plots = Plots(drawable, left_out, (), tuple(notes), theme, size)
    return plots if output is None else plots.save(output, format, on_file)


def sources_of(
    runs: Any, store: Store | str | PathLike[str] | None, notes: list[str]
) -> tuple[dict[str, StoredRun], dict[str, str]]:
    """Return the stored runs by key and the files of predictions by name; skipped files are added to *notes*."""
    listed = list(runs) if isinstance(runs, (list, tuple)) else [runs]
    paths: list[str] = []
    others = []
    for entry in listed:
        if isinstance(entry, (str, PathLike)):
            place = Store.open(store)
            expanded = expand([str(entry)], place, notes)
            paths += [path for path in expanded if Path(path).is_file()]
            others += [key for key in expanded if not Path(key).is_file()]
        else:
            others.append(entry)
    return (find_runs(others, store)[0] if others else {}), run_names(paths)


def refuse_unknown(names: Sequence[str]) -> None:
    """Raise InputError for a figure that does not exist."""
    known = [*FIGURES, BY_COLUMN, *RANKS]
    for name in names:
        if name not in known:
            raise unknown_name("figure", name, known, "goldrank plot --help")


def _figures(runs: Mapping[str, StoredRun], files: Mapping[str, str], wanted: _Request) -> Iterator[Figure | LeftOut]:
    masked = {key: run for key, run in runs.items() if run.result_kind == "masked"}
    ranked = {key: run for key, run in runs.items() if run.result_kind == "ranked"}
    names = wanted.figures or ()
    if masked or files:
        yield from _masked_figures(masked, files, wanted)
    else:
        yield from (LeftOut(name, "no run holds guesses at masks") for name in names if name not in RANKS)
    if ranked:
        yield from _rank_figures(ranked, wanted)
    else:
        yield from (LeftOut(name, "no run holds rankings") for name in names if name in RANKS)
    for key, run in runs.items():
        if run.result_kind == "measured":
            yield LeftOut(f"all of {key}", f"it is a measurement ({', '.join(run.measured)}), which has no ranks")


def _rank_figures(ranked: Mapping[str, StoredRun], request: _Request) -> Iterator[Figure | LeftOut]:
    chosen = None if request.profile in READINGS else request.profile
    profile = stored_scores.choose_profile(dict(ranked), chosen)
    hits, notes = stored_scores.count_runs(dict(ranked), profile, {})
    request.notes.extend(notes)
    metrics = stored_scores.choose_metrics(ranked, request.metrics, profile, profile_was_given=chosen is not None)
    names = distinct_names(ranked)
    named = {names[key]: of_run for key, of_run in hits.items()}
    scores = {name: score_hits(of_run, metrics, profile=profile, name=name) for name, of_run in named.items()}
    seconds = {names[key]: run.seconds for key, run in ranked.items() if run.seconds}
    usual = RANKS if len(ranked) > 1 else OF_ONE
    wanted = [name for name in RANKS if name in (request.figures or usual)]
    if reason := _not_comparable(ranked, hits):
        yield from (LeftOut(name, reason) for name in wanted if name not in _SEPARATE)
        wanted = [name for name in wanted if name in _SEPARATE]
    yield from make_figures(scores, named, seconds=seconds, names=wanted)


def _not_comparable(ranked: Mapping[str, StoredRun], hits: Mapping[str, Hits]) -> str | None:
    """Return why the runs cannot be compared query by query, or None if they can."""
    try:
        stored_scores.refuse_different_gold(ranked, hits)
    except InputError as error:
        return error.what
    return None


def _masked_figures(
    masked: Mapping[str, StoredRun], files: Mapping[str, str], request: _Request
) -> Iterator[Figure | LeftOut]:
    wanted = request.figures
    if wanted is not None and set(wanted) <= set(RANKS) and not request.by:
        return
    runs = [*_scored(masked, request), *_scored_files(files, request)]
    columns = list(dict.fromkeys(name for run in runs for name in run.scores.examples))
    for column in request.by or ():
        if column not in columns:
            raise unknown_name("column", column, columns, ", ".join(columns))
    for name, make in FIGURES.items():
        if wanted is None or name in wanted:
            yield make(runs, request.unit)
    if wanted is None or BY_COLUMN in wanted or request.by:
        for column in request.by or [name for name in columns if name not in ("page", "sequence", "length")]:
            yield accuracy_by_column(runs, column, request.unit)


def _scored(masked: Mapping[str, StoredRun], request: _Request) -> Iterator[MaskedRun]:
    """Yield the scores of stored runs, with the sizes of a table or of their models."""
    sizes, names = request.sizes, distinct_names(masked)
    families = families_by_name(list(dict.fromkeys(run.model for run in masked.values())))
    for key, run in masked.items():
        known = sizes.get(run.model) or sizes.get(run.model.partition(":")[2]) or ModelSize(None, "")
        measured = run.environment.get("parameters")
        yield MaskedRun(
            names[key],
            score_stored_run(run, request.rules, request.aliases),
            known.family or families[run.model],
            known.parameters if known.parameters is not None else measured,
            int(run.inputs["k"]),
        )


def _scored_files(files: Mapping[str, str], request: _Request) -> Iterator[MaskedRun]:
    """Yield the scores of files by their names, with the sizes of a table or of their names."""
    for name, path in files.items():
        predictions, notes = predictions_of(path, request.data)
        scores = score_predictions(predictions, request.rules, aliases=request.aliases)
        request.notes.extend(f"{path}: {note}".rstrip(".") for note in notes())
        family, parameters = named_size(name)
        known = request.sizes.get(name, ModelSize(None, ""))
        yield MaskedRun(
            name,
            scores,
            known.family or family,
            parameters if known.parameters is None else known.parameters,
            int(scores.levels["mask"].hits.depth.max()),
        )


@dataclass(frozen=True)
class ModelSize:
    """The size and the family of a model in a table of sizes."""

    parameters: float | None
    family: str


def read_sizes(path: str | PathLike[str]) -> dict[str, ModelSize]:
    """Read sizes and families of models from CSV or TSV with the columns model, parameters and perhaps family."""
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
    sizes: dict[str, ModelSize] = {}
    for line, row in rows:
        cells = {column: cell.strip() for column, cell in zip(columns, row, strict=True)}
        if cells["model"] in sizes:
            raise InputError(
                f"the model {shorten(cells['model'])} is listed twice",
                where=f"{name}:{line}",
                remedy="keep one of the rows",
            )
        parameters = cells["parameters"]
        sizes[cells["model"]] = ModelSize(
            parse_amount(parameters, "the number of parameters", where=f"{name}:{line}") if parameters else None,
            cells.get("family", ""),
        )
    return sizes
