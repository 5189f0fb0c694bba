"""No command of `goldrank masked` prints a whole record, whichever of its fields is long."""

import json

import pytest

from goldrank.cli.main import main

pytestmark = pytest.mark.usefixtures("own_folder")

LONG = "Meitner " * (1 << 12)
HUGE = LONG * 64
MOST = 8_000
RECORD = {
    "id": 7,
    "sequence_number": 0,
    "title": "Lise Meitner",
    "type": "original",
    "size": 512,
    "texts": "<mask> met Meitner.",
    "masks": ["Lise"],
}
WRONG_TYPES = [[LONG], {"a": LONG}, [[LONG] * 2, {LONG: LONG}], 10**4000, [10**4000] * 100]
RECORDS = [
    *({**RECORD, field: value} for field in RECORD for value in [LONG, *WRONG_TYPES]),
    *({**RECORD, "answers": value} for value in [LONG, *WRONG_TYPES, [[LONG]], [[LONG, 3]]]),
    {**RECORD, LONG: LONG},
    {LONG: LONG},
    [LONG],
    LONG,
]
PREDICTIONS = [
    {"id": 7, "sequence_number": 0, "title": "Lise Meitner", "mask": 0, "predictions": ["Lise"], "scores": [1.0]},
    {"id": 7, "sequence_number": 0, "title": "Lise Meitner", "predictions": [["Lise"]], "scores": [[1.0]]},
    {"id": 7, "sequence_number": 0, "title": "Lise Meitner", "mask": 0, "prediction": "Lise", "score": 1, "rank": 1},
    {"id": 7, "sequence_number": 0, "title": "Lise Meitner", "mask": 0, "prediction_0": "Lise", "score_0": 1},
]


def refuse_long_output(capsys, *arguments):
    code = main(list(arguments))
    out, err = capsys.readouterr()
    assert code in (0, 1, 2), err
    assert len(out) < MOST, out[:300]
    assert len(err) < MOST, err[:300]
    assert "internal error" not in err
    return code


@pytest.mark.parametrize("number", range(len(RECORDS)))
def test_no_command_on_examples_prints_a_whole_record(tmp_path, capsys, number):
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps(RECORDS[number]) + "\n" + json.dumps(RECORD) + "\n")
    for look in ("table", "json", "markdown"):
        refuse_long_output(capsys, "masked", "check", str(path), "--format", look)
    refuse_long_output(capsys, "masked", "predict", str(path), "-m", "names:majority")


@pytest.mark.parametrize("record", [[HUGE], {**RECORD, "masks": {"Lise": HUGE}}, {**RECORD, "id": HUGE}])
def test_checking_a_record_of_two_megabytes_prints_a_few_lines(tmp_path, capsys, record):
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps(record) + "\n" + json.dumps(RECORD) + "\n")
    assert path.stat().st_size > 2_000_000
    refuse_long_output(capsys, "masked", "check", str(path))


@pytest.mark.slow
@pytest.mark.parametrize("layout", range(len(PREDICTIONS)))
def test_no_command_on_predictions_prints_a_whole_record(tmp_path, capsys, layout):
    (tmp_path / "data.jsonl").write_text(json.dumps(RECORD) + "\n")
    path = tmp_path / "predictions.jsonl"
    good = PREDICTIONS[layout]
    for field in good:
        for value in [LONG, *WRONG_TYPES]:
            path.write_text(json.dumps({**good, field: value}) + "\n")
            refuse_long_output(capsys, "masked", "score", str(path), "--resamples", "100")
            refuse_long_output(capsys, "masked", "score", str(path), "--data", "data.jsonl", "--resamples", "100")


@pytest.mark.parametrize("field", ["id", "title", "text", "names"])
def test_making_examples_prints_no_whole_page(tmp_path, capsys, field):
    page = {"id": 7, "title": "Lise Meitner", "text": "Lise Meitner was a physicist.", "names": ["Lise"]}
    path = tmp_path / "pages.jsonl"
    for value in [LONG, *WRONG_TYPES]:
        path.write_text(json.dumps({**page, field: value}) + "\n" + json.dumps({**page, field: value}) + "\n")
        refuse_long_output(capsys, "masked", "make", str(path), "-o", str(tmp_path / "made.jsonl"))


@pytest.mark.parametrize(
    "record", [{"title": LONG, "alias": 3}, {"title": "Ann", "alias": [[LONG]]}, {LONG: LONG}, [LONG]]
)
def test_a_table_of_aliases_prints_no_whole_record(tmp_path, capsys, record):
    (tmp_path / "data.jsonl").write_text(json.dumps(RECORD) + "\n")
    for suffix in (".json", ".jsonl"):
        path = tmp_path / f"aliases{suffix}"
        path.write_text(json.dumps(record))
        refuse_long_output(capsys, "masked", "check", "data.jsonl", "--aliases", str(path))
