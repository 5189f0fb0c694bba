"""Timed work under the vectors of texts: the tokenizer of WordLlama alone, and TF-IDF by scikit-learn and scipy."""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.measure import peak_memory

_BATCH = 1024
_QUERIES = 100


def wordllama_tokens(collection: str) -> tuple[float, int]:
    """The limit: all texts by the tokenizer of the package, in batches by length, without padding and offsets."""
    package: Any = import_module("wordllama")
    tokenizer = package.WordLlama.load(cache_dir=Path(package.__file__).parent, disable_download=True).tokenizer
    tokenizer.no_padding()
    texts = sorted(_texts(collection, "corpus") + _texts(collection, "queries"), key=len)
    before, tokens = time.process_time(), 0
    for start in range(0, len(texts), _BATCH):
        encoded = tokenizer.encode_batch_fast(texts[start : start + _BATCH], add_special_tokens=False)
        tokens += sum(len(entry.ids) for entry in encoded)
    return time.process_time() - before, tokens


def sklearn_tfidf(collection: str) -> tuple[float, int]:
    """The limit: one pass of the vectoriser over the corpus, the queries, and the scores of all that share a word."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    corpus, questions = _texts(collection, "corpus"), _texts(collection, "queries")
    before, scores = time.process_time(), 0
    vectoriser = TfidfVectorizer(sublinear_tf=True)
    lists = vectoriser.fit_transform(corpus).T.tocsr()
    rows = vectoriser.transform(questions)
    for start in range(0, rows.shape[0], _QUERIES):
        scores += (rows[start : start + _QUERIES] @ lists).nnz
    return time.process_time() - before, scores


def _texts(collection: str, name: str) -> list[str]:
    with Path(collection, f"{name}.jsonl").open() as lines:
        return [json.loads(line)["text"] for line in lines]


JOBS = {job.__name__: job for job in (wordllama_tokens, sklearn_tfidf)}

if __name__ == "__main__":
    seconds, result = JOBS[sys.argv[1]](sys.argv[2])
    print(json.dumps({"seconds": seconds, "peak_mb": peak_memory(), "result:count": result}))
