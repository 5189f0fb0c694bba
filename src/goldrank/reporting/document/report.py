"""Write a report of stored runs: one file of HTML, Markdown or PDF."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from os import PathLike
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

import goldrank
from goldrank.errors import InputError, unknown_name
from goldrank.metrics import Conventions
from goldrank.reporting.document.content import WORST, content_of
from goldrank.reporting.document.sections import Report
from goldrank.runs.file_runs import Corpus, TextPath, given_runs
from goldrank.runs.slice_sources import SliceChoice
from goldrank.scoring import Bootstrap, conventions_of
from goldrank.slices.attributes import read_attributes
from goldrank.store import Store

FORMATS = {"html": ".html", "markdown": ".md", "pdf": ".pdf"}
_SUFFIXES = {".html": "html", ".htm": "html", ".md": "markdown", ".markdown": "markdown", ".pdf": "pdf"}


def report(
    runs: Any,
    output: str | PathLike[str] | None = None,
    *,
    gold: Any = None,
    texts: TextPath | Sequence[TextPath] = (),
    corpus: Corpus | None = None,
    gold_format: str | None = None,
    run_format: str | None = None,
    store: Store | str | PathLike[str] | None = None,
    labels: Mapping[str, str] | None = None,
    format: str | None = None,
    title: str | None = None,
    worst: int = WORST,
    theme: str = "auto",
    metrics: list[str] | None = None,
    profile: str | None = None,
    conventions: Conventions | Mapping[str, Any] | None = None,
    bootstrap: Bootstrap = Bootstrap(),  # noqa: B008 - frozen
    alpha: float = 0.05,
    slices: Any = None,
    slice_names: Sequence[str] | None = None,
    **keywords: Any,
) -> Report:
    """Compare runs and write the results as one file that opens offline.

    Args:
        runs: Keys of stored runs, stored runs, or the result of `run`; their tasks may differ. With *gold*: run files,
            or a mapping of names to runs or files, which are not stored.
        output: The file to write; None writes nothing, and ``save`` of the result writes it later.
        gold: The gold of run files: a file, or data as in `score`; None for stored runs, which have their own.
        texts: Texts of the queries and items of run files: collections (a name or path), or tables of id and text.
        corpus: Of run files: the number of items in the corpus, their ids, or a file with one id per line.
        gold_format, run_format: The formats of files; by default recognised by their content.
        store: Where keys are looked up; by default the store of the runs, or that of ``$GOLDRANK_STORE``.
        labels: Names of runs in the report, each with what it stands for: a key, a model or a run file.
        format: ``html``, ``markdown`` or ``pdf``; by default what the suffix of *output* says, else ``html``.
        title: The title; by default the names of the tasks.
        worst: How many queries of each task are shown.
        theme: Colours of the page: ``auto``, ``light`` or ``dark``.
        metrics, profile, conventions: Of runs that rank; None for the runs' own.
        bootstrap: The settings of the intervals.
        alpha: The level of significance.
        slices: A file or table of attributes of queries, by which the results are shown too.
        slice_names: The attributes to show results by, given or derived; None for all of *slices*.
        keywords: Single conventions.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> boards = goldrank.run("bm25", "wines", store=folder, limit=5)
    >>> report(boards, f"{folder}/report.md", worst=1).path.name
    'report.md'
    >>> report({"first": {"q": {"d": 2, "e": 1}}}, gold={"q": {"e": 1}}).runs
    1
    """
    look, path = destination(output, format)
    attributes = None if slices is None else read_attributes(slices)
    changes = conventions_of(report, conventions, keywords)
    if look == "pdf":
        from goldrank.reporting.document.pdf import find_browser

        # A missing browser is reported before the work.
        find_browser()
    # The products of the bootstrap are small: threads wait for each other longer than they work.
    with (
        given_runs(
            runs,
            store,
            gold=gold,
            texts=texts,
            corpus=corpus,
            gold_format=gold_format,
            run_format=run_format,
            scores=changes.get("scores"),
            labels=labels,
        ) as given,
        threadpool_limits(1, "blas"),
    ):
        sections = content_of(
            list(given.runs.values()),
            given.store,
            metrics=metrics,
            profile=profile,
            conventions=changes,
            bootstrap=bootstrap,
            alpha=alpha,
            worst=worst,
            slices=SliceChoice(None if slice_names is None else tuple(slice_names), attributes),
        )
    usual = Bootstrap()
    options = (
        ("profile", profile, None),
        ("alpha", alpha, 0.05),
        ("level", bootstrap.level, usual.level),
        ("interval", bootstrap.method, usual.method),
        ("resamples", bootstrap.resamples, usual.resamples),
        ("seed", bootstrap.seed, usual.seed),
        ("worst", worst, WORST),
        ("theme", theme, "auto"),
        ("title", title, None),
    )
    words = list(given.words)
    words += ["--slices", str(slices)] if isinstance(slices, (str, PathLike)) else []
    words += [word for name in slice_names or () for word in ("--slice", name)]
    changed = {name: value for name, value, default in options if value != default} | changes
    result = Report(
        title=title or ", ".join(dict.fromkeys(section.task for section in sections)),
        sections=tuple(sections),
        command=_command(words, metrics or [], changed, look, path.name),
        created=datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        version=goldrank.__version__,
        theme=theme,
        format=look,
        warnings=given.warnings,
        notes=given.notes if attributes is None else (*given.notes, attributes.reading),
    )
    return result if output is None else result.save(path)


def destination(output: str | PathLike[str] | None, format: str | None) -> tuple[str, Path]:
    """Return the format of a report and the file to write."""
    by_name = None if output is None else _SUFFIXES.get(Path(output).suffix.lower())
    look = format or by_name or "html"
    if look not in FORMATS:
        raise unknown_name("format of reports", look, FORMATS, f"one of {', '.join(FORMATS)}")
    path = Path(f"report{FORMATS[look]}" if output is None else output)
    if path.is_dir():
        raise InputError("this is a folder", where=str(path), remedy="name a file to write")
    return look, path


def _command(given: Sequence[str], metrics: list[str], changed: Mapping[str, Any], look: str, file: str) -> str:
    """Return the command line that makes this report again, whole keys and all; the store without its password."""
    words = ["goldrank", "report", *given]
    words += [word for metric in metrics for word in ("-M", metric)]
    words += [word for name, value in changed.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    return shlex.join([*words, "--format", look, "-o", file])
