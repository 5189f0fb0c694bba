"""The name matcher against regular expressions compiled for every pair of title and guess; one job per process.

Both judge the same pairs: titles made of the demo's names and of invented ones, 20 guesses to a title, three of four
guesses strings that were not seen before. The matcher is measured from the bare strings on, each title compiled once.
The peer searches every part of the title as a whole word, without regard to case, and stops at the first it finds.
``regex`` compiles for every pair: the cache of `re` is emptied before each, and emptying it takes no time beside a
compilation. ``regex_cached`` makes the same calls and leaves the cache alone, so that a title's parts are compiled once
for its 20 guesses: the peer at its best. Neither form knows accents, particles or another person's given name, which
is why they call more guesses right.
"""

from __future__ import annotations

import json
import random
import re
import sys
import time
from importlib.resources import files
from itertools import groupby
from operator import itemgetter

from benchmarks.measure import peak_memory

GUESSES_A_TITLE = 20
_SYLLABLES = (
    "ka",
    "to",
    "mi",
    "re",
    "no",
    "sha",
    "vel",
    "dor",
    "an",
    "bri",
    "lu",
    "pe",
    "gor",
    "sti",
    "fen",
    "ma",
    "ro",
)
_ACCENTED = ("é", "ö", "ñ", "š", "ł")

Pair = tuple[str, str]


def pairs_of(titles: int) -> list[Pair]:
    """Titles with their guesses, title by title; the same for every call."""
    rng = random.Random(11)
    lines = (files("goldrank.demo") / "persons.jsonl").read_text("utf-8").splitlines()
    known = [(record["title"], record["names"]) for record in map(json.loads, lines)]
    invented = ((title, title.split()) for title in (_title(rng) for _ in range(max(titles - len(known), 0))))
    return [
        (title, _guess(rng, title, names))
        for title, names in [*known[:titles], *invented]
        for _ in range(GUESSES_A_TITLE)
    ]


def _word(rng: random.Random) -> str:
    word = "".join(rng.choices(_SYLLABLES, k=rng.randint(2, 4))).capitalize()
    return word + rng.choice(_ACCENTED) if rng.random() < 0.1 else word


def _title(rng: random.Random) -> str:
    words = [_word(rng) for _ in range(rng.choice((2, 2, 2, 3)))]
    if rng.random() < 0.1:
        words.insert(1, rng.choice(("von", "de", "ibn")))
    return " ".join(words) + (" (poet)" if rng.random() < 0.1 else "")


def _guess(rng: random.Random, title: str, names: list[str]) -> str:
    kind = rng.random()
    if kind < 0.45:
        return _word(rng)
    if kind < 0.8:
        return f"{_word(rng)} {_word(rng)}"
    if kind < 0.85:
        return f"{_word(rng)[0]}. {names[-1]}"
    if kind < 0.9:
        return f"{_word(rng)} {names[-1]}'s"
    return rng.choice((title, *names))


def goldrank_match(titles: str, _: str) -> tuple[float, dict[str, float]]:
    """The matcher of goldrank, from the bare strings on."""
    from goldrank.masked.names.matching import Person

    pairs = pairs_of(int(titles))
    Person("Marie Curie").match("Marie Curie")  # loads what the matcher imports when it is first used
    cpu = time.process_time()
    right = 0
    for title, group in groupby(pairs, itemgetter(0)):
        person = Person(title)
        right += sum(person.match(guess) is not None for _, guess in group)
    return time.process_time() - cpu, _summary(pairs, right)


def regex(titles: str, _: str) -> tuple[float, dict[str, float]]:
    """Every part of the title compiled for every pair."""
    pairs = pairs_of(int(titles))
    cpu = time.process_time()
    right = 0
    for title, guess in pairs:
        re.purge()
        right += _search(title, guess)
    return time.process_time() - cpu, _summary(pairs, right)


def regex_cached(titles: str, _: str) -> tuple[float, dict[str, float]]:
    """The same calls, with whatever the cache of `re` spares."""
    pairs = pairs_of(int(titles))
    cpu = time.process_time()
    right = sum(_search(title, guess) for title, guess in pairs)
    return time.process_time() - cpu, _summary(pairs, right)


def _search(title: str, guess: str) -> bool:
    return any(re.compile(rf"\b{re.escape(part)}\b", re.IGNORECASE).search(guess) for part in title.split())


def _summary(pairs: list[Pair], right: int) -> dict[str, float]:
    return {"pairs": float(len(pairs)), "guesses": float(len({guess for _, guess in pairs})), "right": float(right)}


JOBS = {"goldrank_match": goldrank_match, "regex": regex, "regex_cached": regex_cached}

if __name__ == "__main__":
    seconds, result = JOBS[sys.argv[1]](sys.argv[2], sys.argv[3])
    print(json.dumps({"seconds": seconds, "peak_mb": peak_memory(), **{f"result:{k}": v for k, v in result.items()}}))
