"""Traps in collections of texts, vectors, rated pairs, labelled texts and masked examples."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping

import numpy as np

from benchmarks.traps.trap import Peers, Trap

_TOPICS = [
    ("red wine", "Red wine is made from dark grape varieties and takes its colour from the skins."),
    ("chess", "Chess is a board game for two players on a board of sixty-four squares."),
    ("glacier", "A glacier is a large body of dense ice that moves slowly under its own weight."),
    ("violin", "The violin is a wooden string instrument that is played with a bow."),
    ("volcano", "A volcano is a rupture in the crust through which lava, ash and gases escape."),
    ("honey bee", "Honey bees build nests of wax and store honey produced from nectar."),
    ("suspension bridge", "The deck of a suspension bridge hangs below cables on vertical suspenders."),
    ("photosynthesis", "Plants turn light, water and carbon dioxide into sugar and oxygen."),
    ("printing press", "The printing press transfers ink from movable type to paper."),
    ("tide", "Tides are the rise and fall of sea levels caused by the moon and the sun."),
    ("compass", "A compass needle aligns itself with the magnetic field of the earth."),
    ("sourdough", "Sourdough bread rises by the fermentation of wild yeast and lactic acid bacteria."),
]
DOCUMENTS = {f"d{number:02}": text for number, (_, text) in enumerate(_TOPICS)}
QUESTIONS = {f"q{number:02}": f"what is a {name}" for number, (name, _) in enumerate(_TOPICS)}
ANSWERS = {f"q{number:02}": {f"d{number:02}": 1} for number in range(len(_TOPICS))}
_RUN = "run -m bm25 -t data --metric ndcg@10"
_TEXTS = Peers(texts=True)


def _lines(texts: Mapping[str, str]) -> str:
    return "".join(json.dumps({"_id": name, "text": text}, ensure_ascii=False) + "\n" for name, text in texts.items())


def beir(
    documents: Mapping[str, str] = DOCUMENTS,
    questions: Mapping[str, str] = QUESTIONS,
    answers: Mapping[str, Mapping[str, float]] = ANSWERS,
) -> dict[str, str | bytes]:
    """A collection in the layout of BEIR."""
    rows = [f"{query}\t{item}\t{grade}\n" for query, judged in answers.items() for item, grade in judged.items()]
    return {
        "data/corpus.jsonl": _lines(documents),
        "data/queries.jsonl": _lines(questions),
        "data/qrels/test.tsv": "query-id\tcorpus-id\tscore\n" + "".join(rows),
    }


def _npy(array: object) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.asarray(array))
    return stream.getvalue()


def _vectors(items: object, queries: object, ids: int = len(DOCUMENTS)) -> dict[str, str | bytes]:
    return {
        **beir(),
        "items.npy": _npy(items),
        "items.ids": "".join(f"d{number:02}\n" for number in range(ids)),
        "queries.npy": _npy(queries),
        "queries.ids": "".join(f"{query}\n" for query in QUESTIONS),
    }


_SOUND = np.random.default_rng(5).normal(size=(len(DOCUMENTS), 8)).astype(np.float32)
_NAN, _ZERO = _SOUND.copy(), _SOUND.copy()
_NAN[3, 2] = np.nan
_ZERO[3] = 0
_RUN_VECTORS = 'run -m "vectors:items.npy(queries=queries.npy)" -t data --metric ndcg@10'

_NEAR = {name: text.replace("is", "was", 1) + " It is well known." for name, text in DOCUMENTS.items()}
_COPIES = {**DOCUMENTS, **{f"x{name[1:]}": text for name, text in DOCUMENTS.items()}}
_NEAR_COPIES = {
    **{name: text + " " + text.replace(".", ", as everybody learns at school.") for name, text in DOCUMENTS.items()},
    **{f"x{name[1:]}": text + " " + text.replace(".", ", as many people learn at school.")
       for name, text in DOCUMENTS.items()},
}  # fmt: skip
_ECHO = {f"q{name[1:]}": text for name, text in DOCUMENTS.items()}

_PAIRS = "text1\ttext2\tscore\n" + "".join(
    f"{text}\t{_NEAR[name]}\t{number % 5}\n" for number, (name, text) in enumerate(DOCUMENTS.items())
)
_LABELS = "text,label\n" + "".join(
    f'"{text}",{"yes" if number % 2 else "no"}\n' for number, text in enumerate(DOCUMENTS.values())
)

_PERSON = {
    "id": "1", "sequence_number": 0, "title": "Ada Lovelace", "type": "original", "size": 100,
    "texts": "<mask> wrote the first program. Later <mask> met Babbage.", "masks": ["Lovelace", "Ada Lovelace"],
}  # fmt: skip
_LEAK = {**_PERSON, "texts": "<mask> wrote the first program. Lovelace's notes on it made <mask> famous."}
_GUESSES = {"id": "1", "sequence_number": 0, "predictions": [["Ada"], ["Ada"]], "scores": [[0.9], [0.8]]}
_META = "model,evaluator,value,kind\n" + "".join(
    f"{model},{name},{value},{kind}\n"
    for name, kind, values in (("mrr", "intrinsic", (1, 2, 3, 4, 5)), ("accuracy", "downstream", (5, 7, 6, 9)))
    for model, value in zip("abcde", values, strict=False)
)


TRAPS = [
    Trap(
        "sound collection",
        "nothing is wrong with the collection (the control)",
        beir(),
        _RUN,
        "right",
        "0\\.8333",
        peers=Peers(texts=True, truth=1.0),
    ),
    Trap(
        "gold outside the collection",
        "gold names documents that the corpus lacks",
        beir(answers={**ANSWERS, "q03": {"missing": 1}}),
        _RUN,
        "warned",
        "1 gold item.* (outside|not in) the corpus",
        report="embeddings-benchmark/mteb#5170",
        peers=_TEXTS,
    ),
    Trap(
        "duplicated documents",
        "every document has a copy that is not gold",
        beir(_COPIES),
        _RUN,
        "warned",
        "12 items of 24 are a near-duplicate",
        report="CoIR-team/coir#18",
        peers=_TEXTS,
    ),
    Trap(
        "near-duplicates",
        "every document has a slightly edited copy that is not gold",
        beir(_NEAR_COPIES),
        _RUN,
        "warned",
        "12 items of 24 are a near-duplicate",
        report="microsoft/msmarco#8",
        peers=_TEXTS,
    ),
    Trap(
        "query is its answer",
        "each query is the text of its gold document",
        beir(questions=_ECHO),
        _RUN,
        "warned",
        "12 of 12 queries have the text of a relevant item",
        report="guilhermemr04/scaling-zero-shot-retrieval#1",
        peers=_TEXTS,
    ),
    Trap(
        "query is its answer, other case",
        "the same in upper case without punctuation",
        beir(questions={name: text.upper().strip(".") for name, text in _ECHO.items()}),
        _RUN,
        "warned",
        "12 of 12 queries have the text of a relevant item",
        report="guilhermemr04/scaling-zero-shot-retrieval#1",
        peers=_TEXTS,
    ),
    Trap(
        "answer contains the query's document",
        "each gold document quotes its query word for word",
        beir({name: f"Question: {QUESTIONS['q' + name[1:]]}? {text}" for name, text in DOCUMENTS.items()}),
        _RUN,
        "warned",
        "queries stand word for word in a relevant item",
        peers=_TEXTS,
    ),
    Trap(
        "document id twice",
        "two documents have the same id",
        {**beir(), "data/corpus.jsonl": _lines(DOCUMENTS) + _lines({"d00": "Another text."})},
        _RUN,
        "caught|warned",
        "d00.*twice|twice.*d00|repeated",
        report="castorini/pyserini#1902",
        peers=_TEXTS,
    ),
    Trap(
        "query id twice",
        "two queries have the same id",
        {**beir(), "data/queries.jsonl": _lines(QUESTIONS) + _lines({"q00": "another question"})},
        _RUN,
        "caught|warned",
        "q00.*twice|twice.*q00|repeated",
        report="kenn-io/msgvault#649",
        peers=_TEXTS,
    ),
    Trap(
        "empty documents",
        "two documents are empty, one of them gold",
        beir({**DOCUMENTS, "d00": "", "d99": " "}),
        _RUN,
        "warned",
        "ha(s|ve) an empty text",
        report="two documents of the Cranfield collection",
        peers=_TEXTS,
    ),
    Trap(
        "empty query",
        "one query has no text",
        beir(questions={**QUESTIONS, "q00": ""}),
        _RUN,
        "warned|caught",
        "ha(s|ve) an empty text",
        report="kenn-io/msgvault#649",
        peers=_TEXTS,
    ),
    Trap(
        "ids differ between corpus and gold",
        "the corpus writes 7, the gold 7.0",
        beir(
            {str(int(name[1:])): text for name, text in DOCUMENTS.items()},
            answers={query: {f"{int(query[1:])}.0": 1} for query in QUESTIONS},
        ),
        _RUN,
        "caught|warned",
        "12 of 12 gold pairs name an item that is not in the corpus",
        report="modelscope/evalscope#258",
        peers=_TEXTS,
    ),
    Trap(
        "wrong encoding of a collection",
        "the corpus is latin-1",
        {**beir(), "data/corpus.jsonl": _lines({**DOCUMENTS, "d00": "Café crème"}).encode("latin-1")},
        _RUN,
        "caught",
        "UTF-8",
        peers=_TEXTS,
    ),
    Trap(
        "NaN in a vector",
        "one component of one vector is NaN",
        _vectors(_NAN, _SOUND),
        _RUN_VECTORS,
        "caught",
        "row 3 .*is not finite",
        report="embeddings-benchmark/mteb#3030",
        peers=Peers(vectors=True),
    ),
    Trap(
        "zero vector",
        "one vector is zero, so its cosine is undefined",
        _vectors(_ZERO, _SOUND),
        _RUN_VECTORS,
        "warned|caught",
        "1 of 12 items have a vector of length 0",
        report="sklearn returns 0 for it",
        peers=Peers(vectors=True),
    ),
    Trap(
        "dimensions differ",
        "queries have 8 dimensions, items 6",
        _vectors(_SOUND[:, :6], _SOUND),
        _RUN_VECTORS,
        "caught",
        "queries have 8 dimensions and the items 6",
        peers=Peers(vectors=True),
    ),
    Trap(
        "fewer ids than vectors",
        "eleven ids for twelve vectors",
        _vectors(_SOUND, _SOUND, ids=len(DOCUMENTS) - 1),
        _RUN_VECTORS,
        "caught",
        "there are 11 ids for 12 vectors",
        peers=None,
    ),
    Trap(
        "rating is NaN",
        "a rated pair has no number",
        {"pairs.tsv": _PAIRS.replace("\t3\n", "\tnan\n", 1)},
        "run -m wordllama -t sentence-pairs:pairs.tsv",
        "caught",
        "pairs.tsv:5:.*(NaN|finite|nan)",
        peers=None,
    ),
    Trap(
        "constant ratings",
        "every pair has the same rating, so no correlation exists",
        {
            "pairs.tsv": "text1\ttext2\tscore\n"
            + "".join(f"{text}\t{_NEAR[name]}\t1\n" for name, text in DOCUMENTS.items())
        },
        "run -m wordllama -t sentence-pairs:pairs.tsv",
        "caught|warned",
        "all 12 scores are 1",
        peers=None,
    ),
    Trap(
        "one label only",
        "a labelled set has a single label: every classifier is perfect",
        {"labels.csv": _LABELS.replace(",yes", ",no")},
        "run -m wordllama -t probe:labels.csv",
        "caught",
        "have the label 'no'",
        peers=None,
    ),
    Trap(
        "name left in the text",
        "the masked person's surname still stands in the text",
        {"people.jsonl": json.dumps(_LEAK) + "\n"},
        "masked check people.jsonl",
        "warned",
        "1 chunks still contain the surname",
        report="98 of 374 chunks of a published sample",
        peers=None,
    ),
    Trap(
        "masks and names differ in number",
        "three names for two masks",
        {"people.jsonl": json.dumps({**_PERSON, "masks": ["Ada", "Ada", "Ada"]}) + "\n"},
        "masked check people.jsonl",
        "caught|warned",
        "more or fewer masks in the text than in",
        peers=None,
    ),
    Trap(
        "guesses and scores differ in number",
        "four guesses for five scores, as in a published example",
        {
            "people.jsonl": json.dumps(_PERSON) + "\n",
            "guesses.jsonl": json.dumps({**_GUESSES, "scores": [[0.9, 0.1], [0.8]]}) + "\n",
        },
        "masked score guesses.jsonl --data people.jsonl",
        "caught",
        "1 prediction for 2 scores",
        peers=None,
    ),
    Trap(
        "guesses for a page are missing",
        "one of two pages has no predictions",
        {
            "people.jsonl": json.dumps(_PERSON)
            + "\n"
            + json.dumps({**_PERSON, "id": "2", "title": "Alan Turing"})
            + "\n",
            "guesses.jsonl": json.dumps(_GUESSES) + "\n",
        },
        "masked score guesses.jsonl --data people.jsonl",
        "warned|caught",
        "2 of 4 masks have no prediction",
        peers=None,
    ),
    Trap(
        "gap in a table of models",
        "one model lacks its downstream score",
        {"scores.csv": _META},
        "meta scores.csv",
        "warned|caught",
        "the most is 4",
        peers=None,
    ),
]
