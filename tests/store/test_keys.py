"""Test that digests depend on the inputs only, and that keys are short, readable and unique."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.errors import InputError
from goldrank.store.keys import candidates, canonical_json, digest

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def shuffled(value):
    if isinstance(value, dict):
        return {key: shuffled(value[key]) for key in reversed(list(value))}
    return [shuffled(inner) for inner in value] if isinstance(value, list) else value


@given(st.dictionaries(st.text(), JSON, max_size=5))
def test_the_order_of_keys_does_not_count(inputs):
    assert digest(inputs) == digest(shuffled(inputs))


@given(st.dictionaries(st.text(), JSON, max_size=3), st.dictionaries(st.text(), JSON, max_size=3))
def test_inputs_have_one_digest_exactly_if_their_json_is_one(a, b):
    assert (digest(a) == digest(b)) == (canonical_json(a, "a") == canonical_json(b, "b"))


def test_numbers_of_other_types_and_neighbouring_floats_are_other_inputs():
    values = [1, 1.0, True, "1", None, [1], {"1": 1}, math.nextafter(1.0, 2.0), 0.1 + 0.2, 0.3]
    assert len({digest({"x": value}) for value in values}) == len(values)


def test_lone_surrogates_and_nul_have_a_digest():
    assert digest({"path": "a\udcff"}) != digest({"path": "a\x00"})


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"a": {1: 2}}, "inputs.a"),
        ({"a": [0, math.nan]}, r"inputs\.a\[1\]"),
        ({"a": -math.inf}, "inputs.a"),
        ({"a": np.float32(1)}, "inputs.a is of type float32"),
        ({"a": {1, 2}}, "inputs.a is of type set"),
        ({"a": b"x"}, "inputs.a is of type bytes"),
    ],
)
def test_what_json_cannot_hold_is_refused_with_its_place(value, place):
    with pytest.raises(InputError, match=place):
        digest(value)


@pytest.mark.parametrize(
    ("task", "model", "stem"),
    [
        ("wines", "wordllama", "wines-wordllama"),
        ("wines", "fuse:rrf(bm25,wordllama)", "wines-rrf-bm25-wordllama"),
        ("wines", "fuse:sum(bm25(k1=0.9,b=0.4),st:BAAI/bge-small,norm=minmax)", "wines-sum-bm25-st-bge-small"),
        ("wines", "fuse:rrf(bm25,wordllama) > overlap", "wines-rrf-bm25-wordllama-overlap"),
        ("wines", "fuse:rrf(bm25,it's", "wines-rrf-bm25-it-s"),
        ("cranfield", "st:BAAI/bge-base-en-v1.5(dim=256)", "cranfield-st-bge-base-en-v1-5"),
        ("persons", "llm:gpt-4o-mini@https://api.openai.com/v1", "persons-llm-gpt-4o-mini"),
        (
            "persons",
            "llm:gpt-4o-mini@https://ann:sk-1@host:8000/v1?api_key=sk-2(key=MY_KEY)",
            "persons-llm-gpt-4o-mini",
        ),
        ("persons", "llm:meta-llama/Llama-3.1-70B-Instruct", "persons-llm-meta-llama-llama-3-1-70b-instruct"),
        ("wines", "openai:bge-m3@http://localhost:8000/v1", "wines-openai-bge-m3"),
        ("./my-folder/", "vectors:/data/run 1/items.npy", "my-folder-vectors-items-npy"),
        ("C:\\data\\Weine & Käse", "bm25(k1=1.2)", "weine-kase-bm25"),
        ("日本", "模型", "task-model"),
    ],
)
def test_keys_read_like_the_task_and_the_model(task, model, stem):
    keys = list(candidates(task, model, "3f2a" * 16))
    assert keys[:2] == [f"{stem}-3f2a", f"{stem}-3f2a3f"]
    assert keys[-1] == f"{stem}-{'3f2a' * 16}"


@given(st.text(), st.text())
def test_any_names_give_a_key_that_can_be_typed_and_kept(task, model):
    for key in candidates(task, model, "0" * 64):
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", key)
        assert len(key) <= 32 + 1 + 64 + 1 + 64
