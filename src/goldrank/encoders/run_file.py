"""A run file as a model: the rankings that some other system made, evaluated like any other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from goldrank.encoders.base import Options, identity_of, one_of, refuse_ids
from goldrank.encoders.provenance import stamp
from goldrank.encoders.rankings import KnownItems, best, refuse_k
from goldrank.errors import InputError, shorten
from goldrank.hits import Run
from goldrank.io import FORMATS
from goldrank.ordering import SCORE_READINGS
from goldrank.specs import Spec

_NONE_OF_THEM = ("query_prompt", "item_prompt", "batch_size", "device", "dtype", "max_length", "dim")


class RunFile:
    """``run:FILE``, in any format that goldrank reads; ``format=`` names it where it is not recognised.

    ``scores=similarity``, ``distance`` or ``ignore`` says what the scores are; without it a file whose order
    contradicts its scores is refused.
    Queries are known by their ids; one that the file does not rank has an empty ranking.
    """

    instant = True
    """To keep its rankings while a search goes on would gain nothing."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        _, own = Options.take(spec, "format", "scores", without=_NONE_OF_THEM)
        if not spec.argument or spec.argument == "-":
            raise InputError("run needs a file", remedy="write run:bm25.trec, or whatever the file is called")
        path = Path(spec.argument).expanduser()
        if "format" in own and own["format"] not in FORMATS:
            raise InputError(f"there is no format {own['format']!r}", remedy=f"there are: {', '.join(FORMATS)}")
        run = Run.read(path, format=own.get("format"))
        if "scores" in own:
            run = run.ordered_by(one_of("scores", own["scores"], tuple(SCORE_READINGS)))
        else:
            run.order.refuse(str(spec), "run:FILE(scores=…)")
        self._rankings = run.to_dict()
        self._version = stamp(path)
        self._known = KnownItems()

    @property
    def identity(self) -> str:
        """The file and a stamp of its content."""
        return identity_of(self.spec, self._version)

    @property
    def unknown(self) -> frozenset[str]:
        """Ranked ids that are no items of the corpus."""
        return self._known.unknown

    def index(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        """Check that the file ranks items of this corpus, some of them at least."""
        self._known.set(ids)
        self._known.check((item for ranking in self._rankings.values() for item in ranking), str(self.spec))

    def search(self, ids: Sequence[str], texts: Sequence[str], k: int) -> Run:
        """The k best items of each query."""
        refuse_k(k)
        refuse_ids(ids, texts)
        if ids and self._rankings.keys().isdisjoint(ids):
            raise InputError(
                f"none of the {len(ids)} queries is in the file (it has {shorten(next(iter(self._rankings)))}, "
                f"asked for is {shorten(ids[0])})",
                where=str(self.spec),
                remedy="check that both use the same query ids",
            )
        return Run({query: best(self._rankings.get(query, {}), k) for query in ids})
