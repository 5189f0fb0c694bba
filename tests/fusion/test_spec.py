"""Test parsing, writing and errors of fusion specs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.errors import InputError
from goldrank.fusion import METHODS, NORMALISATIONS, Fusion, fuse, is_fusion
from goldrank.hits import Run


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fuse:rrf(bm25,wordllama)", Fusion("rrf", ("bm25", "wordllama"))),
        (
            "  Fuse: RRF ( bm25 , wordllama , k = 10, depth=100 ) ",
            Fusion("rrf", ("bm25", "wordllama"), k=10, depth=100),
        ),
        (
            "fuse:sum(bm25(k1=0.9, b=0.4)*0.3, st:BAAI/bge*0.7, normalise=zscore)",
            Fusion("sum", ("bm25(k1=0.9, b=0.4)", "st:BAAI/bge"), (0.3, 0.7), "zscore"),
        ),
        ("fuse:sum(bm25*2, tfidf)", Fusion("sum", ("bm25", "tfidf"), (2.0, 1.0))),
        (
            "fuse:borda(fuse:rrf(bm25,lsa:9,k=5)*0.5, st:x(query_prompt='a, b) c*2: '))",
            Fusion("borda", ("fuse:rrf(bm25,lsa:9,k=5)", "st:x(query_prompt='a, b) c*2: ')"), (0.5, 1.0)),
        ),
        ("fuse:rrf(run:a*b.run, run:c)", Fusion("rrf", ("run:a*b.run", "run:c"))),
        ("fuse:rrf('run:a,b''s.run'*2, run:c)", Fusion("rrf", ("run:a,b's.run", "run:c"), (2.0, 1.0))),
        ('fuse:rrf("run:x*2", vectors:a=b.npz)', Fusion("rrf", ("run:x*2", "vectors:a=b.npz"))),
        ("fuse:rrf(bm25)", Fusion("rrf", ("bm25",))),
    ],
)
def test_a_fusion_reads_as_meant_and_back(text, expected):
    assert Fusion.parse(text) == expected
    assert Fusion.parse(str(expected)) == expected
    assert is_fusion(text)


PARTS = st.one_of(
    st.sampled_from(["bm25", "bm25(k1=0.9,b=0.4)", "st:a/b(query_prompt='x, (y')", "run:*.run", "k=3", "a*2", "'q'"]),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=12).filter(str.strip),
    st.text("'\"(),*=a2 ", min_size=1, max_size=8).filter(str.strip),
)


@given(
    st.lists(st.tuples(PARTS, st.floats(0.001, 1e9)), min_size=1, max_size=4),
    st.booleans(),
    st.sampled_from(sorted(METHODS)),
    st.sampled_from([None, *NORMALISATIONS]),
    st.none() | st.integers(0, 10**6),
    st.none() | st.integers(1, 10**6),
    st.none() | st.floats(0.01, 0.99),
)
def test_any_fusion_reads_back_as_it_was_written(models, weighted, method, normalise, k, depth, number):
    allowed = METHODS[method].options
    fusion = Fusion(
        method,
        tuple(part for part, _ in models),
        tuple(weight for _, weight in models) if weighted else None,
        normalise if "normalise" in allowed else None,
        k if "k" in allowed else None,
        depth,
        number if "gamma" in allowed else None,
        number if "phi" in allowed else None,
    )
    assert Fusion.parse(str(fusion)) == fusion
    nested = Fusion("borda", (str(fusion), "bm25"))
    assert Fusion.parse(str(nested)) == nested


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fuse:rrf", "does not read as a fusion; write fuse:rrf(bm25, wordllama)"),
        ("fuse", "does not read as a fusion"),
        ("fuse(bm25,tfidf)", "does not read as a fusion"),
        ("fuse:rrf()", "a model is missing"),
        ("fuse:rrf(bm25,)", "a model is missing"),
        ("fuse:rrf(bm25,*2)", "a model is missing"),
        ("fuse:rrf(k=2)", "a model is missing"),
        ("fuse:rff(bm25)", "did you mean 'rrf'"),
        ("fuse:rrf(bm25,normalise=minmax)", "no scores to normalise"),
        ("fuse:sum(bm25,normalize=minmax)", "did you mean 'normalise'"),
        ("fuse:sum(bm25,normalise=max)", "no normalisation 'max'"),
        ("fuse:sum(bm25,k=60)", "sum has no k"),
        ("fuse:mnz(bm25,gamma=2)", "mnz has no gamma; leave gamma out, or choose gmnz"),
        ("fuse:rrf(bm25,phi=0.5)", "rrf has no phi; leave phi out, or choose rbc"),
        ("fuse:rbc(bm25,phi=1)", "phi=1.0 is not a number between 0 and 1"),
        ("fuse:gmnz(bm25,gamma=x)", "gamma='x' is not a number"),
        ("fuse:gmnz(bm25,gamma=-1)", "gamma=-1.0 is not a number between 0 and 100"),
        ("fuse:isr(bm25,normalise=minmax)", "no scores to normalise"),
        ("fuse:rrf(bm25,k=a)", "k='a' is not a whole number"),
        ("fuse:rrf(bm25,depth=0)", "depth=0"),
        ("fuse:sum(bm25*-1,tfidf)", "the weight -1.0"),
        ("fuse:sum(bm25*nan,tfidf)", "the weight nan"),
        ("fuse:sum(bm25*0,tfidf*0)", "all weights are 0"),
        ("fuse:rrf(bm25(k1=1,tfidf)", "brackets do not match"),
        ("fuse:rrf(bm25),tfidf)", "brackets do not match"),
        ("fuse:rrf(run:it's,tfidf)", "a quote ' is not closed"),
    ],
)
def test_an_invalid_fusion_is_refused_with_a_remedy(text, message):
    assert is_fusion(text)
    with pytest.raises(InputError) as caught:
        Fusion.parse(text)
    assert message in str(caught.value)


@pytest.mark.parametrize("text", ["bm25", "st:fuse", "run:fuse:rrf(a)", "fused:rrf(a)", ""])
def test_other_models_are_no_fusion(text):
    assert not is_fusion(text)


def test_a_fusion_fuses_as_it_says():
    runs = [Run({"q": {"a": 9.0, "b": 8.0}}), Run({"q": {"b": 0.5, "c": 0.4}})]
    fused = Fusion.parse("fuse:sum(one*0.2,other*0.8,normalise=rank,depth=2)").fuse(runs)
    assert fused == fuse(runs, "sum", weights=[0.2, 0.8], normalise="rank", depth=2)
    assert Fusion.parse("fuse:rrf(one,other,k=0)").fuse(runs) == fuse(runs, k=0)
    assert Fusion.parse("fuse:rbc(one,other,phi=0.5)").fuse(runs) == fuse(runs, "rbc", phi=0.5)
    assert Fusion.parse("fuse:gmnz(one,other,gamma=3)").fuse(runs) == fuse(runs, "gmnz", gamma=3)
    with pytest.raises(InputError, match="1 runs for 2 models"):
        Fusion.parse("fuse:rrf(one,other)").fuse(runs[:1])
