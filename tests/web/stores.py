"""Stores for the tests of the explorer: rankings, measurements, masked pages, and texts that try to inject code."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from goldrank import Gold, Run
from goldrank.judging.plans import plan_queries
from goldrank.judging.pools import build_pool
from goldrank.judging.project import JudgingProject
from goldrank.masked.examples.chunks import Chunk
from goldrank.masked.predictors import load_predictor
from goldrank.runs.masked import PredictionJob, predict_run
from goldrank.scoring import score_hits
from goldrank.store import RunRecord, Store, StoredRun
from goldrank.store.texts import Text
from goldrank.tasks.ranking.evaluation import summary_of
from goldrank.web.app import create_app, create_judging_app
from goldrank.web.security import Access

DATA = "ab" * 20
HOSTILE = '<script>alert(1)</script><img src=x onerror=alert(2)> \u202eesrever\u202c 👩‍👩‍👧 & "quotes"'
GOLD = {
    "q1": {"d1": 2, "d2": 1, "gone": 1},
    "q2": {"d3": 1},
    "q3": {"d1": 1},
    "<b>q4": {"d<i>": 1},
}
RUNS = {
    "good": {"q1": {"d1": 0.9, "d2": 0.8, "d5": 0.1}, "q2": {"d3": 0.5, "d4": 0.5}, "<b>q4": {"d<i>": 1.0}},
    "bad": {"q1": {"d5": 0.9, "d6": 0.8, "d1": 0.1}, "q2": {"d4": 0.7, "d3": 0.6}, "q3": {"d9": 1.0}},
}
QUERIES = [
    Text("q1", "", "which red wine is from Bordeaux"),
    Text("q2", "Sparkling", "Which white wine has bubbles?"),
    Text("q3", "", "x" * 9_000),
    Text("<b>q4", HOSTILE, HOSTILE),
]
ITEMS = [
    *(Text(f"d{n}", f"Item {n}", f"a red text of {n} about Bordeaux and wine") for n in range(1, 10)),
    Text("d<i>", HOSTILE, HOSTILE),
]


def ranked(model: str, *, task: str = "wines", number: int = 0, **changes: Any) -> RunRecord:
    hits = Run(RUNS.get(model, RUNS["good"])).hits(Gold(GOLD), corpus=20)
    metrics = ("ndcg@10", "mrr")
    fields = {
        "inputs": {"task": task, "model": model, "data": DATA, "number": number},
        "environment": {"seconds": 1.0 + number, "remarks": [f"remark {HOSTILE}"] if model == "bad" else []},
        "hits": hits,
        "run": Run(RUNS.get(model, RUNS["good"])),
        "metrics": metrics,
        "summary": summary_of(score_hits(hits, metrics)),
    }
    return RunRecord(task, model, **{**fields, **changes})


def measured(model: str, value: float) -> RunRecord:
    return RunRecord(
        "sts",
        model,
        {"task": "sts", "model": model, "kind": "similarity", "data": "cd" * 20},
        {"seconds": 0.5},
        measured={"spearman": {"value": value, "low": value - 0.1, "high": value + 0.1, "count": 10}},
        predictions={
            "set": ["sts"] * 10,
            "subset": [""] * 10,
            "id": list(map(str, range(10))),
            "gold": [float(pair) for pair in range(10)],
            "predicted": [value * pair if pair % 3 else 1.0 for pair in range(10)],
        },
    )


def masked(store: Store) -> StoredRun:
    chunks = [
        Chunk("p1", 0, "Lise Meitner", "<mask> was born in Vienna; <mask> moved.", ("Lise Meitner", "Meitner")),
        Chunk("p1", 1, "Lise Meitner", "Later <mask> left.", ("Meitner",)),
        Chunk("p2", 0, "Otto Hahn", f"<mask> {HOSTILE}", ("Hahn",)),
    ]
    spec = "names:majority"
    return predict_run(PredictionJob("people", chunks, spec, load_predictor(spec)), store).stored


def filled(where: str | Path) -> Store:
    """Return a store with two runs of a task, one of another, measurements, a masked run, and texts."""
    store = Store.open(where)
    for record in (ranked("good"), ranked("bad", number=1), ranked("good", task="games", number=2)):
        store.save(record)
    for model, value in (("good", 0.7), ("bad", 0.2)):
        store.save(measured(model, value))
    texts = store.texts(DATA)
    assert texts is not None
    texts.save(QUERIES, ITEMS)
    masked(store)
    return store


def client(store: Store, *, access: Access | None = None, **options: Any) -> TestClient:
    """Return a client that raises the exceptions of the server."""
    return TestClient(create_app(store, access=access or Access(), **options), base_url="http://127.0.0.1:8321")


def key_of(store: Store, task: str, model: str) -> str:
    (run,) = store.list(task=task, model=model)
    return run.key


def judging_project(
    folder: str | Path, *, items: int = 3, queries: int = 2, second: int = 0, swap: bool = False, method: str = "depth"
) -> JudgingProject:
    """Return a project of two systems, in either order; *second* of its queries are planned for two judges."""
    ids = {f"q{n}": [f"notes/{n}-{at}.txt" for at in range(items)] for n in range(queries)}
    runs = {
        "secret-lexical": Run({query: {item: 9.0 - at for at, item in enumerate(ids[query])} for query in ids}),
        "secret-dense": Run({query: {item: 1.0 + at for at, item in enumerate(ids[query])} for query in ids}),
    }
    if swap:
        runs = dict(zip(runs, reversed(runs.values()), strict=True))
    pool = build_pool(runs, ids, depth=max(1, items), method=method)
    plan = plan_queries(pool, double=second / queries)
    texts = {item: f"What {item} says. {HOSTILE}" for query in ids for item in ids[query]}
    return JudgingProject.create(
        folder,
        pool=pool,
        plan=plan,
        queries={query: f"Which wine is {query}? {HOSTILE}" for query in ids},
        texts=texts,
        titles={item: HOSTILE for item in texts if item.endswith("-0.txt")},
        rankings=runs,
        provenance={},
    )


def judging_client(project: JudgingProject, **options: Any) -> TestClient:
    """Return a client of the judging page."""
    return TestClient(create_judging_app(project, **options), base_url="http://127.0.0.1:8321")


@contextmanager
def served(store: Store | JudgingProject, **options: Any) -> Iterator[str]:
    """Yield the URL of a server of the explorer or the judging page that runs in a thread."""
    import socket
    import threading
    import time

    import uvicorn

    app = create_app(store, **options) if isinstance(store, Store) else create_judging_app(store, **options)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(128)
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join(300)
