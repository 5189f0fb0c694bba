"""Valid files of every kind that goldrank reads, with the commands that read them."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tempfile
from pathlib import Path

import numpy as np

from fuzz.cases import Seed, Target, run_command
from fuzz.collection_seeds import (
    SCORE,
    TEXTS,
    beir,
    documents,
    gold_and_runs,
    jsonl,
    packed_files,
    pairs_and_articles,
    parquet,
    pickles,
    rankings,
    smart,
    trec_topics,
    wiki_articles,
)
from goldrank import judging as judging_package


def array_bytes(array: object) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def vectors() -> list[Seed]:
    rows = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    ids = [*TEXTS, "q1", "q2"]
    texts = [*(f"{key} {text}" for key, text in TEXTS.items()), "sweet wine", "late train"]
    archive = io.BytesIO()
    np.savez(archive, ids=np.array(ids), vectors=rows)
    packed = io.BytesIO()
    np.savez_compressed(packed, ids=np.array(ids), vectors=rows, texts=np.array(texts))
    lines = jsonl([{"id": key, "vector": row.tolist()} for key, row in zip(ids, rows, strict=True)])
    table = parquet({"id": list(ids), "vector": [list(row) for row in rows.tolist()]})
    stored = {"items.npy": array_bytes(rows), "items.ids": "\n".join(ids).encode()}
    data = beir()[0].files
    command = ["run", "-t", "set", "--resamples", "100", "-m"]
    inputs = [
        (stored, "items.npy"),
        ({"items.npz": archive.getvalue()}, "items.npz"),
        ({"items.npz": packed.getvalue()}, "items.npz"),
        ({"items.jsonl": lines}, "items.jsonl"),
        ({"items.parquet": table}, "items.parquet"),
    ]
    options = ["", "(by=id)", "(by=id,dim=2)"]
    return [
        Seed(
            {**data, **files}, [[*command, f"vectors:{name}{option}"] for option in options], undamaged=frozenset(data)
        )
        for files, name in inputs
    ]


def labelled_vectors() -> list[Seed]:
    rows = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    labels = ["red", "white", "red", "white", "red", "port"]
    csv_rows = "".join(f"{number},{label},a wine\n" for number, label in enumerate(labels))
    data = {"emb.npy": array_bytes(rows)}
    run = ["run", "--resamples", "100", "-m", "vectors:emb.npy", "-t"]
    folders = {f"set/{label}/{number}.npy": array_bytes(rows[number]) for number, label in enumerate(labels)}
    return [
        Seed({**data, "y.csv": "\n".join(["label", *labels]).encode()}, [[*run, "y.csv"], ["data", "check", "y.csv"]]),
        Seed({**data, "y.csv": f"id,label,text\n{csv_rows}".encode()}, [[*run, "classes:y.csv(text=text,queries=3)"]]),
        Seed({**data, "y.txt": "\n".join(labels).encode()}, [[*run, "y.txt"]]),
        Seed({**data, "y.npy": array_bytes(np.array(labels))}, [[*run, "y.npy"]]),
        Seed({**data, "qrels": b"0 0 2 1\n1 0 3 1\n"}, [[*run, "qrels"]]),
        Seed(folders, [["run", "--resamples", "100", "-m", "vectors:set", "-t", "set"]]),
        Seed(data, [[*run, "{}"]], frozenset(data), ["pairs:f.csv(item=answer)", "classes:y.csv(label=a,queries=2)"]),
    ]


def word_vectors() -> list[Seed]:
    rng = np.random.default_rng(0)
    words = sorted(
        {word.strip(".,").lower() for text in [*TEXTS.values(), "sweet wine late train"] for word in text.split()}
    )
    rows = rng.normal(size=(len(words), 5)).astype(np.float32)
    text = "".join(
        f"{word} {' '.join(f'{x:.4f}' for x in row)}\n" for word, row in zip(words, rows, strict=True)
    ).encode()
    headed = f"{len(words)} 5\n".encode() + text
    binary = f"{len(words)} 5\n".encode() + b"".join(
        w.encode() + b" " + r.tobytes() + b"\n" for w, r in zip(words, rows, strict=True)
    )
    table = parquet({"word": list(words), "vector": [list(row) for row in rows.tolist()]})
    data = beir()[0].files
    contents = [text, headed, binary, gzip.compress(text), bz2.compress(headed), lzma.compress(binary), table]
    command = ["run", "-t", "set", "--resamples", "100", "-m"]
    return [
        Seed(
            {**data, "words": content},
            [[*command, "words:words"], [*command, "words:words(rule=evalrank)"]],
            frozenset(data),
        )
        for content in contents
    ]


def made_by(files: dict[str, bytes], commands: list[list[str]], keep: tuple[str, ...]) -> dict[str, bytes]:
    """Return the files that commands write to these folders."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        Seed(files, []).write(folder)
        for command in commands:
            outcome = run_command(folder, command)
            assert outcome.code == 0, outcome
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for root in keep
            for path in sorted((folder / root).rglob("*"))
            if path.is_file()
        }


def index_folders() -> list[Seed]:
    texts = {"texts.jsonl": jsonl([{"id": key, "text": text} for key, text in TEXTS.items()])}
    ways = [
        ["wordllama"],
        ["lsa:2"],
        ["random:8"],
        ["wordllama", "--factory", "exact"],
        ["wordllama", "--transform", "center|normalize"],
    ]
    commands = [
        ["index", "search", "made", "sweet wine", "-k", "2"],
        ["index", "search", "made", "wine", "--verify"],
        ["index", "info", "made"],
        ["index", "info", "made", "--verify"],
    ]
    inputs = [made_by(texts, [["index", "build", "texts.jsonl", "-o", "made", "-m", *way]], ("made",)) for way in ways]
    return [Seed(files, commands) for files in inputs]


def faiss_files() -> list[Seed]:
    import faiss

    rows = np.random.default_rng(0).normal(size=(20, 8)).astype(np.float32)
    seeds = []
    # Graph indexes are left out, because faiss can search a damaged one for ever.
    for factory in ("Flat", "IDMap,Flat", "IVF2,Flat", "SQ8", "PCA4,Flat"):
        index = faiss.index_factory(8, factory, faiss.METRIC_L2)
        index.train(rows)
        index.add_with_ids(rows, np.arange(20)) if "IDMap" in factory else index.add(rows)
        content = {"index.bin": faiss.serialize_index(index).tobytes()}
        commands = [
            ["index", "search", "index.bin", "wine", "-m", "random:8", "-k", "2"],
            ["index", "info", "index.bin"],
        ]
        if "IDMap" not in factory:
            content["ids.txt"] = "\n".join(f"d{n}" for n in range(20)).encode()
            commands = [[*command, "--ids", "ids.txt"] for command in commands]
        seeds.append(Seed(content, commands))
    return seeds


def stores() -> list[Seed]:
    data = beir()[0].files
    files = made_by(
        data,
        [
            ["run", "-m", "bm25", "tfidf", "-t", "set", "--resamples", "100"],
            ["run", "-m", "tfidf", "-t", "sentence-pairs"],
        ],
        ("store",),
    )
    commands = [
        ["runs", "list"],
        ["runs", "list", "--format", "json"],
        ["runs", "show", "set-bm25"],
        ["runs", "show", "sentence-pairs-tfidf"],
        ["runs", "export", "set-bm25", "-o", "out.run"],
        ["score", "set-bm25"],
        ["compare", "set-bm25", "set-tfidf"],
        ["report", "set-bm25", "set-tfidf", "-o", "report.html"],
        ["runs", "delete", "set-bm25", "--yes"],
    ]
    return [Seed(files, commands)]


def run_files() -> list[Seed]:
    config = b"""models = ["bm25", "tfidf"]
tasks = ["./set"]
metrics = ["ndcg@10", "mrr"]
similarity = "cosine"
index = "exact"
transform = "none"
depth = 100
rerank = "overlap"
rerank_depth = 10
limit = 4
seed = 1
level = 0.95
resamples = 100
interval = "bca"
alpha = 0.05
profile = "standard"
overwrite = "missing"
engine = "local"

[text]
parts = "title+text"
separator = " "
words = 10

[conventions]
ties = "docid"
missing = "zero"
"""
    data = beir()[0].files
    return [
        Seed(
            {**data, "run.toml": config},
            [["run", "--config", "run.toml"], ["run", "--config", "run.toml", "--dry-run"]],
            frozenset(data),
        )
    ]


def similarity_sets() -> list[Seed]:
    rows = [
        ("It pours.", "Heavy rain falls.", 4.8),
        ("Sun.", "A sunny day.", 4.5),
        ("Rain.", "A train.", 0.4),
        ("A car.", "Late.", 0.2),
    ]
    scored = "text1,text2,score\n" + "".join(f"{a},{b},{score}\n" for a, b, score in rows)
    labelled = "text,label,split\n" + "".join(
        f"{text.replace(',', '')} {n},{n % 2},{split}\n"
        for n, text in enumerate([*TEXTS.values()] * 3)
        for split in ("train", "test")
    )
    benchmark = "".join(f"main\tset\t2012\t{n}\t{score}\t{a}\t{b}\n" for n, (a, b, score) in enumerate(rows))
    ranked = "PairID,Text,Score\n" + "".join(f'{n},"{a}\n{b}",{s}\n' for n, (a, b, s) in enumerate(rows))
    sick = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\n"
    sick += "".join(f"{n}\t{a}\t{b}\t{s}\n" for n, (a, b, s) in enumerate(rows))
    sts = {f"STS/sts-{part}.csv": benchmark.encode() for part in ("train", "dev", "test")}
    run = ["run", "-m", "tfidf"]
    return [
        Seed(
            {"scored.csv": scored.encode()},
            [[*run, "-t", "sentence-pairs:scored.csv"], [*run, "--from-pairs", "scored.csv", "--top", "0.5"]],
        ),
        Seed({"labelled.csv": labelled.encode()}, [[*run, "-t", "probe:labelled.csv"]]),
        Seed(
            {
                "labelled.jsonl": jsonl(
                    [
                        dict(zip(("text", "label", "split"), line.split(","), strict=True))
                        for line in labelled.splitlines()[1:]
                    ]
                )
            },
            [[*run, "-t", "probe:labelled.jsonl"]],
        ),
        Seed(sts, [[*run, "-t", "sts-b:STS"], [*run, "--from-pairs", "STS"]]),
        Seed(
            {"men/men.txt": b"sun moon 4.5\nrain train 1\nwine beer 3\n"},
            [[*run, "-t", "men:men/men.txt"], [*run, "--from-pairs", "men", "--top", "0.5"]],
        ),
        Seed(
            {"ranked.csv": ranked.encode(), "SICK_trial.txt": sick.encode()},
            [
                [*run, "--from-pairs", "ranked.csv", "SICK_trial.txt", "--top", "0.5"],
                ["data", "convert", "--from-pairs", "ranked.csv", "SICK_trial.txt", "--to", "evalrank", "made"],
            ],
        ),
    ]


def masked_examples() -> list[Seed]:
    pages = jsonl(
        [
            {
                "id": 1,
                "title": "Marie Curie",
                "text": "Marie Curie discovered radium. Curie won two prizes. She taught.",
            },
            {"id": 2, "title": "Alan Turing", "text": "Alan Turing broke codes. Turing ran marathons."},
        ]
    )
    with_folder = made_by(
        {"pages.jsonl": pages, "out/x": b""},
        [["masked", "make", "pages.jsonl", "-o", "out/examples.jsonl", "--max-characters", "64"]],
        ("out",),
    )
    examples = {"examples.jsonl": with_folder["out/examples.jsonl"]}
    aliases = b"title,alias\nMarie Curie,Maria Sklodowska\nAlan Turing,Prof\n"
    commands = [
        ["masked", "check", "examples.jsonl"],
        ["masked", "check", "examples.jsonl", "--aliases", "aliases.csv", "--format", "json"],
        ["masked", "predict", "examples.jsonl", "-m", "names:majority"],
        ["masked", "predict", "examples.jsonl", "-m", "retrieve:tfidf", "-k", "2"],
    ]
    return [
        Seed({**examples, "aliases.csv": aliases}, commands),
        Seed({"examples.jsonl": lzma.compress(examples["examples.jsonl"]), "aliases.csv": aliases}, commands),
        Seed({"pages.jsonl": pages}, [["masked", "make", "pages.jsonl", "-o", "made.jsonl", "--max-characters", "64"]]),
    ]


def masked_predictions() -> list[Seed]:
    examples = masked_examples()[0].files["examples.jsonl"]
    chunks = [json.loads(line) for line in examples.splitlines()]
    rows = [
        {
            "page_id": chunk["id"],
            "sequence_number": chunk["sequence_number"],
            "title": chunk["title"],
            "predictions": [["Marie Curie", "Turing"] for _ in chunk["masks"]],
            "scores": [[0.75, 0.25] for _ in chunk["masks"]],
        }
        for chunk in chunks
    ]
    tidy = "page,sequence,mask,rank,guess,score\n" + "".join(
        f"{chunk['id']},{chunk['sequence_number']},{mask},{rank},{name},{1 / rank}\n"
        for chunk in chunks
        for mask in range(len(chunk["masks"]))
        for rank, name in ((1, "Curie"), (2, "Turing"))
    )
    table = parquet({name: [row[name] for row in rows] for name in rows[0]})
    contents = {"predictions.jsonl": jsonl(rows), "predictions.csv": tidy.encode(), "predictions.parquet": table}
    return [
        Seed(
            {name: content, "examples.jsonl": examples},
            [
                ["masked", "score", name, "--data", "examples.jsonl", "--resamples", "100"],
                [
                    "masked",
                    "score",
                    name,
                    "--data",
                    "examples.jsonl",
                    "--pad",
                    "--original",
                    "--format",
                    "json",
                    "--resamples",
                    "100",
                ],
            ],
        )
        for name, content in contents.items()
    ]


def meta_tables() -> list[Seed]:
    rng = np.random.default_rng(0)
    rows = [
        {"model": model, "evaluator": evaluator, "value": round(float(rng.random()), 3), "kind": kind}
        for model in ("ant", "bee", "cat", "dog", "eel")
        for evaluator, kind in (("mrr", "intrinsic"), ("sts", "intrinsic"), ("CR", "downstream"))
    ]
    table = "model,evaluator,value,kind\n" + "".join(",".join(map(str, row.values())) + "\n" for row in rows)
    logs = "model,task,metric,value,task_type\n" + "".join(
        f"{row['model']},{row['evaluator']},accuracy,{row['value']},{row['kind']}\n" for row in rows
    )
    contents = [
        table.encode(),
        table.replace(",", "\t").encode(),
        jsonl(rows),
        json.dumps(rows).encode(),
        logs.encode(),
        parquet({name: [row[name] for row in rows] for name in rows[0]}),
    ]
    commands = [
        ["meta", "table", "--resamples", "100"],
        ["meta", "table", "--downstream", "CR", "--cluster", "--resamples", "100"],
    ]
    return [Seed({"table": content}, commands) for content in contents]


def specifications() -> list[Seed]:
    data = {**beir()[0].files, **rankings()["trec"]}
    undamaged = frozenset(data)
    run = ["run", "-t", "set", "--resamples", "100"]
    groups: list[tuple[list[list[str]], list[str]]] = [
        (
            [[*SCORE, "-M", "{}"], ["explain", "{}"]],
            [
                "ndcg@10",
                "map(denominator=hits)@10",
                "ndcg@1,5,10",
                "rbp(p=0.8)",
                "err@20",
                "mrr",
                "precision@5",
                "bpref",
            ],
        ),
        (
            [[*run, "-m", "{}"]],
            [
                "tfidf(smart=lfn,min_df=1)",
                "bm25(k1=0.9,b=0.4)",
                "lsa:2",
                "random:8",
                "fuse:rrf(bm25,tfidf)",
                "fuse:sum(bm25,tfidf,weights=1;2)",
                "vectors:none.npz",
                "words:none.txt",
                "run:run",
                "wordllama(dim=64)",
            ],
        ),
        (
            [[*run, "-m", "tfidf", "--transform", "{}"], [*run, "-m", "wordllama", "--transform", "{}"]],
            ["center", "center|whiten:4", "normalize", "pca:2", "abtt:1", "none"],
        ),
        ([[*run, "-m", "wordllama", "--index", "{}"]], ["exact", "faiss:Flat", "faiss:HNSW8", "faiss:IVF2,Flat"]),
        ([["similarity", "{}", "red wine", "-m", "tfidf"]], ["a cat on a mat", "wine", "…"]),
        (
            [["masked", "match", "John F. Kennedy", "{}"], ["masked", "match", "{}", "Kennedy"]],
            ["J. F. K.", "Kennedy", "(photographer)"],
        ),
        (
            [
                ["score", "gold", "run", "--resamples", "{}"],
                ["score", "gold", "run", "--corpus", "{}"],
                ["score", "gold", "run", "--depth", "{}"],
                ["score", "gold", "run", "--profile", "{}"],
                ["score", "{}", "run"],
            ],
            ["100", "1000", "trec_eval", "0.95"],
        ),
        ([["plan", "{}"], ["plan", "--item-count", "{}"]], ["1000000", "1e6", "10M"]),
    ]
    return [Seed(data, commands, undamaged, words) for commands, words in groups]


def slices() -> list[Seed]:
    names = [f"q{number}" for number in range(12)]
    data = {
        "qrels": "".join(f"{name} 0 d 1\n" for name in names).encode(),
        "a.run": "".join(f"{name} Q0 d 1 2 a\n" for name in names).encode(),
        "b.run": "".join(f"{name} Q0 e 1 2 b\n{name} Q0 d 2 1 b\n" for name in names).encode(),
    }
    rows = [{"qid": name, "lang": "de" if at < 6 else "en", "n": at} for at, name in enumerate(names)]
    lines = "\n".join(["qid,lang,n", *(f"{row['qid']},{row['lang']},{row['n']}" for row in rows)])
    tables = {
        "s.csv": lines.encode(),
        "s.tsv": lines.replace(",", "\t").encode(),
        "s.jsonl": jsonl(rows),
        "s.parquet": parquet({name: [row[name] for row in rows] for name in rows[0]}),
    }
    files = ["qrels", "a.run", "b.run", "-M", "mrr", "--resamples", "100"]
    return [
        Seed(
            {**data, name: content},
            [["score", *files, "--slices", name], ["compare", *files, "--slices", name, "--find-slices"]],
            frozenset(data),
        )
        for name, content in tables.items()
    ]


def caches() -> list[Seed]:
    data = beir()[0].files
    command = ["run", "-m", "wordllama", "-t", "set", "--resamples", "100", "--overwrite", "always"]
    words = {"words": word_vectors()[0].files["words"]}
    worded = ["run", "-m", "words:words", "-t", "set", "--resamples", "100", "--overwrite", "always"]
    cache = made_by({**data, **words}, [command, worded], ("cache",))
    commands = [command, worded, ["cache", "list"], ["cache", "prune", "--yes"], ["cache", "info"]]
    return [Seed({**data, **words, **cache}, commands, frozenset({*data, *words}))]


def baselines() -> list[Seed]:
    queries = range(8)
    data = {
        "qrels.txt": "".join(f"q{n} 0 right 1\n" for n in queries).encode(),
        "a.run": "".join(f"q{n} Q0 right 1 2 t\nq{n} Q0 wrong 2 1 t\n" for n in queries).encode(),
        "b.run": "".join(f"q{n} Q0 wrong 1 2 t\nq{n} Q0 right 2 1 t\n" for n in queries).encode(),
    }
    save = ["baseline", "save", "qrels.txt", "a.run", "-M", "mrr", "-M", "hits@1", "-o", "saved/base.json"]
    saved = made_by({**data, "saved/x": b""}, [save], ("saved",))
    commands = [
        ["gate", "saved/base.json", "b.run", "--resamples", "100"],
        ["gate", "qrels.txt", "saved/base.json", "b.run", "-M", "mrr", "--sequential", "--format", "json"],
    ]
    return [Seed({**data, "saved/base.json": saved["saved/base.json"]}, commands, frozenset(data))]


def judging() -> list[Seed]:
    corpus = jsonl([{"_id": key, "text": text} for key, text in TEXTS.items()])
    models = ["-m", "bm25", "--no-serve", "--folder", "made"]
    start = [["judge", "start", "corpus.jsonl", "--queries", name, *models] for name in ("q.txt", "q.csv", "q.jsonl")]
    queries = {
        "q.txt": b"sweet wine\n\nlate train\n",
        "q.csv": b"id,query,kind\n1,sweet wine,log\n2,late train,log\n",
        "q.jsonl": jsonl([{"_id": "a", "text": "sweet wine"}, {"_id": "b", "text": "late train", "kind": "log"}]),
    }
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "q.csv").write_bytes(queries["q.csv"])
        (Path(folder) / "corpus.jsonl").write_bytes(corpus)
        project = judging_package.start(f"{folder}/corpus.jsonl", f"{folder}/q.csv", "bm25", folder=f"{folder}/p")
        unit = next(unit for unit in project.plan.units if unit.items)
        project.add_label(unit.query, unit.items[0], 2, "ann")
        stored = (Path(folder) / "p" / "judging.sqlite").read_bytes()
        judging_package.export(project, f"{folder}/labels.jsonl", "jsonl")
        exported = (Path(folder) / "labels.jsonl").read_bytes()
    database, import_to = {"p/judging.sqlite": stored}, ["judge", "import", "p"]
    clicks = f"query,item,clicks,impressions\n{unit.query},{unit.items[0]},3,9\n".encode()
    return [
        *(Seed({"corpus.jsonl": corpus, name: queries[name]}, [command], frozenset({"corpus.jsonl"}))
          for name, command in zip(queries, start, strict=True)),
        Seed({**database, "clicks.csv": clicks}, [[*import_to, "clicks.csv", "--source", "weak"]], frozenset(database)),
        Seed({**database, "labels.jsonl": exported}, [[*import_to, "labels.jsonl"]], frozenset(database)),
        Seed(database, [["judge", "status", "p"], ["judge", "export", "p", "--format", "jsonl"]]),
    ]  # fmt: skip


TARGETS = [
    Target(make.__name__, make)
    for make in (
        gold_and_runs,
        packed_files,
        beir,
        documents,
        smart,
        trec_topics,
        pairs_and_articles,
        wiki_articles,
        pickles,
        vectors,
        labelled_vectors,
        word_vectors,
        index_folders,
        faiss_files,
        stores,
        run_files,
        similarity_sets,
        masked_examples,
        masked_predictions,
        meta_tables,
        specifications,
        slices,
        caches,
        baselines,
        judging,
    )
]
