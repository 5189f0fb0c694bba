"""`score`, `compare`, `explain` and `list` with correct input, in every output format; and the help of all commands."""

import csv
import importlib
import io
import json
import shlex
import subprocess
import sys

import pytest

from goldrank import Run
from goldrank.cli.main import COMMANDS, main, version
from goldrank.metrics import REGISTRY

GOLD = "q1 0 d1 2\nq1 0 d2 0\nq1 0 d3 1\nq2 0 d4 1\nq3 0 d9 1\n"
LEXICAL = "q1 Q0 d2 1 3.5 lex\nq1 Q0 d1 2 3.0 lex\nq1 Q0 d7 3 1.0 lex\nq2 Q0 d8 1 2.0 lex\nq2 Q0 d4 2 1.0 lex\n"
DENSE = (
    "q1 Q0 d1 1 0.9 dense\nq1 Q0 d3 2 0.8 dense\nq2 Q0 d4 1 0.7 dense\nq3 Q0 d9 1 0.7 dense\nother Q0 d1 1 1 dense\n"
)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in (("qrels.txt", GOLD), ("lexical.run", LEXICAL), ("dense.run", DENSE)):
        (tmp_path / name).write_text(text)
    return ["qrels.txt", "lexical.run", "dense.run"]


def run(capsys, *arguments):
    code = main(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


def test_score_prints_means_counts_and_conventions(capsys, files):
    code, out, err = run(capsys, "score", *files, "-M", "mrr", "-M", "recall@1")
    assert (code, err) == (0, "")
    assert "mrr↑" in out
    assert "0.3333" in out  # lexical: 1/2, 1/2, 0
    assert "3 queries" in out
    assert "Standard conventions; --verbose shows all 13." in out
    assert "ties=docid" in run(capsys, "score", *files, "--verbose")[1]
    assert "lexical: 1 gold queries without results (scored 0)" in out
    assert "dense: 1 queries of the run not in the gold (ignored)" in out


def test_json_has_the_shape_that_programs_rely_on(capsys, files):
    code, out, _ = run(capsys, "score", *files, "-M", "ndcg@10", "--format", "json", "--per-query")
    content = json.loads(out)
    assert code == 0
    assert content["profile"] == "standard"
    assert content["conventions"]["ties"] == "docid"
    dense = content["runs"][1]
    assert (dense["name"], dense["queries"], dense["missing"]) == ("dense", 3, 0)
    assert dense["scores"]["ndcg@10"]["low"] <= dense["scores"]["ndcg@10"]["mean"] <= dense["scores"]["ndcg@10"]["high"]
    assert dense["per_query"]["q2"] == {"ndcg@10": 1.0}


def test_several_profiles_count_a_run_once_for_each_way_of_counting(capsys, files, monkeypatch):
    counted = []
    original = Run.hits

    def hits(self, gold, **how):
        counted.append((how["precision"], how["drop_self"], how["scores"]))
        return original(self, gold, **how)

    monkeypatch.setattr(Run, "hits", hits)
    code, out, _ = run(capsys, "score", *files[:2], "-M", "mrr", "--profiles", "standard,sdr,beir,trec_eval9")
    assert code == 0
    assert "Why they differ" in out
    assert sorted(counted) == sorted(set(counted))
    assert {precision for precision, *_ in counted} == {"float32", "float64"}


def test_csv_has_run_metric_interval_count_and_conventions_in_each_line(capsys, files):
    _, out, _ = run(capsys, "score", *files, "-M", "mrr", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["run"] for row in rows] == ["lexical", "dense"]
    assert float(rows[1]["value"]) == 1.0
    assert rows[0]["queries"] == "3"
    assert "ties=docid" in rows[0]["conventions"]


def test_per_query_csv_has_a_line_for_each_query(capsys, files):
    _, out, _ = run(capsys, "score", *files[:2], "-M", "mrr", "--format", "csv", "--per-query")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert {row["query"]: float(row["value"]) for row in rows} == {"q1": 0.5, "q2": 0.5, "q3": 0.0}


def test_per_query_has_the_short_form_of_trec_eval_and_ir_measures(capsys, files):
    short, long = (run(capsys, "score", *files[:2], "-M", "mrr", option) for option in ("-q", "--per-query"))
    assert short == long
    assert short[0] == 0


def test_a_metric_in_the_place_of_a_run_is_reported_with_the_option(capsys, files):
    assert run(capsys, "score", *files[:2], "nDCG@10") == (
        2, "", "goldrank: there is no run file 'nDCG@10'; write -M nDCG@10 if it is a metric\n",
    )  # fmt: skip


def test_markdown_and_latex_can_be_pasted(capsys, files):
    _, markdown, _ = run(
        capsys, "score", *files, "-M", "mrr", "-M", "mpr(over=list,unfound=last)", "--format", "markdown"
    )
    assert "| run | mrr↑ | mpr(over=list,unfound=last)↓ |" in markdown
    assert "**1.0000**" in markdown
    _, latex, _ = run(capsys, "score", *files, "-M", "hit_rate@1", "--format", "latex")
    assert r"hit\_rate@1$\uparrow$" in latex
    assert latex.count(r"\toprule") == latex.count(r"\end{table}") == 1


def test_no_interval_skips_the_bootstrap(capsys, files, monkeypatch):
    monkeypatch.setattr("goldrank.stats.intervals", None)
    code, out, _ = run(capsys, "score", *files[:2], "-M", "mrr", "--no-interval")
    assert code == 0
    assert "[" not in out.splitlines()[2]


def test_output_is_written_to_a_file_atomically(capsys, files, tmp_path):
    code, out, _ = run(capsys, "score", *files, "-M", "mrr", "--format", "json", "-o", "scores.json")
    assert (code, out) == (0, "")
    assert json.loads((tmp_path / "scores.json").read_text())["runs"][0]["name"] == "lexical"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*files, "scores.json"])


def test_profiles_side_by_side_name_the_convention_that_changes_each_score(capsys, files):
    options = ["-M", "mrr", "-M", "recall@1", "--profiles", "standard,bge,trec_eval", "--no-interval"]
    code, out, _ = run(capsys, "score", *files[:2], *options)
    assert code == 0
    assert "· mrr, trec_eval: missing zero → skip (+0.1667)" in out
    assert "recall cap none → k" not in out  # without a relevant item at rank 1 the cap changes nothing


def test_profiles_that_agree_are_reported(capsys, files):
    _, out, _ = run(capsys, "score", *files, "-M", "precision@1", "--profiles", "standard,bge", "--no-interval")
    assert "The profiles agree on this run." in out


def test_compare_states_whether_a_difference_is_significant(capsys, files):
    code, out, _ = run(capsys, "compare", *files, "-M", "mrr")
    assert code == 0
    warning, empty, verdict, *_ = out.splitlines()
    assert warning.startswith(
        "Warning: The runs do not answer the same queries, which count as 0: lexical lacks 1 ('q3')"
    )
    assert empty == ""
    assert verdict.startswith("lexical answered 2 of 3 queries. So it is not compared: say how missing queries count")
    _, out, _ = run(capsys, "compare", *files, "-M", "mrr", "--missing", "zero")
    broken, verdict = out.splitlines()[2:4]
    assert broken == "lexical answered 2 of 3 queries; missing queries count as 0."
    assert verdict.startswith("dense and lexical cannot be told apart on mrr: 1.0000 vs 0.3333, difference 0.6667 [")
    assert "p = 0.250 (paired randomisation, Holm)" in verdict
    assert "W/T/L" in out
    assert "3/0/0" in out


def test_compare_in_json_and_csv(capsys, files):
    _, out, _ = run(capsys, "compare", *files, "-M", "mrr", "--format", "json")
    (pair,) = json.loads(out)["comparison"]["pairs"]
    assert (pair["a"], pair["b"], pair["p"], pair["wins"]) == ("lexical", "dense", 0.25, 3)
    assert pair["better"] is None
    _, out, _ = run(capsys, "compare", *files, "-M", "mrr", "--format", "csv")
    (row,) = csv.DictReader(io.StringIO(out))
    assert float(row["difference"]) == pytest.approx(2 / 3)


def test_compare_marks_significant_differences(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    queries = [f"q{i}" for i in range(20)]
    (tmp_path / "g").write_text("".join(f"{q} 0 right 1\n" for q in queries))
    (tmp_path / "good.run").write_text("".join(f"{q} Q0 right 1 2 x\n{q} Q0 wrong 2 1 x\n" for q in queries))
    (tmp_path / "bad.run").write_text("".join(f"{q} Q0 wrong 1 2 x\n{q} Q0 right 2 1 x\n" for q in queries))
    code, out, _ = run(capsys, "compare", "g", "bad.run", "good.run", "-M", "mrr", "-M", "mean_rank")
    assert code == 0
    assert "good is better than bad on mrr: 1.0000 vs 0.5000, difference 0.5000" in out
    assert "good is better than bad on mean_rank: 1.00 vs 2.00, difference 1.00" in out
    assert "1.0000ᵃ" in out


def test_compare_without_missing_queries_names_how_many_are_left_out(capsys, files):
    code, out, _ = run(capsys, "compare", *files, "-M", "mrr", "--missing", "skip")
    assert code == 0
    assert out.startswith("lexical answered 2 of 3 queries; missing queries are left out for every run.\n")
    assert "Only the queries that every run answers: 1 left out." in out
    code, _, err = run(capsys, "compare", *files, "-M", "mrr", "--profile", "trec_eval")
    assert (code, "--missing skip" in err) == (2, True)


def test_compare_names_the_run_that_shares_no_query_with_the_gold(capsys, files, tmp_path):
    (tmp_path / "upper.run").write_text(LEXICAL.replace("q1", "Q1").replace("q2", "Q2"))
    code, _, err = run(capsys, "compare", *files, "upper.run", "-M", "mrr")
    assert code == 2
    assert err.startswith("goldrank: upper: no query of the run is in the gold (the run has 'Q1', the gold 'q1')")


@pytest.mark.parametrize("metric", ["ndcg@10", "mpr", "iprec@0.1", "infap", "num_q"])
def test_explain_prints_definition_formula_and_tools(capsys, metric):
    code, out, _ = run(capsys, "explain", metric)
    assert code == 0
    assert "range" in out
    assert "source:" in out


def test_explain_ndcg_distinguishes_an_error_of_the_tutorial_from_a_convention(capsys):
    _, out, _ = run(capsys, "explain", "ndcg@10", "--profile", "bge")
    assert "document ids passed as scores" in " ".join(out.split())
    assert "gain = linear | exp | binary (here: linear)" in out


@pytest.mark.parametrize("metric", REGISTRY)
def test_every_metric_is_explained_without_a_cutoff(capsys, metric):
    code, out, err = run(capsys, "explain", metric)
    assert (code, err) == (0, "")
    assert REGISTRY[metric].title in out


def test_explain_set_f_says_that_the_parameter_of_trec_eval_is_beta_squared(capsys):
    _, out, _ = run(capsys, "explain", "set_f")
    assert "beta squared: set_F.4 is set_f(beta=2)" in out
    assert "SetF(beta=4) is set_f(beta=2)" in " ".join(out.split())


def test_explain_lists_the_names_of_other_tools(capsys):
    _, out, _ = run(capsys, "explain", "ndcg")
    assert "ndcg_burges is ndcg(gain=exp)" in out


@pytest.mark.parametrize("command", ["score", "compare"])
def test_the_relevance_level_acts_on_all_metrics_and_is_shown(capsys, files, command):
    options = ["-M", "recall@10", "-M", "recall(rel=1)@10", "-M", "ndcg@10"]
    code, plain, _ = run(capsys, command, *files, *options, "--format", "json")
    assert code == 0
    code, raised, _ = run(capsys, command, *files, *options, "-l", "2", "--format", "json")
    assert code == 0
    assert json.loads(raised)["conventions"]["relevance_level"] == 2
    assert json.loads(plain)["conventions"]["relevance_level"] is None
    _, table, _ = run(capsys, command, *files, *options, "--relevance-level", "2")
    assert "relevance_level=2" in table
    if command == "score":
        means = [json.loads(out)["runs"][1]["scores"] for out in (plain, raised)]
        # Of the gold of the three queries only d1 has grade 2.
        assert means[0]["recall@10"]["mean"] == 1.0
        assert means[1]["recall@10"]["mean"] == pytest.approx(1 / 3)
        for metric in ("recall(rel=1)@10", "recall(rel=1.0)@10", "ndcg@10"):
            assert means[0].get(metric) == means[1].get(metric)


def test_queries_without_an_item_of_the_relevance_level_are_counted(capsys, files):
    _, out, _ = run(capsys, "score", *files, "-M", "map", "-l", "2")
    assert "2 queries with nothing relevant" in out


@pytest.mark.parametrize("level", ["0", "-1", "nan", "inf"])
def test_a_relevance_level_that_is_no_grade_above_0_is_refused(capsys, files, level):
    code, _, err = run(capsys, "score", *files, f"--relevance-level={level}")
    assert code == 2
    assert "is not a grade above 0" in err


def test_explain_in_json(capsys):
    _, out, _ = run(capsys, "explain", "recall@5", "--profile", "bge", "--format", "json")
    (entry,) = json.loads(out)["explanations"]
    assert entry["parameters"]["cap"]["value"] == "k"


@pytest.mark.parametrize(
    "what",
    ["tasks", "collections", "metrics", "profiles", "conventions", "formats", "models", "transforms", "similarities"],
)
@pytest.mark.parametrize("look", ["table", "json", "csv", "markdown", "latex"])
def test_list_prints_every_list_in_every_format(capsys, what, look):
    code, out, err = run(capsys, "list", what, "--format", look)
    assert (code, err) == (0, "")
    assert len(out.splitlines()) > 5


def test_standard_input_can_be_the_run(files, tmp_path):
    command = [sys.executable, "-m", "goldrank", "score", "qrels.txt", "-", "-M", "mrr", "--format", "json"]
    process = subprocess.run(command, input=DENSE.encode(), capture_output=True, check=True, cwd=tmp_path)
    assert json.loads(process.stdout)["runs"][0]["scores"]["mrr"]["mean"] == 1.0


def test_a_closed_pipe_prints_no_error(files, tmp_path):
    command = f"{sys.executable} -m goldrank list metrics --format json | head -c 1"
    process = subprocess.run(["bash", "-c", command], capture_output=True, check=True, cwd=tmp_path)
    assert process.stderr == b""


def test_version_states_whether_compiled_code_is_used():
    numpy_only = subprocess.run(
        [sys.executable, "-m", "goldrank", "--version"],
        capture_output=True, check=True, text=True, env={"GOLDRANK_NO_NATIVE": "1", "PATH": ""},
    )  # fmt: skip
    assert "numpy only" in numpy_only.stdout
    assert version().startswith("goldrank ")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(capsys, command):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    assert "examples:" in capsys.readouterr().out


def test_help_lists_every_command(capsys):
    code, out, _ = run(capsys, "--help")
    assert code == 0
    assert all(f"  {command}" in out for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_parsers_accept_the_examples_of_the_help(command):
    def parser(name):
        return importlib.import_module(f"goldrank.cli.{name}_command").build_parser()

    examples = [shlex.split(line) for line in parser(command).epilog.splitlines() if line.startswith("  ")]
    assert [words[1] for words in examples].count(command) > 1
    for program, name, *arguments in examples:
        assert program == "goldrank"
        # An unknown option raises SystemExit, and a word that the parser drops is missing from the parsed values.
        parsed = " ".join(map(str, vars(parser(name).parse_args(arguments)).values()))
        assert all(word in parsed for word in arguments if not word.startswith("-")), arguments
