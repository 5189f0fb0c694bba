"""Test that scores are the same in any row order, in memory or through files, in one process or several."""

import tempfile

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from goldrank.engines.local import LocalEngine
from goldrank.errors import InputError
from goldrank.masked.scoring import pages as page_scoring
from goldrank.masked.scoring import streaming
from goldrank.masked.scoring.levels import LEVELS, Rules, score_predictions
from goldrank.tasks.ranking.sharding import Sharding

PERSONS = ("Ada Lovelace", "Alan Turing", "Grace Hopper", "Zoë Müller", "Jean-Paul Sartre", "Siyaka")
GUESSES = (
    "Ada",
    "Turing",
    "Grace Hopper",
    "Hopper",
    "zoe muller",
    "Sartre",
    "he",
    "the",
    "Alan",
    "Siyaka",
    "",
    "Ada Byron",
    # A surname shared by several full names, and words that are not names.
    "Lovelace",
    "Ada Lovelace",
    "Annabella Lovelace",
    "The President",
    "football",
)


def predictions(pages=60, seed=0):
    rng = np.random.default_rng(seed)
    rows = []
    for page in range(pages):
        for sequence in range(int(rng.integers(1, 4))):
            masks = int(rng.integers(1, 4))
            for mask in range(masks):
                size = int(rng.integers(0, 6))
                # Few distinct scores produce ties; thirds make sums inexact.
                scores = np.sort(rng.integers(1, 5, size=size) / 3)[::-1].tolist()
                rows.append(
                    {
                        "page": f"p{page}",
                        "sequence": sequence,
                        "mask": mask,
                        "title": PERSONS[page % len(PERSONS)],
                        "guesses": rng.choice(GUESSES, size=size).tolist(),
                        "scores": scores,
                        "masks": masks,
                        "length": 100 * sequence,
                        "type": "original" if page % 2 else "paraphrased",
                        "views": None if page % 7 == 0 else page * 10,
                        "right": f"group {page % 3}",
                    }
                )
    return pyarrow.Table.from_pylist(rows)


def assert_same(expected, result):
    assert expected.counts == result.counts
    assert expected.frequent == result.frequent
    assert list(expected.examples) == list(result.examples)
    for name, column in expected.examples.items():
        assert column.dtype == result.examples[name].dtype
        np.testing.assert_array_equal(column, result.examples[name])
    for name in LEVELS:
        first, second = expected.levels[name], result.levels[name]
        assert (first.hits.queries, first.hits.items) == (second.hits.queries, second.hits.items)
        for field in ("starts", "grade", "above", "tied", "tied_docid", "tied_input", "depth"):
            np.testing.assert_array_equal(getattr(first.hits, field), getattr(second.hits, field))
        for field in ("right", "margin", "confidence", "example"):
            np.testing.assert_array_equal(getattr(first, field), getattr(second, field))
    for kind in ("coded", "right"):
        for name, sample in getattr(expected.legacy, kind).items():
            np.testing.assert_array_equal(sample.values, getattr(result.legacy, kind)[name].values)
            np.testing.assert_array_equal(sample.weights, getattr(result.legacy, kind)[name].weights)
    np.testing.assert_array_equal(expected.legacy.distances, result.legacy.distances)


def shuffled(table, seed):
    return table.take(np.random.default_rng(seed).permutation(len(table)))


@pytest.fixture
def through_files(monkeypatch, tmp_path):
    """Force scoring through temporary files and return their folder."""
    monkeypatch.setattr(streaming, "_IN_MEMORY", 10)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("pool", ["alias", "gold"])
def test_no_order_of_the_rows_changes_a_bit(pool):
    table = predictions()
    expected = score_predictions(table, Rules(pool=pool))
    for seed in range(3):
        assert_same(expected, score_predictions(shuffled(table, seed), Rules(pool=pool)))


@pytest.mark.slow
@pytest.mark.parametrize("pool", ["alias", "gold"])
def test_files_and_processes_change_nothing(through_files, monkeypatch, pool):
    table, rules = predictions(), Rules(matcher="names", pool=pool)
    with monkeypatch.context() as patch:
        patch.setattr(streaming, "_IN_MEMORY", 10**6)
        expected = score_predictions(table, rules)
    assert expected.counts.led_by_no_name == 18
    for workers in (1, 2):
        batches = shuffled(table, workers).to_batches(max_chunksize=17)
        assert_same(expected, score_predictions(iter(batches), rules, workers=workers))
    assert list(through_files.iterdir()) == []


def test_blocks_of_pages_change_nothing(monkeypatch):
    table = predictions()
    expected = score_predictions(table)
    monkeypatch.setattr(page_scoring, "_BLOCK", 5)
    assert_same(expected, score_predictions(table))


def test_a_parquet_file_is_scored_as_its_table_is(tmp_path):
    table = predictions()
    path = tmp_path / "predictions.parquet"
    pyarrow.parquet.write_table(shuffled(table, 1), path, row_group_size=50)
    assert_same(score_predictions(table), score_predictions(path))


def test_a_missing_row_changes_nothing_but_its_own_example_and_the_counts():
    table = predictions()
    whole, fewer = score_predictions(table), score_predictions(table.slice(1))
    assert fewer.counts.masks == whole.counts.masks - 1
    assert fewer.counts.absent == whole.counts.absent + 1
    others = np.array(whole.levels["mask"].hits.query) != "p0"
    others_of_fewer = np.array(fewer.levels["mask"].hits.query) != "p0"
    np.testing.assert_array_equal(
        whole.levels["mask"].hits.above[others], fewer.levels["mask"].hits.above[others_of_fewer]
    )


def test_further_columns_keep_their_values_whatever_their_names():
    examples = score_predictions(predictions()).examples
    pages = examples["page"].tolist()
    views = dict(zip(pages, examples["views"].tolist(), strict=True))
    assert np.isnan(views["p7"])
    assert views["p8"] == 80.0
    groups = dict(zip(pages, examples["right"].tolist(), strict=True))
    assert (groups["p3"], groups["p4"]) == ("group 0", "group 1")


def test_columns_that_only_describe_may_be_missing():
    table = predictions().drop_columns(["masks", "length", "type"])
    scores = score_predictions(table)
    assert scores.counts.absent == 0
    assert set(scores.examples["length"].tolist()) == {-1}
    assert set(scores.examples["type"].tolist()) == {None}


class LastFirst(LocalEngine):
    """Engine that returns results in reverse order."""

    def map(self, work, tasks, *, what, total):
        yield from map(work, [*tasks][::-1])


def test_page_shards_scored_by_an_engine_change_nothing_and_leave_nothing_behind(tmp_path):
    table = predictions()
    sharding = Sharding(LastFirst(), str(tmp_path / "work"))
    assert_same(score_predictions(table), score_predictions(shuffled(table, 5), sharding=sharding))
    assert not list((tmp_path / "work").iterdir())


def test_page_shards_need_a_folder_that_can_be_mounted(tmp_path):
    sharding = Sharding(LocalEngine(), f"s3://bucket{tmp_path}")
    with pytest.raises(InputError, match="give --work-folder a path"):
        score_predictions(predictions(), sharding=sharding)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_mask_that_is_there_twice_is_refused_and_no_file_stays(through_files, workers):
    table = predictions()
    twice = pyarrow.concat_tables([table, table.slice(20, 1)])
    row = table.slice(20, 1).to_pylist()[0]
    where = f"page {row['page']}, example {row['sequence']}, mask {row['mask']}: the mask appears twice"
    with pytest.raises(InputError, match=where):
        score_predictions(twice, workers=workers)
    assert list(through_files.iterdir()) == []


def changed(**columns):
    row = {"page": "9", "sequence": 1, "mask": 2, "title": "Ada Lovelace", "guesses": ["Ada"], "scores": [0.5]}
    schema = pyarrow.schema(
        {
            "page": pyarrow.string(),
            "sequence": pyarrow.int64(),
            "mask": pyarrow.int64(),
            "title": pyarrow.string(),
            "guesses": pyarrow.list_(pyarrow.string()),
            "scores": pyarrow.list_(pyarrow.float64()),
        }
    )
    return pyarrow.Table.from_pylist([{**row, "mask": 0}, row | columns], schema)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"scores": [float("nan")]}, "page 9, example 1, mask 2: a score is not a finite number"),
        ({"scores": [float("inf")]}, "page 9, example 1, mask 2: a score is not a finite number"),
        ({"scores": [None]}, "page 9, example 1, mask 2: a score is not a finite number"),
        ({"guesses": [None]}, "page 9, example 1, mask 2: a prediction is null"),
        ({"scores": [0.5, 0.1]}, "page 9, example 1, mask 2: the predictions and scores differ in number"),
        ({"guesses": None}, "page 9, example 1, mask 2: the column guesses is empty"),
        ({"title": None}, "page 9, example 1, mask 2: the column title is empty"),
        ({"title": "Alan Turing"}, "page 9, example 1, mask 2: the page has two titles"),
        ({"mask": 0}, "page 9, example 1, mask 0: the mask appears twice"),
    ],
)
def test_what_cannot_be_scored_is_refused_with_the_name_of_the_mask(columns, message):
    with pytest.raises(InputError, match=message):
        score_predictions(changed(**columns))


def test_a_title_without_letters_is_refused():
    with pytest.raises(InputError, match="letter"):
        score_predictions(predictions().set_column(3, "title", pyarrow.array(["1984"] * len(predictions()))))


def test_predictions_without_rows_or_columns_are_refused():
    with pytest.raises(InputError, match="no predictions"):
        score_predictions(predictions().slice(0, 0))
    with pytest.raises(InputError, match="no column 'title'"):
        score_predictions(predictions().drop_columns(["title"]))


def test_no_processes_are_refused():
    with pytest.raises(InputError, match="workers=0 is not"):
        score_predictions(predictions(), workers=0)
