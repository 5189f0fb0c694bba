"""Timed work of the encoders: a word-vector file read for the first time, and mapped from the cache after that."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.measure import peak_memory


def write_glove(path: Path, words: int = 400_000, dim: int = 50) -> None:
    """A text file of the size and look of GloVe 6B 50 d."""
    rng = np.random.default_rng(7)
    with path.open("w", encoding="utf-8") as out:
        for start in range(0, words, 10_000):
            block = np.char.mod("%.5f", rng.standard_normal((min(10_000, words - start), dim)))
            out.writelines(f"word{start + at} {' '.join(row)}\n" for at, row in enumerate(block))


def _timed(work: Callable[[], int]) -> tuple[float, int]:
    before = time.perf_counter()
    result = work()
    return time.perf_counter() - before, result


def load(path: str) -> tuple[float, int]:
    """Open the vectors: parsed and kept the first time, mapped later. Needs $GOLDRANK_CACHE set to a fresh folder."""
    from goldrank.io.formats.word_vectors import read_word_vectors

    return _timed(lambda: len(read_word_vectors(path).matrix))


def load_and_look_up(path: str) -> tuple[float, int]:
    """The same, up to the first vector of a word, which also reads the vocabulary."""
    from goldrank.io.formats.word_vectors import read_word_vectors

    def work() -> int:
        vectors = read_word_vectors(path)
        return len(vectors.matrix[vectors.row["word7"]])

    return _timed(work)


def gensim_load(path: str) -> tuple[float, int]:
    """The peer: gensim parses the text every time."""
    from gensim.models import KeyedVectors

    return _timed(lambda: len(KeyedVectors.load_word2vec_format(path, no_header=True)))


JOBS = {job.__name__: job for job in (load, load_and_look_up, gensim_load)}

if __name__ == "__main__":
    if sys.argv[1] == "write_glove":
        write_glove(Path(sys.argv[2]))
    else:
        seconds, result = JOBS[sys.argv[1]](sys.argv[2])
        print(json.dumps({"seconds": seconds, "peak_mb": peak_memory(), "result:count": result}))
