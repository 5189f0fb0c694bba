"""LaTeX tables of any data are ASCII, compile with pdfLaTeX and fit the width of the text."""

import re
import shutil
import subprocess

import pytest

import goldrank as gr
from goldrank.reporting.text.grids import Cell, Grid, render
from goldrank.reporting.text.latex import escape
from goldrank.reporting.text.views import view_of

HOSTILE = "α ≤ 5% & $x_1^2$ #{~} <|> \\end{table} “ÄÖß” žąđ 日本 ½ x² 🎉 ‖a‖"
MANY = Grid(
    ["[run", *(f"map(denominator=min)@{cut}↑" for cut in range(20))],
    [[Cell("[a] " + HOSTILE), *[Cell("0.5", "[0.1234, 0.4567]", "ᵃᵇ≈", best=True)] * 20]],
    title=HOSTILE,
    notes=[HOSTILE, "https://example.org/" + "a-long-path/" * 12],
)
PROSE = Grid(["metric", "what"], [[Cell("ndcg"), Cell("one of many words " * 20)]], text_columns=2)
NAMES = Grid(["run", "mrr↑"], [[Cell(name := "fuse:rrf(" + "bm25," * 40 + "tfidf)", name=name), Cell("0.5")]])


def tables():
    gold = {f"q{number}": {"d1": 1} for number in range(5)}
    runs = {name: {query: {"d1": 0.5, "d2": score} for query in gold} for name, score in (("a_b", 0.1), ("c&d", 0.9))}
    compared = gr.compare(gold, runs, "ndcg@10,mrr,map,recall@100,precision@10")
    return [view_of(compared).render("latex"), render([MANY, PROSE, NAMES], "latex")]


def test_latex_is_ascii():
    assert all(table.isascii() for table in tables())


@pytest.mark.parametrize(
    ("text", "expected"),
    [("α", r"$\alpha$"), ("Ω", r"$\Omega$"), ("é", r"\'{e}"), ("ï", r"\"{\i}"), ("x²", "x$^{2}$"), ("50%", r"50\%")],
)
def test_characters_have_commands(text, expected):
    assert escape(text) == expected


@pytest.mark.slow
def test_latex_compiles_and_fits_the_text(tmp_path):
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    body = "\n\\clearpage\n".join(tables())
    for size in ("", "[twocolumn]"):
        (tmp_path / "table.tex").write_text(
            f"\\documentclass{size}{{article}}\n\\usepackage{{booktabs,graphicx}}\n\\begin{{document}}\n{body}\n"
            "\\end{document}\n"
        )
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "table.tex"]
        process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, errors="replace")
        assert process.returncode == 0, process.stdout[-2000:]
        assert re.findall(r"^Overfull .*", process.stdout, re.MULTILINE) == []
