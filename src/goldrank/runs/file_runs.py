"""Gold and run files as runs of a temporary store, for reports, figures and the explorer."""

from __future__ import annotations

import hashlib
from collections.abc import Collection as Ids
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from goldrank.data.collections.collection import Collection, Documents, add_gold
from goldrank.data.collections.splits import stem_and_suffix
from goldrank.data.texts import read_documents
from goldrank.encoders.provenance import stamp
from goldrank.errors import DataWarning, InputError, shorten
from goldrank.hits import Gold, Run
from goldrank.io.files import parse_corpus, run_names
from goldrank.io.labels import assign_labels, refuse_shared_names
from goldrank.metrics import find_profile, parse_all
from goldrank.progress import Progress
from goldrank.runs.environment import environment
from goldrank.runs.stored_scores import find_runs, label_runs
from goldrank.scoring import Bootstrap, HitCounter, Metrics, all_warnings, read_all, resolve_conventions
from goldrank.store import RunRecord, Store, StoredRun
from goldrank.store.texts import Side, Text
from goldrank.tasks.catalogue import load_data
from goldrank.tasks.ranking.evaluation import summary_of

TextPath = str | PathLike[str]
Corpus = int | Ids[str] | PathLike[str]
"""The number of items in a corpus, their ids, or a file with one id per line."""
_SHOWN = 10
"""Results of each query whose texts a report may show."""


@dataclass(frozen=True, eq=False)
class GivenRuns:
    """Runs that a command or a call names, and where they are stored."""

    runs: dict[str, StoredRun]
    """By their keys; those of files by their names."""
    store: Store
    words: tuple[str, ...]
    """The arguments of a command that name the same runs."""
    warnings: tuple[DataWarning, ...] = ()
    """What makes the scores of run files misleading."""
    notes: tuple[str, ...] = ()
    """What the columns of files were read as, and how many queries and judged items have a text, if any were given."""


@contextmanager
def given_runs(
    runs: Any,
    store: Store | str | PathLike[str] | None = None,
    *,
    gold: Any = None,
    texts: TextPath | Sequence[TextPath] = (),
    corpus: Corpus | None = None,
    gold_format: str | None = None,
    run_format: str | None = None,
    scores: str | None = None,
    labels: Mapping[str, str] | None = None,
) -> Iterator[GivenRuns]:
    """Find stored runs, or with *gold* score run files, whose temporary store is removed at the end.

    Args:
        runs, store, gold, texts, corpus, gold_format, run_format, scores: As in `find_runs` or `file_runs`.
        labels: What each label stands for: a key, the beginning of one, a model, or a run file.

    Raises:
        InputError: An option of files is given without gold, a store with gold, or a label of no run.
    """
    of_files = {"texts": texts, "corpus": corpus, "gold_format": gold_format, "run_format": run_format}
    given: dict[str, Any] = {name: value for name, value in of_files.items() if value not in (None, ())}
    if gold is None:
        for name in given:
            raise InputError(f"{name} has no effect on stored runs", remedy="leave it out, or give gold and run files")
        stored, place = find_runs(runs, store)
        stored = label_runs(stored, labels or {})
        yield GivenRuns(stored, place, (*stored, *_label_words(labels), *store_words(place)))
        return
    if store is not None:
        raise InputError("store has no effect on run files, which are not stored", remedy="leave it out")
    named = named_runs(runs)
    words = [_word(gold, "GOLD"), *(_word(run, name) for name, run in named.items()), *_label_words(labels)]
    with file_runs(gold, label_files(named, labels or {}), **given, scores=scores) as files:
        for name, value in given.items():
            for each in _listed(value) if isinstance(value, (str, PathLike, list, tuple)) else [value]:
                words += [f"--{name.replace('_', '-')}", _word(each, "FILE")]
        yield replace(files, words=tuple(words))


def store_words(store: Store) -> tuple[str, ...]:
    """Return the option that names a store, without its password; nothing for the default store."""
    return () if store.is_default else ("--store", store.where)


def label_files(named: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    """Return runs by their labels, or by their names if they have none; a label stands for a name or a file."""
    paths = {name: (fspath(run),) if isinstance(run, (str, PathLike)) else () for name, run in named.items()}
    assigned = assign_labels(labels, paths)
    refuse_shared_names({name: assigned.get(name, name) for name in named}, assigned)
    return {assigned.get(name, name): run for name, run in named.items()}


def _label_words(labels: Mapping[str, str] | None) -> list[str]:
    return [word for label, spec in (labels or {}).items() for word in ("--label", f"{label}={spec}")]


def _word(given: Any, name: str) -> str:
    """Return a file or number as it is given, and the name of other data."""
    return str(given) if isinstance(given, (str, PathLike, int)) else name


@contextmanager
def file_runs(
    gold: Any,
    runs: Any,
    *,
    texts: TextPath | Sequence[TextPath] = (),
    corpus: Corpus | None = None,
    gold_format: str | None = None,
    run_format: str | None = None,
    scores: str | None = None,
    metrics: Metrics = None,
    profile: str = "standard",
    keep_rankings: bool = False,
) -> Iterator[GivenRuns]:
    """Score runs against gold, and hold them in a temporary store that is removed at the end.

    Args:
        gold: A Gold, a file, or other data as in `goldrank.score`.
        runs: A mapping of names to runs or files, a file, or a list of files.
        texts: Collections or tables with the texts of queries and items.
        corpus: The number of items in the corpus, their ids, or a file with one id per line.
        gold_format, run_format: The formats of files; by default recognised by their content.
        scores: What the scores of the runs mean: ``similarity``, ``distance`` or ``ignore``.
        metrics, profile: Of the runs in the store; None for the metrics of the profile.
        keep_rankings: Write the rankings and the summaries of scores to the store, for the explorer; else the rankings
            are held in memory.

    >>> with file_runs({"q": ["d"]}, {"first": {"q": {"d": 1.0}}}) as files:
    ...     files.runs["first"].hits().above.tolist()
    [0]
    """
    named = named_runs(runs)
    judged, read = read_all(
        Gold.read(gold, format=gold_format) if isinstance(gold, (str, PathLike)) else gold,
        [Run.read(run, format=run_format) if isinstance(run, (str, PathLike)) else run for run in named.values()],
    )
    items = parse_corpus(fspath(corpus)) if isinstance(corpus, (str, PathLike)) else corpus
    chosen = find_profile(profile)
    conventions = {} if scores is None else {"scores": scores}
    resolved = resolve_conventions(chosen, conventions)
    requested = parse_all(chosen.metrics if metrics is None else metrics)
    documents = read_text_sources(_listed(texts), judged)
    with Progress("reading runs", total=len(named), unit="run") as progress:
        counters, all_scores = {}, []
        for name, run in zip(named, read, strict=True):
            counters[name] = HitCounter(judged, run, items)
            all_scores.append(counters[name].score(requested, chosen, resolved, name, Bootstrap()))
            progress.advance()
    warnings = all_warnings(all_scores)
    between = [warning.message for warning in warnings if not warning.subject]
    digest = hashlib.sha256()
    add_gold(digest, judged.columns)
    data, task = digest.hexdigest()[:16], _name_of(judged)
    surroundings = {**environment(), "command": ""}
    with TemporaryDirectory(prefix="goldrank-") as folder, Progress("preparing", total=len(named), unit="run") as bar:
        store, stored = Store.open(folder), {}
        for (name, counter), scored in zip(counters.items(), all_scores, strict=True):
            hits, ordered = counter.count(resolved), counter.run.ordered_by(scores or "similarity")
            own = [warning.message for warning in warnings if warning.subject == name]
            record = RunRecord(
                task=task,
                model=name,
                inputs={
                    "task": task,
                    "kind": "retrieval",
                    "data": data,
                    "model": f"run:{name}",
                    "model_identity": _identity(named[name]),
                },
                environment={**surroundings, "remarks": [*own, *between]},
                hits=hits,
                run=ordered if keep_rankings else None,
                profile=chosen.name,
                metrics=tuple(map(str, requested)),
                conventions=conventions,
                summary=summary_of(scored) if keep_rankings else {},
            )
            saved = store.save(record)
            stored[name] = saved if keep_rankings else replace(saved, key=name, held_hits=hits, held_run=ordered)
            bar.advance()
        notes = _save_texts(store, data, judged, read, documents, None if keep_rankings else _SHOWN)
        readings = [table.reading for table in (judged, *read) if table.reading]
        yield GivenRuns(stored, store, (), warnings, (*readings, *notes))


def named_runs(runs: Any) -> dict[str, Any]:
    """Return runs by name: those of a mapping, or files by their stems, or by their paths where stems are equal."""
    if isinstance(runs, Run):
        return {"run": runs}
    if isinstance(runs, Mapping):
        named = {str(name): run for name, run in runs.items()}
    else:
        listed = _listed(runs)
        if not all(isinstance(run, (str, PathLike)) for run in listed):
            raise InputError("a run of the list has no name", remedy='give a dict: {"bm25": run, "dense": other}')
        named = dict(run_names(map(fspath, listed)))
    if not named:
        raise InputError("no run is given", remedy="give run files after the gold")
    return named


def _listed(given: Any) -> list[Any]:
    return [given] if isinstance(given, (str, PathLike)) else list(given)


def _name_of(gold: Gold) -> str:
    """Return the stem of the gold file; ``gold`` if it is not a file."""
    path = Path(gold.columns.source)
    return stem_and_suffix(path)[0] if path.is_file() else "gold"


def _identity(run: Any) -> str:
    """Return the path of a run file with a stamp of its content; empty for other data."""
    return f"{fspath(run)} {stamp(Path(run))}" if isinstance(run, (str, PathLike)) and fspath(run) != "-" else ""


def read_text_sources(texts: Sequence[TextPath], gold: Gold) -> dict[str, dict[Side, Documents]]:
    """Return the documents of collections and tables by source and side."""
    return {fspath(source): _read_texts(source, gold) for source in texts}


def _read_texts(source: TextPath, gold: Gold) -> dict[Side, Documents]:
    """Return the documents of a collection by side; those of a table belong to the side that has more of their ids."""
    if not Path(source).is_file():
        collection = load_data(source)
        if not isinstance(collection, Collection) or not collection.has_texts:
            raise InputError("there are no texts of queries and items", where=fspath(source), remedy=_TEXTS)
        return {"query": collection.queries, "item": collection.items}
    table = read_documents(source, queries=True)
    ids = set(table.ids)
    sides: dict[Side, list[str]] = {"item": gold.columns.items, "query": gold.queries}
    share = {side: sum(name in ids for name in judged) / len(judged) for side, judged in sides.items()}
    if not any(share.values()):
        raise InputError(
            f"none of its ids is a query or a judged item (it has {shorten(table.ids[0])}, the gold has the query "
            f"{shorten(gold.queries[0])} and the item {shorten(gold.columns.items[0])})",
            where=fspath(source),
            remedy=_TEXTS,
        )
    return {max(share, key=lambda side: share[side]): table}


_TEXTS = "give a collection (goldrank list collections), or a table with the columns id and text"


def _save_texts(
    store: Store,
    data: str,
    gold: Gold,
    runs: Sequence[Run],
    documents: Mapping[str, Mapping[Side, Documents]],
    depth: int | None,
) -> tuple[str, ...]:
    """Store the texts of the queries, the judged items and the first *depth* results, and say how many there are."""
    texts = store.texts(data)
    if not documents or texts is None:
        return ()
    items = set(gold.columns.items).union(*(_top_items(run, depth) for run in runs))
    chosen = chosen_texts(documents, gold.queries, items)
    if not chosen.queries and not chosen.items:
        raise InputError(
            f"none of the queries and items has a text there (the gold has the query {shorten(gold.queries[0])} and "
            f"the item {shorten(gold.columns.items[0])})",
            where=", ".join(documents),
            remedy=_TEXTS,
        )
    texts.save(chosen.queries.values(), chosen.items.values())
    if chosen.attributes:
        texts.save_attributes(chosen.attributes)
    judged = set(gold.columns.items)
    return (
        f"texts of {len(chosen.queries)} of {len(gold)} queries and of {len(judged & chosen.items.keys())} of "
        f"{len(judged)} judged items",
    )


@dataclass(frozen=True)
class ChosenTexts:
    """The texts of queries and items, and the attributes of queries."""

    queries: dict[str, Text]
    items: dict[str, Text]
    attributes: dict[str, dict[str, str]]


def chosen_texts(
    documents: Mapping[str, Mapping[Side, Documents]], queries: Ids[str], items: Ids[str] | None
) -> ChosenTexts:
    """Return the texts of some queries and items from several sources, the first of which counts; None is all items."""
    wanted: dict[Side, Ids[str] | None] = {"query": set(queries), "item": items}
    chosen: dict[Side, dict[str, Text]] = {"query": {}, "item": {}}
    attributes: dict[str, dict[str, str]] = {}
    for sides in documents.values():
        for side, listed in sides.items():
            of_side = wanted[side]
            for document in listed:
                if of_side is None or document.id in of_side:
                    chosen[side].setdefault(document.id, Text(document.id, document.title, document.text))
                    for name, value in document.further if side == "query" else ():
                        attributes.setdefault(name, {}).setdefault(document.id, value)
    return ChosenTexts(chosen["query"], chosen["item"], attributes)


def _top_items(run: Run, depth: int | None) -> set[str]:
    columns = run.columns
    if depth is None:
        return set(columns.items)
    return {
        columns.items[rows.start + at]
        for _, rows in columns.rows_by_query()
        for at in np.argsort(-columns.values[rows], kind="stable")[:depth].tolist()
    }
