"""Timed work of BM25: bm25s with numba as the peer, and a million documents in one process."""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.measure import peak_memory


def bm25s_retrieval(collection: str, k: str = "1000") -> tuple[float, int]:
    """The peer: tokenise, index and retrieve with numba on one thread, compiled before; reading is not counted."""
    import bm25s

    def search(corpus: list[str], questions: list[str], depth: int) -> int:
        model = bm25s.BM25(backend="numba")
        # No stop words, as goldrank by default.
        model.index(bm25s.tokenize(corpus, stopwords=[], show_progress=False), show_progress=False)
        words = bm25s.tokenize(questions, stopwords=[], show_progress=False)
        return len(model.retrieve(words, k=depth, show_progress=False).documents)

    corpus, questions = _texts(collection, "corpus"), _texts(collection, "queries")
    search(corpus[:100], questions[:2], 10)
    before = time.process_time()
    count = search(corpus, questions, int(k))
    return time.process_time() - before, count


def goldrank_retrieval(collection: str, k: str = "1000") -> tuple[float, int]:
    """The same work of goldrank's model, without the command around it."""
    from goldrank.encoders import load

    corpus, questions = _texts(collection, "corpus"), _texts(collection, "queries")
    before = time.process_time()
    model: Any = load("bm25")
    model.index([f"d{row}" for row in range(len(corpus))], corpus)
    run = model.search([f"q{row}" for row in range(len(questions))], questions, int(k))
    return time.process_time() - before, len(run)


def run_command(collection: str) -> tuple[float, int]:
    """``goldrank run -m bm25`` in this process, whose peak memory is the answer."""
    from goldrank.cli.main import main

    before = time.process_time()
    status = main(["run", "-m", "bm25", "-t", collection, "--overwrite", "always"])
    return time.process_time() - before, status


def write_million(collection: str, target: str, documents: str = "1000000") -> tuple[float, int]:
    """A collection of that many texts: paragraphs drawn with replacement, and their words shuffled."""
    before = time.process_time()
    rng = random.Random(7)
    corpus = [text.split() for text in _texts(collection, "corpus")]
    folder = Path(target)
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    with (folder / "corpus.jsonl").open("w") as file:
        for row in range(int(documents)):
            # Every paragraph is there as it is, so that the questions have their answers.
            words = corpus[row] if row < len(corpus) else rng.choice(corpus)
            text = " ".join(words if row < len(corpus) else rng.sample(words, len(words)))
            file.write(json.dumps({"_id": f"d{row}", "text": text}) + "\n")
    for name in ("queries.jsonl", "qrels/test.tsv"):
        (folder / name).write_bytes(Path(collection, name).read_bytes())
    return time.process_time() - before, int(documents)


def _texts(collection: str, name: str) -> list[str]:
    with Path(collection, f"{name}.jsonl").open() as lines:
        return [json.loads(line)["text"] for line in lines]


JOBS = {job.__name__: job for job in (bm25s_retrieval, goldrank_retrieval, run_command, write_million)}

if __name__ == "__main__":
    seconds, result = JOBS[sys.argv[1]](*sys.argv[2:])
    print(json.dumps({"seconds": seconds, "peak_mb": peak_memory(), "result:count": result}))
