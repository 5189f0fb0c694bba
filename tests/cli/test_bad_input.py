"""Invalid input on the command line gives one sentence and exit code 2, and nothing is written."""

import gzip

import pytest

from goldrank.cli.main import main

GOLD = b"q1 0 d1 1\nq2 0 d2 1\n"
RUN = b"q1 Q0 d1 1 2.5 tag\nq2 Q0 d2 1 1.5 tag\n"
LONG = b"x" * 10_000_000

# name: (gold bytes, run bytes, further arguments, parts of the message)
CASES = {
    "truncated gzip": (GOLD, gzip.compress(RUN * 100)[:60], [], ["run", "truncated"]),
    "corrupt zstd": (GOLD, b"\x28\xb5\x2f\xfd" + b"junk" * 10, [], ["run"]),
    "NUL bytes": (GOLD, b"q1 Q0 d\x001 1 2.5 tag\n", [], ["NUL"]),
    "binary file": (GOLD, b"\x89PNG\r\n\x1a\n" + bytes(range(256)), [], ["run"]),
    "5-column run": (GOLD, b"q1 Q0 d1 1 2.5\n", [], ["run:1", "5 columns", "6"]),
    "7-column run": (GOLD, b"q1 Q0 my doc 1 2.5 tag\n", ["--run-format", "trec"], ["run:1", "7 columns"]),
    "3-column qrels as trec": (b"q1 d1 1\n", RUN, ["--gold-format", "trec"], ["gold:1", "3 columns"]),
    "non-numeric score": (GOLD, RUN + b"q2 Q0 d3 2 high tag\n", [], ["run:3", "'high'"]),
    "infinite score": (GOLD, RUN + b"q2 Q0 d3 2 inf tag\n", [], ["run:3", "finite"]),
    "NaN score": (GOLD, RUN + b"q2 Q0 d3 2 NaN tag\n", [], ["run:3", "finite"]),
    "overflowing score": (GOLD, RUN + b"q2 Q0 d3 2 1e999 tag\n", [], ["run:3", "finite"]),
    "duplicate item": (GOLD, RUN + b"q1 Q0 d1 2 1.0 tag\n", [], ["run:3", "twice", "'d1'", "'q1'"]),
    "duplicate judgment": (GOLD + b"q1 0 d1 0\n", RUN, [], ["gold:3", "twice"]),
    "NaN grade": (b"q1 0 d1 nan\n", RUN, [], ["gold:1", "finite"]),
    "non-numeric grade": (b"q1 0 d1 good\n", RUN, [], ["gold:1", "'good'"]),
    "empty run": (GOLD, b"", [], ["run", "empty"]),
    "empty gold": (b"", RUN, [], ["gold", "empty"]),
    "only comments": (GOLD, b"# nothing\n# here\n", ["--run-format", "trec"], ["run:1", "begins with #", "comment"]),
    "UTF-16": (GOLD, RUN.decode().encode("utf-16"), [], ["UTF-8"]),
    "invalid UTF-8": (GOLD, b"q1 Q0 d\xff 1 2.5 tag\n", [], ["run:1", "UTF-8"]),
    "10 MB line": (GOLD, LONG + b"\n", [], ["run"]),
    "10 MB score": (GOLD, b"q1 Q0 d1 1 " + LONG + b" tag\n", [], ["run:1", "number"]),
    "broken JSON": (GOLD, b'{"q1": {"d1": 2.5}, "q2": {"d2": }}', [], ["run"]),
    "JSON with a repeated key": (GOLD, b'{"q1": {"d1": 2.5, "d1": 3}}', [], ["twice"]),
    "JSON score as text": (GOLD, b'{"q1": {"d1": "high"}}', [], ["run"]),
    "JSONL with a bad third line": (GOLD, b'{"query":"q1","item":"d1","score":1}\n' * 0 +
        b'{"query":"q1","item":"a","score":1}\n{"query":"q1","item":"b","score":1}\n{oops\n', [], ["run:3"]),
    "csv without known columns": (GOLD, b"foo,bar,baz\nq1,d1,2.5\n", ["--run-format", "csv"], ["foo", "bar"]),
    "corrupt Parquet": (GOLD, b"PAR1" + b"\x01" * 50 + b"PAR1", [], ["run"]),
    "no query in common": (GOLD, b"1 Q0 d1 1 2.5 tag\n", [], ["no query of the run is in the gold", "'1'", "'q1'"]),
    "unknown format": (GOLD, RUN, ["--run-format", "trek"], ["trek", "trec"]),
    "unknown metric": (GOLD, RUN, ["-M", "ndgc@10"], ["'ndgc'", "did you mean 'ndcg'"]),
    "cutoff 0": (GOLD, RUN, ["-M", "ndcg@0"], ["ndcg@0", "1 up"]),
    "cutoff -1": (GOLD, RUN, ["-M", "ndcg@-1"], ["ndcg@-1", "1 up"]),
    "cutoff of letters": (GOLD, RUN, ["-M", "ndcg@ten"], ["ndcg@ten"]),
    "cutoff on a metric without": (GOLD, RUN, ["-M", "bpref@10"], ["takes no cutoff"]),
    "missing recall level": (GOLD, RUN, ["-M", "iprec"], ["iprec@0.1"]),
    "recall level above 1": (GOLD, RUN, ["-M", "iprec@3"], ["from 0 to 1"]),
    "unknown parameter": (GOLD, RUN, ["-M", "map(denom=min)"], ["'denom'", "denominator"]),
    "unknown value": (GOLD, RUN, ["-M", "ndcg(gain=cubic)"], ["gain='cubic'", "linear"]),
    "parameter without value": (GOLD, RUN, ["-M", "ndcg(gain)"], ["parameter=value"]),
    "unreadable metric": (GOLD, RUN, ["-M", "ndcg@@10"], ["is not a valid metric"]),
    "empty metric": (GOLD, RUN, ["-M", ""], ["is not a valid metric"]),
    "unknown profile": (GOLD, RUN, ["--profile", "trec_evl"], ["did you mean 'trec_eval'"]),
    "metric without closed form": (GOLD, RUN, ["-M", "11pt", "--ties", "expected"], ["no closed form"]),
    "mpr without a corpus": (GOLD, RUN, ["-M", "mpr"], ["--corpus"]),
    "corpus smaller than the ranking": (GOLD, RUN + b"q1 Q0 d5 2 1 t\n", ["--corpus", "1"], ["is 1, ", "has 2 items"]),
    "missing corpus file": (GOLD, RUN, ["--corpus", "ids.txt"], ["ids.txt"]),
    "missing results refused": (GOLD, b"q1 Q0 d1 1 1 t\n", ["--missing", "error"], ["1 queries", "'q2'"]),
    "depth under expected ties": (GOLD, RUN, ["--depth", "5", "--ties", "expected"], ["depth"]),
    "depth 0": (GOLD, RUN, ["--depth", "0"], ["depth 0"]),
    "level above 1": (GOLD, RUN, ["--level", "95"], ["95", "0.95"]),
    "too few resamples": (GOLD, RUN, ["--resamples", "3"], ["3 resamples"]),
    "negative seed": (GOLD, RUN, ["--seed", "-1"], ["seed"]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_one_sentence_and_exit_code_2(case, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    gold, run, arguments, expected = CASES[case]
    (tmp_path / "gold").write_bytes(gold)
    (tmp_path / "run").write_bytes(run)
    code = main(["score", "gold", "run", *arguments, "-o", "out.txt"])
    out, err = capsys.readouterr()
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert len(err) < 600
    for part in expected:
        assert part in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gold", "run"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["score", "missing.txt", "run"], "missing.txt"),
        (["score", ".", "run"], "folder"),
        (["score", "gold", "."], "folder"),
        (["score", "gold", "run", "run"], "twice"),
        (["score", "-", "-"], "standard input"),
        (["score", "gold", "run", "-o", "no/such/folder/out.txt"], "no/such/folder"),
        (["compare", "gold", "run"], "two runs or more, and 'gold' is read as the gold; name at least two"),
        (["run", "gold", "run"], "'gold' is one too many; give models with -m and tasks with -t, such as -m run:FILE"),
        (["compare", "gold", "run", "copy.run", "-M", "ndcg@10", "--test", "mcnemar"], "McNemar"),
        (["explain", "precission"], "precision"),
        (["skore"], "did you mean 'score'"),
        (["score"], "GOLD"),
        (["score", "gold", "run", "--frobnicate"], "--frobnicate"),
        (["score", "gold", "run", "--ties", "coin"], "optimistic"),
        (["compare", "gold", "run", "copy.run", "--alpha", "high"], "argument --alpha: 'high' is not a number"),
        (["compare", "gold", "run", "copy.run", "--alpha", "3"], "alpha is 3, which is not between 0 and 1"),
    ],
)
def test_bad_usage_is_one_sentence_and_exit_code_2(arguments, expected, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gold").write_bytes(b"q1 0 d1 2\nq1 0 d2 1\n")
    (tmp_path / "run").write_bytes(b"q1 Q0 d2 1 2.5 tag\nq1 Q0 d1 2 1.5 tag\n")
    (tmp_path / "copy.run").write_bytes(b"q1 Q0 d1 1 2.5 tag\n")
    code = main(arguments)
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert expected in err


def test_debug_shows_the_traceback(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Exception, match=r"missing\.txt"):
        main(["--debug", "score", "missing.txt", "run"])


def test_a_byte_order_mark_is_no_part_of_the_first_id(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gold").write_bytes(b"\xef\xbb\xbf" + GOLD)
    (tmp_path / "run").write_bytes(b"\xef\xbb\xbf" + RUN)
    assert main(["score", "gold", "run", "-M", "mrr", "--format", "csv"]) == 0
    assert ",mrr,1.0," in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("models = " + "[" * 5000 + "]" * 5000, "not valid TOML (it is nested too deeply)"),
        ("a = " + "{b = " * 3000 + "1" + "}" * 3000, "not valid TOML (it is nested too deeply)"),
        ("seed = " + "9" * 5000, "not valid TOML ("),
        ("[conventions]\nties = {}", "'ties' in [conventions] is {}"),
        ("[conventions]\nmissing = ['zero']", "'missing' in [conventions] is ['zero']"),
        ("[conventions]\ndepth = 'ten'", "'depth' in [conventions] is 'ten'"),
        ("[text]\nseparator = []", "'separator' in [text] is []"),
        ("[text]\nwords = true", "'words' in [text] is True"),
        ("[query_text]\nparts = 1979-05-27", "'parts' in [query_text] is datetime.date(1979, 5, 27)"),
        ("conventions = 3", "conventions is not a table"),
        ("models = 3", "models is 3"),
        ("models = [3]", "an entry of models is not a text"),
        ("seed = nan", "seed is nan"),
    ],
)
def test_a_run_file_of_wrong_types_is_one_sentence(tmp_path, capsys, content, message):
    path = tmp_path / "run.toml"
    path.write_text(f'models = ["bm25"]\ntasks = ["wines"]\n{content}' if "models" not in content else content)
    assert main(["run", "--config", str(path), "--dry-run"]) == 2
    complaint = capsys.readouterr().err
    assert complaint.startswith(f"goldrank: {path}: ")
    assert message in complaint
    assert complaint.count("\n") == 1


def test_a_run_file_that_is_a_device_is_refused(capsys):
    assert main(["run", "--config", "/dev/zero"]) == 2
    assert "this is a device, not a file" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ("score", "x" * 5000, "a.run"),
        ("run", "-m", "vectors:" + "x" * 5000, "-t", "questions"),
        ("run", "-m", "words:" + "x" * 5000, "-t", "questions"),
        ("run", "-m", "bm25", "-t", "./" + "x" * 5000),
        ("runs", "list", "--store", "x" * 5000),
    ],
)
def test_a_file_name_that_is_too_long_is_one_short_sentence(capsys, arguments):
    assert main(list(arguments)) == 2
    err = capsys.readouterr().err
    assert "internal error" not in err
    assert len(err.strip().splitlines()[-1]) < 2100


@pytest.mark.parametrize("command", ["score", "compare", "plot", "report"])
def test_the_option_for_models_is_refused_in_commands_without_models(command, capsys):
    assert main([command, "a", "b", "-m", "mrr"]) == 2
    assert capsys.readouterr().err == (
        "goldrank: -m names a model, and this command takes none; for a metric write -M mrr\n"
    )
