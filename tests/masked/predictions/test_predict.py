"""Test prediction for every mask: the predictor's input, batches, and resuming an interrupted run."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.errors import GoldrankError, InputError
from goldrank.io.checkpoints import Checkpoint
from goldrank.masked.examples.chunks import MASK, Chunk, Guesses, MaskKey
from goldrank.masked.predictions.predict import blanks_of, predict_all

CHUNKS = [
    Chunk(str(page), sequence, f"Person {page}", "a <mask> b <mask> c", ("Ann", "Fox"))
    for page in range(6)
    for sequence in range(3)
]


class Counting:
    """Predictor that guesses the length of its input, records the masks, and fails after a given number of them."""

    identity = "counting 1"

    def __init__(self, fails_after=None):
        self.asked, self.batches, self.material = [], [], None
        self.fails_after = fails_after

    def prepare(self, material):
        self.material = material

    def predict(self, blanks, k):
        if self.fails_after is not None and len(self.asked) + len(blanks) > self.fails_after:
            raise KeyboardInterrupt
        self.asked += [blank.key for blank in blanks]
        self.batches.append(len(blanks))
        return [self.answer(blank)[0] for blank in blanks]

    @staticmethod
    def answer(blank):
        # Files of guesses must preserve repeated names, names with blanks, and unsorted scores.
        names = (f"{blank.key.page}:{blank.key.mask}", " b  ö ", f"{len(blank.before)}", "twice", "twice")
        return (Guesses(names, (0.1, 0.3, 1 / 3, -0.0, 0.0)),)


def test_masks_are_seen_masked_or_revealed_but_never_what_the_asked_one_hid():
    chunk = Chunk("7", 2, "T", "x <mask>,<mask> y <mask>", ("one", "two", "three"))
    masked, revealed = blanks_of(chunk), blanks_of(chunk, "revealed")
    assert [blank.key for blank in masked] == [MaskKey("7", 2, 0), MaskKey("7", 2, 1), MaskKey("7", 2, 2)]
    assert (masked[1].before, masked[1].after) == ("x <mask>,", " y <mask>")
    assert (revealed[1].before, revealed[1].after) == ("x one,", " y three")
    assert "two" not in revealed[1].before + revealed[1].after


words = st.text(st.sampled_from("ab <>mask\n"), max_size=12).filter(lambda text: MASK not in text)


@given(st.lists(st.tuples(words, words), min_size=1, max_size=6), words)
def test_before_the_mask_and_after_it_give_the_text_back(parts, end):
    text = MASK.join([piece for piece, _ in parts] + [end])
    if text.count(MASK) != len(parts):
        return
    hidden = tuple(name for _, name in parts)
    chunk = Chunk("1", 0, "T", text, hidden)
    whole = "".join(piece + name for piece, name in parts) + end
    for blank, revealed, name in zip(blanks_of(chunk), blanks_of(chunk, "revealed"), hidden, strict=True):
        assert blank.before + MASK + blank.after == text
        assert revealed.before + name + revealed.after == whole


@pytest.mark.parametrize(("text", "masks"), [("a <mask>", ()), ("a", ("x",)), ("<mask> <mask>", ("x",))])
def test_a_text_with_other_masks_than_are_listed_is_refused(text, masks):
    with pytest.raises(InputError, match=r"page 7, example 1: the text has \d masks, but \d are listed"):
        blanks_of(Chunk("7", 1, "T", text, masks))


def test_an_unknown_context_is_refused():
    with pytest.raises(InputError, match="no context 'open'; choose masked or revealed"):
        blanks_of(CHUNKS[0], "open")


def test_every_mask_is_asked_once_and_found_under_its_key():
    predictor = Counting()
    guesses = predict_all(CHUNKS, predictor, k=5)
    keys = [key for chunk in CHUNKS for key in chunk.keys]
    assert predictor.asked == list(guesses) == keys
    assert guesses[MaskKey("3", 1, 1)].names[0] == "3:1"
    assert predictor.material.titles["3"] == "Person 3"
    assert predictor.material.texts["3"] == [(at, "a <mask> b <mask> c") for at in range(3)]


def test_batches_grow_up_to_the_size_that_is_allowed():
    predictor = Counting()
    predict_all(CHUNKS, predictor, batch=8)
    assert predictor.batches == [1, 2, 4, 8, 8, 8, 5]


def test_the_context_is_what_the_predictor_sees():
    masked, revealed = (predict_all(CHUNKS[:1], Counting(), context=context) for context in ("masked", "revealed"))
    assert masked[MaskKey("0", 0, 1)].names[2] == str(len("a <mask> b "))
    assert revealed[MaskKey("0", 0, 1)].names[2] == str(len("a Ann b "))


def test_no_more_than_k_guesses_are_kept_and_fewer_than_one_refused():
    assert all(
        len(guesses.names) == len(guesses.scores) == 2 for guesses in predict_all(CHUNKS, Counting(), k=2).values()
    )
    with pytest.raises(InputError, match="k=0"):
        predict_all(CHUNKS, Counting(), k=0)


def test_two_chunks_of_one_key_are_refused():
    with pytest.raises(InputError, match="page 0, example 0, mask 0: two chunks have the same page"):
        predict_all([CHUNKS[0], CHUNKS[0]], Counting())


def test_a_predictor_of_another_number_of_lists_is_named():
    predictor = Counting()
    predictor.predict = lambda blanks, k: []
    with pytest.raises(GoldrankError, match="counting 1 returned 0 lists of guesses for 1 masks"):
        predict_all(CHUNKS, predictor)


def test_a_killed_run_goes_on_where_it_was_and_gives_the_same(tmp_path):
    whole = predict_all(CHUNKS, Counting())
    checkpoint = Checkpoint("run", tmp_path)
    killed = Counting(fails_after=20)
    with pytest.raises(KeyboardInterrupt):
        predict_all(CHUNKS, killed, checkpoint=checkpoint, batch=8)
    resumed = Counting()
    shuffled = random.Random(1).sample(CHUNKS, len(CHUNKS))
    assert predict_all(shuffled, resumed, checkpoint=checkpoint) == whole
    assert 0 < len(killed.asked) == len(whole) - len(resumed.asked)
    assert not set(killed.asked) & set(resumed.asked)
    again = Counting()
    restored = predict_all(CHUNKS, again, checkpoint=checkpoint)
    assert not again.asked
    assert list(restored) == list(whole)
    assert [repr(guesses) for guesses in restored.values()] == [repr(guesses) for guesses in whole.values()]


def test_masks_without_guesses_are_kept_too(tmp_path):
    predictor = Counting()
    predictor.answer = lambda blank: (Guesses((), ()),)
    checkpoint = Checkpoint("run", tmp_path)
    predict_all(CHUNKS, predictor, checkpoint=checkpoint)
    again = Counting()
    assert set(predict_all(CHUNKS, again, checkpoint=checkpoint).values()) == {Guesses((), ())}
    assert not again.asked


def test_an_instant_predictor_is_asked_once_and_nothing_is_kept(tmp_path):
    predictor = Counting()
    predictor.instant = True
    checkpoint = Checkpoint("run", tmp_path)
    predict_all(CHUNKS, predictor, checkpoint=checkpoint)
    assert predictor.batches == [36]
    assert checkpoint.done() == {}
