"""The embedding cache against encoding: 100,000 texts looked up, and the same texts encoded by WordLlama."""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import peak_memory
from goldrank.vectors.cache import EmbeddingCache

Job = Callable[[str, str], tuple[float, dict[str, float]]]


class WordLlamaEncoder:
    """The peer, as plain as it can be called: what its own package does with a list of texts."""

    identity = "wordllama 0.4.0.post1 256"

    def __init__(self) -> None:
        wordllama: Any = import_module("wordllama")
        folder = Path(wordllama.__file__).parent
        self._model: Any = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)

    def encode_items(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors: NDArray[np.float32] = self._model.embed(list(texts))
        return vectors

    encode_queries = encode_items


# Common words of one or two tokens each: made-up ones fall into many, which would slow the peer down unfairly.
_WORDS = (
    "the a of and to in for with on at by from as is was are were be been has had one two three new old first last "
    "many other time year people way day man woman child world life hand part place week company system program "
    "question work government number night point home water room mother area money story fact month lot right study "
    "book eye job word business issue side kind head house service friend father power hour game line end member "
    "law car city community name president team minute idea body information back parent face level office door "
    "health person art war history party result change morning reason research girl guy moment air teacher force "
    "education find give tell call try need become leave put mean keep let begin seem help show hear play run move "
    "like live believe bring happen write provide "
)


def texts_of(count: int) -> list[str]:
    """English words in sentences of 5 to 20, all different."""
    rng, words = random.Random(7), _WORDS.split()
    return [f"{' '.join(rng.choices(words, k=rng.randint(5, 20)))} {i}" for i in range(count)]


def _summary(vectors: NDArray[np.float32]) -> dict[str, float]:
    return {"rows": float(len(vectors)), "sum": float(vectors.sum(dtype=np.float64))}


def cache_fill(folder: str, count: str) -> tuple[float, dict[str, float]]:
    """Encode into the cache: what it adds to the first run."""
    encoder, texts = WordLlamaEncoder(), texts_of(int(count))
    before = time.process_time()
    vectors = EmbeddingCache(folder).encode(encoder, texts, "item")
    return time.process_time() - before, _summary(vectors)


def cache_lookup(folder: str, count: str) -> tuple[float, dict[str, float]]:
    """All texts from the cache, opened for it, in an order of their own; nothing may be encoded."""
    encoder, texts = WordLlamaEncoder(), texts_of(int(count))
    before = time.process_time()
    cache = EmbeddingCache(folder)
    vectors = cache.encode(encoder, texts, "item")
    seconds = time.process_time() - before
    if cache.counts.encoded:
        raise SystemExit("not all texts were in the cache: run cache_fill first")
    return seconds, _summary(vectors)


def wordllama_encode(_folder: str, count: str) -> tuple[float, dict[str, float]]:
    """All texts encoded, without any cache."""
    encoder, texts = WordLlamaEncoder(), texts_of(int(count))
    encoder.encode_items(texts[:100])
    before = time.process_time()
    vectors = encoder.encode_items(texts)
    return time.process_time() - before, _summary(vectors)


JOBS: dict[str, Job] = {job.__name__: job for job in (cache_fill, cache_lookup, wordllama_encode)}

if __name__ == "__main__":
    seconds, result = JOBS[sys.argv[1]](sys.argv[2], sys.argv[3])
    print(json.dumps({"seconds": seconds, "peak_mb": peak_memory(), **{f"result:{k}": v for k, v in result.items()}}))
