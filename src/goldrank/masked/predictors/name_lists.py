"""Baselines that ignore the text: the most frequent names, and random names."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from goldrank.data.collections.streams import lines
from goldrank.encoders.base import identity_of, take_options
from goldrank.encoders.provenance import stamp
from goldrank.errors import InputError, shorten
from goldrank.masked.examples.chunks import Blank, Guesses, MaskKey
from goldrank.masked.predictors.base import ClosedSet, Predictor, check_k
from goldrank.specs import Spec

_VERSION = "1"


def make(spec: Spec) -> Predictor:
    """Make the predictor of ``names:majority`` or ``names:random``."""
    if spec.argument == "majority":
        return MajorityNames(spec)
    if spec.argument == "random":
        return RandomNames(spec)
    raise InputError(
        f"there is no predictor names:{spec.argument}",
        remedy="write names:majority or names:random, optionally with (file=NAMES.txt)",
    )


class _Names:
    """Base of both: names from a file, or from the titles of the data."""

    instant = True

    def __init__(self, spec: Spec, *own: str) -> None:
        self.spec = spec
        self._options = take_options(spec, "file", *own)
        self._file = Path(self._options["file"]).expanduser() if "file" in self._options else None
        self._listed = _read_names(self._file) if self._file is not None else None

    @property
    def identity(self) -> str:
        """The spec, and a stamp of the file of names if there is one."""
        return identity_of(self.spec, _VERSION if self._file is None else f"{_VERSION} {stamp(self._file)}")


class MajorityNames(_Names):
    """``names:majority``: the most frequent given names and surnames in the titles of the other pages.

    Scores are shares of all name parts. A name counts once per page. The title of the page in question is excluded, so
    that a rare name is not guessed only because the answer is in the data. With ``file=NAMES.txt``, one name or
    ``name<TAB>count`` per line, the names of the file are used instead of the titles.
    """

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        self._parts: dict[str, list[str]] = {}
        self._set(self._listed or {})

    def prepare(self, closed_set: ClosedSet) -> None:
        """Count the name parts of all titles."""
        if self._listed is None:
            self._parts = {page: name_parts(title) for page, title in closed_set.titles.items()}
            self._set(Counter(part for parts in self._parts.values() for part in parts))

    def _set(self, counts: Mapping[str, int]) -> None:
        self._counts = dict(counts)
        self._order = sorted(counts, key=lambda name: (-counts[name], name))
        self._total = sum(counts.values())

    def predict(self, blanks: Sequence[Blank], k: int) -> list[Guesses]:
        """Return the same k names for all masks of a page."""
        check_k(k)
        pages = {blank.key.page for blank in blanks}
        guesses = {page: self._most_frequent(self._parts.get(page, []), k) for page in pages}
        return [guesses[blank.key.page] for blank in blanks]

    def _most_frequent(self, own: list[str], k: int) -> Guesses:
        # The counts of own names decrease by one; all other names of the best k are among the first k + len(own).
        counts = {name: self._counts[name] for name in self._order[: k + len(own)]}
        counts.update({name: self._counts[name] - 1 for name in own})
        best = sorted((name for name in counts if counts[name] > 0), key=lambda name: (-counts[name], name))[:k]
        total = self._total - len(own)
        return Guesses(tuple(best), tuple(counts[name] / total for name in best))


class RandomNames(_Names):
    """``names:random(seed=0)``: k random titles of the data, or names from ``file=NAMES.txt``.

    The sample depends only on the seed and the key of the mask, not on the order of rows. All scores are equal.
    """

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec, "seed")
        seed = self._options.get("seed", "0")
        if not seed.isdecimal():
            raise InputError(f"seed={seed!r} is not a whole number >= 0", remedy="write, for example, seed=0")
        self._seed = int(seed)
        self._candidates = sorted(self._listed or {})

    def prepare(self, closed_set: ClosedSet) -> None:
        """Use the distinct titles as candidates, unless there is a file of names."""
        if self._listed is None:
            self._candidates = sorted(set(closed_set.titles.values()))

    def predict(self, blanks: Sequence[Blank], k: int) -> list[Guesses]:
        """Return a sample without replacement for each mask."""
        check_k(k)
        return [self._sample(blank.key, min(k, len(self._candidates))) for blank in blanks]

    def _sample(self, key: MaskKey, count: int) -> Guesses:
        # A Fisher-Yates shuffle that stores only the moved positions.
        moved: dict[int, int] = {}
        sample = []
        for at in range(count):
            chosen = at + _hash(self._seed, key, at) % (len(self._candidates) - at)
            sample.append(self._candidates[moved.get(chosen, chosen)])
            moved[chosen] = moved.get(at, at)
        return Guesses(tuple(sample), (1.0 / max(1, count),) * count)


def name_parts(title: str) -> list[str]:
    """Return the distinct given names and surnames of a title, without particles, numerals and initials.

    >>> name_parts("Alexander von Humboldt (explorer)")
    ['Alexander', 'Humboldt']
    """
    from goldrank.masked.names.matching import Person
    from goldrank.masked.names.patterns import Tier

    person = Person(title)
    parts = []
    for token in dict.fromkeys(person.display.replace(",", " ").split()):
        match = person.match(token)
        if match is not None and match.tier >= Tier.GIVEN:
            parts.append(token)
    return parts


def _hash(seed: int, key: MaskKey, position: int) -> int:
    content = json.dumps([seed, *key, position]).encode()
    return int.from_bytes(hashlib.blake2b(content, digest_size=16).digest(), "big")


def _read_names(path: Path) -> dict[str, int]:
    counts: dict[str, int] = {}
    for number, line in lines(path):
        name, tab, written = line.partition("\t")
        name, written = name.strip(), written.strip()
        if not name and not tab:
            continue
        if not name or (tab and not written.isdecimal()):
            raise InputError(
                f"{shorten(line)} is neither a name nor a name and its count",
                where=f"{path}:{number}",
                remedy="write one name per line, or name, tab and a whole number",
            )
        counts[name] = counts.get(name, 0) + (int(written) if tab else 1)
    counts = {name: count for name, count in counts.items() if count}
    if not counts:
        raise InputError("the file has no names", where=str(path), remedy="write one name per line")
    return counts
