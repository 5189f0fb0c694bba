"""Cases of every command that prints JSON, with arguments that produce each form of its output."""

import json
from dataclasses import replace

import stored_examples
from goldrank.judging.project import JudgingProject
from goldrank.planning import calibration
from goldrank.planning.constants import REFERENCE, EncodingCost

FAST = ["--resamples", "100"]
KEYS = ["wines-bm25", "wines-random-8"]
MASKED = ["masked-persons-names-majority", "masked-persons-names-random"]
BM25, RANDOM = KEYS
STRATA = ["questions", "-m", "bm25", "random:8", "--depth", "1", "--strata", "query_length", "--no-serve"]
JUDGE = ["tiny", "-m", "bm25", "random:8", "--depth", "2", "--budget", "10", "--folder", "judged", "--no-serve"]
# Arguments by command. The commands run in this order in one folder, so that those that delete come last.
CASES = {
    "run": [
        ["-m", "bm25", "random:8", "-t", "wines", "--worst", "2", *FAST],
        ["-m", "random:8", "random:16", "-t", "sentence-pairs"],
        ["-m", "random:8", "--from-pairs", "pairs.csv", "--top", "0.5", *FAST],
        ["-m", "bm25", "-t", "wines", "--dry-run"],
        [*("-m", "bm25", "random:8"), *("-t", "wines", "games"), *FAST],
    ],
    "score": [
        ["gold.txt", "a.run", "b.run", "-M", "ndcg@10", "-M", "gmap", *FAST],
        ["gold.txt", "a.run", "--per-query", "--no-interval"],
        ["gold.txt", "short.run", "--profiles", "standard,trec_eval9", "--per-query", *FAST],
        [BM25, RANDOM, *FAST],
        ["gold.txt", "a.run", "b.run", "--slices", "languages.csv", *FAST],
    ],
    "compare": [
        ["gold.txt", "a.run", "b.run", "a2.run", *FAST],
        ["gold.txt", "a.run", "a2.run", "-M", "gmap", "-M", "judged@10", *FAST],
        ["gold.txt", "a.run", "b.run", "short.run", "-M", "ndcg@10", *FAST],
        ["gold.txt", "a.run", "short.run", "-M", "ndcg@10", "--missing", "skip", *FAST],
        [*KEYS, *FAST],
        ["gold.txt", "a.run", "b.run", "--slices", "languages.csv", "--find-slices", *FAST],
        ["--across", "--task", "wines", "--task", "games", *FAST],
    ],
    "diff": [
        ["a.run", "a2.run", *FAST],
        ["a.run", "b.run", "short.run", "--per-query", *FAST],
    ],
    "gate": [
        ["gold.txt", "a.run", "b.run", "-M", "ndcg@10", *FAST],
        ["gold.txt", "b.run", "a.run", "-M", "ndcg@10", "--fail-under", "ndcg@10=0.9", *FAST],
        [*KEYS, "-M", "mrr", *FAST],
        ["gold.txt", "a.run", "b.run", "-M", "mrr", "--slices", "languages.csv", "--sequential"],
    ],
    "explain": [["ndcg@10", "mpr"], ["recall@5", "--profile", "bge"]],
    "list": [["metrics"], ["profiles"], ["tasks"], ["models"], ["judges"], ["conventions"], ["slices"]],
    "similarity": [["red wine", "white wine", "chess", "-m", "tfidf"]],
    "encode": [["tiny/corpus.jsonl", "-m", "random:8", "-o", "vectors"]],
    "index search": [["tiny.index", "river stone", "-k", "2", "-m", "random:8"]],
    "index info": [["tiny.index"], ["bare.faiss"]],
    "sensitivity": [
        ["-m", "random:4", "-t", "wines", "--transform", "none,center", *FAST],
        ["-m", "random:4", "random:6", "-t", "sentence-pairs", "--fit-on", "evaluated", "--bands", "2", *FAST],
    ],
    "audit": [["tiny", "-m", "random:8", "--factory", "Flat", "--factory", "IVF2,Flat(nprobe=1)", *FAST]],
    "plan": [
        ["--item-count", "1e6", "--dim", "8", "--query-count", "100"],
        ["--item-count", "1e6", "--dim", "8", "--query-count", "9", "--encode-rate", "9", "--cores", "4"],
        ["--calibrate"],
    ],
    "masked check": [["persons"], ["leak.jsonl"], ["persons", "--remask", "strict"]],
    "masked score": [
        [MASKED[0], "--by", "length", "--original", "--groups", *FAST],
        [*MASKED, "--profile", "strict", *FAST],
        [*MASKED, "--matcher", "surname", *FAST],
    ],
    "masked match": [["John F. Kennedy", "Kennedy", "Nobody"]],
    "judge start": [
        JUDGE,
        JUDGE,
        [*STRATA, "--folder", "strata"],
        ["wines", "-m", "bm25", "--queries", "asked.txt", "--folder", "one", "--no-serve"],
    ],
    "judge import": [["judged", "tiny/qrels/test.tsv"], ["judged", "clicks.csv", "--source", "weak"]],
    "judge status": [["judged"], ["one"], ["strata"]],
    "judge grade": [
        ["graded", "--judge", "overlap"],
        ["graded", "--judge", "openai:tiny@http://localhost:1/v1", "--dry-run", "--price", "0.1/0.4"],
    ],
    "judge agreement": [["graded"], ["graded", "--judge", "overlap"]],
    "judge leaderboard": [["graded", "-M", "mrr"], ["graded", "--others", "others.run"], ["strata", "-M", "mrr"]],
    "judge next": [["graded", "-M", "precision@3", "--dry-run"], ["graded", "--labels", "20"]],
    "judge queries": [["questions", "-o", "made.jsonl", "--count", "8", "-m", "bm25", "random:8"]],
    "report": [
        [*KEYS, "games-bm25", "games-random-8", *FAST],
        ["sentence-pairs-random-8", MASKED[0], *FAST],
        ["gold.txt", "a.run", "b.run", *FAST],
    ],
    "meta": [["scores.csv", "--downstream", "accuracy", *FAST], ["families.csv", "--cluster", *FAST]],
    "data check": [["tiny"], ["gold.txt"], ["wines"]],
    "runs list": [[], ["--task", "nothing"]],
    "runs show": [[BM25], ["sentence-pairs-random-8"], [MASKED[0]]],
    "runs export": [
        [BM25, "--what", "run"],
        [BM25, "--what", "gold"],
        [BM25, "--what", "hits"],
        [MASKED[0], "--what", "predictions"],
    ],
    "cache": [["info"], ["info", "--kind", "shards"], ["clear", "--yes"]],
    "runs delete": [[BM25, "--yes"]],
}  # fmt: skip
# Arguments that each command rejects.
REFUSED = {
    "run": ["-m", "nosuchmodel", "-t", "wines"],
    "score": ["gold.txt", "missing.run"],
    "compare": ["gold.txt", "a.run"],
    "diff": ["a.run"],
    "gate": ["gold.txt", "a.run"],
    "explain": ["nosuchmetric"],
    "list": ["nothing"],
    "similarity": ["a"],
    "encode": ["missing.jsonl", "-m", "random:8", "-o", "other"],
    "index search": ["missing.index", "wine"],
    "index info": ["missing.index"],
    "sensitivity": ["-m", "nosuchmodel", "-t", "wines"],
    "audit": ["missing", "-m", "random:8", "--factory", "Flat"],
    "plan": ["--item-count", "1"],
    "masked check": ["missing.jsonl"],
    "masked score": ["nosuchrun"],
    "masked match": ["A Title"],
    "judge start": ["missing", "-m", "bm25"],
    "judge import": ["judged", "missing.txt"],
    "judge status": ["missing"],
    "judge grade": ["graded", "--judge", "nosuchjudge"],
    "judge agreement": ["graded", "--judge", "nosuchjudge"],
    "judge leaderboard": ["missing"],
    "judge next": ["graded", "--labels", "0"],
    "judge queries": ["missing", "-o", "other.jsonl"],
    "report": ["nosuchrun"],
    "meta": ["missing.csv"],
    "data check": ["missing"],
    "runs list": ["--nosuchoption"],
    "runs show": ["nosuchrun"],
    "runs export": ["nosuchrun"],
    "cache": ["info", "--older-than", "-1"],
    "runs delete": ["nosuchrun", "--yes"],
}


def write_runs(folder):
    """Write gold, attributes of its queries, and runs: a and a2 are equal, and short answers only some queries."""
    gold = stored_examples.gold()
    gold.write(folder / "gold.txt", format="trec")
    languages = [f"{query},{'de' if at < 12 else 'fr' if at < 15 else 'en'}" for at, query in enumerate(gold.queries)]
    (folder / "languages.csv").write_text("\n".join(["query,language", *languages]) + "\n")
    for name, skill in (("a", 3), ("a2", 3), ("b", 9)):
        stored_examples.rankings(skill).write(folder / f"{name}.run", format="trec")
    whole = stored_examples.rankings(5).to_dict()
    (folder / "short.run").write_text(
        "".join(f"{q} Q0 {d} 1 {s} short\n" for q, row in list(whole.items())[:30] for d, s in row.items())
    )


def write_inputs(folder, patch):
    """Write the files that the cases read; *patch* is the monkeypatch fixture."""
    import faiss

    from goldrank.cli.main import main

    write_runs(folder)
    _write_beir(folder / "tiny")
    assert main(["index", "build", str(folder / "tiny"), "-m", "random:8", "-o", str(folder / "tiny.index")]) == 0
    faiss.write_index(faiss.IndexFlatIP(4), str(folder / "bare.faiss"))
    (folder / "asked.txt").write_text("which wine is red?\n")
    (folder / "clicks.csv").write_text("query,item,clicks\nq1,d1,3\n")
    row = {"id": 9, "sequence_number": 0, "title": "Max Born", "texts": "<mask> or Born?", "masks": ["Max"]}
    (folder / "leak.jsonl").write_text(json.dumps(row))
    pairs = [f"river {n} stone,stone {n} river,{n % 5}" for n in range(12)]
    (folder / "pairs.csv").write_text("\n".join(["sentence1,sentence2,score", *pairs]) + "\n")
    _write_scores(folder)
    assert main(["masked", "predict", "persons", "-m", "names:majority", "names:random", "-k", "2"]) == 0
    start = ["judge", "start", "questions", "-m", "bm25", "random:8", "--depth", "3", "--limit", "20", "--no-serve"]
    assert main([*start, "--folder", str(folder / "graded")]) == 0
    _judge(folder / "graded")
    assert main(["judge", "start", *STRATA, "--folder", str(folder / "strata")]) == 0
    _judge(folder / "strata")
    queries = JudgingProject.open(folder / "graded").queries
    (folder / "others.run").write_text("".join(f"{query} Q0 w001 1 1.0 x\n" for query in queries))
    measured = replace(REFERENCE, machine="a machine", measured="2026-01-31", encoding={"a": EncodingCost(0, 1, 0)})
    patch.setattr(calibration, "calibrate", lambda models, warn: measured)


def _judge(folder):
    """Label all items, some of them by two people."""
    project = JudgingProject.open(folder)
    for query, pooled in project.pool.items.items():
        for at, entry in enumerate(pooled):
            project.add_label(query, entry.item, at % 4, "ann", 1.0)
            if at % 2:
                project.add_label(query, entry.item, at % 3, "bob", 1.0)


def _write_beir(folder):
    (folder / "qrels").mkdir(parents=True)
    texts = [f"river stone {n} winter {n * 7 % 11} garden" for n in range(100)]
    rows = [json.dumps({"_id": f"d{n}", "title": "", "text": text}) for n, text in enumerate(texts)]
    (folder / "corpus.jsonl").write_text("\n".join(rows) + "\n")
    rows = [json.dumps({"_id": f"q{n}", "text": texts[n]}) for n in range(20)]
    (folder / "queries.jsonl").write_text("\n".join(rows) + "\n")
    rows = "".join(f"q{n}\td{n}\t1\n" for n in range(20))
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + rows + "q1\td999\t1\n")


def _write_scores(folder):
    rows = [
        (f"m{n}", evaluator, n * factor % 7, kind, f"f{n % 6}")
        for n in range(8)
        for evaluator, factor, kind in [
            ("sts", 3, "intrinsic"),
            ("rank", 2, "intrinsic"),
            ("accuracy", 4, "downstream"),
        ]
    ]
    for name, columns in (("scores", 3), ("families", 5)):
        heading = ["model", "evaluator", "value", "kind", "family"][:columns]
        lines = [",".join(map(str, row[:columns])) for row in rows]
        (folder / f"{name}.csv").write_text("\n".join([",".join(heading), *lines]) + "\n")
