"""Predict masked entities with several models, and score and compare predictions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

from goldrank.comparing import Comparison
from goldrank.encoders.base import is_live
from goldrank.errors import InputError
from goldrank.io.column_names import FieldRoles
from goldrank.io.files import run_names
from goldrank.masked.examples.chunks import Chunk
from goldrank.masked.examples.masking import examples_at
from goldrank.masked.names.aliases import GivenAliases, aliases_of
from goldrank.masked.predictions.predict import Context
from goldrank.masked.predictors import load_predictor
from goldrank.masked.scoring.groups import GroupSelection, GroupTable
from goldrank.masked.scoring.level_scores import METRICS, compare_readings
from goldrank.masked.scoring.levels import MaskedScores, Rules, score_predictions
from goldrank.presentation import Result
from goldrank.runs.evaluate import Outcome
from goldrank.runs.masked import PredictionJob, load_stored_predictions, name_examples, predict_run
from goldrank.runs.prediction_files import FilePredictions, expand
from goldrank.scoring import Bootstrap
from goldrank.stats import check_alpha
from goldrank.store import Store, StoredRun
from goldrank.tasks.ranking.sharding import Sharding


@dataclass(frozen=True, eq=False, repr=False)
class MaskedPredictions(Result, Sequence[Outcome]):
    """The stored predictions of several models."""

    outcomes: tuple[Outcome, ...]
    store: Store
    readings: tuple[str, ...] = ()
    """What the fields of the file of examples were read as."""

    @property
    def runs(self) -> list[StoredRun]:
        """The stored runs."""
        return [outcome.stored for outcome in self.outcomes]

    def __len__(self) -> int:
        return len(self.outcomes)

    def __getitem__(self, position: Any) -> Any:
        return self.outcomes[position]


def predict(
    data: str | PathLike[str] | Sequence[Chunk],
    models: Any,
    store: Store | str | PathLike[str] | None = None,
    *,
    k: int = 5,
    context: Context = "masked",
    limit: int | None = None,
    overwrite: bool = False,
    reuse: bool = False,
    on_outcome: Callable[[Outcome], None] = lambda outcome: None,
) -> MaskedPredictions:
    """Predict every mask with every model, and store the guesses; a killed prediction resumes.

    Args:
        data: Examples: a file (JSONL, plain or compressed), ``persons`` for the built-in pages, or chunks.
        models: A predictor (``goldrank list predictors``), a function of (before, after, k), or a list of these.
        store: Where guesses are stored; by default the store of ``$GOLDRANK_STORE``.
        k: Guesses per mask.
        context: Whether the other masks of an example stay ``masked`` or are ``revealed``.
        limit: Only the first examples.
        overwrite: Predict again what is stored.
        reuse: Take the stored guesses of live predictors too, such as chat servers, which may have changed since.
        on_outcome: Is given the outcome of each model as soon as it is stored.

    >>> import tempfile
    >>> predict("persons", "names:majority", tempfile.mkdtemp(), limit=3)[0].fresh
    True
    """
    if k < 1:
        raise InputError(f"k is {k}, less than 1", remedy="give 1 or more")
    listed = models if isinstance(models, (list, tuple)) else [models]
    predictors = [load_predictor(model) for model in listed]
    if reuse and not any(map(is_live, predictors)):
        raise InputError("reuse has no effect, because no predictor is live", remedy="leave it out")
    if limit is not None and limit < 1:
        raise InputError(f"limit is {limit}, less than 1", remedy="give 1 or more")
    fields = FieldRoles()
    if isinstance(data, (str, PathLike)):
        name, chunks = name_examples(data), list(islice(examples_at(data, fields), limit))
    else:
        name, chunks = "examples", list(data[:limit])
    place = Store.open(store)
    outcomes = []
    for model, predictor in zip(listed, predictors, strict=True):
        spec = model if isinstance(model, str) else predictor.identity
        job = PredictionJob(name, chunks, spec, predictor, k, context)
        outcomes.append(predict_run(job, place, overwrite=overwrite, reuse=reuse))
        on_outcome(outcomes[-1])
    return MaskedPredictions(tuple(outcomes), place, tuple(filter(None, [fields.reading])))


@dataclass(frozen=True, eq=False, repr=False)
class MaskedResult(Result):
    """The scores of predictions at every level, and what is shown with them."""

    runs: dict[str, MaskedScores]
    """By the label of the run or the name of the file."""
    groups: Mapping[str, Sequence[GroupTable]] = field(default_factory=dict)
    """The pooled guesses of the examples and pages that were chosen."""
    bootstrap: Bootstrap = field(default_factory=Bootstrap)
    alpha: float = 0.05
    by: str | None = None
    bins: int = 4
    original: bool = False
    notes: tuple[str, ...] = ()
    """What a reader should know of the files, one sentence each."""
    readings: tuple[str, ...] = ()
    """A line for each table: what its columns were read as, and which of them were ignored."""

    @cached_property
    def comparisons(self) -> dict[str, dict[str, Comparison]]:
        """The comparison of all runs by reading, then by level; empty for one run."""
        return compare_readings(self.runs, METRICS, self.bootstrap, self.alpha) if len(self.runs) > 1 else {}


def score(
    runs: Any,
    *,
    data: str | PathLike[str] | None = None,
    pad: bool = False,
    profile: str | None = None,
    k: int | None = None,
    pool: str | None = None,
    matcher: str | None = None,
    tier: str | None = None,
    aliases: GivenAliases = None,
    groups: bool = False,
    page: str | None = None,
    example: int | None = None,
    by: str | None = None,
    bins: int = 4,
    original: bool = False,
    alpha: float = 0.05,
    bootstrap: Bootstrap = Bootstrap(),  # noqa: B008 - frozen
    store: Store | str | PathLike[str] | None = None,
    sharding: Sharding | None = None,
) -> MaskedResult:
    """Score masked predictions per mask, example and page, and compare several runs.

    Args:
        runs: Keys of stored runs, stored runs, files or folders of predictions, the result of `predict`, or a
            list of these.
        data: The examples that files of predictions were made for.
        pad: Pad lists of guesses of unequal length.
        profile: Which guesses are right: ``source`` (default), those that share a part of the name, or ``strict``,
            those that name the same person.
        k: Use only the first k guesses of each mask.
        pool, matcher, tier: Single rules that differ from the profile's.
        aliases: Other names of the persons, by title, or the file of a table.
        groups, page, example: Keep the pooled guesses of all examples and pages, or of these.
        by, bins: Split by a column of the data, into so many classes if it is numeric.
        original: Also compute the scores of the original project.
        alpha: The level of significance.
        bootstrap: The settings of the intervals.
        store: Where keys are looked up.
        sharding: The cluster that scores; None is this process.

    >>> import tempfile
    >>> guesses = predict("persons", "names:majority", tempfile.mkdtemp(), limit=9)
    >>> list(score(guesses, bootstrap=Bootstrap(resamples=200)).runs) == [guesses.runs[0].key]
    True
    """
    check_alpha(alpha)
    place = runs.store if isinstance(runs, MaskedPredictions) and store is None else store
    place = Store.open(place)
    notes: list[str] = []
    sources = _sources(runs, place, notes)
    files = {path: name for name, path in run_names([source for source in sources if isinstance(source, str)]).items()}
    labels = _labels([source for source in sources if isinstance(source, StoredRun)])
    rules, alias_columns = Rules.of(profile, k, pool=pool, matcher=matcher, tier=tier), FieldRoles()
    names = aliases_of(aliases, alias_columns)
    readings = [alias_columns.reading]
    selection = GroupSelection(groups, page, example)
    scores: dict[str, MaskedScores] = {}
    tables: dict[str, list[GroupTable]] = {}
    for source in sources:
        file: FilePredictions | None = None
        if isinstance(source, StoredRun):
            label, predictions = labels[source.key], load_stored_predictions(source)
        else:
            file = FilePredictions.read(source, data, pad=pad)
            label, predictions = files[source], file.batches
        scores[label] = score_predictions(selection.watch(predictions), rules, aliases=names, sharding=sharding)
        tables[label] = selection.tables(rules, names)
        if file is not None:
            readings += file.readings
            notes += file.notes
    distinct = tuple(dict.fromkeys(filter(None, readings)))
    return MaskedResult(scores, tables, bootstrap, alpha, by, bins, original, tuple(notes), distinct)


def _sources(runs: Any, store: Store, notes: list[str]) -> list[str | StoredRun]:
    """Return the files of predictions and the stored runs that were given."""
    entries = runs.runs if isinstance(runs, MaskedPredictions) else runs
    sources: list[str | StoredRun] = []
    for entry in entries if isinstance(entries, (list, tuple)) else [entries]:
        if isinstance(entry, StoredRun):
            sources.append(entry)
        else:
            paths = expand([str(entry)], store, notes)
            sources += [path if Path(path).is_file() else store.get(path) for path in paths]
    keys = [source.key for source in sources if isinstance(source, StoredRun)]
    if len(set(keys)) < len(keys):
        raise InputError(f"one of {', '.join(sorted(set(keys)))} is given twice", remedy="give each run once")
    return sources


def _labels(runs: list[StoredRun]) -> dict[str, str]:
    """Return a label for each run: the key of a single run, otherwise what distinguishes the runs."""
    by_model = {run.key: run.model for run in runs}
    by_context = {run.key: f"{run.model} {run.inputs.get('context')}" for run in runs}
    for labels in (by_model, by_context):
        if 1 < len(runs) == len(set(labels.values())):
            return labels
    return {run.key: run.key for run in runs}
