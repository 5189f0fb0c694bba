"""Test reading tables of scores: all formats give the same table, filters select rows, and errors name the line."""

import json
import math

import pytest

from goldrank.analysis.meta import ScoreRow, Table, families_by_name, read_table
from goldrank.errors import InputError

ROWS = [("a", "mrr", 0.5, "intrinsic"), ("a", "acc", 0.75, "downstream"), ("b", "mrr", 0.25, "intrinsic")]
LOG = """log,model_id,model,level,similarity,run_dist_metric,post_processing,task_type,task,metric,value
l1,s1,glove.6B.50d.txt,sentence,cos,cos,none,evalrank,EvalRank,MRR,0.4
l1,s1,glove.6B.50d.txt,sentence,cos,cos,none,evalrank,EvalRank,MR,40
l1,s1,glove.6B.50d.txt,sentence,classifier,cos,none,downstream,CR,accuracy,70
l2,s2,glove.6B.50d.txt,sentence,cos,cos,whitening,evalrank,EvalRank,MRR,0.5
l2,s2,glove.6B.50d.txt,sentence,supervised,cos,whitening,similarity,STSB_Supervised,spearman,0.7
l3,s3,glove.6B.300d.txt,sentence,cos,cos,none,similarity,STS12,spearman,0.6
l4,w1,glove.6B.50d.txt,word,cos,cos,none,evalrank,EvalRank,MRR,0.1
"""


def written(tmp_path, suffix):
    names = ["model", "evaluator", "value", "kind"]
    records = [dict(zip(names, row, strict=True)) for row in ROWS]
    path = tmp_path / f"scores.{suffix}"
    if suffix == "json":
        path.write_text(json.dumps(records))
    elif suffix == "jsonl":
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    elif suffix == "parquet":
        pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pyarrow.Table.from_pylist(records), path)
    else:
        comma = {"csv": ",", "tsv": "\t"}[suffix]
        lines = [comma.join(map(str, row)) for row in [["Model", " evaluator", "value", "kind"], *ROWS]]
        path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    return path


@pytest.mark.parametrize("suffix", ["csv", "tsv", "json", "jsonl", "parquet"])
def test_every_format_reads_alike(tmp_path, suffix):
    table = read_table(written(tmp_path, suffix))
    assert (table.models, table.evaluators) == (["a", "b"], ["mrr", "acc"])
    assert table.column("mrr").tolist() == [0.5, 0.25]
    assert math.isnan(table.column("acc")[1])
    assert (table.of_kind("intrinsic"), table.of_kind("downstream"), table.missing) == (["mrr"], ["acc"], 1)


def test_empty_cells_are_missing_and_equal_repetitions_are_one_value(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("model,evaluator,value\na,x,1\na,x,1.0\nb,x,\nc,x,NaN\n")
    table = read_table(path)
    assert (table.models, table.missing) == (["a", "b", "c"], 2)


def test_a_log_names_variants_evaluators_kinds_and_what_is_better(tmp_path):
    path = tmp_path / "logs.csv"
    path.write_text(LOG)
    table = read_table(path, {"level": ["sentence"]})
    assert table.models == ["glove.6B.50d.txt", "glove.6B.50d.txt, whitening", "glove.6B.300d.txt"]
    assert table.of_kind("intrinsic") == ["EvalRank MRR", "EvalRank MR", "STS12 spearman"]
    assert table.of_kind("downstream") == ["CR accuracy"]
    assert "STSB_Supervised spearman" in table.evaluators
    assert table.lower == {"EvalRank MR"}
    assert read_table(path, {"level": ["sent*"], "metric": ["MRR", "accuracy"]}).evaluators == [
        "EvalRank MRR",
        "CR accuracy",
    ]


def test_runs_of_one_name_are_told_apart_by_their_labels(tmp_path):
    path = tmp_path / "logs.csv"
    lines = ["model,model_id,task,metric,value", "x,w1,EvalRank,MRR,0.1", "x,w2,EvalRank,MRR,0.2"]
    path.write_text("\n".join(lines))
    table = read_table(path)
    assert table.models == ["x, w1", "x, w2"]
    assert table.remarks == ("several runs are called x; their names were extended by their model id",)


def test_evaluators_are_chosen_by_name_first_words_or_pattern():
    names = ("MR accuracy", "MRPC accuracy", "MRPC f1", "MR")
    table = Table.of([ScoreRow("a", name, 1.0) for name in names], "t")
    assert table.select(["MR"]) == ["MR"]
    assert table.select(["MRPC"]) == ["MRPC accuracy", "MRPC f1"]
    assert table.select(["* accuracy", "MRPC"]) == ["MR accuracy", "MRPC accuracy", "MRPC f1"]


def test_a_family_is_a_name_without_sizes_and_versions():
    models = ["e5-small-v2", "e5-large-v2", "infersent-v1", "infersent-v2", "all-MiniLM-L6-v2", "all-MiniLM-L12-v2"]
    stems = ["e5", "e5", "infersent", "infersent", "all minilm", "all minilm"]
    assert list(families_by_name(models).values()) == stems
    assert families_by_name(["model-1", "model-2"]) == {"model-1": "model-1", "model-2": "model-2"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model,evaluator,value\na,x,1\na,y,high\n", r"t\.csv:3: the value 'high' is not a number"),
        ("model,evaluator,value\na,x,inf\n", r"t\.csv:2: the value 'inf' is infinite"),
        ("model,evaluator,value\na,x,1\nb,x,2\na,x,3\n", r"t\.csv:4: 'x' gives 'a' the value 3, but 1 at .*t\.csv:2"),
        ("model,evaluator,value\na,x\n", r"t\.csv:2: the row has 2 columns, the first one has 3"),
        ("model,evaluator,score\na,x,1\n", r"t\.csv:1: there is no column value"),
        ("model,evaluator,value\n,x,1\n", r"t\.csv:2: the model is missing"),
        ("model,evaluator,value,kind\na,x,1,outer\n", r"t\.csv:2: the kind 'outer' is neither"),
        (
            "model,evaluator,value,kind\na,x,1,intrinsic\nb,x,1,downstream\n",
            r"t\.csv:3: the kind of the evaluator 'x' is",
        ),
        ("model,model,value\na,x,1\n", "two columns are called 'model'"),
        ("model,evaluator,value\n", "holds no rows"),
        ("[1]", "1 is not a record"),
        (LOG, "logs of sentence and word level.*--where level=sentence"),
    ],
)
def test_a_bad_table_is_refused_with_its_line(tmp_path, text, message):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_table(path)


@pytest.mark.parametrize(
    ("where", "message"),
    [({"lvel": ["word"]}, "did you mean 'level'"), ({"level": ["wrd"]}, "no row has level=wrd.*'sentence', 'word'")],
)
def test_a_condition_that_fits_nothing_is_refused(tmp_path, where, message):
    path = tmp_path / "t.csv"
    path.write_text(LOG)
    with pytest.raises(InputError, match=message):
        read_table(path, where)
