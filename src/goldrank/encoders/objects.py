"""Objects of other libraries as models: find the method that encodes or searches, without importing the library."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from goldrank.encoders.base import Side
from goldrank.errors import InputError
from goldrank.io.arrays import as_array

ACCEPTED = (
    "give a spec string, a function of texts, a function of (query, k), an object with encode(texts) or "
    "search(query, k), a retriever of LangChain, LlamaIndex or Haystack, or a matrix of vectors with a row for each "
    'item ({"items": matrix, "queries": matrix} if queries have vectors of their own)'
)
_SEARCH_PARAMETERS = ("k", "top_k", "n", "limit", "num_results")


def encode_function_of(model: Any) -> Callable[[list[str], Side], Any] | None:
    """Return a function of texts and side that calls the methods of *model* which encode; None if it has none.

    These are ``encode_query`` and ``encode_document`` (sentence-transformers) or ``encode_queries`` and
    ``encode_corpus`` (FlagEmbedding), and ``encode`` for a side that has none; ``embed_query`` and ``embed_documents``
    (LangChain); or ``get_query_embedding`` and ``get_text_embedding_batch`` (LlamaIndex).
    """
    query = _first_method(model, "encode_query", "encode_queries", "encode")
    item = _first_method(model, "encode_document", "encode_corpus", "encode")
    if query is not None and item is not None:
        methods = {"query": query, "item": item}
        return lambda texts, side: _array(methods[side](texts))
    for one_query, many_items in (
        ("embed_query", "embed_documents"),
        ("get_query_embedding", "get_text_embedding_batch"),
    ):
        query, item = _first_method(model, one_query), _first_method(model, many_items)
        if query is not None and item is not None:
            return _by_single_queries(query, item)
    return None


def _first_method(model: Any, *names: str) -> Callable[..., Any] | None:
    methods = (getattr(model, name, None) for name in names)
    return next((method for method in methods if callable(method)), None)


def _by_single_queries(query: Callable[[str], Any], items: Callable[[list[str]], Any]) -> Callable[..., Any]:
    def encode(texts: list[str], side: Side) -> Any:
        return np.asarray([query(text) for text in texts] if side == "query" else items(texts))

    return encode


def _array(vectors: Any) -> Any:
    """Return a tensor, or a list of tensors, as an array; other vectors as they are."""
    if isinstance(vectors, (list, tuple)) and vectors and hasattr(vectors[0], "detach"):
        return np.stack([as_array(vector) for vector in vectors])
    return as_array(vectors)


def search_function_of(model: Any) -> Callable[[str, int], Any] | None:
    """Return a function of a query and k that calls the method of *model* which searches; None if it has none.

    These are ``similarity_search`` (a vector store of LangChain), ``invoke`` (its retrievers and chains), ``retrieve``
    (LlamaIndex), ``run(query=…)`` (Haystack) and ``search``. Retrievers return as many results as they are set to.
    """
    for name, call in _SEARCH_METHODS.items():
        method = getattr(model, name, None)
        if callable(method) and (name != "run" or _has_parameter(method, "query")):
            return partial(call, method)
    method = getattr(model, "search", None)
    return method if callable(method) else None


_SEARCH_METHODS: dict[str, Callable[[Callable[..., Any], str, int], Any]] = {
    "similarity_search": lambda method, query, k: method(query, k=k),
    "invoke": lambda method, query, k: method(query),
    "retrieve": lambda method, query, k: method(query),
    "run": lambda method, query, k: _haystack_documents(method(query=query)),
}


def decides_depth(model: Any) -> bool:
    """Return True if a retriever returns as many results as it is set to, whatever number is wanted."""
    return not callable(getattr(model, "similarity_search", None)) and any(
        callable(getattr(model, name, None)) for name in ("invoke", "retrieve", "run")
    )


def _haystack_documents(answer: Any) -> Sequence[Any]:
    documents = answer.get("documents") if isinstance(answer, dict) else None
    if documents is None:
        keys = f"the keys {', '.join(map(str, answer))}" if isinstance(answer, dict) else f"a {type(answer).__name__}"
        raise InputError(f"run(query=…) returned {keys}, and no documents", remedy="give the retriever of the pipeline")
    return documents  # type: ignore[no-any-return]


def is_search_function(function: Callable[..., Any]) -> bool:
    """Return True if a function is one of a query and the number of results, and not one of texts and a side.

    >>> is_search_function(lambda query, k: []), is_search_function(lambda texts, side: [])
    (True, False)
    """
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return False
    return len(names) > 1 and names[1] in _SEARCH_PARAMETERS


def _has_parameter(method: Callable[..., Any], name: str) -> bool:
    try:
        return name in inspect.signature(method).parameters
    except (TypeError, ValueError):
        return False


def refuse_class(model: Any, written: str) -> None:
    """Raise InputError for a class, which is given by mistake for an object of it."""
    if isinstance(model, type):
        raise InputError(f"{written} is a class, not a model", remedy=f"give an object: {model.__name__}(…)")


def refuse_ambiguous(model: Any) -> None:
    """Raise InputError for an object that both encodes and searches."""
    if encode_function_of(model) is not None and search_function_of(model) is not None:
        name = type(model).__name__
        raise InputError(
            f"a {name} both encodes and searches",
            remedy="give the method that is to be evaluated, such as model.encode or model.search",
        )
