"""Diversity metrics compared with ndeval, through pyndeval and ir_measures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import goldrank as gr
from profiles import examples

pytestmark = pytest.mark.oracle

ITEMS = [f"d{i}" for i in range(10)]
NAMES = [
    "alpha_nDCG@5", "alpha_nDCG@20", "alpha_nDCG(alpha=0.25)@10", "alpha_DCG@5", "alpha_DCG@20", "ERR_IA@5",
    "ERR_IA@20", "nERR_IA@5", "nERR_IA@20", "NRBP", "NRBP(alpha=0.75,beta=0.25)", "nNRBP", "AP_IA", "P_IA@5", "P_IA@20",
    "StRecall@1", "StRecall@5", "StRecall@20",
]  # fmt: skip
NDEVAL = {"alpha-nDCG@20": "alpha_nDCG@20", "ERR-IA@5": "ERR_IA@5", "nERR-IA@20": "nERR_IA@20", "MAP-IA": "AP_IA",
          "P-IA@5": "P_IA@5", "strec@5": "StRecall@5", "alpha-DCG@5": "alpha_DCG@5"}  # fmt: skip


@st.composite
def collections(draw):
    grades = st.dictionaries(st.sampled_from(["1", "2", "3", "4"]), st.integers(0, 2), min_size=1)
    gold, run = {}, {}
    for query in ("1", "2"):
        gold[query] = draw(st.dictionaries(st.sampled_from(ITEMS), grades, min_size=1))
        gold[query][draw(st.sampled_from(ITEMS))] = {"2": 1}
        ranking = draw(st.permutations(ITEMS))[: draw(st.integers(1, len(ITEMS)))]
        run[query] = {item: float(len(ranking) - place) for place, item in enumerate(ranking)}
    return gold, run


@given(collections())
@examples(0.8)
def test_every_metric_of_diversity_equals_ndeval_under_its_own_name(case):
    ir_measures = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
    pytest.importorskip("pyndeval", reason="pyndeval is not installed")
    gold, run = case
    rows = [
        ir_measures.Qrel(query, item, grade, subtopic)
        for query, items in gold.items()
        for item, grades in items.items()
        for subtopic, grade in grades.items()
    ]
    ours = gr.score(gold, run, [*NAMES, *NDEVAL])
    for name in NAMES:
        # One at a time: with several values of alpha at once, ir_measures gives 0 for all but the first.
        for entry in ir_measures.iter_calc([ir_measures.parse_measure(name)], rows, run):
            assert ours[name].per_query[entry.query_id] == pytest.approx(entry.value, abs=1e-9), name
    for name, same in NDEVAL.items():
        assert ours[name].per_query == ours[same].per_query
