"""Draw figures from stored results and from files of masked predictions, without a model."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from goldrank.analysis.meta import families_by_name
from goldrank.comparing import Comparison, compare_hits
from goldrank.errors import DataWarning, InputError, shorten, unknown_name
from goldrank.hits import Hits
from goldrank.io.column_names import FieldRoles, listing, normal
from goldrank.io.files import display_name, read_bytes, run_names
from goldrank.io.formats.delimited import split_rows
from goldrank.io.labels import assign_labels, refuse_shared_names
from goldrank.masked.names.aliases import GivenAliases, aliases_of
from goldrank.masked.scoring.levels import Rules, score_predictions
from goldrank.masked.scoring.profiles import READINGS
from goldrank.presentation import Result
from goldrank.reporting.figures.comparison import NAMES as RANKS
from goldrank.reporting.figures.comparison import OF_ONE, make_figures
from goldrank.reporting.figures.description import Figure, LeftOut, split_left_out
from goldrank.reporting.figures.masked import FIGURES, MaskedRun, accuracy_by_column
from goldrank.reporting.figures.palette import number_runs
from goldrank.reporting.render.matplotlib_files import draw, require_matplotlib
from goldrank.reporting.render.themes import Size, Theme
from goldrank.runs import stored_scores
from goldrank.runs.file_runs import Corpus, given_runs
from goldrank.runs.masked import score_stored_run
from goldrank.runs.prediction_files import FilePredictions, expand, named_size
from goldrank.runs.run import was_given_every_query
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
    warnings: tuple[DataWarning, ...] = ()
    """What makes the scores of run files misleading."""

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
    """The figures to draw, and the rules by which predictions are scored."""

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
    gold: Any = None,
    corpus: Corpus | None = None,
    gold_format: str | None = None,
    run_format: str | None = None,
    scores: str | None = None,
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
    labels: Mapping[str, str] | None = None,
    on_file: Callable[[Path], None] = lambda path: None,
) -> Plots:
    """Draw figures of runs, without a model.

    Args:
        runs: Keys of stored runs, stored runs, the result of `run`, or files and folders of masked predictions. With
            *gold*: run files, or a mapping of names to runs or files.
        output: The folder to write into; None writes nothing. A notebook shows the figures either way.
        gold: The gold of run files: a file, or data as in `score`.
        corpus: Of run files: the number of items in the corpus, their ids, or a file with one id per line.
        gold_format, run_format: The formats of files; by default recognised by their content.
        scores: What the scores of run files mean: ``similarity``, ``distance`` or ``ignore``.
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
        labels: Names of runs in the figures, each with what it stands for: a key, a model or a file.
        on_file: Is given each file as soon as it is written.

    Raises:
        InputError: Nothing can be drawn.

    >>> import goldrank, tempfile
    >>> boards = goldrank.run("bm25", "wines", store=tempfile.mkdtemp(), limit=5)
    >>> [figure.name for figure in plot(boards, figures=["rank-curve"]).figures]
    ['rank-curve']
    >>> [figure.name for figure in plot({"a": {"q": {"d": 2, "e": 1}}}, gold={"q": ["d"]}).figures][0]
    'rank-curve'
    """
    refuse_unknown(figures or ())
    size_columns, alias_columns = FieldRoles(), FieldRoles()
    known = sizes if isinstance(sizes, Mapping) else {} if sizes is None else read_sizes(sizes, size_columns)
    require_matplotlib()
    reading = profile if profile in READINGS else None
    rules = Rules.of(reading, k, pool=pool, matcher=matcher, tier=tier)
    names = aliases_of(aliases, alias_columns)
    notes = [columns.reading for columns in (size_columns, alias_columns) if columns.reading]
    wanted = _Request(figures, metrics, profile, unit, by, known, rules, names, data, notes)
    files: dict[str, _PredictionFile] = {}
    others, of_runs = runs, labels
    if gold is None:
        if scores is not None:
            raise InputError("scores has no effect without gold", remedy="leave it out, or give gold and run files")
        stored, paths = sources_of(runs, store, notes)
        others, files = _labelled(stored, paths, labels or {})
        of_runs = None
    with given_runs(
        others,
        store,
        gold=gold,
        corpus=corpus,
        gold_format=gold_format,
        run_format=run_format,
        scores=scores,
        labels=of_runs,
    ) as given:
        drawable, left_out = split_left_out(_figures(given.runs, files, wanted))
        palette = _palette(given.runs, files, given.store)
    if not drawable:
        reasons = "; ".join(f"{figure.name}: {figure.reason}" for figure in left_out)
        raise InputError(f"nothing can be drawn ({reasons})", remedy="choose other runs or figures")
    drawable = tuple(replace(figure, palette=palette) for figure in drawable)
    plots = Plots(drawable, left_out, (), tuple(notes), theme, size, given.warnings)
    return plots if output is None else plots.save(output, format, on_file)


@dataclass(frozen=True)
class _PredictionFile:
    """A file of masked predictions."""

    path: str
    stem: str
    """The part of its name that may have the family and the size of the model."""


def _labelled(
    stored: Sequence[StoredRun], paths: Mapping[str, str], labels: Mapping[str, str]
) -> tuple[list[StoredRun], dict[str, _PredictionFile]]:
    """Return the stored runs with their labels, and the files of predictions by their labels or names."""
    names = {run.key: (run.model,) for run in stored} | {path: (name,) for name, path in paths.items()}
    assigned = assign_labels(labels, names)
    refuse_shared_names({path: assigned.get(path, name) for name, path in paths.items()}, assigned)
    return (
        [replace(run, label=assigned.get(run.key, run.label)) for run in stored],
        {assigned.get(path, name): _PredictionFile(path, name) for name, path in paths.items()},
    )


def _palette(
    stored: Mapping[str, StoredRun], files: Iterable[str], store: Store | str | PathLike[str] | None
) -> dict[str, int]:
    """Return the looks of all runs, those of the report and the explorer where the store is the same."""
    groups: dict[str, dict[str, StoredRun]] = {}
    for key, run in stored.items():
        groups.setdefault(run.result_kind, {})[key] = run
    named = {distinct_names(group)[key]: run.model for group in groups.values() for key, run in group.items()}
    (palette,) = number_runs([named | {name: name for name in files}], Store.open(store).models() if stored else ())
    return palette


def sources_of(
    runs: Any, store: Store | str | PathLike[str] | None, notes: list[str]
) -> tuple[list[StoredRun], dict[str, str]]:
    """Return the stored runs and the files of predictions by name; skipped files are added to *notes*."""
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
    return list(find_runs(others, store)[0].values()) if others else [], run_names(paths)


def refuse_unknown(names: Sequence[str]) -> None:
    """Raise InputError for a figure that does not exist."""
    known = [*FIGURES, BY_COLUMN, *RANKS]
    for name in names:
        if name not in known:
            raise unknown_name("figure", name, known, "goldrank plot --help")


def _figures(
    runs: Mapping[str, StoredRun], files: Mapping[str, _PredictionFile], wanted: _Request
) -> Iterator[Figure | LeftOut]:
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
    seconds = {names[key]: run.seconds for key, run in ranked.items() if run.seconds}
    usual = RANKS if len(ranked) > 1 else OF_ONE
    wanted = [name for name in RANKS if name in (request.figures or usual)]
    if reason := _not_comparable(ranked, hits):
        yield from (LeftOut(name, reason) for name in wanted if name not in _SEPARATE)
        wanted = [name for name in wanted if name in _SEPARATE]
        scores = {name: score_hits(of_run, metrics, profile=profile, name=name) for name, of_run in named.items()}
        compared = Comparison(scores, [], "randomisation", "holm", "metric", 0.05)
    else:
        evaluated = [names[key] for key, run in ranked.items() if was_given_every_query(run)]
        compared = compare_hits(named, metrics, profile=profile, evaluated=evaluated)
    yield from make_figures(compared, named, seconds=seconds, names=wanted)


def _not_comparable(ranked: Mapping[str, StoredRun], hits: Mapping[str, Hits]) -> str | None:
    """Return why the runs cannot be compared query by query, or None if they can."""
    try:
        stored_scores.refuse_different_gold(ranked, hits)
    except InputError as error:
        return error.what
    return None


def _masked_figures(
    masked: Mapping[str, StoredRun], files: Mapping[str, _PredictionFile], request: _Request
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


def _scored_files(files: Mapping[str, _PredictionFile], request: _Request) -> Iterator[MaskedRun]:
    """Yield the scores of files by their names, with the sizes of a table or of their names."""
    for name, source in files.items():
        file = FilePredictions.read(source.path, request.data)
        scores = score_predictions(file.batches, request.rules, aliases=request.aliases)
        request.notes.extend([*file.readings, *file.notes])
        family, parameters = named_size(source.stem)
        known = request.sizes.get(source.stem, ModelSize(None, ""))
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


def read_sizes(path: str | PathLike[str], roles: FieldRoles | None = None) -> dict[str, ModelSize]:
    """Read sizes and families of models from CSV or TSV with the columns model, parameters and perhaps family.

    The role of each column is added to *roles*.
    """
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
    if roles is not None:
        roles.source = name
        roles.add(header, {cell: normal(cell) for cell in header if normal(cell) in ("model", "parameters", "family")})
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
