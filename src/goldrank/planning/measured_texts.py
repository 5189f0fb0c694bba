"""Measuring what texts cost: reading them from JSON lines and encoding them."""

from __future__ import annotations

import json
import random
from functools import cache, partial
from importlib.resources import files
from pathlib import Path

from goldrank.encoders.base import Encoder
from goldrank.errors import InputError
from goldrank.planning.constants import EncodingCost, ReadingCost
from goldrank.planning.timing import best

# Words of the short and of the long texts.
_SHORT, _LONG = 20, 160
_READ = 20_000
_FITTED = 2000
_REPEATS = 3
_FIRST_TEXTS, _MOST_TEXTS = 32, 8192
_SECONDS = 1.5


@cache
def _words() -> list[str]:
    """The words of the demonstration data, as they follow each other."""
    lines = (files("goldrank") / "demo" / "persons.jsonl").read_text(encoding="utf-8").splitlines()
    return [word for line in lines for word in json.loads(line)["text"].split()]


def made_texts(count: int, words: int, *, seed: int = 1) -> list[str]:
    """Texts of so many words each, cut from the demonstration data and all different."""
    listed, draw = _words(), random.Random(seed)
    texts = []
    for number in range(count):
        start = draw.randrange(len(listed))
        some = [listed[(start + at) % len(listed)] for at in range(max(1, words - 1))]
        texts.append(" ".join([*some, str(number)][:words]))
    return texts


def write_texts(path: Path, texts: list[str]) -> None:
    """Texts as JSON lines with ids."""
    with path.open("w", encoding="utf-8") as stream:
        for number, text in enumerate(texts):
            stream.write(json.dumps({"_id": f"d{number:09}", "text": text}) + "\n")


def reading_cost(folder: Path, count: int = _READ) -> ReadingCost:
    """Reading short and long texts."""
    from goldrank.data.texts import read_texts

    sizes, seconds = [], []
    for words in (_SHORT, _LONG):
        path = folder / f"texts-{words}.jsonl"
        write_texts(path, made_texts(count, words))
        sizes.append(path.stat().st_size)
        seconds.append(best(partial(read_texts, path), _REPEATS))
    byte = max(0.0, (seconds[1] - seconds[0]) / (sizes[1] - sizes[0]))
    return ReadingCost(max(0.0, seconds[0] - sizes[0] * byte) / count, byte)


def encoding_cost(model: str, *, seconds: float = _SECONDS) -> EncodingCost:
    """Loading a model, and encoding short and long texts with it for about so many seconds each."""
    from goldrank.index.dataset import load_encoder

    fitting, first = made_texts(_FITTED, _LONG, seed=2), made_texts(1, _SHORT, seed=3)
    load = best(lambda: load_encoder(model, fitting).encode_items(first), 1)
    encoder = load_encoder(model, fitting)
    encoder.encode_items(first)
    short, long = (_text_seconds(encoder, words, seconds) for words in (_SHORT, _LONG))
    word = max(0.0, (long - short) / (_LONG - _SHORT))
    text = max(0.0, short - _SHORT * word)
    if text + word <= 0:
        raise InputError(f"the model {model} took no time", remedy="measure one that encodes")
    return EncodingCost(load, text, word)


def _text_seconds(encoder: Encoder, words: int, seconds: float) -> float:
    """Seconds a text; more and more of them are encoded until they take long enough to tell."""
    count = _FIRST_TEXTS
    while True:
        taken = best(partial(encoder.encode_items, texts := made_texts(count, words)), 1)
        if taken > seconds / 3 or count >= _MOST_TEXTS:
            return min(taken, best(partial(encoder.encode_items, texts), 2)) / count
        count = min(_MOST_TEXTS, max(2 * count, int(count * seconds / max(taken, 1e-6) / 2)))
