"""Names without reading the text: the most frequent ones and random ones, the floors of every comparison."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from goldrank.data.collections.streams import lines
from goldrank.encoders.base import identity_of
from goldrank.encoders.provenance import stamp
from goldrank.errors import InputError, shorten
from goldrank.masked.examples.chunks import Blank, Guesses, MaskKey
from goldrank.masked.predictors.base import Closed, Predictor, refuse_k, take_options
from goldrank.specs import Spec

_VERSION = "1"


def make(spec: Spec) -> Predictor:
    """The predictor that ``names:majority`` or ``names:random`` stands for."""
    if spec.argument == "majority":
        return MajorityNames(spec)
    if spec.argument == "random":
        return RandomNames(spec)
    raise InputError(
        f"names:{spec.argument} is not known",
        remedy="write names:majority or names:random, with (file=NAMES.txt) if wanted",
    )


class _Names:
    """What both share: names from a file, or from the titles of the data."""

    instant = True

    def __init__(self, spec: Spec, *own: str) -> None:
        self.spec = spec
        self._options = take_options(spec, "file", *own)
        self._file = Path(self._options["file"]).expanduser() if "file" in self._options else None
        self._listed = _read_names(self._file) if self._file is not None else None

    @property
    def identity(self) -> str:
        """The rule, its options and a stamp of the names where they come from a file."""
        return identity_of(self.spec, _VERSION if self._file is None else f"{_VERSION} {stamp(self._file)}")


class MajorityNames(_Names):
    """``names:majority``: the most frequent given names and surnames of the other pages' titles.

    Scores are their shares of all name parts. A name counts once for each page that has it; the title of the asked
    page never counts, so that a rare name is not guessed merely because the answer is in the data. With
    ``file=NAMES.txt``, one name or ``name<TAB>count`` a line, the file decides and the titles play no part.
    """

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec, "file")
        self._parts: dict[str, list[str]] = {}
        self._set(self._listed or {})

    def prepare(self, material: Closed) -> None:
        """Count the name parts of all titles."""
        if self._listed is None:
            self._parts = {page: name_parts(title) for page, title in material.titles.items()}
            self._set(Counter(part for parts in self._parts.values() for part in parts))

    def _set(self, counts: Mapping[str, int]) -> None:
        self._counts = dict(counts)
        self._order = sorted(counts, key=lambda name: (-counts[name], name))
        self._total = sum(counts.values())

    def predict(self, blanks: Sequence[Blank], k: int) -> list[Guesses]:
        """The same k names for all masks of a page."""
        refuse_k(k)
        pages = {blank.key.page for blank in blanks}
        made = {page: self._most_frequent(self._parts.get(page, []), k) for page in pages}
        return [made[blank.key.page] for blank in blanks]

    def _most_frequent(self, own: list[str], k: int) -> Guesses:
        # Own names lose one; any other name of the best k is among the first k + len(own) of all.
        left = {name: self._counts[name] for name in self._order[: k + len(own)]}
        left.update({name: self._counts[name] - 1 for name in own})
        best = sorted((name for name in left if left[name] > 0), key=lambda name: (-left[name], name))[:k]
        total = self._total - len(own)
        return Guesses(tuple(best), tuple(left[name] / total for name in best))


class RandomNames(_Names):
    """``names:random(seed=0)``: k titles drawn from those of the data, or names from ``file=NAMES.txt``.

    The draw depends on the seed and the mask's key alone, so that the order of rows changes nothing. All scores
    are equal.
    """

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec, "file", "seed")
        written = self._options.get("seed")
        if written is not None and not written.isdecimal():
            raise InputError(f"seed={written!r} is not a whole number from 0 up", remedy="write seed=0 or the like")
        self._own_seed = None if written is None else int(written)
        self._seed = self._own_seed or 0
        self._candidates = sorted(self._listed or {})

    def prepare(self, material: Closed) -> None:
        """Take the titles as candidates, each once, and the seed where none was given."""
        if self._listed is None:
            self._candidates = sorted(set(material.titles.values()))
        if self._own_seed is None:
            self._seed = material.seed

    def predict(self, blanks: Sequence[Blank], k: int) -> list[Guesses]:
        """A draw without repeats for each mask."""
        refuse_k(k)
        return [self._draw(blank.key, min(k, len(self._candidates))) for blank in blanks]

    def _draw(self, key: MaskKey, count: int) -> Guesses:
        # Fisher and Yates' shuffle, of which only the drawn places are kept.
        moved: dict[int, int] = {}
        drawn = []
        for at in range(count):
            chosen = at + _hashed(self._seed, key, at) % (len(self._candidates) - at)
            drawn.append(self._candidates[moved.get(chosen, chosen)])
            moved[chosen] = moved.get(at, at)
        return Guesses(tuple(drawn), (1.0 / max(1, count),) * count)


def name_parts(title: str) -> list[str]:
    """The given names and surnames of a title, each once; particles, numerals and initials are none.

    >>> name_parts("Alexander von Humboldt (explorer)")
    ['Alexander', 'Humboldt']
    """
    from goldrank.masked.names.matching import Person
    from goldrank.masked.names.patterns import Tier

    person = Person(title)
    found = []
    for token in dict.fromkeys(person.display.replace(",", " ").split()):
        match = person.match(token)
        if match is not None and match.tier >= Tier.GIVEN:
            found.append(token)
    return found


def _hashed(seed: int, key: MaskKey, draw: int) -> int:
    written = json.dumps([seed, *key, draw]).encode()
    return int.from_bytes(hashlib.blake2b(written, digest_size=16).digest(), "big")


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
                remedy="write one name a line, or name, tab and a whole number",
            )
        counts[name] = counts.get(name, 0) + (int(written) if tab else 1)
    kept = {name: count for name, count in counts.items() if count}
    if not kept:
        raise InputError("the file holds no name", where=str(path), remedy="write one name a line")
    return kept
