"""Encoders: models from text to vectors or rankings, one module per kind, loaded from a spec string."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, Literal

from goldrank.encoders.base import Encoder, Fitted, Options, PairScorer, Searcher
from goldrank.errors import InputError, shorten, unknown_name
from goldrank.fusion import is_fusion
from goldrank.registry import Registry
from goldrank.specs import Spec

__all__ = [
    "KINDS",
    "Encoder",
    "Fitted",
    "ModelKind",
    "Options",
    "PairScorer",
    "Searcher",
    "Spec",
    "built_in_kind",
    "load",
    "searcher",
]


Access = Literal["local", "download", "hub", "network", "code"]
ACCESS: dict[Access, str] = {
    "local": "reads local files only and does not run code of others",
    "download": "downloads a model that is not a local folder; does not run code of it",
    "hub": "downloads a model that is not a local folder; code in a local folder, or with trust_remote_code=true, runs",
    "network": "sends texts, and a key if there is one, to the server that it names",
    "code": "runs the Python code that it names",
}


@dataclass(frozen=True)
class ModelKind:
    """A kind of model: where its code is, and its description for users."""

    module: str
    maker: str
    """The class or function of the module that turns a spec into a model."""
    summary: str
    install: str
    """The command that installs its packages; empty if goldrank itself does."""
    example: str
    access: Access = "local"
    """What it uses besides local files; data may name only models of the access ``local``."""

    def load(self, spec: Spec) -> Any:
        """Return the model of a spec of this kind."""
        return getattr(import_module(self.module), self.maker)(spec)


def built_in_kind(
    package: str, module: str, maker: str, summary: str, extra: str, example: str, access: Access = "local"
) -> ModelKind:
    """Return a kind of goldrank itself; its packages are those of *extra*, or none if that is empty."""
    install = f"pip install 'goldrank[{extra}]'" if extra else ""
    return ModelKind(f"goldrank.{package}.{module}", maker, summary, install, example, access)


_kind = partial(built_in_kind, "encoders")


_BUILT_IN: dict[str, ModelKind] = {
    "wordllama": _kind(
        "wordllama", "WordLlama", "static token vectors, 256 d; without a download", "models", "wordllama(dim=64)"
    ),
    "tfidf": _kind("tfidf", "Tfidf", "TF-IDF in any SMART weighting, sparse", "", "tfidf(preset=sdr)"),
    "lsa": _kind("lsa", "Lsa", "TF-IDF reduced by a singular value decomposition", "models", "lsa:128"),
    "bm25": _kind("bm25", "Bm25", "BM25 ranking by shared words, no vectors", "", "bm25(k1=0.9,b=0.4)"),
    "words": _kind(
        "words", "make_word_encoder", "mean or SIF of the vectors of a word file", "", "words:glove.6B.50d.txt"
    ),
    "doc2vec": _kind("doc2vec", "Doc2Vec", "PV-DBOW trained on the corpus", "doc2vec", "doc2vec:100(epochs=30)"),
    "st": _kind(
        "st", "SentenceTransformers", "any sentence-transformers model", "st", "st:BAAI/bge-base-en-v1.5", "hub"
    ),
    "flag": _kind("flag", "Flag", "BGE models through FlagEmbedding", "flag", "flag:BAAI/bge-base-en-v1.5", "hub"),
    "onnx": _kind("onnx", "Onnx", "an ONNX model with its tokenizer.json", "onnx", "onnx:models/minilm"),
    "model2vec": _kind(
        "model2vec", "Model2Vec", "static model2vec models", "model2vec", "model2vec:models/potion", "download"
    ),
    "vectors": _kind(
        "vectors", "PrecomputedVectors", "vectors made elsewhere, looked up by id or text", "", "vectors:items.npz"
    ),
    "openai": _kind(
        "openai",
        "OpenAi",
        "an OpenAI-compatible embeddings server",
        "",
        "openai:bge-m3@http://localhost:8000/v1",
        "network",
    ),
    "python": _kind(
        "function", "CallableEncoder", "your own function, texts to array", "", "python:mymodel:encode", "code"
    ),
    "run": _kind("run_file", "RunFile", "rankings made elsewhere, from a run file", "", "run:bm25.trec"),
    "search": _kind(
        "search_function", "SearchFunction", "your own search(query, k)", "", "search:mymodel:search", "code"
    ),
    "http": _kind(
        "http_search",
        "HttpSearch",
        "a live search server",
        "",
        "http:http://localhost:8000/search(results=hits)",
        "network",
    ),
    "random": _kind("random", "Random", "random unit vectors: the floor", "", "random:256"),
}
KINDS: Registry[ModelKind] = Registry("goldrank.encoders", ModelKind, _BUILT_IN)


def load(spec: str | Spec | Callable[..., Any] | object, **options: object) -> Encoder | Searcher:
    """Return the model of a spec, a function or an object; *options* are added to those of the spec.

    An object is called through its method that encodes, such as ``encode`` of a SentenceTransformer, or that searches,
    such as ``search`` or those of the retrievers of LangChain, LlamaIndex and Haystack. A function whose second
    parameter is ``k`` searches, any other encodes.

    >>> encoder = load("random:4", seed=7)
    >>> encoder.encode_items(["a", "b"]).shape
    (2, 4)
    >>> load("bm52")
    Traceback (most recent call last):
    goldrank.errors.UnknownNameError: there is no kind of model 'bm52'; did you mean 'bm25'? (goldrank list models)
    """
    if isinstance(spec, (Encoder, Searcher)):
        if options:
            raise InputError(
                "options cannot be given to a model that is already loaded", remedy="give them where it is loaded"
            )
        return spec
    if isinstance(spec, str) and is_fusion(spec):
        raise InputError(
            f"{shorten(spec)} is a fusion of runs, not one model", remedy="evaluate it with goldrank run -m fuse:…"
        )
    if isinstance(spec, (str, Spec)):
        parsed = (Spec.parse(spec) if isinstance(spec, str) else spec).updated(options)
        kind = KINDS.get(parsed.kind)
        if kind is None:
            raise unknown_name("kind of model", parsed.kind, KINDS, "goldrank list models")
        model: Encoder | Searcher = kind.load(parsed)
        return model
    if (vectors := _array_model(spec)) is not None:
        return vectors
    from goldrank.encoders import objects
    from goldrank.encoders.function import CallableEncoder, spec_of_function

    objects.refuse_class(spec, getattr(spec, "__name__", ""))
    objects.refuse_ambiguous(spec)
    encode = objects.encode_function_of(spec)
    if encode is None and (objects.search_function_of(spec) or (callable(spec) and objects.is_search_function(spec))):
        from goldrank.encoders.search_function import SearchFunction

        return SearchFunction(spec_of_function(spec, "search").updated(options), spec)
    function = encode or spec
    if not callable(function):
        is_index = callable(getattr(spec, "as_retriever", None))
        remedy = "give its retriever: as_retriever()" if is_index else objects.ACCEPTED
        raise InputError(f"a {type(spec).__name__} is not a model", remedy=remedy)
    return CallableEncoder(spec_of_function(spec).updated(options), function)


def _array_model(model: Any) -> Encoder | None:
    """Return the model of vectors in memory: a matrix or a list of rows, or a mapping with items and queries."""
    parts = model if isinstance(model, Mapping) else {"items": model}
    if set(parts) not in ({"items"}, {"items", "queries"}) or not all(map(_is_matrix, parts.values())):
        return None
    from goldrank.encoders.vectors import ArrayVectors

    return ArrayVectors(**parts)


def _is_matrix(part: Any) -> bool:
    """Return True for an array, a tensor or a data frame, and for a list of rows; ragged rows are refused later."""
    if isinstance(part, (list, tuple)):
        return bool(part) and all(isinstance(row, (list, tuple)) or hasattr(row, "__array__") for row in part)
    return hasattr(part, "__array__") and hasattr(part, "shape")


def searcher(model: Callable[..., Any] | object, document_id: str | Callable[[Any], Any] | None = None) -> Searcher:
    """Return a model that calls ``model(query, k)``, or the method of an object that searches.

    Args:
        model: Returns item ids in order, (id, score) pairs, a dict, or documents of another library.
        document_id: The field of documents that holds the ids of the items, or a function from a document to the id;
            by default the first one that holds ids of the evaluated items.

    >>> model = searcher(lambda query, k: ["d3", "d1"])
    >>> model.search(["q1"], ["which is best?"], 10)["q1"]
    {'d3': 10.0, 'd1': 9.0}
    """
    from goldrank.encoders.function import spec_of_function
    from goldrank.encoders.search_function import SearchFunction

    return SearchFunction(spec_of_function(model, "search"), model, document_id)
