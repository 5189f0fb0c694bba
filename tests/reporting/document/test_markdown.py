import re

import pytest

import stored_examples as examples
from goldrank.reporting.document.content import content_of
from goldrank.reporting.document.markdown import escape, to_markdown
from goldrank.reporting.document.sections import Report
from goldrank.scoring import Bootstrap

QUICK = Bootstrap(resamples=200)


def written(sections, title="A title", command="goldrank report a b"):
    return to_markdown(Report(title, tuple(sections), command, "today", "1.2"))


def test_the_verdict_and_every_number_are_there(store):
    runs = examples.save_ranked(store, {"weak": 1, "strong": 9})
    store.texts(examples.DATA).save(*examples.texts())
    [section] = content_of(runs, store, bootstrap=QUICK, worst=2)
    text = written([section])
    assert text.startswith("# A title\n")
    assert f"**{section.verdicts[0]}**" in text
    for row in section.tables[0].rows:
        assert all(cell.text in text and cell.detail in text for cell in row)
    assert section.cases[0].query.text in text
    assert "```sh\ngoldrank run -m strong -t wines\ngoldrank run -m weak -t wines\ngoldrank report a b\n```" in text


def test_no_text_of_the_data_becomes_markup(tmp_path):
    store, runs = examples.hostile_store(tmp_path / "store")
    sections = content_of(runs, store, bootstrap=QUICK, worst=40)
    text = written(sections, title=examples.SCRIPT)
    outside_code = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    assert not re.search(r"<[a-zA-Z/!]", outside_code)
    assert "](javascript" not in outside_code
    assert "&#60;script>" in outside_code
    assert len(text) < 500_000


def test_rows_of_a_table_have_as_many_cells_as_its_head(tmp_path):
    store, runs = examples.hostile_store(tmp_path / "store")
    text = written(content_of(runs, store, bootstrap=QUICK, worst=5))
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({line.count("|") for line in block.splitlines()}) == 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# heading", "&#35; heading"),
        ("- item", "&#45; item"),
        ("1. item", "1&#46; item"),
        ("> quote", "&#62; quote"),
        ("a *b* `c`", "a &#42;b&#42; &#96;c&#96;"),
        ("snake_case and _this_", "snake_case and &#95;this&#95;"),
        ("0.5 [0.4, 0.6]", "0.5 [0.4, 0.6]"),
        ("[a](b)", "&#91;a&#93;(b)"),
        ("two\n\nlines", "two lines"),
        ("&lt; & <0.001", "&#38;lt; & <0.001"),
        ("a|b\\", "a&#124;b&#92;"),
    ],
)
def test_what_markdown_would_read_is_written_as_entities(text, shown):
    assert escape(text) == shown


def test_a_command_cannot_leave_its_block(store):
    runs = examples.save_ranked(store, {"a": 1})
    text = written(content_of(runs, store, bootstrap=QUICK, worst=0), command="goldrank report '```' x")
    assert "````sh\n" in text
    assert text.rstrip().endswith("````")


def test_measurements_have_their_section(store):
    text = written(content_of(examples.save_measured(store, {"low": 0.3, "high": 0.7}), store))
    assert "**On spearman, high leads with 0.7000 [0.6000, 0.8000]; it was not tested against low" in text
    assert "| b low | 0.3000 [0.2000, 0.4000] | 0.2500 |" in text
