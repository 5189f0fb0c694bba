"""Test masking with the profile source, which hides every part of the title's name, against the real sample."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.cli.main import main
from goldrank.masked.examples.chunks import Chunk
from goldrank.masked.examples.cutting import Masked
from goldrank.masked.examples.files import read_chunks
from goldrank.masked.examples.mentions import find_mentions
from goldrank.masked.examples.part_mentions import count_same, find_parts, holds_part

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "guide" / "masked.md"


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Randall Williams (showman)", "Ned [Williams] and [Randall Williams], a showman; williams, Williamson"),
        ("Alexander von Humboldt", "Wilhelm von [Humboldt], von [Humboldt]'s and [Alexander von Humboldt]"),
        ("Robert Ufford, 1st Earl of Suffolk", "[Robert Ufford], Earl of Suffolk; [Robert] and Maud de [Ufford]"),
        ("Bolesław II the Horned", "[Bolesław] II and the [Horned]"),
        ("John F. Kennedy", "[John F. Kennedy], [John] Fitzgerald [Kennedy], F. Scott"),
        ("Lise Meitner", "[Lise]  [Meitner] and\n[Meitner]\n[Lise]"),
        ("bell hooks", "[bell hooks] wrote."),
    ],
)
def test_every_part_of_the_name_is_masked_as_it_stands_whoever_bears_it(title, text):
    plain = text.replace("[", "").replace("]", "")
    masked = Masked.of(plain, find_parts(plain, title))
    assert masked.text == re.sub(r"\[[^]]*\]", "<mask>", text)


def test_strict_masking_leaves_alone_whom_source_masking_masks():
    text = "Wilhelm von Humboldt"
    assert find_mentions(text, "Alexander von Humboldt") == []
    assert find_parts(text, "Alexander von Humboldt") == [(12, 20)]


@given(st.text("ab AB.,()I", max_size=30), st.text("abAB .I", max_size=12))
def test_spans_stand_in_order_and_hide_only_words_of_the_title(text, title):
    spans = find_parts(text, title)
    ends = [0, *(end for _, end in spans)]
    assert all(start >= before for (start, _), before in zip(spans, ends, strict=False))
    assert all(set(text[start:end].split()) <= set(title.split()) for start, end in spans)


def test_an_example_that_comes_out_the_same_is_counted_whole():
    same = Chunk("1", 0, "Lise Meitner", "<mask> met Otto.", ("Lise Meitner",))
    cut = Chunk("2", 0, "Lise Meitner", "<mask> <mask> met <mask>.", ("Lise", "Meitner", "Lise"))
    assert count_same([same, cut], find_parts) == (1, 2)


def test_all_masks_of_the_sample_hold_a_part_of_the_title_and_the_guide_says_how_many_come_out_the_same(
    shared_data, capsys
):
    path = shared_data / "masked" / "wiki_mask_filling" / "small-test-mask.jsonl"
    chunks = list(read_chunks(path))
    masks = [(mask, chunk.title) for chunk in chunks for mask in chunk.masks]
    assert (sum(holds_part(*pair) for pair in masks), len(masks)) == (698, 698)
    for profile in ("source", "strict"):
        assert main(["masked", "check", str(path), "--remask", profile]) == 0
        assert capsys.readouterr().out.strip() in GUIDE.read_text(encoding="utf-8")


def test_make_takes_the_masking_of_a_profile_and_refuses_what_it_leaves_without_effect(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = "Wilhelm von Humboldt saw Alexander von Humboldt."
    Path("pages.jsonl").write_text(f'{{"id": 1, "title": "Alexander von Humboldt", "text": "{text}"}}\n')
    for profile, hidden in (
        ([], ("Alexander von Humboldt",)),
        (["--profile", "strict"], ("Alexander von Humboldt",)),
        (["--profile", "source"], ("Humboldt", "Alexander von Humboldt")),
    ):
        assert main(["masked", "make", "pages.jsonl", "-o", "out.jsonl", *profile]) == 0
        assert [chunk.masks for chunk in read_chunks("out.jsonl")] == [hidden]
    Path("aliases.csv").write_text("title,alias\nAlexander von Humboldt,Sasha\n")
    assert (
        main(["masked", "make", "pages.jsonl", "-o", "out.jsonl", "--profile", "source", "--aliases", "aliases.csv"])
        == 2
    )
    assert "--profile source masks parts of the title only" in capsys.readouterr().err
    for idle in (["--strict"], ["--aliases", "aliases.csv"]):
        assert main(["masked", "check", "out.jsonl", "--remask", "source", *idle]) == 2
        assert f"{idle[0]} has no effect with --remask" in capsys.readouterr().err
