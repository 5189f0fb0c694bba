"""A run file as a searcher: rankings of another system, evaluated like any other model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from goldrank.encoders.base import check_ids, parse_choice
from goldrank.encoders.provenance import stamp
from goldrank.encoders.rankings import ExternalSearcher, check_k, top_items
from goldrank.errors import InputError, shorten
from goldrank.hits import Floats, Run
from goldrank.io import FORMATS
from goldrank.ordering import SCORE_READINGS
from goldrank.specs import Spec


class RunFile(ExternalSearcher):
    """``run:FILE``, in any format that goldrank reads; ``format=`` names it if it is not recognised.

    ``scores=similarity``, ``distance`` or ``ignore`` says what the scores are; without it a file whose order
    contradicts its scores is refused. Queries are looked up by id; a query that is not in the file has an empty
    ranking.
    """

    instant = True
    """Searching is so fast that no checkpoint of it is worth writing."""

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec, "format", "scores")
        own = self._own
        if not spec.argument or spec.argument == "-":
            raise InputError("run needs a file", remedy="write run:bm25.trec, or the path of another run file")
        path = Path(spec.argument).expanduser()
        if "format" in own and own["format"] not in FORMATS:
            raise InputError(f"there is no format {own['format']!r}", remedy=f"there are: {', '.join(FORMATS)}")
        run = Run.read(path, format=own.get("format"))
        self.reading = run.reading
        """What the named columns of the file were read as; empty if they have no names."""
        if "scores" in own:
            run = run.ordered_by(parse_choice("scores", own["scores"], tuple(SCORE_READINGS)))
        else:
            run.order.refuse(str(spec), "run:FILE(scores=…)")
        self.run = run
        """All rankings of the file."""
        self._version = stamp(path)

    @property
    def version(self) -> str:
        """A stamp of the file's content."""
        return self._version

    def index(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        """Raise unless the file ranks at least one item of this corpus."""
        super().index(ids, texts)
        self._check_ranked(set(self.run.columns.items))

    def search(self, ids: Sequence[str], texts: Sequence[str], k: int) -> Run:
        """Return the k best items of each query."""
        check_k(k)
        check_ids(ids, texts)
        if ids and not any(query in self.run for query in ids):
            raise InputError(
                f"none of the {len(ids)} queries is in the file (it has {shorten(self.run.queries[0])}, "
                f"the task has {shorten(ids[0])})",
                where=str(self.spec),
                remedy="check that both use the same query ids",
            )
        return Run.from_rankings(ids, self._rankings(ids, k), str(self.spec))

    def rank(self, ids: Sequence[str], texts: Sequence[str], k: int) -> Iterator[dict[str, float]]:
        """Return the k best items of each query; equal scores of a whole ranking stay in the order of the file."""
        for items, scores in self._rankings(ids, k):
            yield dict(zip(items, scores.tolist(), strict=True))

    def _rankings(self, ids: Sequence[str], k: int) -> Iterator[tuple[list[str], Floats]]:
        columns = self.run.columns
        rows_of = dict(columns.rows_by_query())
        for query in ids:
            rows = rows_of.get(query, slice(0, 0))
            items, scores = columns.items[rows], columns.values[rows]
            if len(items) > k:
                top = top_items(dict(zip(items, scores.tolist(), strict=True)), k)
                yield list(top), np.fromiter(top.values(), np.float64, len(top))
            elif (scores[1:] <= scores[:-1]).all():
                yield items, scores
            else:
                order = np.argsort(-scores, kind="stable")
                yield [items[row] for row in order.tolist()], scores[order]
