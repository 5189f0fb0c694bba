"""A run file as a searcher: rankings of another system, evaluated like any other model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from goldrank.encoders.base import check_ids, parse_choice
from goldrank.encoders.provenance import stamp
from goldrank.encoders.rankings import ExternalSearcher, check_k, top_items
from goldrank.errors import InputError, shorten
from goldrank.hits import Run
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
        if "scores" in own:
            run = run.ordered_by(parse_choice("scores", own["scores"], tuple(SCORE_READINGS)))
        else:
            run.order.refuse(str(spec), "run:FILE(scores=…)")
        self._run = run
        self._version = stamp(path)

    @property
    def version(self) -> str:
        """A stamp of the file's content."""
        return self._version

    def index(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        """Raise unless the file ranks at least one item of this corpus."""
        super().index(ids, texts)
        self._check_ranked(set(self._run.columns.items))

    def search(self, ids: Sequence[str], texts: Sequence[str], k: int) -> Run:
        """Return the k best items of each query."""
        check_k(k)
        check_ids(ids, texts)
        if ids and not any(query in self._run for query in ids):
            raise InputError(
                f"none of the {len(ids)} queries is in the file (it has {shorten(self._run.queries[0])}, "
                f"the task has {shorten(ids[0])})",
                where=str(self.spec),
                remedy="check that both use the same query ids",
            )
        return Run(dict(zip(ids, self.rank(ids, texts, k), strict=True)))

    def rank(self, ids: Sequence[str], texts: Sequence[str], k: int) -> Iterator[dict[str, float]]:
        """Return the k best items of each query."""
        return (top_items(self._run.get(query, {}), k) for query in ids)
