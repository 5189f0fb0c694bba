"""gr.similarity: the code of the BGE similarity tutorial, shapes of the input, and errors."""

import importlib
import math

import numpy as np
import pytest

import goldrank as gr

A, B = [5, 2, 2, 6], [4, 6, 6, 4]
S1 = "Hawaii is a wonderful place for holiday"
S2 = "Peter's favorite place to spend his holiday is Hawaii"
S3 = "Anna enjoys baking during her holiday"
T1, T2 = "I will watch a show tonight", "I will show you my watch tonight"
T3 = "I'm going to enjoy a performance this evening"


def test_it_is_a_function_whatever_module_of_that_name_was_imported():
    for module in ("goldrank.vectors.similarity", "goldrank.tasks.similarity", "goldrank.cli.similarity_command"):
        importlib.import_module(module)
    assert gr.similarity([1, 0], [1, 0]) == 1.0


@pytest.mark.parametrize(("a", "b", "expected"), [(S1, S2, 1 / 3), (S1, S3, 1 / 12), (T1, T2, 5 / 8), (T1, T3, 1 / 13)])
def test_jaccard_of_the_sentences_of_the_tutorial(a, b, expected):
    assert gr.similarity(a, b, "jaccard") == expected
    assert gr.similarity(a.split(), b.split(), "jaccard") == expected
    assert gr.similarity(set(a.split()), frozenset(b.split()), "jaccard") == expected


def test_jaccard_of_token_ids():
    assert gr.similarity(np.array([1, 2, 3]), [3, 4, 5], "jaccard") == 1 / 5


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("kind", "expected"), [("dot", 68.0), ("inner_product", 68.0), ("cosine", 0.8027267), ("l2", 6.0827627), ("l1", 11)]
)
def test_row_vectors_of_the_tutorial_as_lists_arrays_and_tensors(kind, expected):
    torch = pytest.importorskip("torch")
    single = gr.similarity(np.array(A, np.float32), np.array(B, np.float32), kind)
    assert type(single) is float
    assert round(single, 7) == expected
    tensors = torch.tensor([A], dtype=torch.float32, requires_grad=True), torch.tensor([B], dtype=torch.float32)
    values = gr.similarity(*tensors, kind)
    assert values.shape == (1, 1)
    assert round(values.item(), 7) == expected
    halves = gr.similarity(torch.tensor(A, dtype=torch.bfloat16), torch.tensor(B, dtype=torch.bfloat16), kind)
    assert round(halves, 7) == expected
    assert gr.similarity(A, B, kind) == pytest.approx(expected, abs=3e-7)


@pytest.mark.parametrize(("cosine", "distance"), [(0.744664, 0.714613), (0.824088, 0.593147)])
def test_of_unit_vectors_the_distance_is_that_of_the_tutorial(cosine, distance):
    a, b = [1.0, 0.0], [cosine, math.sqrt(1 - cosine**2)]
    assert gr.similarity(a, b) == pytest.approx(cosine, abs=1e-12)
    assert gr.similarity(a, b, "euclidean") == pytest.approx(distance, abs=1e-6)
    assert gr.similarity(a, b, "l2") == pytest.approx(math.sqrt(2 - 2 * cosine), abs=1e-12)


def test_cosine_in_single_precision_never_leaves_its_range():
    rows = np.random.default_rng(0).normal(size=(500, 384)).astype(np.float32)
    values = gr.similarity(rows, rows, paired=True)
    assert values.dtype == np.float32
    assert values.max() <= 1
    assert gr.similarity(rows, -rows).min() >= -1


def test_matrices_give_all_pairs_and_paired_gives_row_pairs():
    assert gr.similarity([A, B], [A, B, A], "dot").tolist() == [[69, 68, 69], [68, 104, 68]]
    assert gr.similarity([A, B], [B, B], "dot", paired=True).tolist() == [68, 104]
    assert gr.similarity(A, [A, B], "dot").tolist() == gr.similarity([A, B], A, "dot").tolist() == [69, 68]


BAD = {
    "unknown": (
        (A, B, "cosin"),
        {},
        "there is no similarity 'cosin'; did you mean 'cosine'? (goldrank list similarities)",
    ),
    "texts": ((S1, S2), {}, "cosine compares vectors, and a text was given; encode the texts first, or use jaccard"),
    "ragged": (([[1, 2], [3]], [A]), {}, "the first set: the rows differ in length; give vectors of one dimension"),
    "dimensions": ((A, [1, 2]), {}, "the first set has vectors of 4 dimensions and the second of 2; encode both with"),
    "nan": ((A, [1, 2, 3, math.nan]), {}, "the second set: the vector of row 0 holds NaN or infinite values; remove"),
    "a number": ((3, 4), {}, "the first set: the vectors have 0 axes instead of 2; give one row per vector"),
    "pairs of one": (
        (A, [B]),
        {"paired": True},
        "row pairs need two matrices, and one vector was given; leave paired out",
    ),
    "pairs of texts": ((S1, S2, "jaccard"), {"paired": True}, "two sets of tokens, which have no rows to pair"),
    "other rows": (([A], [A, B]), {"paired": True}, "the first set has 1 rows and the second 2"),
    "nested tokens": (
        ([A], [B], "jaccard"),
        {},
        "jaccard compares sets of tokens, and [[5, 2, 2, 6]] was given; give a",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_compared_is_refused_in_one_sentence(case):
    arguments, options, message = BAD[case]
    with pytest.raises(gr.InputError) as caught:
        gr.similarity(*arguments, **options)
    assert message in str(caught.value)
