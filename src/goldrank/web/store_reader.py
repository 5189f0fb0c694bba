"""The store as the explorer reads it: runs by key, and what is worth keeping of their tables in bounded memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from goldrank.errors import AmbiguousNameError, UnknownNameError, shorten
from goldrank.hits import Hits
from goldrank.metrics import Conventions, Metric, Profile
from goldrank.runs.stored_scores import count_run
from goldrank.scoring import Scores, agree, score_hits
from goldrank.store import Counted, Store, StoredRun, add_stored_confidence
from goldrank.store.snapshot import Snapshot, Snapshots
from goldrank.web.cache import Cache
from goldrank.web.responses import NotFoundError
from goldrank.web.text_files import TextFile

KINDS = ("ranked", "measured", "masked")
CACHE_BYTES = 96 << 20
_BYTES_OF_A_TEXT = 64
_BYTES_OF_A_ROW = 64
_LONGEST_KEY = 200

Made = TypeVar("Made")


class Reader:
    """One store with what was read of it lately; any number of threads may ask at once."""

    def __init__(self, store: Store, *, cache_bytes: int = CACHE_BYTES) -> None:
        self.store = store
        # Comparisons may take long; whoever only wants a ranking must not wait for them.
        self._tables, self._results = Cache(cache_bytes * 4 // 5), Cache(cache_bytes // 5)
        self._snapshots = Snapshots(store)

    def all_runs(self) -> Snapshot:
        """All runs as they are now."""
        return self._snapshots.newest()

    def run(self, key: str) -> StoredRun:
        """The run of exactly that key."""
        # Keys are letters, digits and hyphens; nothing else is shown to a database.
        if not (key.isascii() and key.replace("-", "").isalnum() and len(key) <= _LONGEST_KEY):
            raise NotFoundError(f"there is no stored run {shorten(key)}", remedy="see /api/runs")
        known = self.all_runs().by_key.get(key)
        if known is not None:
            return known
        try:
            found = self.store.get(key)
        except (AmbiguousNameError, UnknownNameError) as error:
            raise NotFoundError(f"there is no stored run {shorten(key)}", remedy=error.remedy) from None
        if found.key != key:
            raise NotFoundError(f"there is no stored run {shorten(key)}", remedy=f"did you mean {found.key!r}?")
        return found

    def runs(self, keys: Sequence[str]) -> dict[str, StoredRun]:
        """The runs of some keys, each once."""
        return {key: self.run(key) for key in dict.fromkeys(keys)}

    def texts(self, run: StoredRun) -> TextFile | None:
        """What the queries and items of a run say, where that was kept."""
        found = self.store.texts(str(run.inputs.get("data", "")))
        return None if found is None or not found.there else TextFile.open(found.path, self.part)

    def part(self, name: Hashable, read: Callable[[], Any]) -> Any:
        """A part of a table, kept as long as there is room; *read* gives it."""

        def make() -> tuple[Any, int]:
            made = read()
            return made, made.nbytes

        return self._tables.get(("part", name), make, small=True)

    def counted(self, run: StoredRun, profile: Profile, conventions: Conventions) -> Counted:
        """The hits of a run under the conventions, and the profile's reading where they are of guesses at masks."""

        def make() -> tuple[Counted, int]:
            made = count_run(run, profile, conventions)
            return made, _size(made.hits)

        bears_on_counts = (
            profile.name if run.result_kind == "masked" else "",
            conventions.precision,
            conventions.self_matches,
        )
        return self._tables.get((_identity(run), "hits", bears_on_counts), make)

    def scores(self, run: StoredRun, metrics: Sequence[Metric], profile: Profile, changes: Mapping[str, Any]) -> Scores:
        """The scores of a run, as `goldrank score` gives them; the same for any bootstrap, which is for the caller."""
        agreed = agree(profile, changes)

        def make() -> tuple[Scores, int]:
            hits = add_stored_confidence(self.counted(run, profile, agreed).hits, run, metrics, agreed)
            made = score_hits(hits, metrics, profile=profile, name=run.key, **changes)
            return made, len(hits) * _BYTES_OF_A_ROW + 16 * len(hits.queries) * len(metrics)

        asked = (tuple(map(str, metrics)), profile.name, tuple(agreed.as_dict().items()))
        return self._tables.get((_identity(run), "scores", asked), make)

    def kept_of_all(self, what: Hashable, make: Callable[[Snapshot], bytes]) -> bytes:
        """An answer made from the list of all runs, kept until that changes."""
        now = self.all_runs()

        def make_now() -> tuple[bytes, int]:
            made = make(now)
            return made, len(made)

        return self._results.get(("all runs", now.number, what), make_now, small=True)

    def kept(self, runs: Iterable[StoredRun], what: Hashable, make: Callable[[], tuple[Made, int]]) -> Made:
        """Anything else made from some runs, kept as long as there is room; *make* gives it and its size."""
        return self._results.get((tuple(map(_identity, runs)), what), make)


def size_of(content: Any) -> int:
    """About how many bytes plain values take: a few times those of their text."""
    return 6 * len(json.dumps(content))


def _identity(run: StoredRun) -> Hashable:
    # A run that was made anew has another folder, so what was kept of the old one is not found again.
    return run.key, run.folder.name


def _size(hits: Hits) -> int:
    return len(hits) * (_BYTES_OF_A_ROW + _BYTES_OF_A_TEXT) + len(hits.queries) * _BYTES_OF_A_TEXT
