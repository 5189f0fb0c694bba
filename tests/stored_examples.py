"""Small stores for tests of what reads them: ranked, measured and masked runs, and texts that no page may trust."""

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
    """Two right answers for each query."""
    return Gold({f"q{i:02}": {f"d{i:02}": 2, f"d{i + 5:02}": 1, f"d{i + 9:02}": 0} for i in range(QUERIES)})


def rankings(skill):
    """Ten items for each query; the better answer further up the more often, the larger *skill* is."""
    made = {}
    for i in range(QUERIES):
        above = (i * 7) % (11 - skill)
        others = [f"d{(i + 17 + j) % ITEMS:02}" for j in range(12)]
        others = [item for item in others if item not in (f"d{i:02}", f"d{i + 5:02}")][:9]
        ranked = [*others[:above], f"d{i:02}", *others[above:]]
        made[f"q{i:02}"] = {item: 1.0 - place / 20 for place, item in enumerate(ranked)}
    return Run(made)


def texts(queries=(), items=()):
    """Texts of all queries and items, the first ones as given."""

    def said(prefix, count, given):
        for i in range(count):
            text = given[i] if i < len(given) else f"what {prefix}{i:02} says"
            yield Text(f"{prefix}{i:02}", f"title {prefix}{i:02}", text)

    return said("q", QUERIES, queries), said("d", ITEMS, items)


def save_ranked(store, models, task="wines", data=DATA, environment=None, conventions=None):
    """A stored run of rankings for each model, by name with its skill from 0 to 10."""
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
    """A stored measurement for each model, by name with its headline."""
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
    """A stored run of guesses for each predictor, on some of the built-in pages."""
    from goldrank.masked.examples.masking import BUILT_IN, examples_at
    from goldrank.masked.predictors import load_predictor
    from goldrank.runs.masked import Order, predict_run

    chunks = list(examples_at(BUILT_IN))[:count]
    return [predict_run(Order(BUILT_IN, chunks, spec, load_predictor(spec)), store).stored for spec in specs]


def hostile_store(folder):
    """Two runs whose texts, ids and names try to be more than text."""
    store = Store.open(folder)
    runs = save_ranked(store, {f"a{SCRIPT}": 2, "b|*b*": 7}, task=f"t{SCRIPT}", environment={"remarks": [SCRIPT]})
    store.texts(DATA).save(*texts(HOSTILE, HOSTILE))
    return store, runs
