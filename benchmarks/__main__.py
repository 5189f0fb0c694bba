"""`make bench`: every bar with the ratio that was measured, all in one run; exits with 1 where one is missed."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks import growth, web_load
from benchmarks.data import write_collection
from benchmarks.encoder_jobs import write_glove
from benchmarks.format_jobs import FORMATS, ORDERS
from benchmarks.jobs import METRICS
from benchmarks.measure import command_cpu, command_wall, job_cpu, read_from_disk
from benchmarks.overhead_jobs import write_run
from benchmarks.paragraphs import write_paragraphs

PARTS = ("scoring", "vectors", "tasks", "evaluators", "masked", "seeing", "scale", "growth")


class Table:
    """Rows of (work, ours, peer, ratio, bar), printed as they come."""

    def __init__(self) -> None:
        self.missed = 0
        print(f"{'work':<72}{'goldrank':>10}{'peer':>10}{'ratio':>9}{'bar':>8}  verdict", flush=True)

    def faster(self, work: str, ours: float, peer: float, bar: float) -> None:
        self._row(work, f"{ours:.3f} s", f"{peer:.3f} s", f"{peer / ours:.1f}×", f"≥ {bar:g}×", peer / ours >= bar)

    def at_most(self, work: str, ours: float, peer: float, bar: float) -> None:
        self._row(work, f"{ours:.3f} s", f"{peer:.3f} s", f"{ours / peer:.2f}×", f"≤ {bar:g}×", ours / peer <= bar)

    def shown(self, work: str, ours: float, peer: float) -> None:
        self._row(work, f"{ours:.3f} s", f"{peer:.3f} s", f"{ours / peer:.2f}×", "", None)

    def reference(self, work: str, limit: float, peer: float) -> None:
        self._row(work, f"{limit:.3f} s", f"{peer:.3f} s", f"{peer / limit:.1f}×", "", None)

    def within(self, work: str, seconds: float, limit: float) -> None:
        self._row(work, f"{seconds:.3f} s", "", "", f"≤ {limit:g} s", seconds <= limit)

    def memory(self, work: str, ours: float, limit: float) -> None:
        self._row(work, f"{ours:.0f} MB", f"{limit:.0f} MB", f"{ours / limit:.2f}×", "≤ 1×", ours <= limit)

    def slope(self, work: str, slope: float, bar: float) -> None:
        self._row(work, "", "", f"{slope:.2f}", f"≤ {bar:g}", slope <= bar)

    def _row(self, work: str, ours: str, peer: str, ratio: str, bar: str, met: bool | None) -> None:
        self.missed += met is False
        verdict = {True: "met", False: "MISSED", None: ""}[met]
        print(f"{work:<72}{ours:>10}{peer:>10}{ratio:>9}{bar:>8}  {verdict}".rstrip(), flush=True)


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    options.add_argument("--data", type=Path, help="folder to keep the generated files in")
    options.add_argument("--quick", action="store_true", help="a tenth of the size, to see that it runs")
    options.add_argument("--part", choices=PARTS, help="only this part")
    args = options.parse_args()
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    print(f"{machine}; seconds of CPU time unless it says wall")
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.data or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        table = Table()
        scale = 10 if args.quick else 1
        if args.part in (None, "scoring"):
            _large_file(table, folder, 6980 // scale)
            _orders(table, folder, 6980 // scale)
            _formats(table, folder, 2000 // scale)
            _cold_command(table, folder)
            _imports(table)
            _bootstrap(table)
        if args.part in (None, "vectors"):
            _exact_ranks(table, scale)
            _top_k(table, scale)
            _word_vectors(table, folder)
            _cache(table, folder, scale)
        if args.part in (None, "tasks"):
            _retrieval(table, scale)
            _overhead(table, folder, scale)
            _commands(table)
            _bm25(table, folder, scale)
            _text_models(table, folder, scale)
        if args.part in (None, "evaluators"):
            _evalrank(table, scale)
            _meta(table)
            _probes(table)
        if args.part in (None, "masked"):
            _masked(table, scale)
        if args.part in (None, "seeing"):
            _seeing(table, scale)
        if args.part in (None, "scale"):
            _scale(table, scale)
        if args.part in (None, "growth"):
            _growth(table, folder, quick=args.quick)
    return 1 if table.missed else 0


def _large_file(table: Table, folder: Path, queries: int) -> None:
    qrels, run = map(str, write_collection(folder, f"large{queries}", queries, 1000, 1, 1))
    size = f"{queries} × 1000"
    ours = job_cpu("benchmarks.jobs", "goldrank_file", qrels, run, repeat=5)
    for peer, bar in (("pytrec", 40), ("ranx", 25), ("ir_measures", 40)):
        theirs = job_cpu("benchmarks.jobs", f"{peer}_file", qrels, run)
        table.faster(f"{size}, TREC file → 5 metrics, against {peer}", ours["seconds"], theirs["seconds"], bar)
    limit = Path(run).stat().st_size / 2**20 + 200
    table.memory(f"{size}, TREC file: peak memory, file size + 200 MB", ours["peak_mb"], limit)
    read_from_disk(run)
    ours = job_cpu("benchmarks.jobs", "goldrank_file", qrels, run, repeat=5)
    theirs = job_cpu("benchmarks.jobs", "pytrec_file", qrels, run)
    table.faster(f"{size}, the file read from the disk before, against pytrec", ours["seconds"], theirs["seconds"], 40)
    ours = job_cpu("benchmarks.jobs", "goldrank_dicts", qrels, run, repeat=2)
    theirs = job_cpu("benchmarks.jobs", "pytrec_dicts", qrels, run, repeat=2)
    table.faster(f"{size}, dicts → 5 metrics, against pytrec", ours["seconds"], theirs["seconds"], 8)


def _orders(table: Table, folder: Path, queries: int) -> None:
    """TREC files that are not written query by query with Unix line ends, against the one that is."""
    qrels, files = _written_formats(folder, f"large{queries}", queries)
    done = {
        name: job_cpu("benchmarks.format_jobs", "score", qrels, str(files[name]), ",".join(METRICS), repeat=5)
        for name in ("run", *ORDERS)
    }
    two = job_cpu("benchmarks.format_jobs", "score", qrels, str(files["run"]), ",".join(METRICS), "2", repeat=5)
    work = f"{queries} × 1000, TREC file, two threads, against one (wall)"
    table.faster(work, two["result:wall"], done["run"]["result:wall"], 1.7)
    for name in ORDERS:
        work = f"{queries} × 1000, TREC file, {name}, against ordered"
        table.at_most(work, done[name]["seconds"], done["run"]["seconds"], 2)
        limit = files[name].stat().st_size / 2**20 + 200
        table.memory("the same: peak memory, file size + 200 MB", done[name]["peak_mb"], limit)


def _formats(table: Table, folder: Path, queries: int) -> None:
    qrels, files = _written_formats(folder, f"formats{queries}", queries)
    goldrank = [sys.executable, "-m", "goldrank", "score", qrels]
    done, command = {}, {}
    for suffix in FORMATS:
        file = str(files[suffix])
        done[suffix] = job_cpu("benchmarks.format_jobs", "score", qrels, file, "ndcg@10,mrr", repeat=5)
        command[suffix] = command_cpu(*goldrank, file, "-M", "ndcg@10", "-M", "mrr", repeat=5)
    for suffix, bar in (("csv", 2), ("parquet", 1.5), ("json", 4)):
        work = f"{queries} × 1000, {suffix} → 2 metrics, against TREC"
        table.at_most(f"{work}, whole command", command[suffix], command["run"], bar)
        table.shown(f"{work}, in Python", done[suffix]["seconds"], done["run"]["seconds"])
        limit = files[suffix].stat().st_size / 2**20 + 200
        table.memory(f"{queries} × 1000, {suffix}: peak memory, file size + 200 MB", done[suffix]["peak_mb"], limit)


def _written_formats(folder: Path, name: str, queries: int) -> tuple[str, dict[str, Path]]:
    """Write a collection with its run in every format and order, in a process of its own, whose memory is freed.

    All files are read from the disk, so that none is faster because it was written in larger pieces.
    """
    qrels, run = write_collection(folder, name, queries, 1000, 1, 1)
    files = {suffix: run.with_suffix(f".{suffix}") for suffix in (*FORMATS, *ORDERS)}
    if not all(file.exists() for file in files.values()):
        job_cpu("benchmarks.format_jobs", "write", str(run))
    for file in (qrels, *files.values()):
        read_from_disk(file)
    return str(qrels), files


def _cold_command(table: Table, folder: Path) -> None:
    qrels, run = map(str, write_collection(folder, "graded", 200, 1000, 100, 3))
    metrics = ["ndcg@10", "map", "mrr@10", "recall@100", "precision@10"]
    flags = [flag for metric in metrics for flag in ("-M", metric)]
    ours = command_cpu(sys.executable, "-m", "goldrank", "score", qrels, run, *flags, "--no-interval", repeat=5)
    names = ["nDCG@10", "AP", "RR@10", "R@100", "P@10"]
    theirs = command_cpu(sys.executable, "-m", "ir_measures", qrels, run, *names, repeat=5)
    table.faster("200 × 1000, 100 judged, whole command, against ir_measures", ours, theirs, 3)


def _imports(table: Table) -> None:
    numpy = command_cpu(sys.executable, "-c", "import numpy", repeat=15)
    ours = command_cpu(sys.executable, "-c", "import goldrank", repeat=15)
    table.at_most("import goldrank, against import numpy", ours, numpy, 1.5)
    # The names of the package load when first used; this loads all that scoring takes.
    ours = command_cpu(sys.executable, "-c", "from goldrank import Gold, Run, score", repeat=15)
    table.shown("from goldrank import Gold, Run, score (all loaded)", ours, numpy)


def _bootstrap(table: Table) -> None:
    ours = job_cpu("benchmarks.jobs", "goldrank_bootstrap", "7000", "5", repeat=5)
    theirs = job_cpu("benchmarks.jobs", "scipy_bootstrap", "7000", "5", repeat=3)
    table.faster("7000 queries × 5 metrics, 10,000 resamples, against scipy", ours["seconds"], theirs["seconds"], 25)
    ours = job_cpu("benchmarks.jobs", "goldrank_randomisation", "7000", "5", repeat=5)
    theirs = job_cpu("benchmarks.jobs", "numpy_randomisation", "7000", "5", repeat=3)
    work = "randomisation tests, 7000 queries × 5 metrics, 10,000 patterns, against numpy"
    table.faster(work, ours["seconds"], theirs["seconds"], 15)


def _exact_ranks(table: Table, scale: int) -> None:
    """Against bare sgemm in wall time, because both use every core; against what sorts on one core in CPU time."""
    size = (str(2000 // scale), str(200_000 // scale))
    product = job_cpu("benchmarks.exact_jobs", "sgemm", *size, repeat=2)
    for job, what, bar in (("goldrank_plain", "float32", 1.15), ("goldrank_certified", "certified", 1.4)):
        ours = job_cpu("benchmarks.exact_jobs", job, *size, repeat=2)
        work = f"exact ranks {' × '.join(size)} × 384, {what}, against bare sgemm"
        table.at_most(f"{work} (wall)", ours["result:wall"], product["result:wall"], bar)
        table.shown(f"{work} (CPU)", ours["seconds"], product["seconds"])
    table.memory("the same: memory beside the vectors, 200 MB", ours["result:extra_mb"], 200)
    size = (str(2000 // scale), "20000")
    ours = job_cpu("benchmarks.exact_jobs", "goldrank_certified", *size, repeat=2)
    product = job_cpu("benchmarks.exact_jobs", "sgemm", *size, repeat=2)
    for peer, bar in (("faiss_all", 15), ("argsort", 6)):
        theirs = job_cpu("benchmarks.exact_jobs", peer, *size)
        work = f"exact ranks {' × '.join(size)}, certified, against {peer}"
        table.faster(work, ours["seconds"], theirs["seconds"], bar)
        # Where even this is slower than the bar, the product alone is the limit of what float32 can do.
        table.reference(f"bare sgemm, which ranks nothing, against {peer}", product["seconds"], theirs["seconds"])
    table.shown("the same against bare sgemm", ours["seconds"], product["seconds"])
    size = (str(6989 // scale), "24957")
    for similarity, bar in (("cosine", 12), ("l2", 40)):
        ours = job_cpu("benchmarks.exact_jobs", f"goldrank_pairs_{similarity}", *size, repeat=2)
        theirs = job_cpu("benchmarks.exact_jobs", f"loop_pairs_{similarity}", *size)
        work = f"EvalRank {' × '.join(size)} × 300, {similarity}, against a loop"
        table.faster(work, ours["seconds"], theirs["seconds"], bar)


def _top_k(table: Table, scale: int) -> None:
    """On one thread in CPU seconds, and with all cores in wall time."""
    items = 200_000 // scale
    for queries, batch, k, similarity in (
        (items // 100, items // 100, 100, "cosine"),
        (items // 100, 100, 100, "cosine"),
        (200, 100, 10, "dot"),
        (200, 100, 1000, "l2"),
        (20, 1, 100, "cosine"),
    ):
        work = f"top {k} of {items} × 384, {similarity}, {batch} queries at a time"
        for threads, clock in (("1", "one thread"), ("0", "wall")):
            arguments = map(str, (items, queries, batch, k, similarity, threads))
            done = job_cpu("benchmarks.index_jobs", "top_k", *arguments)
            table.at_most(f"{work}, exact index against faiss ({clock})", done["result:exact"], done["result:faiss"], 1)
            if k == 100 and batch > 1 and clock == "wall":
                table.at_most(f"{work}, faiss index against faiss (wall)", done["seconds"], done["result:faiss"], 1.05)


def _word_vectors(table: Table, folder: Path) -> None:
    file = folder / "glove.txt"
    if not file.exists():
        write_glove(file)
        # As for most users, the file is not new: the digest of a file is cached once its last change is 3 s ago. That
        # includes the time of its last status change (ctime), which only the system sets.
        time.sleep(4)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["GOLDRANK_CACHE"] = cache
        first = job_cpu("benchmarks.encoder_jobs", "load_and_look_up", str(file))
        again = job_cpu("benchmarks.encoder_jobs", "load_and_look_up", str(file), repeat=3)
        del os.environ["GOLDRANK_CACHE"]
    work = "400,000 × 50 word vectors from text and a word looked up, again (wall)"
    table.faster(work, again["seconds"], first["seconds"], 50)


def _cache(table: Table, folder: Path, scale: int) -> None:
    count = str(100_000 // scale)
    with tempfile.TemporaryDirectory(dir=folder) as cache:
        job_cpu("benchmarks.cache_jobs", "cache_fill", cache, count)
        ours = job_cpu("benchmarks.cache_jobs", "cache_lookup", cache, count, repeat=3)
        theirs = job_cpu("benchmarks.cache_jobs", "wordllama_encode", cache, count)
    table.faster(f"{count} texts from the cache, against wordllama", ours["seconds"], theirs["seconds"], 20)


def _overhead(table: Table, folder: Path, scale: int) -> None:
    collection = write_paragraphs(folder, 162_000 // scale, 2000 // scale)
    run = str(write_run(collection, folder / f"{collection.name}.run"))
    with tempfile.TemporaryDirectory(dir=folder) as store:
        command = [sys.executable, "-m", "goldrank", "run", "-m", f"run:{run}", "-t", str(collection)]
        # Stored texts are found again, so that every repeat has a store of its own.
        whole = min(command_cpu(*command, "--store", f"{store}/{number}", repeat=1) for number in range(3))
    model = job_cpu("benchmarks.overhead_jobs", "run_file_alone", str(collection), run, repeat=3)["seconds"]
    work = f"goldrank run around the model, {162_000 // scale} × {2000 // scale}: whole command less its model"
    table.within(work, whole - model, 4)


def _retrieval(table: Table, scale: int) -> None:
    size = (str(2000 // scale), str(200_000 // scale))
    ours = job_cpu("benchmarks.task_jobs", "goldrank_retrieval", *size, repeat=2)
    theirs = job_cpu("benchmarks.task_jobs", "mteb_retrieval", *size, repeat=2)
    work = f"retrieval {' × '.join(size)} × 384 from vectors, top 1000 and metrics, against mteb"
    table.faster(f"{work} (wall)", ours["result:wall"], theirs["result:wall"], 6)
    table.shown(f"{work} (CPU)", ours["seconds"], theirs["seconds"])
    table.memory("the same: peak memory of the process, against mteb's", ours["peak_mb"], theirs["peak_mb"])


def _commands(table: Table) -> None:
    """Whole commands, cold start included, in wall time: these bars are absolute, as a person waits for them."""
    cranfield = _shared("collections", "cran")
    goldrank = [sys.executable, "-m", "goldrank", "run"]
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["GOLDRANK_STORE"], os.environ["GOLDRANK_CACHE"] = f"{scratch}/store", f"{scratch}/cache"
        if cranfield is not None:
            for model in ("bm25", "tfidf"):
                command = [*goldrank, "-m", model, "-t", f"cranfield:{cranfield}", "--overwrite", "always"]
                table.within(f"Cranfield with {model}, cold process to table (wall)", command_wall(*command), 5)
        else:
            print("Cranfield: skipped, there is no ../shared/data beside the repository")
        models = ["random", "bm25", "tfidf", "wordllama", "fuse:rrf(bm25,wordllama)"]
        again = [*goldrank, "-m", *models, "-t", "wines", "games", "questions"]
        command_wall(*again, repeat=1)
        table.within("five models on three tasks again, all stored (wall)", command_wall(*again), 2)
        del os.environ["GOLDRANK_STORE"], os.environ["GOLDRANK_CACHE"]


def _bm25(table: Table, folder: Path, scale: int) -> None:
    """The whole command on real text, and the memory of a million documents."""
    collection = str(write_paragraphs(folder, 162_000 // scale, 2_000 // scale))
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["GOLDRANK_STORE"], os.environ["GOLDRANK_CACHE"] = f"{scratch}/store", f"{scratch}/cache"
        command = [sys.executable, "-m", "goldrank", "run", "-m", "bm25", "-t", collection, "--overwrite", "always"]
        # In turns, because the speed of the machine changes.
        pairs = [
            (command_cpu(*command, repeat=1), job_cpu("benchmarks.bm25_jobs", "bm25s_retrieval", collection)["seconds"])
            for _ in range(3)
        ]
        ours, theirs = map(min, zip(*pairs, strict=True))
        size = f"{162_000 // scale:,} × {2_000 // scale:,} paragraphs"
        table.at_most(f"{size}, run -m bm25, whole command, against bm25s with numba", ours, theirs, 1.3)
        model = job_cpu("benchmarks.bm25_jobs", "goldrank_retrieval", collection, repeat=3)
        table.at_most("the same, only the model: words, index and search", model["seconds"], theirs, 1)
        million, documents = f"{scratch}/million", 1_000_000 // scale
        job_cpu("benchmarks.bm25_jobs", "write_million", collection, million, str(documents))
        peak = job_cpu("benchmarks.bm25_jobs", "run_command", million)["peak_mb"]
        table.memory(f"run -m bm25 on {documents:,} paragraphs: peak memory, 4 GB", peak, 4096)
        del os.environ["GOLDRANK_STORE"], os.environ["GOLDRANK_CACHE"]


def _text_models(table: Table, folder: Path, scale: int) -> None:
    """Whole commands on real text, against what no such model can do without."""
    collection = str(write_paragraphs(folder, 162_000 // scale, 2_000 // scale))
    size = f"{162_000 // scale:,} × {2_000 // scale:,} paragraphs"
    for model, job, limit, bar in (
        ("wordllama", "wordllama_tokens", "its tokenizer alone", 1.3),
        ("tfidf", "sklearn_tfidf", "scikit-learn's vectoriser and scipy's product", 1.5),
    ):
        pairs = []
        # In turns, because the speed of the machine changes.
        for _ in range(3):
            with tempfile.TemporaryDirectory() as scratch:
                os.environ["GOLDRANK_STORE"], os.environ["GOLDRANK_CACHE"] = f"{scratch}/store", f"{scratch}/cache"
                ours = command_cpu(sys.executable, "-m", "goldrank", "run", "-m", model, "-t", collection, repeat=1)
                del os.environ["GOLDRANK_STORE"], os.environ["GOLDRANK_CACHE"]
            pairs.append((ours, job_cpu("benchmarks.text_model_jobs", job, collection)["seconds"]))
        ours, peer = map(min, zip(*pairs, strict=True))
        table.at_most(f"{size}, run -m {model}, against {limit}", ours, peer, bar)


def _evalrank(table: Table, scale: int) -> None:
    """CPU time; the bare product beside it is what no exact ranking can beat."""
    for level, pairs, items, kinds in (
        ("sentence", 6989, 24957, (("cosine", 12), ("l2", 40))),
        ("word", 5514, 22207, (("cosine", 12),)),
    ):
        size = (str(pairs // scale), str(items))
        for similarity, bar in kinds:
            ours = job_cpu("benchmarks.evalrank_jobs", f"goldrank_{similarity}", *size, repeat=2)
            theirs = job_cpu("benchmarks.evalrank_jobs", f"loop_{similarity}", *size)
            work = f"{level} EvalRank {' × '.join(size)} × 300, {similarity}, vectors → scores, against a loop"
            table.faster(work, ours["seconds"], theirs["seconds"], bar)
            if similarity == "cosine":
                product = job_cpu("benchmarks.evalrank_jobs", "sgemm", *size, repeat=2)
                table.shown("the same against bare sgemm", ours["seconds"], product["seconds"])


def _meta(table: Table) -> None:
    result = job_cpu("benchmarks.meta_jobs", "goldrank_meta", "67", "30", repeat=2)
    table.within("meta, 67 models × 30 evaluators, 10,000 resamples (wall)", result["result:wall"], 5)


def _probes(table: Table) -> None:
    folder = _shared("evalrank", "sent_classification")
    if folder is None:
        print("probes: skipped, there is no ../shared/data beside the repository")
        return
    ours, once, theirs = (
        job_cpu("benchmarks.probe_jobs", job, str(folder), "wordllama")
        for job in ("goldrank_probes", "goldrank_probes_once", "torch_probes")
    )
    table.within("ten probes on 256 dimensions, three draws of the folds (wall)", ours["result:wall"], 180)
    table.faster("one draw, against one draw of a torch RMSprop loop", once["seconds"], theirs["seconds"], 3)
    table.shown("three draws, against one draw of it", ours["seconds"], theirs["seconds"])


def _masked(table: Table, scale: int) -> None:
    ours, compiled, cached = (
        job_cpu("benchmarks.masked_name_jobs", job, "2000", "-") for job in ("goldrank_match", "regex", "regex_cached")
    )
    table.faster(
        "40,000 titles and guesses, against re.search compiled for each", ours["seconds"], compiled["seconds"], 10
    )
    table.shown("the same, with what the cache of re spares", ours["seconds"], cached["seconds"])
    masks = 10_000_000 // scale
    result = job_cpu("benchmarks.masked_scoring_jobs", "goldrank_masked", str(masks), "2")
    table.within(
        f"{masks:,} masks × 5 guesses from Parquet, three levels (wall)", result["result:wall"], masks / 1e6 * 60
    )
    table.memory("the same: peak memory of all processes, 2 GB", result["peak_mb"], 2048)


def _seeing(table: Table, scale: int) -> None:
    report = job_cpu("benchmarks.report_jobs", "goldrank_report", "10", str(5000 // scale))
    table.within(f"report of 10 runs × {5000 // scale} queries, whole command (wall)", report["result:wall"], 10)
    table.memory("the same: size of the file, 8 MB", report["result:megabytes"], 8)
    runs, queries = 1000 // scale, 50_000 // scale
    web = job_cpu("benchmarks.web_jobs", "goldrank_explorer", str(runs), str(queries))
    size = f"explorer, {runs} runs × {queries} queries"
    table.within(f"{size}: first page (wall)", web["seconds"], 1)
    table.within(f"{size}: one query of two runs, median (wall)", web["result:drill_down_median"], 0.3)
    table.memory(f"{size}: peak memory, 500 MB", web["peak_mb"], 500)
    compare = job_cpu("benchmarks.web_jobs", "goldrank_compare", "2", str(queries))
    table.within(f"explorer, first comparison of two runs × {queries} queries", compare["seconds"], 1.5)
    report = job_cpu("benchmarks.report_jobs", "goldrank_report", "10", str(queries))
    table.within(f"report of 10 runs × {queries} queries, whole command", report["seconds"], 20)
    times, _ = web_load.measure()
    slowest = float(np.percentile([second for seconds in times.values() for second in seconds], 99))
    table.within("explorer, 50 readers and a writer: 99th percentile of all answers (wall)", slowest, 2)


def _scale(table: Table, scale: int) -> None:
    items = str(1_000_000 // scale)
    ray = job_cpu("benchmarks.ray_jobs", "shards", items)
    work = f"16 shards of {items} × 384, ranks and top 100 on two Ray workers, against a process pool (wall)"
    table.at_most(work, ray["seconds"], ray["result:pool"], 1.15)
    rows = str(200_000 // scale)
    load = job_cpu("benchmarks.database_jobs", "load", rows)
    table.faster(f"pgvector, load of {rows} × 384, against an insert for each row (wall)", load["seconds"],
                 load["result:execute"], 5)  # fmt: skip
    table.shown("the same, against psycopg's executemany (wall)", load["seconds"], load["result:executemany"])
    items = str(5_000_000 // scale)
    run = job_cpu("benchmarks.scale_jobs", "run", items)
    table.memory(
        f"goldrank run, {items} × 384 in a mapped file: memory beyond it, 2 GB", run["peak_anonymous_mb"], 2048
    )


def _growth(table: Table, folder: Path, *, quick: bool) -> None:
    """Curves over items and queries; without *quick* they are kept, and the page of the docs shows them."""
    curves = []
    for curve in growth.measure(growth.QUICK if quick else growth.SIZES):
        curves.append(curve)
        largest = f"{curve.sizes[-1]:,} {curve.axis}"
        work = f"{curve.work}, {curve.what}"
        table.slope(f"{work}: slope of the time up to {largest}", curve.slope, growth.SLOPE)
        worst = max(curve.points, key=lambda point: point.peak_mb / point.bound_mb)
        bound = growth.BOUNDS[curve.work]
        table.memory(f"the same: peak memory, {bound}", worst.peak_mb, worst.bound_mb)
        if curve.stopped:
            print(f"the same: stopped, because {curve.stopped}", flush=True)
        growth.write(curves, folder / "growth.json" if quick else growth.RESULTS)
    if quick:
        growth.draw(curves, folder)
    else:
        growth.main()


def _shared(*names: str) -> Path | None:
    """A folder of the public data, where it lies beside the repository."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("GOLDRANK_TEST_DATA") or beside).joinpath(*names)
    return folder if folder.is_dir() else None


if __name__ == "__main__":
    sys.exit(main())
