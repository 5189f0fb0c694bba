"""Test the predictors without a language model: names, retrieval, files and functions."""

import json
import math

import numpy as np
import pytest

from goldrank.errors import GoldrankError, InputError
from goldrank.masked.examples.chunks import Blank, Chunk, Guesses, MaskKey
from goldrank.masked.examples.files import read_chunks
from goldrank.masked.predictions.predict import blanks_of, predict_all
from goldrank.masked.predictors import PREDICTORS, ClosedSet, Predictor, load_predictor, parse_predictor, remarks_of
from goldrank.masked.predictors.base import check_guesses
from goldrank.specs import Spec


def chunk(page, title, text="<mask> was born.", sequence=0):
    return Chunk(page, sequence, title, text, ("x",) * text.count("<mask>"))


def blank(page="1", sequence=0, mask=0, before="", after=" was born."):
    return Blank(MaskKey(page, sequence, mask), before, after)


def prepared(spec, chunks):
    predictor = load_predictor(spec)
    predictor.prepare(ClosedSet.of(chunks))
    return predictor


@pytest.fixture(scope="module")
def sample(shared_data):
    return list(read_chunks(shared_data / "masked" / "wiki_mask_filling" / "small-test-mask.jsonl"))


# The registry


@pytest.mark.parametrize("kind", PREDICTORS)
def test_every_kind_has_an_example_that_reads_as_itself(kind):
    assert parse_predictor(PREDICTORS[kind].example).kind == kind
    assert PREDICTORS[kind].summary


def test_a_kind_with_a_hyphen_keeps_its_argument_and_options():
    spec = parse_predictor(" fill-mask:some-org/a-model(max_length=64, device='cuda:0') ")
    assert spec == Spec("fill-mask", "some-org/a-model", {"max_length": "64", "device": "cuda:0"})
    assert parse_predictor(str(spec)) == spec


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("fillmask:x", r"no kind of predictor 'fillmask'; did you mean 'fill-mask'\? \(goldrank list predictors\)"),
        ("names:mean", "there is no predictor names:mean; write names:majority or names:random"),
        ("names:random(sed=3)", "no option of names 'sed'; did you mean 'seed'"),
        ("names:random(seed=-1)", "seed='-1' is not a whole number"),
        ("names:majority(file=/no/such/file)", "/no/such/file"),
        ("retrieve", "needs an encoder; write, for example, retrieve:wordllama"),
        ("retrieve:bm25", "bm25 ranks without vectors"),
        ("retrieve:wordllama(by=name)", "write by=title"),
        ("retrieve:wordllama(dimension=3)", "no option of wordllama 'dimension'"),
        ("retrieve:wordlama", "did you mean 'wordllama'"),
        ("file:/no/such/predictions", "no such file of predictions"),
        ("python:json", "names no function"),
        ("python:json:no_such", "cannot be imported"),
        ("python:json:dumps(k=3)", "no option of python 'k'"),
    ],
)
def test_a_wrong_spec_is_refused_with_a_remedy(spec, message):
    with pytest.raises(InputError, match=message):
        load_predictor(spec)


def test_what_is_a_predictor_already_stays_and_what_is_none_is_refused():
    predictor = load_predictor("names:random")
    assert load_predictor(predictor) is predictor
    assert isinstance(predictor, Predictor)
    with pytest.raises(InputError, match="7 is not a predictor"):
        load_predictor(7)


def test_a_page_of_two_titles_is_refused():
    with pytest.raises(InputError, match="page 1: the page has two titles, 'A B' and 'C D'"):
        ClosedSet.of([chunk("1", "A B"), chunk("1", "C D", sequence=1)])


# names:majority


PEOPLE = [
    chunk("1", "John Smith"), chunk("2", "John von Stein"), chunk("3", "Maria Smith (poet)"), chunk("4", "Maria Adler"),
    chunk("5", "John F. Smith II"),
]  # fmt: skip


def test_the_most_frequent_names_of_all_other_pages_are_guessed_with_their_shares():
    predictor = prepared("names:majority", PEOPLE)
    # The names of the other pages are John, Stein, Maria, Smith, Maria, Adler, John and Smith.
    assert predictor.predict([blank("1")], 4) == [
        Guesses(("John", "Maria", "Smith", "Adler"), (2 / 8, 2 / 8, 2 / 8, 1 / 8))
    ]


def test_the_title_of_the_asked_page_never_counts():
    predictor = prepared("names:majority", [*PEOPLE, chunk("6", "Zeno Zeuxis")])
    for page, own_name in (("4", "Adler"), ("6", "Zeno"), ("2", "Stein")):
        names = predictor.predict([blank(page)], 50)[0].names
        assert own_name not in names
        assert len(names) >= 5


@pytest.mark.parametrize("k", [1, 2, 3, 5, 30])
def test_majority_agrees_with_counting_without_the_page(k):
    titles = [f"{given} {last}" for given in ("Ann", "Bo", "Cy", "Dee") for last in ("Fox", "Gray", "Fox", "Hill")]
    titles = titles[:13]
    people = [chunk(str(at), title) for at, title in enumerate(titles)]
    predictor = prepared("names:majority", people)
    for at in range(len(titles)):
        parts = [part for other, title in enumerate(titles) if other != at for part in title.split()]
        order = sorted(set(parts), key=lambda part: (-parts.count(part), part))[:k]
        expected = Guesses(tuple(order), tuple(parts.count(part) / len(parts) for part in order))
        assert predictor.predict([blank(str(at))], k) == [expected]


def test_particles_numerals_initials_and_qualifiers_are_no_majority_names():
    names = set(prepared("names:majority", PEOPLE).predict([blank("unknown")], 50)[0].names)
    assert names == {"John", "Smith", "Stein", "Maria", "Adler"}


def test_majority_names_from_a_file_are_weighted_by_their_counts(tmp_path):
    listed = tmp_path / "names.txt"
    listed.write_text("Smith\t6\n\nJones\t3\nSmith\t1\r\n", encoding="utf-8")
    predictor = prepared(f"names:majority(file={listed})", PEOPLE)
    assert predictor.predict([blank()], 5) == [Guesses(("Smith", "Jones"), (0.7, 0.3))]
    before = predictor.identity
    listed.write_text("Smith\nJones\nSmith\n", encoding="utf-8")
    predictor = prepared(f"names:majority(file={listed})", PEOPLE)
    assert predictor.predict([blank()], 1) == [Guesses(("Smith",), (2 / 3,))]
    assert predictor.identity != before


@pytest.mark.parametrize(
    ("content", "message"),
    [("Smith\tmany\n", r"names\.txt:1: .*neither a name nor"), ("A\n\t3\n", r"names\.txt:2"), (" \n", "has no names")],
)
def test_a_faulty_file_of_names_is_refused_with_its_line(tmp_path, content, message):
    (tmp_path / "names.txt").write_text(content)
    with pytest.raises(InputError, match=message):
        load_predictor(f"names:majority(file={tmp_path / 'names.txt'})")


# names:random


def test_random_names_are_different_titles_with_equal_scores():
    [guesses] = prepared("names:random", PEOPLE).predict([blank()], 3)
    assert len(set(guesses.names)) == 3
    assert set(guesses.names) <= {person.title for person in PEOPLE}
    assert guesses.scores == (1 / 3,) * 3
    [everyone] = prepared("names:random", PEOPLE).predict([blank()], 50)
    assert sorted(everyone.names) == sorted(person.title for person in PEOPLE)


def test_random_names_depend_on_the_seed_and_the_mask_and_not_on_the_order_of_rows():
    people = [chunk(str(at), f"Person {chr(65 + at)}x", "<mask> and <mask>.") for at in range(26)]
    predictions, other = (predict_all(people, load_predictor(f"names:random(seed={seed})")) for seed in (1, 2))
    assert predict_all(people[::-1], load_predictor("names:random(seed=1)")) == predictions
    assert predictions != other
    assert predictions[MaskKey("3", 0, 0)] != predictions[MaskKey("3", 0, 1)]


def test_random_names_are_drawn_evenly():
    people = [chunk(str(at), f"Person {chr(65 + at)}x") for at in range(8)]
    predictions = prepared("names:random", people).predict([blank("1", at) for at in range(4000)], 3)
    for rank in range(3):
        _, counts = np.unique([guesses.names[rank] for guesses in predictions], return_counts=True)
        assert len(counts) == 8
        assert abs(counts - 500).max() < 5 * math.sqrt(500)


# retrieve


BIOGRAPHIES = {
    "Lise Meitner": [
        "<mask> studied physics in Vienna and worked on radioactivity.",
        "In Berlin <mask> measured the radioactivity of uranium, a physics puzzle.",
    ],
    "Pelé": ["<mask> won the football World Cup with Brazil.", "For Brazil <mask> scored goals, a football hero."],
    "Cleopatra": ["<mask> was the last queen of Egypt.", "Caesar came to Egypt, where <mask> ruled as queen."],
}
KNOWN = [
    chunk(str(page), title, text, sequence)
    for page, (title, texts) in enumerate(BIOGRAPHIES.items())
    for sequence, text in enumerate(texts)
]


@pytest.mark.parametrize(
    "spec", ["retrieve:wordllama", "retrieve:wordllama(dim=64)", "retrieve:tfidf(by=texts,tokens=words)"]
)
def test_a_person_is_found_by_their_other_texts(spec):
    predictions = predict_all(KNOWN, load_predictor(spec), k=3)
    assert [each.names[0] for each in predictions.values()] == [each.title for each in KNOWN]
    for each in predictions.values():
        assert list(each.scores) == sorted(each.scores, reverse=True)


def test_the_asked_chunk_itself_never_counts():
    # If a chunk were compared with itself, every first score would be 1.
    predictions = predict_all(KNOWN, load_predictor("retrieve:tfidf"), k=1)
    assert max(guesses.scores[0] for guesses in predictions.values()) < 0.9
    alone = [*KNOWN, chunk("9", "Nobody Known", "<mask> grew tulips.")]
    names = predict_all(alone, load_predictor("retrieve:tfidf(by=texts)"), k=9)[MaskKey("9", 0, 0)].names
    assert "Nobody Known" not in names


def test_a_person_of_one_text_is_known_by_the_title_whoever_is_asked_for():
    people = [chunk("21", "Ann Fox", "<mask> grew tulips."), chunk("22", "Bo Gray", "<mask> grew tulips and roses.")]
    predictions = predict_all([*people, *KNOWN], load_predictor("retrieve:tfidf"), k=9)
    by_title = predict_all([*people, *KNOWN], load_predictor("retrieve:tfidf(by=title)"), k=9)
    for page, other in (("21", "Bo Gray"), ("22", "Ann Fox")):
        scores = dict(
            zip(*(getattr(predictions[MaskKey(page, 0, 0)], part) for part in ("names", "scores")), strict=True)
        )
        assert scores[other] == 0
        assert set(scores) == set(by_title[MaskKey(page, 0, 0)].names)
    with pytest.raises(InputError, match=r"no person has evidence with by=texts; .*by=title"):
        predict_all(people, load_predictor("retrieve:tfidf(by=texts)"))


def test_by_title_compares_with_titles_alone():
    people = [chunk("1", "Queen Victoria"), chunk("2", "King Arthur", "<mask> was a king, the king of kings.")]
    predictions = predict_all(people, load_predictor("retrieve:wordllama(by=title)"), k=1)
    assert predictions[MaskKey("2", 0, 0)].names == ("King Arthur",)


def test_revealed_names_lead_to_the_title_and_masks_are_not_words():
    people = [chunk("1", "Ann Fox", "x"), chunk("2", "Bo Gray", "x")]
    people.append(Chunk("3", 0, "Cy Hill", "<mask> met <mask>.", ("Hill", "Cy Hill")))
    model = load_predictor("retrieve:wordllama(by=title)")
    assert predict_all(people, model, context="revealed")[MaskKey("3", 0, 0)].names[0] == "Cy Hill"
    masked = predict_all(people, model)
    assert (
        masked[MaskKey("3", 0, 0)] == masked[MaskKey("3", 0, 1)] == model.predict([blank("3", 0, 0, "met .", "")], 5)[0]
    )


def test_equal_scores_are_ordered_by_title():
    people = [chunk(str(at), f"{name} Xx", "nothing <mask> here") for at, name in enumerate(["Zoe", "Ann", "Max"])]
    predictions = predict_all(people, load_predictor("retrieve:tfidf"), k=3)
    assert {guesses.names for guesses in predictions.values()} == {("Ann Xx", "Max Xx", "Zoe Xx")}


def test_texts_from_a_file_add_knowledge_and_candidates(tmp_path):
    people = [chunk("1", "Ann Fox", "<mask> grew tulips in Leiden."), chunk("2", "Bo Gray", "<mask> mended clocks.")]
    file = tmp_path / "texts.jsonl"
    added = {"Ann Fox": "tulips of Leiden", "Bo Gray": "clocks, mended or not", "Cy Hill": "a boxer"}
    file.write_text("".join(json.dumps({"title": t, "text": x, "id": 1}) + "\n" for t, x in added.items()))
    predictions = predict_all(people, load_predictor(f"retrieve:tfidf(texts={file})"), k=9)
    assert [guesses.names[0] for guesses in predictions.values()] == ["Ann Fox", "Bo Gray"]
    assert {name for guesses in predictions.values() for name in guesses.names} == set(added)
    identity = load_predictor(f"retrieve:tfidf(texts={file})").identity
    file.write_text('{"title": "Ann Fox", "text": "roses"}\n\n{"title": "Bo Gray"}\n')
    with pytest.raises(InputError, match=r"texts\.jsonl:3: .*has no title and text"):
        load_predictor(f"retrieve:tfidf(texts={file})")
    file.write_text('{"title": "Ann Fox", "text": "roses"}\n')
    assert load_predictor(f"retrieve:tfidf(texts={file})").identity != identity


def test_the_order_of_rows_changes_no_retrieval():
    predictions = predict_all(KNOWN, load_predictor("retrieve:wordllama"), k=3)
    assert predict_all(KNOWN[::-1], load_predictor("retrieve:wordllama"), k=3) == predictions


def test_retrieval_refuses_to_guess_before_it_has_seen_the_persons():
    with pytest.raises(InputError, match="no persons to choose from"):
        load_predictor("retrieve:wordllama").predict([blank()], 1)


def test_the_identity_of_retrieval_stays_the_same_once_it_has_learnt():
    predictor = load_predictor("retrieve:tfidf")
    before = predictor.identity
    predictor.prepare(ClosedSet.of(KNOWN))
    assert predictor.identity == before
    assert load_predictor("retrieve:tfidf(by=title)").identity != before


@pytest.mark.parametrize("spec", ["names:majority", "names:random", "retrieve:wordllama"])
@pytest.mark.parametrize("context", ["masked", "revealed"])
def test_the_real_sample_gets_five_guesses_for_every_mask(sample, spec, context):
    predictions = predict_all(sample, load_predictor(spec), context=context)
    assert len(predictions) == 698
    assert all(len(guesses.names) == len(set(guesses.names)) == 5 for guesses in predictions.values())


# file


def test_predictions_from_a_file_are_looked_up_by_key_and_missing_ones_are_counted(tmp_path):
    rows = [
        {"id": 2, "sequence_number": 0, "predictions": [["Bo", "Bob", "Bo"]], "scores": [[0.5, 0.3, 0.2]]},
        {"id": 1, "sequence_number": 0, "predictions": [["Ann"], ["Fox"]], "scores": [[0.9], [0.8]]},
    ]
    file = tmp_path / "predictions.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    predictor = load_predictor(f"file:{file}")
    people = [chunk("1", "Ann Fox", "<mask> <mask>"), chunk("2", "Bo Gray"), chunk("3", "Cy Hill")]
    predictions = predict_all(people, predictor, k=2)
    assert predictions[MaskKey("1", 0, 1)] == Guesses(("Fox",), (0.8,))
    assert predictions[MaskKey("2", 0, 0)] == Guesses(("Bo", "Bob"), (0.5, 0.3))
    assert predictions[MaskKey("3", 0, 0)] == Guesses((), ())
    assert remarks_of(predictor) == (
        "predictions.jsonl: page = id, sequence = sequence_number, guesses = predictions, scores = scores",
        "1 masks have no predictions in predictions.jsonl",
    )
    assert predict_all(people, predictor, k=3)[MaskKey("2", 0, 0)].names == ("Bo", "Bob", "Bo")
    before = predictor.identity
    file.write_text(json.dumps(rows[0]) + "\n")
    assert load_predictor(f"file:{file}").identity != before


def test_a_file_that_counts_masks_through_the_page_finds_those_of_later_examples(tmp_path):
    file = tmp_path / "pages.jsonl"
    file.write_text(json.dumps({"page_id": 1, "predictions": [["Ann"], ["Bo"], ["Cy"]], "scores": [[1], [1], [1]]}))
    people = [chunk("1", "Ann Fox", "<mask> <mask>"), chunk("1", "Ann Fox", sequence=4)]
    predictions = predict_all(people, load_predictor(f"file:{file}"), k=1)
    assert [predictions[key].names for key in sorted(predictions)] == [("Ann",), ("Bo",), ("Cy",)]


# python


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (["Ann", "Bo", "Cy"], Guesses(("Ann", "Bo"), (1.0, 0.5))),
        (("Ann",), Guesses(("Ann",), (1.0,))),
        ([("Ann", 0.1), ("Bo", 0.3), ["Cy", 0.2]], Guesses(("Bo", "Cy"), (0.3, 0.2))),
        ({"Ann": 1, "Bo": np.float32(2)}, Guesses(("Bo", "Ann"), (2.0, 1.0))),
        ((name for name in "abc"), Guesses(("a", "b"), (1.0, 0.5))),
        ([], Guesses((), ())),
    ],
)
def test_a_function_gives_names_or_pairs_or_a_dict(found, expected):
    assert load_predictor(lambda before, after, k: found).predict([blank()], 2) == [expected]


def test_a_function_sees_what_stands_before_and_after_and_k(tmp_path, monkeypatch):
    (tmp_path / "my_guesser.py").write_text("def guess(before, after, k):\n    return [f'{before}|{after}|{k}']\n")
    monkeypatch.chdir(tmp_path)
    predictor = load_predictor("python:my_guesser:guess")
    [first, second] = blanks_of(chunk("1", "A", "a <mask> b <mask> c"))
    assert predictor.predict([first, second], 3)[1].names == ("a <mask> b | c|3",)
    assert predictor.identity.startswith("python:my_guesser:guess ")


def test_two_functions_without_a_file_are_never_taken_for_one():
    assert load_predictor(lambda b, a, k: ["x"]).identity != load_predictor(lambda b, a, k: ["y"]).identity


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ("Ann", "a list of names"),
        (None, "a list of names"),
        ([3], "the name 3, which is not a string"),
        ([("Ann", math.nan)], "the score nan, which is not a finite number"),
        ([("Ann", math.inf)], "the score inf"),
        ([("Ann", "high")], "the score 'high'"),
        ([("Ann", 0.5), "Bo"], "score all names or none"),
    ],
)
def test_what_a_function_gives_is_checked_and_the_mask_named(found, message):
    with pytest.raises(GoldrankError, match=rf"page 1, example 4, mask 2: python:.*{message}"):
        load_predictor(lambda before, after, k: found).predict([blank("1", 4, 2)], 5)


def test_a_function_that_fails_is_named_with_the_mask():
    with pytest.raises(GoldrankError, match=r"page 1, example 0, mask 0: .* failed: ZeroDivisionError"):
        load_predictor(lambda before, after, k: 1 / 0).predict([blank()], 5)


# All predictors


@pytest.mark.parametrize("spec", ["names:majority", "names:random", "retrieve:tfidf", "python:json:dumps"])
def test_asking_for_no_guesses_is_refused(spec):
    with pytest.raises(InputError, match="k=0 is not a whole number >= 1"):
        load_predictor(spec).predict([blank()], 0)


@pytest.mark.parametrize("spec", ["names:majority", "names:random", "retrieve:wordllama"])
def test_no_masks_get_no_guesses(spec):
    assert prepared(spec, PEOPLE).predict([], 5) == []


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ([], "returned 0 lists of guesses for 1 masks"),
        ([["Ann"]], r"mask 2: it returned \['Ann'\], which is not of type Guesses"),
        ([Guesses(("Ann",), ())], "mask 2: it returned 1 names for 0 scores"),
        ([Guesses((None,), (0.5,))], "mask 2: it returned the name None"),
        ([Guesses(("Ann",), (math.nan,))], "mask 2: it returned the score nan for 'Ann'"),
        ([Guesses(("Ann",), ("1",))], "mask 2: it returned the score '1'"),
    ],
)
def test_guesses_that_are_none_are_refused(made, message):
    with pytest.raises(GoldrankError, match=message):
        check_guesses(made, [blank("1", 4, 2)], 5, "it")
