"""Test masks with several right answers: reading, storing and scoring them on every level."""

import json

import pyarrow.parquet
import pytest

from goldrank.errors import InputError
from goldrank.masked.examples.checks import check_chunks
from goldrank.masked.examples.chunks import Chunk, Guesses
from goldrank.masked.examples.files import read_chunks, write_chunks
from goldrank.masked.names.matching import MATCHERS, make_matcher
from goldrank.masked.names.patterns import Tier
from goldrank.masked.predictions.files import prediction_batches
from goldrank.masked.predictions.joining import join
from goldrank.masked.predictors import load_predictor
from goldrank.masked.scoring.levels import LEVELS, Rules, score_predictions
from goldrank.runs.masked import PredictionJob
from goldrank.stats import aggregate

CURIES = ("Marie Curie", "Pierre Curie")
RECORD = {
    "id": "radium",
    "sequence_number": 0,
    "title": "Radium",
    "texts": "It was found by <mask> in the year <mask>.",
    "masks": [list(CURIES), ["1898"]],
}


def read(tmp_path, record):
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps(record) + "\n")
    (chunk,) = read_chunks(path)
    return chunk


def guessed(chunk, *lists):
    guesses = {
        key: Guesses(tuple(names), tuple(1 / n for n in range(1, len(names) + 1)))
        for key, names in zip(chunk.keys, lists, strict=True)
    }
    return join([chunk], guesses)[0]


def right(table, **rules):
    scores = score_predictions(table, Rules(**rules))
    return {level: scores.levels[level].right.tolist() for level in LEVELS}


def test_a_mask_may_list_its_right_answers_which_count_instead_of_the_title(tmp_path):
    chunk = read(tmp_path, RECORD)
    assert chunk.masks == ("Marie Curie", "1898")
    assert chunk.answers == (CURIES, ("1898",))


def test_a_title_may_list_the_right_answers_of_all_masks_that_list_none(tmp_path):
    chunk = read(tmp_path, {**RECORD, "title": list(CURIES), "masks": ["she", ["1898"]]})
    assert (chunk.title, chunk.masks) == ("Marie Curie", ("she", "1898"))
    assert chunk.answers == (CURIES, ("1898",))


def test_a_list_of_one_title_is_a_title(tmp_path):
    chunk = read(tmp_path, {**RECORD, "title": ["Lise Meitner"], "masks": ["Lise", "her"]})
    assert (chunk.title, chunk.answers) == ("Lise Meitner", ())


def test_answers_may_be_listed_in_a_field_of_their_own(tmp_path):
    chunk = read(tmp_path, {**RECORD, "title": "Marie Curie", "masks": ["she", "then"], "answers": [None, ["1898"]]})
    assert (chunk.masks, chunk.answers) == (("she", "then"), ((), ("1898",)))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"masks": [[], "x"]}, "the list of right answers of mask 0 is empty"),
        ({"masks": [["x", 3], "x"]}, "3 is not an answer of mask 0"),
        ({"masks": [["x", " "], "x"]}, "' ' is not an answer of mask 0"),
        ({"title": []}, "the list of right answers of title is empty"),
        ({"title": ["Ann", None]}, "None is not an answer of title"),
        ({"answers": [["x"]]}, "not a list for each of 2 masks"),
        ({"answers": "x"}, "not a list for each of 2 masks"),
        ({"answers": ["x", None]}, "the right answers of mask 0 are 'x', not a list"),
    ],
)
def test_what_is_no_list_of_answers_is_refused_with_its_line(tmp_path, changes, says):
    with pytest.raises(InputError, match=says) as caught:
        read(tmp_path, {**RECORD, **changes})
    assert caught.value.where == f"{tmp_path / 'data.jsonl'}:1"


def test_chunks_with_answers_are_written_and_read_back(tmp_path):
    chunk = read(tmp_path, {**RECORD, "title": list(CURIES), "masks": ["she", ["1898"]]})
    write_chunks([chunk], tmp_path / "copy.jsonl")
    assert list(read_chunks(tmp_path / "copy.jsonl")) == [chunk]


def test_answers_change_the_checksum_of_the_data(tmp_path):
    listed, other = (read(tmp_path, {**RECORD, "masks": [names, ["1898"]]}) for names in (CURIES, CURIES[:1]))
    assert listed.masks == other.masks
    predictor = load_predictor("names:random")
    jobs = [PredictionJob("persons", [chunk], "names:random", predictor) for chunk in (listed, other)]
    assert jobs[0].checksum != jobs[1].checksum


@pytest.mark.parametrize("pool", ["alias", "gold"])
@pytest.mark.parametrize("matcher", MATCHERS)
def test_any_of_the_answers_is_right_on_every_level(tmp_path, matcher, pool):
    chunk = read(tmp_path, RECORD)
    options = {"matcher": matcher, "pool": pool}
    assert right(guessed(chunk, ["Pierre Curie"], ["1898"]), **options) == {
        "mask": [True, True],
        "example": [True],
        "page": [True],
    }
    # An answer to one mask is wrong for another mask, and the title is wrong if answers are listed.
    assert right(guessed(chunk, ["1898"], ["Pierre Curie"]), **options)["mask"] == [False, False]
    assert right(guessed(chunk, ["Radium"], ["1899"]), **options) == {
        "mask": [False, False],
        "example": [False],
        "page": [False],
    }


def test_pooled_answers_are_right_if_they_are_at_any_mask(tmp_path):
    chunk = read(tmp_path, RECORD)
    table = guessed(chunk, ["Otto Hahn", "Marie Curie"], ["Marie Curie", "1789"])
    assert right(table) == {"mask": [False, False], "example": [True], "page": [True]}


def test_masks_with_and_without_a_list_stand_in_one_page(tmp_path):
    chunk = read(tmp_path, {**RECORD, "title": "Lise Meitner", "masks": ["Lise", list(CURIES)]})
    assert right(guessed(chunk, ["Meitner"], ["Pierre"]))["mask"] == [True, True]
    assert right(guessed(chunk, ["Pierre"], ["Meitner"]))["mask"] == [False, False]


def test_one_listed_answer_scores_as_the_same_title_does():
    plain = Chunk("7", 0, "Lise Meitner", "<mask> and <mask>", ("Lise", "her"))
    listed = Chunk("7", 0, "Lise Meitner", plain.text, plain.masks, answers=(("Lise Meitner",), ("Lise Meitner",)))
    lists = (["Otto Hahn", "Meitner"], ["lise meitner", "she"])
    plain_scores, listed_scores = (score_predictions(guessed(chunk, *lists)) for chunk in (plain, listed))
    for level in LEVELS:
        assert plain_scores.levels[level].hits.above.tolist() == listed_scores.levels[level].hits.above.tolist()
        assert plain_scores.levels[level].margin.tolist() == listed_scores.levels[level].margin.tolist()
    for name, sample in plain_scores.legacy.right.items():
        again = listed_scores.legacy.right[name]
        assert aggregate(sample.values, sample.weights) == aggregate(again.values, again.weights)


def test_the_original_scores_take_the_nearest_answer(tmp_path):
    chunk = read(tmp_path, {**RECORD, "texts": "By <mask>.", "masks": [list(CURIES)]})
    legacy = score_predictions(guessed(chunk, ["Pierre Curie"])).legacy
    assert [legacy.coded[name].values.tolist() for name in ("pnms", "lnms", "nld")] == [[1], [1], [0]]
    assert [legacy.right[name].values.tolist() for name in ("pnms", "lnms", "nld")] == [[1], [1], [0]]


def test_answers_go_with_written_predictions(tmp_path):
    table = guessed(read(tmp_path, RECORD), ["Pierre Curie"], ["1898"])
    path = tmp_path / "predictions.parquet"
    pyarrow.parquet.write_table(table, path)
    predictions = pyarrow.Table.from_batches(prediction_batches(path))
    assert predictions["answers"].to_pylist() == [list(CURIES), ["1898"]]
    assert right(predictions)["mask"] == [True, True]


@pytest.mark.parametrize(
    "record",
    [
        {"title": list(CURIES), "masks": ["she"], "predictions": [["Pierre Curie"]]},
        {"title": "Radium", "masks": [list(CURIES)], "predictions": [["Pierre Curie"]]},
        {"title": "Radium", "answers": [list(CURIES)], "predictions": [["Pierre Curie"]]},
        {"title": "Radium", "mask": 0, "answers": list(CURIES), "predictions": ["Pierre Curie"]},
        {"title": "Radium", "mask": 0, "answers": json.dumps(CURIES), "prediction": "Pierre Curie", "rank": 1},
    ],
)
def test_files_of_predictions_may_list_answers(tmp_path, record):
    path = tmp_path / "predictions.jsonl"
    path.write_text(json.dumps({"id": 1, "sequence_number": 0, **record}) + "\n")
    scores = score_predictions(path)
    assert scores.levels["mask"].right.tolist() == [True]


@pytest.mark.parametrize("answers", ["x", 3, [], [3], [["Ann"], None]])
def test_answers_of_predictions_that_are_no_list_of_strings_are_refused(tmp_path, answers):
    path = tmp_path / "predictions.jsonl"
    path.write_text(json.dumps({"id": 1, "title": "Ann Lee", "mask": 0, "answers": answers, "predictions": ["Ann"]}))
    with pytest.raises(InputError, match="are not a list of strings"):
        list(prediction_batches(path))


def test_a_mask_that_lists_its_answers_is_not_checked_against_the_title(tmp_path):
    chunk = read(tmp_path, {**RECORD, "title": "Lise Meitner"})
    assert "gold outside the title" not in {finding.name for finding in check_chunks([chunk]).findings}


def test_the_best_agreement_with_any_answer_counts():
    both = make_matcher("names", ["John Smith", "Smith Jones"], {"Smith Jones": ["SJ"]})
    assert both.match("John Smith").tier == Tier.EXACT
    assert both.match("Smith").tier == Tier.SURNAME
    assert both.match("sj").tier == Tier.EXACT
    assert both.match("1898") is None
    assert make_matcher("surname", ["1898", "Ann Lee"]).match(" 1898 ").tier == Tier.EXACT
