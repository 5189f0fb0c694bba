"""Valid gold, runs and collections in every format, with the commands that read them."""

from __future__ import annotations

import bz2
import gzip
import io
import itertools
import json
import lzma
import pickle
import tempfile
import zipfile
from pathlib import Path

import zstandard

from fuzz.cases import Seed

COLUMNS = {"q1": {"d1": 2, "d2": 1}, "q2": {"é": 1, "d1": 0}}
SUBTOPICS = {"q1": {"d1": {"1": 2, "2": 1}, "d2": {"2": 1}}, "q2": {"é": {"1": 1}}}
RUN = {"q1": {"d2": 0.9, "d1": 0.5, "d3": 0.25}, "q2": {"d1": 0.75, "é": 0.5}}
SCORE = ["score", "gold", "run", "--resamples", "100"]
COMPARE = ["compare", "gold", "run", "other", "--resamples", "100", "-M", "mrr"]
TEXTS = {
    "d1": "A sweet white wine from Sauternes.",
    "d2": "A red wine made from Nebbiolo.",
    "d3": "Heat transfer to a flat plate.",
    "d4": "The rain stopped the match, and the train was late.",
}


def jsonl(rows: list[dict[str, object]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def parquet(columns: dict[str, list[object]]) -> bytes:
    import pyarrow
    from pyarrow import parquet as writer

    out = io.BytesIO()
    writer.write_table(pyarrow.table(columns), out)
    return out.getvalue()


def rankings() -> dict[str, dict[str, bytes]]:
    """Return seeds of gold and runs in every format."""
    import goldrank as gr
    from goldrank.io import FORMATS

    files: dict[str, dict[str, bytes]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for format in FORMATS:
            gr.Gold(SUBTOPICS if format == "diversity" else COLUMNS).write(f"{folder}/gold", format=format)
            gr.Run(RUN).write(f"{folder}/run", format="trec" if format == "diversity" else format)
            files[format] = {name: Path(folder, name).read_bytes() for name in ("gold", "run")}
    files["lists"] = {"gold": b'{"q1": ["d1"], "q2": ["d2"]}', "run": b'{"q1": ["d2", "d1"], "q2": ["d1", "d2"]}'}
    files["results"] = {
        "gold": files["jsonl"]["gold"],
        "run": jsonl([{"query": "q1", "results": {"d1": 0.5, "d2": 1}}, {"query": "q2", "results": ["d1", "é"]}]),
    }
    return files


def gold_and_runs() -> list[Seed]:
    corpus = b"d1\nd2\nd3\n\xc3\xa9\n"
    return [
        Seed(
            {**files, "other": files["run"], "corpus": corpus},
            [SCORE, COMPARE, [*SCORE, "--corpus", "corpus", "--format", "json"], ["data", "check", "gold"]],
        )
        for files in rankings().values()
    ]


def packed_files() -> list[Seed]:
    packers = (gzip.compress, bz2.compress, lzma.compress, zstandard.compress)
    return [
        Seed({name: pack(data[:half]) + pack(data[half:]) for name, data in files.items()}, [SCORE])
        for pack, files in itertools.product(packers, (rankings()["trec"], rankings()["jsonl"]))
        for half in (0, 20)
    ]


def collection_commands(name: str, *models: str) -> list[list[str]]:
    return [
        ["data", "check", name],
        ["data", "check", name, "--format", "json"],
        ["data", "convert", name, "converted", "--to", "beir"],
        *(["run", "-m", model, "-t", f"./{name}", "--resamples", "100"] for model in models or ("bm25",)),
    ]


def beir() -> list[Seed]:
    corpus = [{"_id": key, "title": key, "text": text} for key, text in TEXTS.items()]
    files = {
        "set/corpus.jsonl": jsonl(corpus),
        "set/queries.jsonl": jsonl([{"_id": "q1", "text": "sweet wine"}, {"_id": "q2", "text": "late train"}]),
        "set/qrels/test.tsv": b"query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t1\nq2\td4\t1\n",
    }
    packed = {f"{name}.gz" if "corpus" in name else name: data for name, data in files.items()}
    packed["set/corpus.jsonl.gz"] = gzip.compress(files["set/corpus.jsonl"])
    return [Seed(variant, collection_commands("set", "bm25", "tfidf", "lsa:2")) for variant in (files, packed)]


def documents() -> list[Seed]:
    word = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    body = f"<w:document {word}><w:body><w:p><w:r><w:t>Late train.</w:t></w:r></w:p></w:body></w:document>"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("word/document.xml", body)
    files = {
        "set/wine.md": b"---\ntitle: Wine\n---\n# Wine\n\nSweet.\n\n## Red\nDry.\n```\n# no heading\n```\n",
        "set/sub/train.rst": b"=====\nTrain\n=====\n\nLate.\n\nEarly\n-----\nNever.\n",
        "set/page.html": b"<html><head><title>Page</title></head><body><h1>Heat</h1><p>A plate &amp; more</p></body>",
        "set/note.docx": packed.getvalue(),
        "set/plain.txt": b"A text.\r\nOf two lines.\r\n",
    }
    questions = {
        "csv": b'id,question,expected_file,grade\n1,sweet wine,wine.md,2\n2,"late, train",train;note,1\n',
        "jsonl": jsonl([{"question": "sweet wine", "source": ["wine.md", "page"]}]),
    }
    return [
        Seed(
            {**files, f"questions.{suffix}": table},
            [
                ["data", "check", "set", "--questions", f"questions.{suffix}"],
                ["run", "-m", "bm25", "-t", "./set", "--questions", f"questions.{suffix}", "--resamples", "100"],
            ],
        )
        for suffix, table in questions.items()
    ]


def smart() -> list[Seed]:
    documents = "".join(f".I {n}\n.T\ntitle {n}\n.A\nauthor\n.W\n{text}\n" for n, text in enumerate(TEXTS.values(), 1))
    files = {
        "set/mini.all": documents.encode(),
        "set/mini.qry": b".I 1\n.W\nhow does heat reach a plate\n.I 2\n.W\nsweet wine\n",
        "set/mini.rel": b"1 3 0 0\n2 1 0 0\n",
    }
    return [
        Seed(files, collection_commands("set")),
        Seed({**files, "set/mini.rel": b"1 3 1\n2 1 1\n"}, collection_commands("set")),
    ]


def trec_topics() -> list[Seed]:
    documents = "".join(f"<DOC>\n<DOCNO>{key}</DOCNO>\n<TEXT>{text}</TEXT>\n</DOC>\n" for key, text in TEXTS.items())
    topics = b"<top>\n<num> Number: 301\n<title> wine trade\n<desc> Description: How?\n</top>\n"
    files = {
        "set/docs.trec": documents.encode(),
        "set/topics.trec": topics,
        "set/qrels.txt": b"301 0 d1 1\n301 0 d2 0\n",
    }
    return [Seed(files, collection_commands("set"))]


def pairs_and_articles() -> list[Seed]:
    pairs = b"query,item,grade\nfor dessert,A sweet white wine.,2\nfor dessert,A red wine.,1\ntannic,A red wine.,1\n"
    articles = jsonl(
        [
            {"id": "a", "title": "Yquem", "text": "A sweet wine.", "labels": [{"id": "b", "grade": 2}, "c"]},
            {"id": "b", "title": "Tokaji", "sections": [["", "A wine of Hungary."], ["Grapes", "Furmint."]]},
            {"id": "c", "title": "Port", "text": "A fortified wine.", "labels": [{"text": "Tokaji"}]},
        ]
    )
    table = parquet({"id": ["a", "b"], "text": ["sweet wine", "red wine"], "labels": [["b"], []]})
    evalrank = {
        "set/pairs.tsv": b"It pours.\tHeavy rain.\nSun.\tA sunny day.\n",
        "set/background.txt": b"Snow.\nThe road.\n",
    }
    return [
        Seed({"pairs.csv": pairs}, collection_commands("pairs.csv")),
        Seed({"pairs.tsv": pairs.replace(b",", b"\t")}, collection_commands("pairs.tsv")),
        Seed({"set/test.jsonl": articles}, collection_commands("set")),
        Seed({"set/test.parquet": table}, collection_commands("set")),
        Seed(evalrank, collection_commands("set", "tfidf")),
    ]


def wiki_articles() -> list[Seed]:
    table = (
        "Title,Sections\nRatchet &amp; Clank,\"[('', 'A platform game.'), ('Plot', 'A robot.')]\"\n"
        "Jak and Daxter,\"[('', 'Another platform game.')]\"\n"
    )
    gold = {"Ratchet & Clank": {"Jak and Daxter": 1}}
    files = {"set/games.csv": table.encode(), "set/games_gold.json": json.dumps(gold).encode()}
    return [Seed(files, collection_commands("set"))]


def pickles() -> list[Seed]:
    table = wiki_articles()[0].files["set/games.csv"]
    gold = {"Ratchet & Clank": {"Jak and Daxter": 1}, "Jak and Daxter": {"Ratchet & Clank": 1}}
    return [
        Seed(
            {"set/games.csv": table, "set/games_gold.pkl": pickle.dumps(gold, protocol)},
            [["data", "check", "set"]],
            undamaged=frozenset({"set/games.csv"}),
        )
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    ] + [
        # These are the names in the repository of SDR.
        Seed(
            {"set/gt": pickle.dumps(gold), "run.json": json.dumps({query: list(gold) for query in gold}).encode()},
            [["data", "check", "set"], ["data", "check", "set/gt"], ["score", "set/gt", "run.json"]],
            undamaged=frozenset({"run.json"}),
        )
    ]
