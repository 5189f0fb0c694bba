"""Test prediction files: every layout and order gives the same rows, and errors name their location."""

import gzip
import json
import lzma
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.errors import InputError
from goldrank.masked.examples.chunks import Guesses, MaskKey
from goldrank.masked.predictions.files import prediction_batches, read_predictions
from goldrank.masked.predictions.rows import COLUMNS, Remarks

WANTED = {
    MaskKey("7", 2, 0): Guesses(("Ada", "Grace"), (0.5, 0.25)),
    MaskKey("7", 2, 1): Guesses(("Lovelace", "King"), (0.75, 0.125)),
    MaskKey("9", 0, 0): Guesses(("Alan", "Kurt"), (0.5, 0.25)),
}
PER_MASK = [
    {"page": k.page, "sequence": k.sequence, "mask": k.mask, "guesses": list(g.names), "scores": list(g.scores)}
    for k, g in WANTED.items()
]
PER_CHUNK = [
    {
        "id": 7,
        "sequence_number": 2,
        "predictions": [["Ada", "Grace"], ["Lovelace", "King"]],
        "scores": [[0.5, 0.25], [0.75, 0.125]],
    },
    {"id": 9, "sequence_number": 0, "predictions": [["Alan", "Kurt"]], "scores": [[0.5, 0.25]]},
]
WIDE = [
    {
        "page_id": int(k.page),
        "sequence_number": k.sequence,
        "mask": k.mask,
        "score_1": g.scores[1],
        "prediction_1": g.names[1],
        "prediction_0": g.names[0],
        "score_0": g.scores[0],
    }
    for k, g in WANTED.items()
]
TIDY = [
    {
        "id": int(k.page),
        "sequence_number": k.sequence,
        "mask": k.mask,
        "rank": rank,
        "prediction": g.names[rank],
        "score": g.scores[rank],
    }
    for k, g in WANTED.items()
    for rank in range(2)
]


def write(path, records):
    """Write records in the format that the suffix names."""
    suffix = path.name.partition(".")[2]
    if suffix == "parquet":
        pq.write_table(pa.Table.from_pylist(records), path)
        return path
    if suffix.startswith("jsonl"):
        text = "".join(json.dumps(record) + "\n" for record in records)
    else:
        separator = "\t" if suffix.startswith("tsv") else ","
        cells = [list(records[0])] + [[_cell(value) for value in record.values()] for record in records]
        text = "".join(separator.join(map(str, row)) + "\n" for row in cells)
    pack = {"gz": gzip.compress, "xz": lzma.compress}.get(suffix.rpartition(".")[2], bytes)
    path.write_bytes(pack(text.encode()))
    return path


def _cell(value):
    return '"' + json.dumps(value).replace('"', '""') + '"' if isinstance(value, list) else value


def lines(path, *records):
    path.write_text("".join(record if isinstance(record, str) else json.dumps(record) for record in records))
    return path


def table(path, **options):
    return pa.Table.from_batches(prediction_batches(path, **options))


def by_key(predictions):
    return {MaskKey(r["page"], r["sequence"], r["mask"]): (r["guesses"], r["scores"]) for r in predictions.to_pylist()}


@pytest.mark.parametrize("name", ["p.jsonl", "p.jsonl.gz", "p.csv", "p.tsv.xz", "p.parquet"])
@pytest.mark.parametrize("layout", [PER_MASK, PER_CHUNK, WIDE, TIDY], ids=["per mask", "per chunk", "wide", "tidy"])
def test_every_layout_in_every_format_and_order_says_the_same(tmp_path, layout, name):
    for seed in range(3):
        path = write(tmp_path / name, random.Random(seed).sample(layout, len(layout)))
        assert read_predictions(path) == WANTED
        predictions = table(path)
        assert by_key(predictions) == {key: (list(g.names), list(g.scores)) for key, g in WANTED.items()}
        assert tuple(predictions.column_names) == COLUMNS


def test_a_compressed_parquet_file_is_read(tmp_path):
    path = write(tmp_path / "p.parquet", PER_MASK)
    (tmp_path / "p.parquet.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert read_predictions(tmp_path / "p.parquet.gz") == WANTED
    assert table(tmp_path / "p.parquet.gz").equals(table(path))


def test_lists_in_csv_may_be_written_as_python_prints_them(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("page_id,mask,predictions,scores\n3,0,\"['O\\'Brien', 'Ann']\",\"[0.5, 0.25]\"\n")
    assert read_predictions(path) == {MaskKey("3", 0, 0): Guesses(("O'Brien", "Ann"), (0.5, 0.25))}


def test_rows_of_chunks_keep_what_they_say_of_the_example(tmp_path):
    record = {
        "id": 4,
        "sequence_number": 1,
        "title": "Ada Lovelace",
        "type": "original",
        "texts": "<mask> met <mask>.",
        "masks": ["Ada", "her"],
        "views": 12,
        "predictions": [["Ada"], []],
        "scores": [[0.5], []],
    }
    first, second = table(lines(tmp_path / "p.jsonl", record)).to_pylist()
    assert (first["title"], first["hidden"], first["masks"], first["length"]) == ("Ada Lovelace", "Ada", 2, 18)
    assert (first["type"], first["views"], first["guesses"]) == ("original", 12, ["Ada"])
    assert (second["mask"], second["hidden"], second["guesses"], second["scores"]) == (1, "her", [], [])


def test_the_input_length_of_a_wide_table_is_the_length_of_the_example(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("page_id,prediction_0,input_length,model,share,views\n12,Ada,1000,small,3.5,4\n")
    remarks = Remarks()
    predictions = table(path, remarks=remarks)
    (row,) = predictions.to_pylist()
    assert (row["page"], row["sequence"], row["mask"], row["length"]) == ("12", 0, 0, 1000)
    assert (row["model"], row["share"], row["views"], row["title"]) == ("small", 3.5, 4, None)
    assert predictions.schema.types[-3:] == [pa.string(), pa.float64(), pa.int64()]
    assert remarks.unnumbered == 1


def test_ids_keep_their_leading_zeros_in_csv(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("page_id,mask,prediction_0\n007,0,James\n")
    assert list(read_predictions(path)) == [MaskKey("007", 0, 0)]


def test_a_wide_row_may_have_fewer_names_than_columns(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("page_id,mask,prediction_0,prediction_1,score_0,score_1\n1,0,Ada,,0.5,\n1,1,,,,\n")
    remarks = Remarks()
    predictions = read_predictions(path, remarks=remarks)
    assert list(predictions.values()) == [Guesses(("Ada",), (0.5,)), Guesses((), ())]
    assert remarks.empty == 1


def test_a_tidy_table_without_ranks_goes_by_score_and_equal_ones_by_name(tmp_path):
    rows = [{"page": "1", "mask": 0, "prediction": n, "score": s} for n, s in [("b", 0), ("c", 0.5), ("a", 0)]]
    for order in (rows, rows[::-1]):
        assert read_predictions(write(tmp_path / "p.jsonl", order)) == {
            MaskKey("1", 0, 0): Guesses(("c", "a", "b"), (0.5, 0.0, 0.0))
        }


def test_predictions_without_scores_count_one_by_rank_and_a_remark_says_so(tmp_path):
    remarks = Remarks()
    path = lines(tmp_path / "p.jsonl", {"id": 1, "sequence_number": 0, "predictions": [["a", "b", "c", "d"], []]})
    predictions = read_predictions(path, remarks=remarks)
    assert predictions[MaskKey("1", 0, 0)].scores == (1, 1 / 2, 1 / 3, 1 / 4)
    assert remarks.sentences() == [
        "1 of 2 masks has no scores: its guesses count 1/rank",
        "1 of 2 masks has no guesses",
    ]


def test_scores_that_rise_or_sum_above_one_are_remarked_and_kept(tmp_path):
    rows = [{"page": "1", "sequence": 0, "mask": at, "guesses": ["a", "b"]} for at in range(4)]
    for row, scores in zip(rows, [[0.2, 0.3], [0.9, 0.2], [0.7, 0.3 + 1e-9], [0.5, 0.5]], strict=True):
        row["scores"] = scores
    for name in ("p.jsonl", "p.parquet"):
        remarks = Remarks()
        predictions = table(write(tmp_path / name, rows), remarks=remarks)
        assert predictions["scores"].to_pylist()[0] == [0.2, 0.3]
        assert (remarks.masks, remarks.unsorted, remarks.above_one) == (4, 1, 1)


def test_remarks_are_the_same_from_parquet_as_from_text(tmp_path):
    names = [["a", " ", ""], [], ["b"], ["c", "d"]]
    scores = [[0.1, 0.2, 0.3], [], [3.0], [0.5, 0.4]]
    rows = [
        {"page": "1", "sequence": 0, "mask": at, "guesses": names[at], "scores": scores[at]} for at in range(len(names))
    ]
    all_remarks = []
    for name in ("p.jsonl", "p.parquet"):
        remarks = Remarks()
        table(write(tmp_path / name, rows), remarks=remarks)
        all_remarks.append(remarks)
    assert all_remarks[0] == all_remarks[1] == Remarks(masks=4, empty=1, blank=2, unsorted=1, above_one=1)


UNEQUAL = {"id": 12, "sequence_number": 3, "predictions": [["x"], ["a", "b", "c", "d"]], "scores": [[1], [0.1] * 5]}


def test_lists_of_unequal_length_are_refused_with_file_line_and_mask(tmp_path):
    path = lines(tmp_path / "p.jsonl", "\n", UNEQUAL)
    with pytest.raises(InputError, match=r"p\.jsonl:2: page 12, example 3, mask 1: 4 predictions for 5 scores; .*pad"):
        read_predictions(path)
    with pytest.raises(InputError, match=r"p\.jsonl:2: page 12, example 3, mask 1: 4 predictions for 5 scores"):
        list(prediction_batches(path))


def test_a_message_says_how_to_mark_the_place_of_a_dropped_name(tmp_path):
    path = lines(tmp_path / "p.jsonl", UNEQUAL)
    with pytest.raises(InputError) as error:
        read_predictions(path)
    assert str(error.value).endswith(
        "p.jsonl:1: page 12, example 3, mask 1: 4 predictions for 5 scores; give each name its score, write null "
        '(or "") in the place of a name that was dropped, or pad what is missing (--pad)'
    )


@pytest.mark.parametrize("dropped", [None, ""])
def test_a_dropped_name_keeps_its_place_and_its_score(tmp_path, dropped):
    record = {"id": 12, "sequence_number": 3, "predictions": [["a", dropped, "c"]], "scores": [[0.5, 0.3, 0.1]]}
    for name in ("p.jsonl", "p.parquet"):
        remarks = Remarks()
        predictions = read_predictions(write(tmp_path / name, [record]), remarks=remarks)
        assert predictions[MaskKey("12", 3, 0)] == Guesses(("a", "", "c"), (0.5, 0.3, 0.1))
        assert remarks.sentences() == ["1 guess without a name (null or empty), which match nothing"]


def test_padding_adds_empty_names_and_scores_of_zero_with_a_remark(tmp_path):
    few = {"id": 13, "sequence_number": 0, "predictions": [["a", "b", None]], "scores": [[0.5]]}
    path = tmp_path / "p.jsonl"
    path.write_text(json.dumps(UNEQUAL) + "\n" + json.dumps(few) + "\n")
    remarks = Remarks()
    predictions = read_predictions(path, pad=True, remarks=remarks)
    assert predictions[MaskKey("12", 3, 1)] == Guesses(("a", "b", "c", "d", ""), (0.1,) * 5)
    assert predictions[MaskKey("13", 0, 0)] == Guesses(("a", "b", ""), (0.5, 0.0, 0.0))
    assert remarks.padded == 2
    assert "2 of 3 masks were padded with empty names or scores of 0" in remarks.sentences()


def test_parquet_rows_that_need_padding_are_padded_among_sound_ones(tmp_path):
    rows = [dict(row) for row in PER_MASK]
    rows[1]["scores"] = [0.5]
    path = write(tmp_path / "p.parquet", rows)
    with pytest.raises(InputError, match=r"p\.parquet: row 2: page 7, example 2, mask 1: 2 predictions for 1 score;"):
        table(path)
    remarks = Remarks()
    assert table(path, pad=True, remarks=remarks)["scores"].to_pylist()[1] == [0.5, 0.0]
    assert (remarks.padded, remarks.masks) == (1, 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": [0.5, float("nan")]}, "nan"),
        ({"scores": [float("inf"), 0.5]}, "inf"),
        ({"scores": [0.5, None]}, "a score is missing"),
        ({"page": None}, "page id is missing"),
        ({"page": ""}, "page id is empty"),
        ({"mask": None}, "number of the mask is missing"),
        ({"sequence": None}, "sequence number is missing"),
        ({"mask": -1}, "the mask -1 is not a whole number >= 0"),
    ],
)
def test_faults_in_parquet_are_named_with_their_row(tmp_path, change, message):
    rows = [PER_MASK[0], {**PER_MASK[1], **change}]
    path = write(tmp_path / "p.parquet", rows)
    for read in (read_predictions, table):
        with pytest.raises(InputError, match=rf"p\.parquet: row 2.*{message}"):
            read(path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": 1, "predictions": [["a"]], "scores": [[NaN]]}', "NaN is not a finite number"),
        ('{"id": 1, "predictions": [["a"]], "scores": [[1e999]]}', "page 1, example 0, mask 0: .*inf"),
        ('{"id": 1, "predictions": [["a"]], "scores": [["high"]]}', "mask 0: .*'high'"),
        ('{"id": 1, "predictions": [["a"]], "scores": [[true]]}', "mask 0: .*True"),
        ('{"id": 1, "predictions": [[5]], "scores": [[1]]}', "the prediction 5 is not a string"),
        ('{"id": 1, "predictions": ["a", "b"]}', "not a list for each mask"),
        ('{"id": 1, "predictions": [["a"]], "scores": [[1], [1]]}', "1 list of predictions for 2 lists of scores"),
        ('{"id": 1, "predictions": [["a"]], "masks": ["x", "y"]}', "1 list of predictions for 2 masks"),
        ('{"id": 1, "predictions": "Ada"}', "are not a list of names"),
        ('{"id": 1, "predictions": [["a"]], "scores": [0.5]}', "the scores 0.5 are not a list of finite numbers"),
        ('{"id": 1, "sequence_number": 1.5, "predictions": [["a"]]}', "sequence number 1.5 is not a whole number"),
        ('{"id": true, "predictions": [["a"]]}', "page id True"),
        ('{"predictions": [["a"]]}', "no column with the id of the page"),
        ('{"id": 1, "texts": "…"}', "there are no predictions"),
        ('{"id": 1, "prediction_0": "a", "prediction_2": "b"}', "no column prediction_1"),
        ('{"id": 1, "mask": 0, "prediction": "a"}', "a score is missing"),
        ('{"id": 1, "predictions": [["a"]', "not valid JSON"),
        ("[1]", "is not a record"),
        ('{"id": 1, "predictions": [["\\ud800"]]}', "half of a surrogate pair"),
    ],
)
def test_faults_in_json_lines_are_named_with_their_line(tmp_path, line, message):
    path = lines(tmp_path / "p.jsonl", {"id": 0, "predictions": [["a"]]}, "\n", line)
    with pytest.raises(InputError, match=rf"p\.jsonl:2.*{message}"):
        table(path)


def test_faults_in_csv_are_named_with_their_line(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text('page_id,mask,prediction_0,score_0\n1,0,"Ada\nKing",0.5\n2,0,Ada,nan\n')
    with pytest.raises(InputError, match=r"p\.csv:4: page 2, example 0, mask 0: .*nan"):
        read_predictions(path)
    path.write_text("page_id,mask,prediction_0\n1,0\n")
    with pytest.raises(InputError, match=r"p\.csv:2: the row has 2 columns, the first one has 3"):
        read_predictions(path)
    path.write_text("page_id,mask,prediction_0,mask\n1,0,Ada,1\n")
    with pytest.raises(InputError, match=r"p\.csv:1: two columns are called 'mask'"):
        read_predictions(path)
    path.write_text(f"page_id,mask,prediction_0\n1,{'9' * 5000},Ada\n")
    with pytest.raises(InputError, match=r"p\.csv:2: the mask '9+…' is not a whole number"):
        read_predictions(path)
    path.write_text('page_id,mask,prediction_0\n1,0,"Ada\n')
    with pytest.raises(InputError, match=r"p\.csv:2: the row is not valid CSV"):
        read_predictions(path)


def test_a_key_given_twice_is_refused_with_both_places(tmp_path):
    path = write(tmp_path / "p.jsonl", [*PER_CHUNK, PER_CHUNK[0]])
    with pytest.raises(InputError, match=r"p\.jsonl:3: page 7, example 2, mask 0 appears twice \(first at .*:1\)"):
        read_predictions(path)


def test_a_rank_given_twice_or_to_some_only_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"p\.jsonl:3: page 7, example 2, mask 0: rank 0 appears twice"):
        read_predictions(write(tmp_path / "p.jsonl", [*TIDY[:2], TIDY[0]]))
    with pytest.raises(InputError, match="some predictions have a rank and some do not"):
        read_predictions(write(tmp_path / "p.jsonl", [TIDY[0], {**TIDY[1], "rank": None}]))


def test_missing_broken_and_empty_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_predictions(tmp_path / "none.jsonl")
    (tmp_path / "empty.jsonl").write_bytes(b"")
    with pytest.raises(InputError, match="the file is empty"):
        table(tmp_path / "empty.jsonl")
    path = write(tmp_path / "p.parquet", PER_MASK)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="Parquet file is truncated or corrupt"):
        table(path)


def test_masks_without_sequence_numbers_are_counted_through_the_page_where_the_data_is_known(tmp_path):
    path = lines(tmp_path / "p.jsonl", {"page_id": 5, "predictions": [["a"], ["b"], ["c"], ["d"]]})
    assert list(read_predictions(path)) == [MaskKey("5", 0, at) for at in range(4)]
    pages = {"5": [(2, 2), (6, 1)]}
    assert list(read_predictions(path, pages=pages)) == [
        MaskKey("5", 2, 0),
        MaskKey("5", 2, 1),
        MaskKey("5", 6, 0),
        MaskKey("5", 6, 1),
    ]
    assert table(path, pages=pages)["masks"].to_pylist() == [2, 2, 1, 1]
    assert list(read_predictions(path, pages={"6": [(1, 4)]})) == [MaskKey("5", 0, at) for at in range(4)]


def test_long_streams_keep_their_columns_and_say_which_came_too_late(tmp_path, monkeypatch):
    monkeypatch.setattr("goldrank.masked.predictions.files._BATCH", 2)
    rows = [{**PER_MASK[0], "mask": at, "views": at} for at in range(5)]
    rows[4]["late"] = "x"
    remarks = Remarks()
    batches = list(prediction_batches(write(tmp_path / "p.jsonl", rows), remarks=remarks))
    assert [len(batch) for batch in batches] == [2, 2, 1]
    assert pa.Table.from_batches(batches)["views"].to_pylist() == [0, 1, 2, 3, 4]
    assert remarks.sentences() == ["columns left out, as the first rows lack them: 'late'"]
    rows[3]["views"] = "many"
    with pytest.raises(InputError, match=r"p\.jsonl:4: the column 'views' has 'many'"):
        table(write(tmp_path / "p.jsonl", rows))


def test_parquet_row_numbers_go_on_from_batch_to_batch(tmp_path, monkeypatch):
    monkeypatch.setattr("goldrank.masked.predictions.files._BATCH", 2)
    rows = [{**PER_MASK[0], "mask": at} for at in range(5)]
    rows[4]["scores"] = [1.0]
    with pytest.raises(InputError, match="row 5: page 7, example 2, mask 4"):
        table(write(tmp_path / "p.parquet", rows))


NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
LISTS = st.lists(st.tuples(NAMES, st.floats(allow_nan=False, allow_infinity=False)), max_size=4)


@given(st.dictionaries(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), LISTS, min_size=1))
def test_any_guesses_survive_parquet_and_json_lines_to_the_bit(tmp_path_factory, pairs_by_key):
    folder = tmp_path_factory.mktemp("round")
    wanted = {
        MaskKey(str(page), sequence, mask): Guesses(tuple(n for n, _ in pairs), tuple(s for _, s in pairs))
        for (page, sequence, mask), pairs in pairs_by_key.items()
    }
    rows = [
        {"page": k.page, "sequence": k.sequence, "mask": k.mask, "guesses": list(g.names), "scores": list(g.scores)}
        for k, g in wanted.items()
    ]
    first = write(folder / "a.jsonl", rows)
    write(folder / "b.parquet", table(first).to_pylist())
    for name in ("a.jsonl", "b.parquet"):
        assert read_predictions(folder / name) == wanted


def test_the_length_of_a_page_is_that_of_an_example_only_where_it_has_no_other(tmp_path):
    path = lines(tmp_path / "p.jsonl", {"page_id": 5, "input_length": 90, "predictions": [["a"], ["b"]]})
    assert table(path, pages={"5": [(3, 2)]})["length"].to_pylist() == [90, 90]
    assert table(path, pages={"5": [(3, 1), (4, 1)]})["length"].to_pylist() == [None, None]
