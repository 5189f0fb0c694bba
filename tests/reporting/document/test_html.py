import base64
import hashlib
import json
import re
import sys
from html.parser import HTMLParser

import pytest

import stored_examples as examples
from goldrank.errors import GoldrankError, InputError, MissingExtraError
from goldrank.reporting.document import html as page_module
from goldrank.reporting.document import pdf
from goldrank.reporting.document.content import content_of
from goldrank.reporting.document.html import to_html
from goldrank.reporting.document.sections import Report
from goldrank.reporting.document.templating import environment
from goldrank.scoring import Bootstrap
from goldrank.store import Store

QUICK = Bootstrap(resamples=200)
VOID = {"meta", "br", "img", "input", "link", "hr", "wbr"}


class Reader(HTMLParser):
    """Parser of a page that records its elements, its texts, and tags that are not closed in order."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.texts, self.faults = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))


def read(page):
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.faults == []
    assert reader.open == []
    return reader


def report_of(sections, **more):
    return Report(
        **{
            "title": "A title",
            "sections": tuple(sections),
            "command": "goldrank report a b",
            "created": "today",
            "version": "1.2",
            **more,
        }
    )


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    store, runs = examples.hostile_store(tmp_path_factory.mktemp("hostile") / "store")
    sections = content_of(runs, store, bootstrap=QUICK, worst=40)
    command = f"goldrank report {examples.SCRIPT}"
    return to_html(report_of(sections, title=examples.SCRIPT, command=command))


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    store = Store.open(tmp_path_factory.mktemp("plain") / "store")
    runs = examples.save_ranked(store, {"weak": 1, "strong": 9})
    store.texts(examples.DATA).save(*examples.texts())
    return report_of(content_of(runs, store, bootstrap=QUICK, worst=3))


def test_no_text_of_the_data_becomes_an_element_or_a_script(hostile):
    reader = read(hostile)
    assert not [tag for tag, _ in reader.elements if tag in ("img", "iframe", "object", "link", "b2")]
    scripts = [attributes for tag, attributes in reader.elements if tag == "script"]
    assert [script for script in scripts if script.get("type") != "application/json"] == [{}, {}, {}, {}]
    handlers = [name for _, attributes in reader.elements for name in attributes if name.startswith("on")]
    assert handlers == []
    links = [attributes["href"] for tag, attributes in reader.elements if tag == "a"]
    assert all(link.startswith("#") for link in links)


def test_text_of_the_data_is_shown_as_it_is(hostile):
    text = "".join(data for tag, data in read(hostile).texts if tag not in ("script", "style"))
    assert examples.SCRIPT in text
    assert "</script><img src=x onerror=alert(1)>" in text
    assert "😀 & \" ' ` | * _ [link](javascript:alert(1))" in text
    assert "bell \ufffd and \ufffd nothing" in text


def test_marks_of_direction_stay_within_their_text(hostile):
    inside = re.findall(r'<bdi dir="auto">[^<]*\u202e[^<]*</bdi>', hostile)
    assert inside
    assert hostile.count("\u202e") == sum(part.count("\u202e") for part in inside)


def test_a_text_of_a_megabyte_does_not_fill_the_page(hostile):
    assert hostile.count("word") < 20_000
    assert "<summary>more</summary>" in hostile


def test_only_the_scripts_of_the_page_may_run_and_nothing_may_be_asked_for(plain):
    page = to_html(plain)
    policy = next(a["content"] for tag, a in read(page).elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    allowed = set(re.findall(r"'sha256-([^']+)'", policy))
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert {base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts} == allowed
    assert "unsafe-inline" not in policy.split("script-src")[1].split(";")[0]
    assert "connect-src" not in policy


def test_no_element_of_the_page_names_another_host(plain):
    for _, attributes in read(to_html(plain)).elements:
        for name in ("src", "href", "action", "srcset", "poster"):
            assert not (attributes.get(name) or "").startswith(("http", "//"))


def test_numbers_verdict_and_texts_need_no_script(plain):
    reader = read(to_html(plain))
    text = "".join(data for tag, data in reader.texts if tag not in ("script", "style"))
    section = plain.sections[0]
    assert section.verdicts[0] in text
    for row in section.tables[0].rows:
        assert all(cell.text in text and cell.detail in text for cell in row)
    assert section.cases[0].query.text in text
    assert "The figures need JavaScript" in text
    assert "goldrank report a b" in text


def test_every_figure_has_its_data_in_both_themes(plain):
    page = to_html(plain)
    wanted = [a["data-source"] for _, a in read(page).elements if "data-source" in a]
    assert len(wanted) == len(plain.sections[0].figures) > 0
    for name in wanted:
        content = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.DOTALL)[1]
        assert set(json.loads(content)) == {"light", "dark", "legend"}
        assert json.loads(content)["light"]["data"]


@pytest.mark.parametrize(("theme", "attribute"), [("auto", None), ("light", "light"), ("dark", "dark")])
def test_the_theme_is_the_readers_unless_one_is_asked_for(plain, theme, attribute):
    [html] = [attributes for tag, attributes in read(to_html(plain, theme)).elements if tag == "html"]
    assert html.get("data-theme") == attribute


def test_everything_is_unfolded_for_printing(plain):
    folded_parts = [a for tag, a in read(to_html(plain, opened=True)).elements if tag == "details"]
    assert folded_parts
    assert all("open" in attributes for attributes in folded_parts)


def test_ids_are_not_given_twice(plain):
    ids = [attributes["id"] for _, attributes in read(to_html(plain)).elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_tables_can_be_read_aloud(plain):
    elements = read(to_html(plain)).elements
    scopes = [attributes.get("scope") for tag, attributes in elements if tag == "th"]
    assert set(scopes) == {"col", "row"}
    regions = [attributes for _, attributes in elements if "scroll" in attributes.get("class", "").split()]
    assert len(regions) == sum(tag == "table" for tag, _ in elements) > 0
    assert all(region["role"] == "region" and region["aria-label"] and region["tabindex"] == "0" for region in regions)
    figures = [attributes for _, attributes in elements if "data-source" in attributes]
    assert all(figure["role"] == "img" and len(figure["aria-label"]) > 40 for figure in figures)


def test_without_figures_no_drawing_library_is_needed(tmp_path, monkeypatch):
    store = Store.open(tmp_path / "store")
    [section] = content_of(examples.save_measured(store, {"a": float("nan")}), store)
    assert section.figures == ()
    monkeypatch.setattr(page_module, "_plotly", lambda: pytest.fail("asked for plotly"))
    assert "a reaches spearman" in to_html(report_of([section]))


@pytest.mark.parametrize("name", ["jinja2", "plotly.offline"])
def test_without_a_library_the_extra_is_named(plain, monkeypatch, name):
    environment.cache_clear()
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=r"goldrank\[report\]"):
        to_html(plain)


def test_templates_escape_every_text_and_hold_no_character_that_html_forbids():
    template = environment("goldrank.reporting.document").from_string(
        '<a title="{{ text }}">{{ text }}</a>{{ text | bdi }}'
    )
    rendered = template.render(text="<b>\"'&\ud800\x07")
    escaped = "&lt;b&gt;&#34;&#39;&amp;\ufffd\ufffd"
    assert rendered == f'<a title="{escaped}">{escaped}</a><bdi dir="auto">{escaped}</bdi>'


def test_data_of_a_figure_cannot_close_its_element():
    template = environment("goldrank.reporting.document").from_string("<script>{{ data | tojson }}</script>")
    data = {"a": "</script><!--\u2028&\ud800"}
    written = template.render(data=data).removeprefix("<script>").removesuffix("</script>")
    assert "<" not in written
    assert json.loads(written) == data


def test_without_a_browser_a_pdf_is_refused_with_a_remedy(plain, monkeypatch):
    monkeypatch.setattr(pdf.shutil, "which", lambda name: None)
    with pytest.raises(InputError, match="install one, name it in"):
        pdf.to_pdf(plain)


def test_a_browser_that_cannot_print_is_named(plain, monkeypatch, tmp_path):
    fake = tmp_path / "chromium"
    fake.write_text("#!/bin/sh\necho it broke >&2\nexit 3\n")
    fake.chmod(0o755)
    monkeypatch.setattr(pdf, "find_browser", lambda: str(fake))
    with pytest.raises(GoldrankError, match="it broke"):
        pdf.to_pdf(plain)


def test_the_browser_of_the_environment_goes_first_if_it_can_print(monkeypatch):
    monkeypatch.setattr(pdf.shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setenv("BROWSER", "my-chromium")
    assert pdf.find_browser() == "/bin/my-chromium"
    monkeypatch.setenv("BROWSER", "firefox")
    assert pdf.find_browser() == "/bin/chromium"


@pytest.mark.slow
def test_a_report_is_printed(plain):
    try:
        pdf.find_browser()
    except InputError:
        pytest.skip("no Chromium, Chrome or Edge to print with")
    printed = pdf.to_pdf(plain)
    assert printed.startswith(b"%PDF-")
    assert printed.rstrip().endswith(b"%%EOF")
