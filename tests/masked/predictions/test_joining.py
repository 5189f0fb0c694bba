"""Test that predictions are joined to the data by mask key, in any order, and that missing ones are counted."""

import json
import random

import pytest

from goldrank.errors import InputError
from goldrank.masked.examples.chunks import Chunk, Guesses, MaskKey
from goldrank.masked.predictions.files import read_predictions
from goldrank.masked.predictions.joining import Joined, join, masks_by_page
from goldrank.masked.predictions.rows import COLUMNS

ADA = Chunk("7", 2, "Ada Lovelace", "<mask> is <mask>.", ("Ada", "Lovelace"), size=512, extra={"views": 5})
ALAN = Chunk("9", 0, "Alan Turing", "This is <mask>.", ("Alan",), kind="paraphrased", extra={"views": 2.5})
GUESSES = {
    MaskKey("7", 2, 0): Guesses(("Ada", "Grace"), (0.5, 0.25)),
    MaskKey("7", 2, 1): Guesses((), ()),
    MaskKey("9", 0, 0): Guesses(("Kurt",), (1.0,)),
}


def test_a_row_has_the_guesses_and_what_the_data_says_of_its_mask():
    table, joined = join([ADA, ALAN], GUESSES)
    first, second, third = table.to_pylist()
    assert first == {
        "page": "7",
        "sequence": 2,
        "mask": 0,
        "title": "Ada Lovelace",
        "hidden": "Ada",
        "answers": None,
        "guesses": ["Ada", "Grace"],
        "scores": [0.5, 0.25],
        "masks": 2,
        "length": 17,
        "type": "original",
        "size": 512,
        "views": 5.0,
    }
    assert (second["hidden"], second["guesses"]) == ("Lovelace", [])
    assert (third["type"], third["views"], third["size"]) == ("paraphrased", 2.5, None)
    assert joined == Joined(masks=3, missing=0, empty=1)


def test_the_order_of_predictions_and_chunks_changes_nothing():
    table, joined = join([ADA, ALAN], GUESSES)
    shuffled, again = join([ALAN, ADA], dict(reversed(GUESSES.items())))
    key = [("page", "ascending"), ("sequence", "ascending"), ("mask", "ascending")]
    assert shuffled.select(table.column_names).sort_by(key).equals(table.sort_by(key))
    assert again == joined


def test_masks_without_a_prediction_get_empty_lists_and_are_counted():
    table, joined = join([ADA, ALAN], {MaskKey("9", 0, 0): Guesses(("Kurt",), (1.0,))})
    assert table["guesses"].to_pylist() == [[], [], ["Kurt"]]
    assert (joined.missing, joined.empty) == (2, 0)
    assert joined.sentences() == ["2 of 3 masks have no prediction"]


def test_predictions_for_unknown_masks_are_refused():
    unknown_page = {**GUESSES, MaskKey("8", 0, 0): Guesses(("x",), (1.0,))}
    with pytest.raises(InputError, match="page 8, example 0, mask 0: the data has no page '8'"):
        join([ADA, ALAN], unknown_page)
    unknown_mask = {**unknown_page, MaskKey("9", 0, 1): Guesses(("x",), (1.0,))}
    del unknown_mask[MaskKey("8", 0, 0)]
    with pytest.raises(InputError, match="page 9, example 0, mask 1: the data has the page, but not this mask"):
        join([ADA, ALAN], unknown_mask)


def test_an_example_given_twice_is_refused():
    with pytest.raises(InputError, match="page 7, example 2, mask 0: the data has this mask twice"):
        join([ADA, ALAN, ADA], GUESSES)


def test_guesses_that_no_file_could_hold_are_refused():
    for bad, message in [
        (Guesses(("a", "b"), (1.0,)), "2 predictions for 1 score"),
        (Guesses(("a",), (float("nan"),)), "nan"),
    ]:
        with pytest.raises(InputError, match=f"page 9, example 0, mask 0: .*{message}"):
            join([ADA, ALAN], {**GUESSES, MaskKey("9", 0, 0): bad})


def test_extra_columns_that_are_lists_or_hide_our_own_are_left_out_and_named():
    chunk = Chunk("1", 0, "Ada", "<mask>", ("Ada",), extra={"links": [1], "mask": 3, "living": True, "none": None})
    table, joined = join([chunk], {})
    assert joined.left_out == ("links", "mask", "none")
    assert table.column_names == [*COLUMNS, "living"]
    assert table["living"].to_pylist() == ["true"]
    assert table["mask"].to_pylist() == [0]


def test_no_data_gives_an_empty_table_with_all_columns():
    table, joined = join([], {})
    assert table.column_names == list(COLUMNS)
    assert len(table) == joined.masks == 0


def test_the_masks_of_a_page_are_listed_in_its_order():
    earlier = Chunk("7", 0, "Ada Lovelace", "<mask>", ("Ada",))
    assert masks_by_page([ADA, ALAN, earlier]) == {"7": [(0, 1), (2, 2)], "9": [(0, 1)]}


def real_chunks(shared_data):
    path = shared_data / "masked" / "wiki_mask_filling" / "small-test-mask.jsonl"
    for line in path.read_text().splitlines():
        row = json.loads(line)
        yield Chunk(str(row["id"]), row["sequence_number"], row["title"], row["texts"], tuple(row["masks"]))


def test_shuffled_predictions_of_the_real_chunks_join_as_before_and_missing_ones_are_counted(shared_data, tmp_path):
    chunks = list(real_chunks(shared_data))
    records = [
        {"id": int(c.page), "sequence_number": c.sequence, "predictions": [[h, "he"] for h in c.masks]} for c in chunks
    ]
    path = tmp_path / "p.jsonl"

    def joined(rows):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return join(chunks, read_predictions(path))

    table, counts = joined(records)
    assert (counts.masks, counts.missing) == (698, 0)
    assert [names[0] for names in table["guesses"].to_pylist()] == table["hidden"].to_pylist()
    shuffled = random.Random(1).sample(records, len(records))
    assert joined(shuffled)[0].equals(table)
    fewer, counts = joined(shuffled[:-10])
    dropped_pages = {str(row["id"]) for row in shuffled[-10:]}
    assert counts.missing == sum(len(c.masks) for c in chunks if c.page in dropped_pages)
    remaining = [row for row in table.to_pylist() if row["page"] not in dropped_pages]
    assert [row for row in fewer.to_pylist() if row["page"] not in dropped_pages] == remaining


def test_per_page_predictions_of_the_real_chunks_find_their_examples(shared_data, tmp_path):
    chunks = list(real_chunks(shared_data))
    path = tmp_path / "p.jsonl"
    rows = [{"page_id": int(c.page), "predictions": [[hidden] for hidden in c.masks]} for c in chunks]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    table, counts = join(chunks, read_predictions(path, pages=masks_by_page(chunks)))
    assert counts.missing == 0
    assert [names[0] for names in table["guesses"].to_pylist()] == table["hidden"].to_pylist()
