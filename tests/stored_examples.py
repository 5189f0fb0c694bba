"""Fill stores for tests: ranked, measured and masked runs, and texts that try to inject code."""

from goldrank import Gold, Run
from goldrank.store import RunRecord, Store
from goldrank.store.texts import Text

DATA = "abcdef0123456789"
SCRIPT = "<script>alert('x')</script>"
HOSTILE = (
    SCRIPT,
    "</script><img src=x onerror=alert(1)>",
    "\u202eright to left\u202c and back",
    "😀 & \" ' ` | * _ [link](javascript:alert(1))",
    "word " * 200_000,
    "bell \x07 and \x00 nothing",
)
QUERIES = 40
ITEMS = 60


def gold():
    """Return gold with two relevant items for each query."""
    return Gold({f"q{i:02}": {f"d{i:02}": 2, f"d{i + 5:02}": 1, f"d{i + 9:02}": 0} for i in range(QUERIES)})


def rankings(skill):
    """Return a run with ten items for each query; a larger *skill* (0 to 10) ranks the best item higher."""
    rows = {}
    for i in range(QUERIES):
        above = (i * 7) % (11 - skill)
        others = [f"d{(i + 17 + j) % ITEMS:02}" for j in range(12)]
        others = [item for item in others if item not in (f"d{i:02}", f"d{i + 5:02}")][:9]
        ranked = [*others[:above], f"d{i:02}", *others[above:]]
        rows[f"q{i:02}"] = {item: 1.0 - place / 20 for place, item in enumerate(ranked)}
    return Run(rows)


def texts(queries=(), items=()):
    """Return texts of all queries and items, the first ones as given."""

    def generate(prefix, count, custom):
        for i in range(count):
            text = custom[i] if i < len(custom) else f"what {prefix}{i:02} says"
            yield Text(f"{prefix}{i:02}", f"title {prefix}{i:02}", text)

    return generate("q", QUERIES, queries), generate("d", ITEMS, items)


def save_ranked(store, models, task="wines", data=DATA, environment=None, conventions=None):
    """Store rankings of each model; *models* maps names to skills."""
    saved = []
    for model, skill in models.items():
        run = rankings(skill)
        record = RunRecord(
            task,
            model,
            {"task": task, "model": model, "data": data},
            {"seconds": 0.5, "goldrank": "0.1.0", "command": f"run -m {model} -t {task}", **(environment or {})},
            run.hits(gold(), corpus=ITEMS),
            run,
            metrics=("ndcg@10", "mrr"),
            conventions=conventions or {},
        )
        saved.append(store.save(record))
    return saved


def save_measured(store, values, task="sick"):
    """Store a measurement of each model; *values* maps names to headlines."""
    saved = []
    for model, value in values.items():
        measured = {
            "spearman": {"value": value, "count": 50, "low": value - 0.1, "high": value + 0.1, "method": "bootstrap"},
            "pearson": {"value": value - 0.05, "count": 50, "low": None, "high": None, "method": ""},
        }
        record = RunRecord(
            task, model, {"task": task, "model": model, "data": DATA}, {"seconds": 0.1}, measured=measured
        )
        saved.append(store.save(record))
    return saved


def save_masked(store, specs, count=12):
    """Store the guesses of each predictor for some of the built-in pages."""
    from goldrank.masked.examples.masking import BUILT_IN, examples_at
    from goldrank.masked.predictors import load_predictor
    from goldrank.runs.masked import PredictionJob, predict_run

    chunks = list(examples_at(BUILT_IN))[:count]
    return [predict_run(PredictionJob(BUILT_IN, chunks, spec, load_predictor(spec)), store).stored for spec in specs]


def hostile_store(folder):
    """Return a store with two runs whose texts, ids and names contain code."""
    store = Store.open(folder)
    runs = save_ranked(store, {f"a{SCRIPT}": 2, "b|*b*": 7}, task=f"t{SCRIPT}", environment={"remarks": [SCRIPT]})
    store.texts(DATA).save(*texts(HOSTILE, HOSTILE))
    return store, runs
