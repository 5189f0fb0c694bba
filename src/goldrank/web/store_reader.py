"""Read the store for the explorer: runs by key, and a cache of tables and results that were computed from them."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from goldrank.errors import AmbiguousNameError, UnknownNameError, shorten
from goldrank.hits import Hits
from goldrank.io.fingerprints import file_state
from goldrank.metrics import Conventions, Metric, Profile
from goldrank.runs.slice_sources import find_slice, usual_slices
from goldrank.runs.stored_scores import count_run
from goldrank.scoring import Scores, resolve_conventions, score_hits
from goldrank.slices.attributes import Slice
from goldrank.store import Counted, Store, StoredRun, add_stored_confidence
from goldrank.store.snapshot import Snapshot, Snapshots
from goldrank.store.texts import Texts
from goldrank.web.cache import Cache
from goldrank.web.responses import NotFoundError

CACHE_BYTES = 96 << 20
_BYTES_OF_A_TEXT = 64
_BYTES_OF_A_ROW = 64
_LONGEST_KEY = 200

Value = TypeVar("Value")


def size_of_json(content: Any) -> int:
    """Estimate the bytes that plain values take in memory: a few times those of their JSON."""
    return 6 * len(json.dumps(content))


class StoreReader:
    """A store with a cache; any number of threads may use it at once."""

    def __init__(self, store: Store, *, cache_bytes: int = CACHE_BYTES) -> None:
        self.store = store
        # Two caches, because a comparison may take long and must not block the reading of tables.
        self._tables, self._results = Cache(cache_bytes * 4 // 5), Cache(cache_bytes // 5)
        self._snapshots = Snapshots(store)

    def all_runs(self) -> Snapshot:
        """Return all runs as they are now."""
        return self._snapshots.newest()

    def run(self, key: str) -> StoredRun:
        """Return the run with exactly this key; raise NotFoundError if there is none."""
        # Keys consist of letters, digits and hyphens; nothing else is sent to a database.
        if not (key.isascii() and key.replace("-", "").isalnum() and len(key) <= _LONGEST_KEY):
            raise NotFoundError(f"there is no stored run {shorten(key)}", remedy="see /api/runs")
        known = self.all_runs().by_key.get(key)
        if known is not None:
            return known
        try:
            run = self.store.get(key)
        except (AmbiguousNameError, UnknownNameError) as error:
            raise NotFoundError(f"there is no stored run {shorten(key)}", remedy=error.remedy) from None
        if run.key != key:
            raise NotFoundError(f"there is no stored run {shorten(key)}", remedy=f"did you mean {run.key!r}?")
        return run

    def runs(self, keys: Sequence[str]) -> dict[str, StoredRun]:
        """Return the runs of some keys, each once."""
        return {key: self.run(key) for key in dict.fromkeys(keys)}

    def texts(self, run: StoredRun) -> Texts | None:
        """Return the texts of the queries and items of a run; None if they are not stored."""
        texts = self.store.texts(str(run.inputs.get("data", "")))
        return None if texts is None or not texts.is_saved else replace(texts, load=self.part)

    def slices(self, run: StoredRun) -> tuple[Slice, ...]:
        """Return the slices of the queries of a run that ranks; none for other runs."""
        if run.result_kind != "ranked":
            return ()
        texts = self.store.texts(str(run.inputs.get("data", "")))
        # Attributes may be stored again for the same data.
        state = file_state(texts.attributes_path) if texts is not None and texts.attributes_path.is_file() else None
        return self.cached([run], ("slices", state), lambda: usual_slices(run, self.store), _size_of_slices)

    def slice_queries(self, run: StoredRun, name: str) -> frozenset[str]:
        """Return the queries of the slice with a name such as ``language=de``."""
        return frozenset(find_slice(self.slices(run), name).queries)

    def part(self, name: Hashable, read: Callable[[], Any]) -> Any:
        """Return a part of a table from the cache; *read* reads it if it is not there."""
        return self._tables.get(("part", name), read, lambda part: part.nbytes, small=True)

    def counted(self, run: StoredRun, profile: Profile, conventions: Conventions) -> Counted:
        """Return the hits of a run under the conventions, and under the masked profile if the run is masked."""
        relevant_settings = (
            profile.name if run.result_kind == "masked" else "",
            conventions.precision,
            conventions.self_matches,
        )
        return self._tables.get(
            (_identity(run), "hits", relevant_settings),
            lambda: count_run(run, profile, conventions),
            lambda counted: _size_of_hits(counted.hits),
        )

    def scores(self, run: StoredRun, metrics: Sequence[Metric], profile: Profile, changes: Mapping[str, Any]) -> Scores:
        """Return the scores of a run, as `goldrank score` computes them; the caller chooses the bootstrap."""
        agreed = resolve_conventions(profile, changes)
        chosen = (tuple(map(str, metrics)), profile.name, tuple(agreed.as_dict().items()))

        def compute() -> Scores:
            hits = add_stored_confidence(self.counted(run, profile, agreed).hits, run, metrics, agreed)
            return score_hits(hits, metrics, profile=profile, name=run.key, **changes)

        return self._tables.get((_identity(run), "scores", chosen), compute, _size_of_scores)

    def cached_for_all(self, what: Hashable, compute: Callable[[Snapshot], bytes]) -> bytes:
        """Return a response computed from the list of all runs, cached until that list changes."""
        now = self.all_runs()
        return self._results.get(("all runs", now.number, what), lambda: compute(now), len, small=True)

    def cached(
        self,
        runs: Iterable[StoredRun],
        what: Hashable,
        compute: Callable[[], Value],
        size: Callable[[Value], int] = size_of_json,
    ) -> Value:
        """Return any other value that is computed from some runs, cached while there is room."""
        return self._results.get((tuple(map(_identity, runs)), what), compute, size)


def _identity(run: StoredRun) -> Hashable:
    # A run that is evaluated again has a new folder, so that cached values of the old one are not used for it.
    return run.key, run.folder.name


def _size_of_slices(slices: tuple[Slice, ...]) -> int:
    return 8 * sum(map(len, slices)) + _BYTES_OF_A_TEXT * (len(slices) + 1)


def _size_of_hits(hits: Hits) -> int:
    return len(hits) * (_BYTES_OF_A_ROW + _BYTES_OF_A_TEXT) + len(hits.queries) * _BYTES_OF_A_TEXT


def _size_of_scores(scores: Scores) -> int:
    placement = scores.placement
    return len(placement.gold_grade) * _BYTES_OF_A_ROW + 16 * len(placement.queries) * len(scores.metrics)
