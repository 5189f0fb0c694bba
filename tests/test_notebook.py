"""Test notebooks: every public call has HTML and text output, and the notebook of the docs runs."""

import re
import textwrap
from pathlib import Path

import pytest

import goldrank as gr
from docs_pages import DOCS

pytestmark = pytest.mark.slow

SETUP = """
    import goldrank as gr
    quick = gr.Bootstrap(resamples=200)
    gold = gr.Gold({"q1": {"d1": 1, "d3": 2}, "q2": {"d2": 1}, "q3": {"d1": 1}})
    first = gr.Run({"q1": {"d1": 0.9, "d2": 0.5}, "q2": {"d3": 0.8, "d2": 0.7}, "q3": {"d1": 0.3}})
    second = gr.Run({"q1": {"d3": 0.9, "d2": 0.5}, "q2": {"d2": 0.8}, "q3": {"d2": 0.3, "d1": 0.1}})
    many = {f"q{n}": ["d"] for n in range(10)}
    found = {query: {"d": n % 2, "e": 0.5} for n, query in enumerate(many)}
    parity = {query: "odd" if n % 2 else "even" for n, query in enumerate(many)}
    rows = [{"model": m, "evaluator": e, "value": i * f % 7} for i, m in enumerate("abcdefg")
            for e, f in (("sts", 1), ("mrr", 3), ("accuracy", 1))]
"""
# The call of each cell, which ends in the result.
CELLS = {
    "Gold": "gold",
    "Run": "first",
    "Hits": "first.hits(gold)",
    "score": 'gr.score(gold, first, ["mrr", "ndcg@10"], conventions={"ties": "expected"}, bootstrap=quick)',
    "score_hits": 'gr.score_hits(first.hits(gold), "mrr", bootstrap=quick)',
    "compare": 'gr.compare(gold, {"first": first, "second": second}, "mrr", bootstrap=quick)',
    "compare_hits": 'gr.compare_hits({"a": first.hits(gold), "b": second.hits(gold)}, "mrr", bootstrap=quick)',
    "compare_across": 'gr.compare_across({t: {"a": 0.9, "b": 0.8} for t in "xyz"}, resample_tasks=True)',
    "by_slice": 'gr.by_slice(gr.score(many, found, "mrr", bootstrap=quick), {"parity": parity})',
    "save_baseline": 'gr.save_baseline("baseline.json", first, "mrr", gold=gold)',
    "gate": 'gr.gate("baseline.json", second, gold=gold, cannot_tell="pass")',
    "diff": "gr.diff(first, second, bootstrap=quick)",
    "rbo": "gr.rbo(first, second, bootstrap=quick)",
    "explain": 'gr.explain("ndcg@10", profile="trec_eval")',
    "evaluate": 'gr.evaluate("random:8", "wines", metrics="mrr", limit=5)',
    "evaluate a measurement": 'gr.evaluate("random:8", "sentence-pairs")',
    "run": 'boards = gr.run(["bm25", "random:8"], "wines", limit=5, bootstrap=quick)\nboards',
    "run a measurement": 'gr.run("random:8", "sentence-pairs")["sentence-pairs"]',
    "sensitivity": 'gr.sensitivity("random:8", "wines", transforms=["none", "center"], bootstrap=quick, limit=5)',
    "audit": 'gr.audit(gr.load_data("wines"), "random:8", "HNSW4", metrics="mrr", bootstrap=quick)',
    "meta": 'gr.meta(rows, downstream=["accuracy"], bootstrap=quick)',
    "report": 'gr.report(boards, "report.md", worst=1, bootstrap=quick)',
    "plot": 'gr.plot(boards, "figures", figures=["rank-curve"])',
    "masked.predict": 'guesses = gr.masked.predict("persons", "names:majority", limit=5)\nguesses',
    "masked.score": "gr.masked.score(guesses, bootstrap=quick)",
    "build_index": 'gr.build_index({"a": "red wine", "b": "chess"}, "wordllama", "an.index")',
    "open_index": 'gr.open_index("an.index")',
    "search": 'gr.open_index("an.index").search_texts("wine", k=1)',
}
# Calls whose results a notebook shows as text: numbers, arrays, collections and models.
PLAIN = {
    "similarity": "gr.similarity([1, 0], [1, 1])",
    "exact_hits": 'gr.exact_hits([[1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]], {"0": {"1": 1}}).above',
    "load_data": 'gr.load_data("wines")',
    "load_model": 'gr.load_model("bm25")',
    "load_schema": 'gr.load_schema("score")["title"]',
    "Store": "len(gr.Store.open().list())",
}


def test_a_notebook_shows_the_result_of_every_public_call(own_folder, monkeypatch):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    cells = [textwrap.dedent(SETUP), *CELLS.values(), *PLAIN.values()]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    monkeypatch.setenv("PYTHONPATH", str(Path(gr.__file__).parents[1]))
    client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(own_folder)}})
    client.execute()
    _, *executed = notebook.cells
    for name, cell in zip([*CELLS, *PLAIN], executed, strict=True):
        (result,) = [output for output in cell.outputs if output.output_type == "execute_result"]
        assert result.data["text/plain"], name
        assert name in PLAIN or "<table>" in result.data["text/html"] or name == "explain", name
        assert name in PLAIN or "text/html" in result.data, name


def test_the_notebook_of_the_docs_runs_and_prints_the_scores_that_it_shows(own_folder, monkeypatch):
    """After a change of the output: `jupyter nbconvert --to notebook --execute --inplace docs/own-data.ipynb`."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(DOCS / "own-data.ipynb", as_version=4)
    numbers = _numbers(notebook)
    assert len(numbers) == 5
    assert "0.8750" in numbers[0]
    monkeypatch.setenv("PYTHONPATH", str(Path(gr.__file__).parents[1]))
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(own_folder)}}).execute()
    assert _numbers(notebook) == numbers
    assert "wordllama" in (own_folder / "report.html").read_text(encoding="utf-8")


def _numbers(notebook):
    """The scores in the result of each cell, in their order."""
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    texts = [output.data["text/plain"] for output in outputs if output.output_type == "execute_result"]
    return [re.findall(r"\d\.\d+", text) for text in texts]


def test_the_notebook_has_every_public_function():
    functions = {name for name in gr.__all__ if name.islower() and callable(getattr(gr, name))}
    functions |= {f"masked.{name}" for name in gr.masked.__all__ if name.islower()}
    assert functions <= {*CELLS, *PLAIN}
