"""`goldrank data`: printed reports, written collections, and errors."""

import json
import subprocess
import sys

import pytest

from goldrank.cli.main import main
from goldrank.data.collections import read_collection

CORPUS = {"d1": "Grapes and sun.", "d2": "Games of dice.", "d3": "", "d4": "Grapes and sun."}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    collection = tmp_path / "set"
    (collection / "qrels").mkdir(parents=True)
    (collection / "corpus.jsonl").write_text(
        "".join(json.dumps({"_id": i, "text": t}) + "\n" for i, t in CORPUS.items())
    )
    (collection / "queries.jsonl").write_text(
        '{"_id": "q1", "text": "which grapes?"}\n{"_id": "q2", "text": "which dice?"}\n'
    )
    (collection / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td9\t2\n")
    (collection / "qrels" / "train.tsv").write_text("query-id\tcorpus-id\tscore\nq2\td2\t1\n")
    return tmp_path


@pytest.fixture
def sound(folder):
    corpus = folder / "set" / "corpus.jsonl"
    corpus.write_text("".join(corpus.read_text().splitlines(keepends=True)[:2]))
    (folder / "set" / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\n")
    return folder


def run(capsys, *arguments):
    code = main(["data", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_table_shows_counts_lengths_and_findings(folder, capsys):
    code, out, err = run(capsys, "check", "set")
    assert (code, err) == (0, "")
    for line in ("items 4", "queries 2", "queries with gold 1", "judged pairs 2", "split test (of test, train)"):
        assert line in " ".join(out.split())
    assert "words of   least   5%   25%   median   75%   95%   most" in out
    assert "1 gold pair whose item is not in the corpus: no model can find it. 'd9' for 'q1'" in " ".join(out.split())
    assert "1 item without any text." in out
    assert "'d4' is 'd1'" in out
    assert "0 errors, 4 warnings, 1 note." in out


def test_json_has_the_whole_report(folder, capsys):
    code, out, _ = run(capsys, "check", "set", "--format", "json", "--split", "train")
    report = json.loads(out)
    assert code == 0
    assert (report["split"], report["judged_pairs"], report["format"]) == ("train", 1, "beir")
    assert {finding["name"] for finding in report["findings"]} >= {"empty items", "identical items"}
    assert report["checksum"] == read_collection("set", split="train").checksum


def test_markdown_is_a_table_and_goes_to_a_file(folder, capsys):
    code, out, _ = run(capsys, "check", "set", "--format", "markdown", "-o", "report.md")
    assert (code, out) == (0, "")
    assert "| warning | 1 item without any text. | 'd3' |" in (folder / "report.md").read_text()


def test_strict_fails_on_warnings_and_any_check_on_errors(folder, capsys):
    assert run(capsys, "check", "set", "--strict")[0] == 1
    (folder / "set" / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td9\t1\n")
    code, out, _ = run(capsys, "check", "set")
    assert code == 1
    assert "error" in out


def test_a_sound_collection_passes_the_strict_check(sound, capsys):
    code, out, _ = run(capsys, "check", "set", "--strict")
    assert code == 0
    assert "No problems were found." in out


@pytest.mark.parametrize("to", ["beir", "trec", "pairs"])
def test_convert_writes_what_check_reads(sound, capsys, to):
    code, out, err = run(capsys, "convert", "set", "made", "--to", to)
    assert (code, err) == (0, "")
    assert out.startswith(f"made: 2 items, 2 queries, 2 judged pairs of the split test, as {to}.")
    assert run(capsys, "check", "made", "--collection-format", to, "--strict")[0] == 0
    assert len(read_collection("made", format=to).gold.items) == 2


def test_convert_reports_whether_the_result_is_complete(sound, capsys):
    assert "reads back without a difference" in run(capsys, "convert", "set", "made", "--to", "beir")[1]
    assert "reads back with differences" in run(capsys, "convert", "set", "other", "--to", "trec")[1]


WRONG = {
    "no path": (["check", "sett"], "sett: there is no such file or folder"),
    "no split": (["check", "set", "--split", "dev"], "there is no split 'dev'"),
    "no format": (["check", "set", "--collection-format", "bier"], "did you mean 'beir'"),
    "other format": (["check", "set", "--collection-format", "smart"], "set"),
    "exists": (["convert", "set", "set", "--to", "beir"], "exists already; add --overwrite"),
    "not related": (["convert", "set", "made", "--to", "articles"], "convert to beir"),
    "no layout": (["convert", "set", "made"], "--to"),
    "unknown layout": (["convert", "set", "made", "--to", "bier"], "did you mean 'beir'?"),
    "no action": ([], "check|convert"),
}


@pytest.mark.parametrize("case", WRONG)
def test_bad_input_is_one_sentence_and_exit_code_2(folder, capsys, case):
    arguments, message = WRONG[case]
    before = sorted(path.name for path in folder.iterdir())
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert sorted(path.name for path in folder.iterdir()) == before


def test_the_command_is_listed_and_runs_from_the_shell(folder):
    def shell(*arguments):
        command = [sys.executable, "-m", "goldrank", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    assert "check or convert a collection" in shell("--help")
    assert "goldrank data convert cran/ cran-beir --to beir" in shell("data", "--help")
    assert "4" in shell("data", "check", "set")


def test_check_prints_the_columns_and_the_first_query_with_its_gold_as_read(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    file = tmp_path / "faq.csv"
    file.write_text(f"question,answer,grade,year\nwhat is wine,water,0,1\nwhat is wine,{'grapes ' * 40},2,1\n")
    assert main(["data", "check", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "faq.csv: query = question, item = answer, grade = grade; ignored: year" in " ".join(printed.split())
    rows = printed[printed.index("first query") :].splitlines()
    assert [line.split(None, 3) for line in rows[2:5]] == [
        ["query", "q1", "what", "is wine"],
        ["grade", "2", "d2", rows[3].split(None, 3)[3]],
        ["grade", "0", "d1", "water"],
    ]
    assert rows[3].endswith("…")
    assert max(map(len, rows[:5])) <= 80


def test_check_shows_gold_that_is_not_in_the_corpus_and_counts_what_it_does_not_show(tmp_path, capsys):
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d", "text": "x"}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "y"}\n')
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(f"q\tgone{n}\t1\n" for n in range(5)))
    assert main(["data", "check", str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert "grade 1       gone0   (not in the corpus)" in printed
    assert "2 judged items more of this query." in printed


def test_check_refuses_data_that_is_measured_and_not_ranked(capsys):
    assert main(["data", "check", "sentence-pairs"]) == 2
    assert "nothing to rank; goldrank run -m MODEL -t sentence-pairs measures it" in capsys.readouterr().err
