"""Baselines: the scores of a run for each query in a small JSON file, to be committed and compared with later runs."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from goldrank import stats
from goldrank.data_warnings import name_some
from goldrank.errors import InputError, counts, shorten
from goldrank.hits import Floats, Hits
from goldrank.io.files import read_bytes, write_atomically
from goldrank.io.formats.json_files import decode_text
from goldrank.metrics import Conventions, Metric, find_profile
from goldrank.presentation import Result
from goldrank.scoring import Scores

SCHEMA = "goldrank/baseline/1"
_SAVE = "save the baseline again with goldrank baseline save"
_MARK = re.compile(rb'"schema"\s*:\s*"goldrank/baseline/')
_HEAD = 1 << 16
"""Bytes that are searched for the schema, which tools that sort or indent JSON may have moved."""


@dataclass(frozen=True, repr=False)
class Baseline(Result):
    """The scores of a run for each query, with the conventions and the data that they belong to."""

    run: str
    profile: str
    conventions: Conventions
    metrics: dict[str, dict[str, Any]]
    """The metrics as requested, each with the parameters that were applied."""
    queries: tuple[str, ...]
    """In the order of the gold."""
    values: dict[str, Floats]
    """One value per query; NaN where the metric is undefined."""
    weights: dict[str, Floats]
    """The weights of the queries, for metrics that pool their gold items."""
    gold: str
    """The digest of the queries and their judged items."""
    corpus: int | None = None
    gold_file: str = ""
    """The path of the gold from the folder of the baseline; empty if it was not a file."""
    source: str = "the baseline"

    @classmethod
    def of(cls, scores: Scores, hits: Hits, gold_file: str = "") -> Baseline:
        """Return the baseline of a scored run; *hits* are those of all queries of the gold."""
        for name, score in scores.items():
            if math.isnan(score.value):
                raise InputError(f"{name} is undefined for every query", remedy="leave the metric out")
        return cls(
            run=scores.name,
            profile=scores.profile.name,
            conventions=scores.conventions,
            metrics=applied_parameters(scores),
            queries=tuple(scores.placement.queries),
            values={name: score.values for name, score in scores.items()},
            weights={name: score.weights for name, score in scores.items() if score.weights is not None},
            gold=digest_gold(hits),
            corpus=hits.corpus,
            gold_file=gold_file,
        )

    @property
    def name(self) -> str:
        """The name of the run in the result of a gate."""
        return f"{self.run} (baseline)"

    @property
    def means(self) -> dict[str, float]:
        """The value of each metric over all queries."""
        return {
            name: stats.aggregate(values, self.weights.get(name), Metric.parse(name).definition.aggregate)
            for name, values in self.values.items()
        }

    def content(self) -> dict[str, Any]:
        """Return what the file holds."""
        columns = [[None if math.isnan(value) else value for value in column] for column in self._lists(self.values)]
        return {
            "schema": SCHEMA,
            "run": self.run,
            "profile": self.profile,
            "conventions": self.conventions.as_dict(),
            "metrics": self.metrics,
            "means": self.means,
            "data": {"gold": self.gold, "file": self.gold_file, "queries": len(self.queries), "corpus": self.corpus},
            "weights": dict(zip(self.weights, self._lists(self.weights), strict=True)),
            "scores": dict(zip(self.queries, map(list, zip(*columns, strict=True)), strict=True)),
        }

    @staticmethod
    def _lists(columns: Mapping[str, Floats]) -> list[list[float]]:
        return [column.tolist() for column in columns.values()]

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the file, with a line for each query, so that changes are easy to review."""
        content = self.content()
        scores = content.pop("scores")
        lines = [f"{json.dumps(name)}: {json.dumps(value)}," for name, value in content.items()]
        rows = ",\n".join(f"{json.dumps(query)}: {json.dumps(row)}" for query, row in scores.items())
        text = "\n".join(["{", *lines, '"scores": {', rows, "}", "}", ""])
        write_atomically(path, lambda stream: stream.write(text.encode()))

    def find_gold(self) -> Path:
        """Return the gold file that the baseline names.

        Raises:
            InputError: It names none, or the file does not exist.
        """
        path = Path(self.source).parent / self.gold_file
        if not self.gold_file or not path.is_file():
            what = f"the gold file {shorten(self.gold_file)} does not exist" if self.gold_file else "it names no gold"
            raise InputError(what, where=self.source, remedy="give the gold: goldrank gate GOLD BASELINE NEW")
        return path

    def refuse_other_data(self, hits: Hits, name: str) -> None:
        """Raise InputError if a run was scored with another gold or in another corpus."""
        own, other = set(self.queries), set(hits.queries)
        if digest_gold(hits) != self.gold:
            difference = sorted(own ^ other)
            what = (
                f"{counts(len(own - other), 'query', 'queries')} in the baseline only, {len(other - own)} in the gold "
                f"only: {name_some(difference)}"
                if difference
                else "the queries are the same, but the judged items or their grades differ"
            )
            raise InputError(
                f"the gold is not that of the baseline ({what})", where=self.source, remedy=f"give its gold, or {_SAVE}"
            )
        if hits.corpus != self.corpus:
            raise InputError(
                f"the run of the baseline and {name} ranked different corpora "
                f"({self.corpus or 'unknown'} and {hits.corpus or 'unknown'} items)",
                where=self.source,
                remedy=f"give the same --corpus, or {_SAVE}",
            )


def applied_parameters(scores: Scores) -> dict[str, dict[str, Any]]:
    """Return the parameters of each metric that were applied, those of the profile included."""
    pairs = zip(scores.metrics, scores.applied, strict=True)
    return {str(metric): {"metric": str(applied), **applied.parameters} for metric, applied in pairs}


def digest_gold(hits: Hits) -> str:
    """Return a digest of the queries and their judged items, which does not depend on the order of either."""
    subtopics = hits.subtopics or [{}] * len(hits.items)
    judged = [
        f"{item}\0{grade + 0.0!r}\0{sorted(topics.items()) if topics else ''}"
        for item, grade, topics in zip(hits.items, hits.grade.tolist(), subtopics, strict=True)
    ]
    starts = hits.starts.tolist()
    digest = hashlib.sha256()
    for query, start, end in sorted(zip(hits.queries, starts[:-1], starts[1:], strict=True)):
        digest.update("\0\0".join([query, *sorted(judged[start:end])]).encode("utf-8", "surrogatepass") + b"\xff")
    return f"sha256:{digest.hexdigest()[:32]}"


def is_baseline(path: object) -> bool:
    """Return True if *path* is a file with the schema of baselines near its beginning."""
    if not isinstance(path, (str, os.PathLike)) or not Path(path).is_file():
        return False
    with Path(path).open("rb") as file:
        return _MARK.search(file.read(_HEAD)) is not None


def read_baseline(path: str | os.PathLike[str]) -> Baseline:
    """Read a baseline.

    Raises:
        InputError: The file is damaged, of another version, or not a baseline.
    """
    source = os.fspath(path)
    content = decode_text(read_bytes(path).decode(), source, first_line=1)
    schema = content.get("schema") if isinstance(content, dict) else None
    if not isinstance(content, dict) or not str(schema).startswith("goldrank/baseline/"):
        raise InputError("this is not a baseline", where=source, remedy="write one with goldrank baseline save")
    if schema != SCHEMA:
        raise InputError(
            f"the baseline has the schema {shorten(schema)}, and this goldrank reads {SCHEMA}",
            where=source,
            remedy=_SAVE,
        )
    reader = _Reader(content, source)
    data, scores, means = reader.mapping("data"), reader.mapping("scores"), reader.mapping("means")
    metrics = reader.mapping("metrics")
    columns = reader.columns(scores, len(metrics))
    if len(scores) != data.get("queries"):
        raise reader.error(
            f"it has the scores of {len(scores)} queries, and should have {shorten(data.get('queries'))}"
        )
    corpus = data.get("corpus")
    if corpus is not None and type(corpus) is not int:
        raise reader.error(f"the corpus {shorten(corpus)} is not a number of items")
    weights = reader.mapping("weights")
    baseline = Baseline(
        run=reader.text(content.get("run"), "run"),
        profile=reader.text(content.get("profile"), "profile"),
        conventions=reader.conventions(),
        metrics=metrics,
        queries=tuple(scores),
        values=dict(zip(metrics, columns, strict=True)),
        weights={name: reader.numbers(column, len(scores), name) for name, column in weights.items()},
        gold=reader.text(data.get("gold"), "gold"),
        corpus=corpus,
        gold_file=reader.text(data.get("file"), "file"),
        source=source,
    )
    try:
        find_profile(baseline.profile)
        expected = baseline.means
    except InputError as error:
        raise reader.error(f"it has a name or a weight that this goldrank does not accept ({error.what})") from None
    if expected != means:
        raise reader.error("its means are not those of its scores, so that it was changed or cut off")
    return baseline


@dataclass(frozen=True)
class _Reader:
    """Checks the parts of a baseline file."""

    content: Mapping[str, Any]
    source: str

    def error(self, what: str) -> InputError:
        return InputError(what, where=self.source, remedy=_SAVE)

    def mapping(self, name: str) -> dict[str, Any]:
        value = self.content.get(name)
        if not isinstance(value, dict):
            raise self.error(f"{name} is {shorten(value)}, not an object")
        return value

    def text(self, value: object, name: str) -> str:
        if not isinstance(value, str):
            raise self.error(f"{name} is {shorten(value)}, not a text")
        return value

    def conventions(self) -> Conventions:
        values = self.mapping("conventions")
        if values.keys() != Conventions().as_dict().keys():
            unknown = sorted(values.keys() ^ Conventions().as_dict().keys())
            raise self.error(f"its conventions are not those of this goldrank ({', '.join(unknown)})")
        try:
            return Conventions(**values)
        except (InputError, TypeError, ValueError) as error:
            raise self.error(f"its conventions are not valid ({error})") from None

    def numbers(self, column: object, count: int, name: str, *, undefined: bool = False) -> Floats:
        """Return numbers; *undefined* allows null, which becomes NaN."""
        if not isinstance(column, list) or len(column) != count:
            raise self.error(f"{shorten(name)} is {shorten(column)}, not a list of {count} numbers")
        for value in column:
            if type(value) not in (int, float) and not (undefined and value is None):
                raise self.error(f"{shorten(name)} has the value {shorten(value)}, which is not a number")
        try:
            return np.array([math.nan if value is None else float(value) for value in column], np.float64)
        except OverflowError:
            raise self.error(f"{shorten(name)} has a value that is too large") from None

    def columns(self, scores: Mapping[str, object], count: int) -> list[Floats]:
        if not scores or not count:
            raise self.error("it has no scores")
        rows = [self.numbers(row, count, query, undefined=True) for query, row in scores.items()]
        return list(np.array(rows).T)
