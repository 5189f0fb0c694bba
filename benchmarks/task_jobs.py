"""A whole retrieval evaluation from vectors that are there already: search, top 1000, metrics; one job per process.

Both sides get the same vectors, ids and gold in memory, search exactly by cosine and keep 1,000 results of each query.
mteb's loading of texts is taken out of its time, since there is nothing to encode.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import peak_memory

DIMENSION = 384
CUTOFFS = (1, 3, 5, 10, 20, 100, 1000)
Vectors = NDArray[np.float32]
Result = dict[str, float]


def _data(queries: int, items: int) -> tuple[Vectors, Vectors, dict[str, dict[str, int]]]:
    """Unit vectors; the gold of a query is an item near it, and another that is not."""
    rng = np.random.default_rng(5)
    corpus = rng.standard_normal((items, DIMENSION), dtype=np.float32)
    near = rng.choice(items, queries, replace=False)
    query_vectors = corpus[near] + 2.2 * rng.standard_normal((queries, DIMENSION), dtype=np.float32)
    far = rng.integers(0, items, queries)
    gold = {f"q{row}": {f"d{near[row]}": 2, f"d{far[row]}": 1} for row in range(queries)}
    for vectors in (corpus, query_vectors):
        for start in range(0, len(vectors), 4096):
            part = vectors[start : start + 4096]
            part /= np.linalg.norm(part, axis=1, keepdims=True)
    return query_vectors, corpus, gold


def _timed(work: Callable[[], Result]) -> tuple[float, Result]:
    before = peak_memory()
    cpu, wall = time.process_time(), time.perf_counter()
    result = work()
    result |= {"wall": time.perf_counter() - wall, "extra_mb": peak_memory() - before}
    return time.process_time() - cpu, result


def goldrank_retrieval(queries: str, items: str) -> tuple[float, Result]:
    from goldrank.data.collections import Collection, Document, Documents
    from goldrank.hits import Gold
    from goldrank.tasks import Settings, task_of
    from goldrank.tasks.ranking.models import load_model

    query_vectors, corpus, gold = _data(int(queries), int(items))

    class Known:
        """Gives the rows it is asked for, in their order."""

        identity, by = "known vectors", "id"

        def encode_queries(self, ids: Sequence[str]) -> Vectors:
            return query_vectors[int(ids[0][1:]) : int(ids[-1][1:]) + 1]

        def encode_items(self, ids: Sequence[str]) -> Vectors:
            return corpus[int(ids[0][1:]) : int(ids[-1][1:]) + 1]

    documents = [Document(f"d{row}") for row in range(len(corpus))]
    questions = [Document(f"q{row}") for row in range(len(query_vectors))]
    collection = Collection("bench", Documents(documents, ""), Documents(questions, ""), Gold(gold).columns)
    names = [f"{name}@{k}" for name in ("ndcg", "map", "recall", "precision", "mrr", "hit_rate") for k in CUTOFFS]
    model, task = load_model(Known()), task_of(collection)

    def work() -> Result:
        evaluation = task.load(Settings()).evaluate(model)
        scores = evaluation.score(names)
        return {"ndcg10": scores["ndcg@10"].mean, "recall1000": scores["recall@1000"].mean}

    return _timed(work)


def mteb_retrieval(queries: str, items: str) -> tuple[float, Result]:
    import mteb
    from datasets import Dataset
    from mteb._evaluators.retrieval_evaluator import RetrievalEvaluator
    from mteb.models import search_wrappers
    from mteb.similarity_functions import cos_sim
    from mteb.timing import TimingStack

    query_vectors, corpus, gold = _data(int(queries), int(items))
    search_wrappers.create_dataloader = lambda dataset, **_: dataset

    class Known:
        """Gives the rows it is asked for, in their order."""

        mteb_model_meta = None

        def encode(self, dataset: Any, *, prompt_type: Any, **_: Any) -> Vectors:
            names = dataset["id"]
            vectors = query_vectors if prompt_type == mteb.types.PromptType.query else corpus
            return vectors[int(names[0][1:]) : int(names[-1][1:]) + 1]

        def similarity(self, one: Any, other: Any) -> Any:
            return cos_sim(one, other)

    evaluator = RetrievalEvaluator(
        Dataset.from_dict({"id": [f"d{row}" for row in range(len(corpus))]}),
        Dataset.from_dict({"id": [f"q{row}" for row in range(len(query_vectors))]}),
        task_metadata=mteb.get_task("SciFact").metadata,
        hf_split="test",
        hf_subset="default",
        top_k=1000,
        timer=TimingStack(),
    )
    model = search_wrappers.SearchEncoderWrapper(Known())

    def work() -> Result:
        results = evaluator(model, encode_kwargs={"show_progress_bar": False})
        scores = evaluator.evaluate(gold, results, CUTOFFS)
        return {"ndcg10": scores.ndcg["NDCG@10"], "recall1000": scores.recall["Recall@1000"]}

    return _timed(work)


JOBS: dict[str, Callable[[str, str], tuple[float, Result]]] = {
    job.__name__: job for job in (goldrank_retrieval, mteb_retrieval)
}

if __name__ == "__main__":
    seconds, result = JOBS[sys.argv[1]](sys.argv[2], sys.argv[3])
    print(json.dumps({"seconds": seconds, "peak_mb": peak_memory(), **{f"result:{k}": v for k, v in result.items()}}))
