"""The named tasks, and the task of a name, a name with a path, a path, or data in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any

from goldrank.data import sources
from goldrank.data.collections import (
    PREFIXES,
    Collection,
    gold_alone,
    layout_spec,
    read_collection,
    refuse_content,
    takes_questions,
)
from goldrank.data.collections.in_memory import collection_from
from goldrank.data.sources import DatasetDescription
from goldrank.data.text_rule import TextRule
from goldrank.errors import InputError, unknown_name
from goldrank.hits import Gold
from goldrank.io.files import nearest_path
from goldrank.registry import Registry
from goldrank.tasks.evalrank import EVALRANK_TASKS
from goldrank.tasks.probe import PROBE_TASKS, probe_of
from goldrank.tasks.ranking.task import RankingTask, task_of
from goldrank.tasks.similarity import SIMILARITY_TASKS
from goldrank.tasks.task import Task

_OWN = "written for goldrank, Apache-2.0"
_NONE_STATED = "none stated; public copies"
_SDR = "Ginzburg et al., Self-Supervised Document Similarity Ranking via Contextualized Language Models, 2021"
# A metric at 100 would see all of the hundred articles.
_AMONG_HUNDRED = ("mrr", "mpr(unfound=last)", "recall@10", "ndcg@10")
_LOOKED_AT = 100
"""How many queries, and items of each, tell whether a mapping is gold."""
_PLAIN = TextRule(parts=("title", "text"))

_RANKING_TASKS = (
    RankingTask(
        "wines",
        "related",
        sources.built_in("wines"),
        "100 short articles on wine; 23 of them list the articles like them",
        metrics=_AMONG_HUNDRED,
        about=DatasetDescription(
            "goldrank",
            _OWN,
            "100 articles, 23 queries, 96 pairs",
            notes="Nearly half of the pairs are related through knowledge that is not in the texts; four pairs of "
            "articles are near-duplicates of which often one alone is gold.",
            data="built in",
        ),
    ),
    RankingTask(
        "games",
        "related",
        sources.built_in("games"),
        "100 short articles on games; 23 of them list the articles like them",
        metrics=_AMONG_HUNDRED,
        about=DatasetDescription(
            "goldrank",
            _OWN,
            "100 articles, 23 queries, 78 pairs",
            notes="A third of the pairs share no content words; four pairs of articles are near-duplicates.",
            data="built in",
        ),
    ),
    RankingTask(
        "questions",
        "retrieval",
        sources.built_in("questions"),
        "60 questions over the 200 articles on wine and games, with graded answers",
        about=DatasetDescription(
            "goldrank",
            _OWN,
            "200 articles, 60 questions, 120 answers graded 1 or 2",
            notes="Half of the questions are paraphrased; some have typing errors, negations or need knowledge from "
            "outside the texts.",
            data="built in",
        ),
    ),
    RankingTask(
        "cranfield",
        "retrieval",
        sources.local("cranfield", "cran", format="smart"),
        "225 questions over 1,400 abstracts on aerodynamics",
        # The texts of this collection begin with their titles.
        text=TextRule(parts=("text",)),
        format="smart",
        about=DatasetDescription(
            "Cleverdon, Cranfield, 1967",
            _NONE_STATED,
            "1,400 documents, 225 queries, 1,837 judgments",
            "trec_eval",
            "The judgments number the queries in the order of their file. Codes 1 to 4 are kept as grades, -1 is not "
            "relevant. Two documents are empty.",
            "by path",
        ),
    ),
    RankingTask(
        "cisi",
        "retrieval",
        sources.local("cisi", format="smart"),
        "76 judged questions over 1,460 documents on library science",
        text=_PLAIN,
        format="smart",
        about=DatasetDescription(
            "CISI", _NONE_STATED, "1,460 documents, 112 queries of which 76 are judged", "trec_eval", data="by path"
        ),
    ),
    RankingTask(
        "time",
        "retrieval",
        sources.local("time", format="smart"),
        "83 questions over 423 articles of Time magazine, 1963",
        text=_PLAIN,
        format="smart",
        about=DatasetDescription(
            "TIME",
            _NONE_STATED,
            "423 documents, 83 queries",
            "trec_eval",
            "The judgments count a collection of 425 documents; ids from 378 on are shifted by the two that are gone.",
            "by path",
        ),
    ),
    RankingTask(
        "wikipedia-wines",
        "related",
        sources.wikipedia(
            "wikipedia-wines",
            record=4812960,
            article_file="wines.txt",
            gold_folder="wines",
            gold_checksum="86932ba80ea488868d37466d4ff6fb9bba940a87db90cb8bf326cb56a1cd0e1f",
        ),
        "Wikipedia articles on wine; experts listed the similar ones of 94",
        format="wiki",
        about=DatasetDescription(_SDR, "articles CC BY-SA, lists MIT", "94 queries, 840 pairs", "sdr"),
    ),
    RankingTask(
        "wikipedia-games",
        "related",
        sources.wikipedia(
            "wikipedia-games",
            record=4812962,
            article_file="video_games.txt",
            gold_folder="video_games",
            gold_checksum="a9643d73620a33b02abea4ddaca27c9a5e900e6b6ee04e224491eb39d8a8b06f",
        ),
        "Wikipedia articles on video games; experts listed the similar ones of 90",
        format="wiki",
        about=DatasetDescription(
            _SDR,
            "articles CC BY-SA, lists MIT",
            "90 queries, 800 pairs",
            "sdr",
            "The articles spell & as &amp;; titles are matched after that is undone, so that no pair is lost.",
        ),
    ),
    RankingTask(
        "lee",
        "related",
        sources.lee,
        "50 news texts with the similarities that people gave every pair",
        about=DatasetDescription(
            "Lee, Pincombe & Welsh, An Empirical Evaluation of Models of Text Document Similarity, 2005",
            "as in the gensim package, which carries it",
            "50 documents, 48 queries, 286 pairs rated 0.5 or more",
            notes="The grade of a pair is its mean rating; pairs under 0.5 are not gold.",
            data="in the gensim package",
        ),
    ),
    *(
        RankingTask(
            name,
            "retrieval",
            sources.beir(name),
            f"the BEIR data set {name}",
            text=_PLAIN,
            format="beir",
            about=DatasetDescription(
                "Thakur et al., BEIR, 2021; archive of the BEIR project, checked by its published MD5",
                "that of the data set's authors",
                "see the BEIR paper",
                "beir",
            ),
        )
        for name in sources.BEIR_CHECKSUMS
    ),
)

_TASKS: tuple[Task, ...] = (*_RANKING_TASKS, *EVALRANK_TASKS, *SIMILARITY_TASKS, *PROBE_TASKS)
TASKS: Registry[Task] = Registry("goldrank.tasks", Task, {task.name: task for task in _TASKS})  # type: ignore[type-abstract]


def is_measurement(task: str | Task) -> bool:
    """Return whether a task produces measured values instead of rankings; of a name, without reading any data.

    >>> is_measurement("sts-b:./STSBenchmark"), is_measurement("probe:reviews.csv"), is_measurement("wines")
    (True, True, False)
    """
    if not isinstance(task, str):
        return task.result_kind == "measured"
    name = task.partition(":")[0]
    return name == "probe" or (name in TASKS and TASKS[name].result_kind == "measured")


def find_task(task: object, questions: object = None) -> Task:
    """Return the task of a name, a path or data.

    A text is ``wines``, ``cranfield:PATH``, ``probe:FILE``, ``irds:NAME``, ``hf:NAME``, ``gold:FILE``, another layout
    with its options such as ``pairs:FILE(item=answer)``, or a path. A Task is returned as it is; anything else is data
    in memory, in one of the forms of `collection_from`. *questions* is the table of questions of a folder of documents.

    >>> find_task("wines").kind
    'related'
    >>> find_task("whines")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    goldrank.errors.UnknownNameError: there is no task 'whines'; did you mean 'wines'? (goldrank list tasks, ...)
    """
    if questions is not None and not _may_be_folder(task):
        name = task if isinstance(task, str) else "this task"
        raise InputError(
            f"--questions has no effect on {name}, which has queries of its own",
            remedy="leave it out, or give a folder of documents as the task",
        )
    if isinstance(task, Task):
        return task
    if not isinstance(task, (str, PathLike)):
        return _in_memory(task)
    # A Path is never the name of a task, even if it reads like one.
    text = f"./{task}" if isinstance(task, PathLike) and str(task) in TASKS else str(task)
    refuse_content(text)
    if text in TASKS:
        return TASKS[text]
    name, colon, path = text.partition(":")
    if colon and name in TASKS:
        if not path or not Path(path).expanduser().exists():
            remedy = nearest_path(path) if path else "write the path of the data after the colon"
            raise InputError("there is no such file or folder", where=path or f"{name}:", remedy=remedy)
        return TASKS[name].at(Path(path).expanduser())
    if name == "probe" and path:
        return probe_of(Path(path).expanduser())
    if _is_source(text) or Path(text).expanduser().exists():
        return _from_path(text, questions)
    if any(mark in text for mark in ("/", "\\")) or text.startswith("."):
        raise InputError("there is no such file or folder", where=text, remedy=nearest_path(text))
    raise unknown_name("task", text, [*TASKS, *_entries_here()], "goldrank list tasks, or give a path")


def _entries_here() -> list[str]:
    """Return the names of files and folders in the current folder, as far as they can be read."""
    with suppress(OSError):
        return [entry.name for entry in islice(Path().iterdir(), 10_000)]
    return []


def _may_be_folder(task: object) -> bool:
    """Return True unless the task is known by name or in memory."""
    if isinstance(task, str):
        return task not in TASKS and task.partition(":")[0] not in (*TASKS, "probe")
    return isinstance(task, PathLike)


def find_tasks(tasks: Sequence[object], questions: object = None) -> list[Task]:
    """Return all tasks; *questions* are those of each folder of documents among them.

    Raises:
        InputError: There are questions, and no task is a folder of documents.
    """
    takes_table = [
        questions is not None and isinstance(task, (str, PathLike)) and _may_be_folder(task) and takes_questions(task)
        for task in tasks
    ]
    if questions is not None and not any(takes_table):
        # Reports why the first of them takes no questions.
        takes_table = [True, *takes_table[1:]]
    return [find_task(task, questions if takes else None) for task, takes in zip(tasks, takes_table, strict=True)]


def load_data(data: object, *, split: str | None = None, format: str | None = None, questions: object = None) -> Any:
    """Load what a task is evaluated on: documents with queries and gold, pairs with scores, or labelled texts.

    Args:
        data: The name of a task, ``NAME:PATH``, ``probe:FILE``, the path of a collection, ``irds:NAME``, ``hf:NAME``,
            or data in memory, as in `evaluate`.
        split: The split; by default the one to evaluate on.
        format: The layout of a collection; by default recognised by its content.
        questions: The table of questions of a folder of documents, as in `evaluate`.

    Returns:
        A Collection, or the pairs or labelled texts of a task of similarity or a probe.

    >>> load_data("wines")
    Collection(wines/test: 100 items, related, 96 judged)
    >>> len(load_data("sentence-pairs"))
    150
    """
    if not isinstance(data, (str, PathLike)):
        return find_task(data, questions).read(split)
    name = str(data).partition(":")[0]
    if format is None and isinstance(data, str) and name in (*TASKS, "probe"):
        return find_task(data, questions).read(split)
    return read_collection(data, format=format, split=split, questions=questions)


def _in_memory(data: object) -> RankingTask:
    """Return the task of data in memory, whose results are stored under a checksum of its content."""
    if isinstance(data, Collection):
        return task_of(data)
    if isinstance(data, Gold) or _is_gold(data):
        return task_of(gold_alone.from_gold(Gold(data).columns))
    if isinstance(data, Iterator):
        data = list(data)
    first = collection_from(data)

    def read(split: str | None) -> Collection:
        return first if split in (None, first.split) else collection_from(data, split)

    return replace(task_of(first), read=read)


def _is_gold(data: object) -> bool:
    """Return True for grades by query and item; data with texts have texts in the place of the grades."""
    if not isinstance(data, Mapping) or not all(isinstance(items, Mapping) for items in data.values()):
        return False
    grades = [grade for items in islice(data.values(), _LOOKED_AT) for grade in islice(items.values(), _LOOKED_AT)]
    return bool(grades) and all(isinstance(grade, Real) for grade in grades)


def _is_source(text: str) -> bool:
    """Return whether a text names a collection and is not a path."""
    return text.startswith(tuple(PREFIXES)) or layout_spec(text) is not None


def _from_path(text: str, questions: object = None) -> RankingTask:
    """Return the task of a collection at a path; it is read now to know its kind, and again for another split."""
    path: str | Path = text if _is_source(text) else Path(text).expanduser()
    first = read_collection(path, questions=questions)
    if not first.has_texts or layout_spec(text) is not None:
        name = first.name
    elif isinstance(path, str):
        name = text.partition(":")[2].replace("/", "-")
    else:
        name = path.resolve().name.partition(".")[0]

    def read(split: str | None) -> Collection:
        if split in (None, first.split):
            return first
        return replace(read_collection(path, split=split, questions=questions), name=name)

    return replace(task_of(first, name), read=read)
