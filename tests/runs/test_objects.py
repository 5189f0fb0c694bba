"""Test Python objects as models and as data: functions, encoders, searchers, and retrievers of other libraries."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

import goldrank as gr
from goldrank.errors import GoldrankError, InputError

CORPUS = {
    "barolo": "a red wine of Piedmont",
    "yquem": "a sweet white wine of Sauternes",
    "chess": "a board game of two players",
    "go": "a board game with stones",
}
QUERIES = {"q1": "sweet white wine", "q2": "stones on a board", "q3": "red wine"}
TASK = {"corpus": CORPUS, "queries": QUERIES, "qrels": {"q1": ["yquem"], "q2": ["go"], "q3": ["barolo"]}}
WORDS = sorted({word for text in (*CORPUS.values(), *QUERIES.values()) for word in text.split()})


def encode(texts):
    return np.array([[text.split().count(word) for word in WORDS] for text in texts], "f4")


def ranked(query, k):
    """Return the ids of the corpus by the number of shared words, best first."""
    shared = {item: len(set(query.split()) & set(text.split())) for item, text in CORPUS.items()}
    return sorted(CORPUS, key=lambda item: (-shared[item], item))[:k]


def mrr(model, task=TASK):
    return gr.evaluate(model, task, metrics="mrr").scores["mrr"].value


class Encodes:
    def encode(self, texts):
        return encode(texts)


class EncodesSides:
    """An encoder as in sentence-transformers 5, with separate methods for queries and documents."""

    def __init__(self):
        self.calls = []

    def encode(self, texts):
        raise AssertionError("the methods for each side are called instead")

    def encode_query(self, texts):
        self.calls.append("query")
        return encode(texts)

    def encode_document(self, texts):
        self.calls.append("document")
        return encode(texts)


class EncodesAsFlagEmbedding:
    """An encoder as in FlagEmbedding, which adds an instruction to queries only in `encode_queries`."""

    encode = EncodesSides.encode

    def encode_queries(self, texts):
        return encode(texts)

    def encode_corpus(self, texts):
        return encode(texts)


class Embeds:
    """An encoder as the embeddings of LangChain."""

    def embed_query(self, text):
        return encode([text])[0].tolist()

    def embed_documents(self, texts):
        return encode(texts).tolist()


class Searches:
    def search(self, query, k):
        return ranked(query, k)


@dataclass
class LangChainDocument:
    page_content: str
    metadata: dict = field(default_factory=dict)
    id: str | None = None


@dataclass
class Node:
    node_id: str
    text: str
    metadata: dict = field(default_factory=dict)


@dataclass
class NodeWithScore:
    node: Node
    score: float | None


@dataclass
class HaystackDocument:
    id: str
    content: str
    meta: dict = field(default_factory=dict)
    score: float | None = None


class Retriever:
    """A retriever as in LangChain; *make* is the function from an item id to a document."""

    def __init__(self, make, k=4):
        self.make, self.k = make, k

    def invoke(self, query):
        return [self.make(item) for item in ranked(query, self.k)]


class LlamaRetriever(Retriever):
    invoke = None

    def retrieve(self, query):
        return [self.make(item) for item in ranked(query, self.k)]


class HaystackRetriever(Retriever):
    invoke = None

    def run(self, query, top_k=None):
        return {"documents": [self.make(item) for item in ranked(query, self.k)]}


MODELS = {
    "function of texts": encode,
    "function of a query and k": ranked,
    "encode": Encodes(),
    "encode_query and encode_document": EncodesSides(),
    "encode_queries and encode_corpus": EncodesAsFlagEmbedding(),
    "embed_query and embed_documents": Embeds(),
    "search": Searches(),
    "langchain id": Retriever(lambda item: LangChainDocument(CORPUS[item], id=item)),
    "langchain metadata": Retriever(lambda item: LangChainDocument(CORPUS[item], {"source": item, "page": 3}, "uuid")),
    "langchain without ids": Retriever(lambda item: LangChainDocument(CORPUS[item])),
    "llama index": LlamaRetriever(lambda item: NodeWithScore(Node("uuid", CORPUS[item], {"doc_id": item}), None)),
    "haystack": HaystackRetriever(lambda item: HaystackDocument("hash", CORPUS[item], {"file_path": item}, None)),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_kind_of_object_is_a_model(name):
    assert mrr(MODELS[name]) == 1.0


def test_an_object_is_a_part_of_a_fusion_by_its_name_and_of_a_leaderboard(own_folder, store):
    (board,) = gr.run({"words": encode, "search": Searches(), "lexical": "bm25"}, [TASK], store, metrics="mrr")
    assert set(board.scores) == {"words", "search", "lexical"}
    assert sorted(run.key.rsplit("-", 2)[0] for run in store.list() if run.evaluated) == [
        "records-search",
        "records-words",
    ]
    assert gr.load_model(encode, name="words").spec == "words"


def test_two_objects_of_one_class_need_names(store):
    with pytest.raises(InputError, match=r"give different models of one class as \{name: model\}"):
        gr.run([Searches(), Searches()], [TASK], store)


@dataclass
class Page:
    page_content: str
    metadata: dict


def test_the_field_of_the_ids_can_be_named_or_computed():
    retriever = Retriever(lambda item: Page("…", {"where": {"file": f"{item}.md"}, "key": item, "source": "web"}))
    assert mrr(retriever) == 1.0  # recognised, because only `key` holds ids of items
    assert mrr(gr.load_model(retriever, id="key")) == 1.0
    by_function = gr.load_model(retriever, id=lambda page: page.metadata["where"]["file"].removesuffix(".md"))
    assert mrr(by_function) == 1.0
    with pytest.raises(InputError, match="the document has no uri"):
        mrr(gr.load_model(retriever, id="uri"))
    with pytest.raises(InputError, match=r"where is .*, not an id"):
        mrr(gr.load_model(retriever, id="where"))
    with pytest.raises(InputError, match="id has no effect on this model"):
        gr.load_model("bm25", id="key")


def test_documents_without_an_id_of_an_item_are_refused():
    retriever = Retriever(lambda item: LangChainDocument("a part of the text", {"source": f"/tmp/{item}"}))
    with pytest.raises(InputError, match="no field of the document holds the id of an item") as caught:
        mrr(retriever)
    assert "source=" in str(caught.value)
    assert "query 'q1': result 1" in str(caught.value)
    assert "gr.load_model(retriever, id=…)" in str(caught.value)
    mixed = Retriever(lambda item: LangChainDocument(CORPUS[item] if item == "yquem" else "changed"))
    with pytest.raises(InputError, match="is not that of one item, and the documents have no ids"):
        mrr(mixed)


def test_further_chunks_of_an_item_are_left_out_and_counted():
    class Chunks(Retriever):
        def invoke(self, query):
            return [LangChainDocument("part", {"source": item}) for item in ranked(query, 4) for _ in range(3)]

    result = gr.evaluate(Chunks(None), TASK, metrics="mrr")
    assert result.scores["mrr"].value == 1.0
    assert all(len(ranking) == 4 for ranking in result.run.values())
    assert any("24 results were further parts of items" in remark for remark in result.remarks)


def test_a_retriever_that_returns_few_results_is_said_to():
    result = gr.evaluate(Retriever(lambda item: LangChainDocument("", {"id": item}), k=2), TASK, metrics="mrr")
    assert any("returned at most 2 results for a query" in remark for remark in result.remarks)


def test_the_order_counts_where_scores_are_distances():
    class Distances:
        def search(self, query, k):
            return [(LangChainDocument("", {"id": item}), at / 10) for at, item in enumerate(ranked(query, k))]

    class Similarities:
        def search(self, query, k):
            return [(LangChainDocument("", {"id": item}), 1 - at / 10) for at, item in enumerate(ranked(query, k))]

    assert mrr(Distances()) == mrr(Similarities()) == 1.0
    assert list(gr.evaluate(Similarities(), TASK).run["q1"].values()) == [1.0, 0.9, 0.8, 0.7]
    assert list(gr.evaluate(Distances(), TASK).run["q1"].values()) == [4.0, 3.0, 2.0, 1.0]


def test_dicts_with_an_id_and_a_score_are_results():
    class Client:
        def search(self, query, k):
            return [{"id": item, "score": 1.0 / at, "payload": {}} for at, item in enumerate(ranked(query, k), 1)]

    assert mrr(Client()) == 1.0


def test_what_is_no_model_is_refused_with_what_is_accepted():
    class Both(Encodes, Searches):
        pass

    with pytest.raises(InputError, match="a Both both encodes and searches"):
        mrr(Both())
    with pytest.raises(InputError, match=r"a int is not a model; .*LangChain"):
        mrr(3)

    class Component:
        def run(self, query):
            return {"replies": []}

    with pytest.raises(InputError, match="the keys replies, and no documents"):
        mrr(Component())

    with pytest.raises(InputError, match=r"Searches is a class, not a model; give an object: Searches\(…\)"):
        mrr(Searches)
    with pytest.raises(GoldrankError, match="returned no matrix of numbers for 4 texts"):
        mrr(lambda texts: [[1.0] * (1 + at) for at, _ in enumerate(texts)])

    class Broken:
        def search(self, query, k):
            raise ConnectionError("no server")

    with pytest.raises(GoldrankError, match="query 'q1': the function failed: ConnectionError: no server"):
        mrr(Broken())


def test_objects_of_a_module_are_named_by_a_spec(own_folder, monkeypatch):
    (own_folder / "my_objects_1.py").write_text(
        "class Searches:\n    def search(self, query, k):\n        return ['yquem']\n"
        "class Encodes:\n    def encode(self, texts):\n        return [[len(text), 1.0] for text in texts]\n"
        "class Retriever:\n    def invoke(self, query):\n        return [{'key': 'yquem'}]\n"
        "searches, encodes, retriever = Searches(), Encodes(), Retriever()\n"
    )
    assert mrr("search:my_objects_1:searches") == pytest.approx(1 / 3)
    assert mrr("search:my_objects_1:retriever(id=key)") == pytest.approx(1 / 3)
    assert mrr("python:my_objects_1:encodes") > 0
    with pytest.raises(InputError, match="is not a function but Encodes"):
        mrr("search:my_objects_1:encodes")
    with pytest.raises(InputError, match="python:my_objects_1:Encodes is a class, not a model"):
        mrr("python:my_objects_1:Encodes")


@pytest.mark.parametrize("rows", [list, lambda matrix: matrix.tolist(), tuple, np.asarray])
def test_rows_of_vectors_in_any_container_are_a_model_and_grades_by_query_the_task(rows):
    items, queries = encode(CORPUS.values()), encode(QUERIES.values())
    model = {"items": rows(items), "queries": rows(queries)}
    assert mrr(model, {"0": {"1": 1}, "1": {"3": 1}, "2": {"0": 1}}) == 1.0
    assert mrr(model, {0: {1: 1.0}, 1: {3: 2}, 2: {0: 1}}) == 1.0
    assert mrr(rows(items), ["wine", "wine", "game", "game"]) == 1.0


def test_vectors_of_different_lengths_are_refused():
    with pytest.raises(InputError, match="array: the vectors are not rows of numbers of one length"):
        mrr([[1.0, 2.0], [3.0]], ["a", "a", "b"])


@pytest.mark.parametrize("form", ["lists", "tuple of lists", "frames", "polars", "series"])
def test_plain_data_in_memory_is_a_task(form):
    texts, queries = list(CORPUS.values()), list(QUERIES.values())
    if form in ("lists", "tuple of lists"):
        parts = (texts, queries, [[1], 3, [0]])
        task = parts if form.startswith("tuple") else dict(zip(("corpus", "queries", "qrels"), parts, strict=True))
    elif form == "series":
        pandas = pytest.importorskip("pandas")
        task = {**TASK, "corpus": pandas.Series(CORPUS), "queries": pandas.Series(QUERIES)}
    else:
        library = pytest.importorskip("pandas" if form == "frames" else "polars")
        task = {
            "corpus": library.DataFrame({"id": list(CORPUS), "text": texts}),
            "queries": library.DataFrame({"id": list(QUERIES), "text": queries}),
            "qrels": library.DataFrame({"query": list(QUERIES), "item": ["yquem", "go", "barolo"], "grade": [1, 1, 1]}),
        }
    assert mrr("tfidf", task) == mrr("tfidf") == 1.0


@pytest.mark.heavy
def test_a_sentence_transformer_in_memory_is_evaluated_again_after_training(own_folder, store):
    transformers = pytest.importorskip("sentence_transformers")
    torch = pytest.importorskip("torch")

    class Words(torch.nn.Module):
        """An encoder that counts words, with a weight for each."""

        def __init__(self):
            super().__init__()
            self.weights = torch.nn.Parameter(torch.ones(len(WORDS)))

        def tokenize(self, texts, **options):
            return {"counts": torch.tensor(encode(texts))}

        preprocess = tokenize

        def forward(self, features, **options):
            return {**features, "sentence_embedding": features["counts"] * self.weights}

    model = transformers.SentenceTransformer(modules=[Words()], device="cpu")
    assert mrr(model) == 1.0
    gr.run(model, [TASK], store)
    with torch.no_grad():
        model[0].weights[:] = 0.0
        model[0].weights[WORDS.index("a")] = 1.0
    assert mrr(model) < 1.0
    gr.run(model, [TASK], store)
    old, new = store.list()
    assert old.name == new.name
    assert old.run() != new.run()


@pytest.mark.heavy
def test_retrievers_of_langchain_are_models():
    pytest.importorskip("langchain_core")
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import RunnableLambda
    from langchain_core.vectorstores import InMemoryVectorStore

    class Words(Embeddings):
        def embed_query(self, text):
            return encode([text])[0].tolist()

        def embed_documents(self, texts):
            return encode(texts).tolist()

    class Ranked(BaseRetriever):
        def _get_relevant_documents(self, query, *, run_manager):
            return [Document(page_content="", metadata={"source": item}) for item in ranked(query, 4)]

    store = InMemoryVectorStore(Words())
    store.add_documents([Document(page_content=text, metadata={"source": item}) for item, text in CORPUS.items()])
    assert mrr(Words()) == mrr(store) == mrr(store.as_retriever()) == mrr(Ranked()) == 1.0
    assert mrr(InMemoryVectorStore.from_texts(list(CORPUS.values()), Words()).as_retriever()) == 1.0
    assert mrr(store.as_retriever() | RunnableLambda(lambda documents: documents[:1])) == 1.0
    result = gr.evaluate(store.as_retriever(search_kwargs={"k": 2}), TASK)
    assert any("returned at most 2 results" in remark for remark in result.remarks)


@pytest.mark.heavy
def test_retrievers_of_llama_index_are_models():
    pytest.importorskip("llama_index.core")
    from llama_index.core import Document, VectorStoreIndex
    from llama_index.core.embeddings import BaseEmbedding

    class Words(BaseEmbedding):
        def _get_query_embedding(self, query):
            return encode([query])[0].tolist()

        def _get_text_embedding(self, text):
            return encode([text])[0].tolist()

        async def _aget_query_embedding(self, query):
            return self._get_query_embedding(query)

    documents = [Document(text=text, doc_id=item) for item, text in CORPUS.items()]
    index = VectorStoreIndex.from_documents(documents, embed_model=Words())
    assert mrr(Words()) == mrr(index.as_retriever(similarity_top_k=4)) == 1.0
    with pytest.raises(InputError, match="a VectorStoreIndex is not a model; give its retriever"):
        mrr(index)


@pytest.mark.heavy
def test_retrievers_of_haystack_are_models(monkeypatch):
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")
    pytest.importorskip("haystack")
    from haystack import Document
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore()
    store.write_documents([Document(content=text, meta={"name": item}) for item, text in CORPUS.items()])
    assert mrr(InMemoryBM25Retriever(store)) == 1.0
    store = InMemoryDocumentStore()
    store.write_documents([Document(id=item, content=text) for item, text in CORPUS.items()])
    assert mrr(InMemoryBM25Retriever(store)) == 1.0
