"""An encoder that records its texts, and a function for the embedding cache to be run in a process that is killed."""

import hashlib
import sys
import time
from pathlib import Path

import numpy as np

from goldrank.vectors import cache

BATCH = 10
TEXTS = [f"text number {i}" for i in range(200)]


class CountingEncoder:
    """An encoder whose vectors depend on identity, side and text alone, and which records the texts it encodes."""

    def __init__(self, identity="fake 1", width=8, prompts=None, log=None, seconds=0.0):
        self.identity, self.width, self.log, self.seconds = identity, width, log, seconds
        self.asked = []
        if prompts is not None:
            self.prompt = prompts.get

    def vector(self, text, side):
        prefix = f"{self.identity}|{side}|{getattr(self, 'prompt', lambda _: '')(side)}|".encode()
        digest = hashlib.sha256(prefix + text.encode("utf-8", "surrogatepass")).digest()
        return np.random.default_rng(list(digest)).standard_normal(self.width).astype(np.float32)

    def vectors(self, texts, side):
        return np.array([self.vector(text, side) for text in texts], np.float32).reshape(len(texts), self.width)

    def _encode(self, texts, side):
        self.asked += texts
        if self.log is not None:
            with Path(self.log).open("a") as log:
                log.write("".join(f"{text}\n" for text in texts))
        time.sleep(self.seconds)
        return self.vectors(texts, side)

    def encode_queries(self, texts):
        return self._encode(texts, "query")

    def encode_items(self, texts):
        return self._encode(texts, "item")


def work(folder, log, seconds):
    """Encode all texts in small batches with frequent merges, and check the vectors."""
    cache._MERGE_WHILE_ENCODING = 3
    encoder = CountingEncoder(log=log, seconds=seconds)
    vectors = cache.EmbeddingCache(folder, batch=BATCH).encode(encoder, TEXTS, "item")
    if not np.array_equal(vectors, encoder.vectors(TEXTS, "item")):
        sys.exit("wrong vectors")


if __name__ == "__main__":
    work(sys.argv[1], sys.argv[2], float(sys.argv[3]))
