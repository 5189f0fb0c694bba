"""The explorer in a real browser: every page, from a run to a query, narrow and dark screens, hostile content."""

import pytest

pytest.importorskip("fastapi", reason="the explorer needs the extra web")

from goldrank import Gold, Run
from goldrank.scoring import score_hits
from goldrank.store import RunRecord, Store
from goldrank.store.texts import Text
from goldrank.tasks.ranking.evaluation import summary_of
from web.browser import DESKTOP, PHONE, Browser, browser, missing
from web.stores import DATA, HOSTILE, key_of, ranked, served

pytestmark = pytest.mark.slow

HOSTILE_MODEL = '<img src=x onerror="document.title=1">'
HOSTILE_DATA = "ef" * 20
BUILT_IN = {"wines", "games", "questions", "sentence-pairs"}
LONG = "wine & <b>water</b> " * 50_000


def hostile_record(model, number):
    gold, run = (
        Gold({"<b>q": {"d<i>": 1}, "long": {"d1": 1}}),
        Run({"<b>q": {"d1": 2.0, "d<i>": 1.0}, "long": {"d1": 1.0}}),
    )
    hits = run.hits(gold, corpus=5)
    inputs = {"task": "harm", "model": model, "data": HOSTILE_DATA, "number": number}
    summary = summary_of(score_hits(hits, ("mrr",)))
    return RunRecord(
        f"harm {HOSTILE}", model, inputs, {"remarks": [HOSTILE]}, hits, run, metrics=("mrr",), summary=summary
    )


@pytest.fixture(scope="module")
def store(store):
    for number, model in enumerate((HOSTILE_MODEL, "calm")):
        store.save(hostile_record(model, number))
    items = [Text("d<i>", HOSTILE, HOSTILE), Text("d1", "long", LONG)]
    store.texts(HOSTILE_DATA).save([Text("<b>q", HOSTILE, HOSTILE), Text("long", "", LONG)], items)
    return store


@pytest.fixture(scope="module")
def window(store):
    if why := missing():
        pytest.skip(why)
    with served(store) as home, browser(home) as opened:
        yield opened


@pytest.fixture
def page(window):
    """Yield a browser without stored settings, and check that the console is silent and no other host was requested."""
    window.resize(DESKTOP)
    window.prefer("light")
    window.open("/")
    window.run("localStorage.clear(); sessionStorage.clear()")
    window.open("/")
    window.complaints(), window.hosts()
    yield window
    assert window.complaints() == []
    assert window.hosts() <= {window.home.removeprefix("http://")}


@pytest.fixture
def keys(store):
    return [key_of(store, "wines", model) for model in ("good", "bad")]


@pytest.fixture
def addresses(store, keys):
    """A link to every view."""
    both = "&".join(f"key={key}" for key in keys)
    masked = store.list(task="masked-people")[0].key
    return {
        "/": "Runs",
        "/?task=wines&sort=value&order=asc": "Runs",
        f"/runs/{keys[0]}": "good",
        "/compare": "Compare",
        f"/compare?{both}": "Compare",
        f"/compare?key={keys[0]}": "Report",
        f"/compare?key={masked}": "Report",
        f"/diff?{both}": "What changed",
        f"/query?{both}&q=bubbles": "Sparkling",
        f"/query?{both}&query=q1": "which red wine is from Bordeaux",
        f"/playground?{both}": "Metrics playground",
        "/playground": "Metrics playground",
        "/quality": "Data",
        "/quality?task=wines": "wines",
        "/meta": "Meta-evaluation",
        "/masked": "Masked pages",
        f"/masked/{masked}": "Masked pages",
        f"/masked/{masked}?id=p1": "Lise Meitner",
    }


def test_every_view_has_a_link_of_its_own_and_draws_on_a_screen_and_a_phone(page, addresses):
    for address, heading in addresses.items():
        page.open(address)
        assert page.text("h1") == heading, address
        assert page.path.startswith(address.split("?")[0]), address
        assert not page.all(".failure"), (address, page.text(".failure"))
        for size in (DESKTOP, PHONE):
            page.resize(size)
            page.fit()


def test_what_changed_is_shown_of_two_rankings(page, store, keys):
    page.open("/compare?" + "&".join(f"key={key_of(store, 'sts', model)}" for model in ("good", "bad")))
    assert page.text(".lead") == "sts · 2 runs"
    page.open("/compare?" + "&".join(f"key={key}" for key in keys))
    page.click(".lead a[href^='/diff']")
    assert page.text("h1") == "What changed"
    assert page.text("#nav [aria-current]") == "Compare"
    assert page.text(".verdict")


def test_from_the_list_to_a_comparison_to_a_query_and_back(page, keys):
    for key in keys:
        page.click(f'input[data-key="{key}"]')
    assert page.text("#tray strong") == "2 picked"
    page.click("#tray .strong")
    assert page.text("h1") == "Compare"
    compared = page.path
    assert page.text(".verdict")
    assert page.text(".grid tbody th").endswith("good")
    page.click(".case h3 a")
    assert page.path.startswith("/query?")
    assert len(page.all(".ranking")) == 2
    drilled, content = page.path, page.text("main")
    page.reload()
    assert (page.path, page.text("main")) == (drilled, content)
    page.back()
    assert page.path == compared
    assert page.text(".verdict")
    page.back()
    assert page.path == "/"
    assert [box.is_selected() for box in page.all("input[data-key]")].count(True) == 2


def test_the_list_is_filtered_sorted_and_remembered_in_its_address(page):
    page.fill("input[type=search]", "wines goo")
    assert page.path == "/?q=wines+goo"
    assert len(page.all(".runs tbody tr")) == 1
    page.fill("input[type=search]", "wines")
    page.click("th[data-sort=value] button")
    assert [row.text for row in page.all(".runs tbody th a")] == ["good", "bad"]
    page.click("th[data-sort=value] button")
    assert [row.text for row in page.all(".runs tbody th a")] == ["bad", "good"]
    assert page.one("th[data-sort=value]").get_attribute("aria-sort") == "ascending"
    page.reload()
    assert [row.text for row in page.all(".runs tbody th a")] == ["bad", "good"]
    page.back()
    assert page.one("th[data-sort=value]").get_attribute("aria-sort") == "descending"
    page.fill("input[type=search]", "nothing like it")
    assert "No run matches" in page.text(".empty")


def test_a_query_is_searched_and_its_gold_is_marked_in_every_ranking(page, keys):
    page.open("/query?" + "&".join(f"key={key}" for key in keys))
    page.fill(".search input", "bubbles")
    page.click("[data-id]")
    assert "query=q2" in page.path
    assert page.text("h1") == "Sparkling"
    marked = [
        [element.text for element in ranking.find_elements("css selector", ".hit.gold .name bdi")]
        for ranking in page.all(".ranking")
    ]
    assert marked == [["Item 3"], ["Item 3"]]
    page.open(f"/query?key={keys[0]}&query=q1")
    assert {element.text for element in page.all(".hit .shared")} == {"red", "wine", "Bordeaux"}
    assert "not found" in page.text("table.gold")


def test_the_queries_open_on_the_largest_difference_of_the_two_best_runs_and_sort_by_it(page, keys):
    page.open("/query?" + "&".join(f"key={key}" for key in keys))
    assert "query=%3Cb%3Eq4" in page.path
    assert page.one("[data-id][aria-current]").get_attribute("data-id") == "<b>q4"
    assert [element.text for element in page.all(".queries .number")] == ["+1.0000", "+0.5209", "0.0000", "0.0000"]
    second = page.all(".found select")[1]
    assert second.get_attribute("value") == keys[1]
    page.run("const order = document.querySelectorAll('.search select')[0];"
             "order.value = 'difference asc'; order.dispatchEvent(new Event('change'))")  # fmt: skip
    page.settle()
    assert "sort=difference&order=asc" in page.path
    assert page.all(".queries .number")[-1].text == "+1.0000"
    page.open(f"/query?key={keys[1]}")
    assert page.one(".queries [aria-current] .number").text == "0.0000"
    assert len(page.all(".ranking")) == 1
    page.resize(PHONE)
    page.open("/query?" + "&".join(f"key={key}" for key in keys))
    assert len(page.all(".ranking")) == 2
    assert page.one("details.chooser").get_attribute("open") is None
    page.fit()


def test_items_of_one_title_are_shown_with_their_ids(tmp_path_factory):
    if why := missing():
        pytest.skip(why)
    store = Store.open(tmp_path_factory.mktemp("titles"))
    key = store.save(ranked("good")).key
    items = [Text("d1", "Wine", "red"), Text("d2", "Wine", "white"), Text("d5", "Beer", "pale")]
    store.texts(DATA).save([], items)
    with served(store) as home, browser(home) as page:
        page.open(f"/query?key={key}&query=q1")
        names = [[part.text for part in hit.find_elements("css selector", "bdi")] for hit in page.all(".hit .name")]
    assert names == [["Wine", "d1"], ["Wine", "d2"], ["Beer"]]


def test_figures_are_drawn_in_the_colours_of_the_page(page, keys):
    page.open("/compare?" + "&".join(f"key={key}" for key in keys))
    page.one(".canvas[data-drawn] svg")
    light = page.run("return document.querySelector('.canvas svg text').style.fill")
    page.click("#theme")
    page.one(".canvas[data-drawn] svg")
    assert page.run("return document.querySelector('.canvas svg text').style.fill") != light


def test_numbers_of_the_playground_follow_metric_cutoff_and_ties(page, keys):
    page.open(f"/playground?key={keys[0]}&metric=hits@1")
    first = page.one(".scores .number").get_attribute("title")
    page.run(
        "const slider = document.querySelector('input[type=range]'); slider.value = 9;"
        "slider.dispatchEvent(new Event('input', {bubbles: true}))"
    )
    page.settle(0.3)
    assert page.path.endswith("metric=hits%4010")
    assert float(page.one(".scores .number").get_attribute("title")) > float(first)
    page.choose("select[name=metric]", "mrr")
    before = page.one(".scores .number").get_attribute("title")
    page.choose(".board select[title^=docid]", "optimistic")
    page.choose(".board select[title^=docid]", "pessimistic")
    assert "ties=pessimistic" in page.path
    assert float(page.one(".scores .number").get_attribute("title")) <= float(before)
    page.reload()
    assert page.one(".board select[title^=docid]").get_attribute("value") == "pessimistic"


def test_the_number_shown_is_the_stored_one_to_the_last_digit(page, store, keys):
    page.open(f"/runs/{keys[0]}")
    stored = store.get(keys[0]).summary["ndcg@10"]["value"]
    assert float(page.one(".numbers .number").get_attribute("title")) == stored


def test_masks_stand_in_their_text_and_show_their_guesses(page, store):
    key = store.list(task="masked-people")[0].key
    page.open(f"/masked/{key}?id=p1")
    assert len(page.all(".masked-text .mask")) == 3
    assert "was born in Vienna" in page.text(".masked-text")
    page.click(".masked-text .mask")
    assert "Lise Meitner" in page.text(".guesses")
    assert page.one(".masked-text .mask").get_attribute("aria-expanded") == "true"
    assert [table.text.split("\n")[0] for table in page.all(".readings figure")[:2]] == ["source", "strict"]
    page.choose(".filters label:nth-child(1) select", "strict")
    assert [table.text.split("\n")[0] for table in page.all(".readings figure")[:2]] == ["strict", "source"]
    page.choose(".filters label:nth-child(4) select", "exact")
    assert "profile=strict" in page.path
    assert "tier=exact" in page.path
    page.reload()
    assert page.one(".filters label:nth-child(4) select").get_attribute("value") == "exact"


def test_a_data_set_is_looked_into_where_it_is_listed(page, keys):
    page.open("/quality")
    page.click(".sheet button")
    assert f"/runs/{keys[0]}" in [link.get_dom_attribute("href") for link in page.all(".sheet table a")]


def test_the_evaluators_of_a_meta_evaluation_are_chosen_and_linked(page):
    page.open("/meta")
    # A similarity task is known to be intrinsic; the kind of a ranking task is not known.
    assert page.one('input[aria-label="sts spearman is intrinsic"]').is_selected()
    page.click('input[aria-label="wines ndcg@10 is downstream"]')
    assert "intrinsic=sts+spearman" in page.path
    assert "downstream=wines" in page.path
    # Two models are too few to correlate, and the page says so.
    assert "models" in page.text(".failure")
    page.complaints()


def test_dark_follows_the_system_until_the_reader_chooses(page):
    theme = "return document.documentElement.dataset.theme"
    colour = "return getComputedStyle(document.body).backgroundColor"
    light = page.run(colour)
    page.prefer("dark")
    assert page.run(theme) == "dark"
    assert page.run(colour) != light
    page.click("#theme")
    page.reload()
    assert page.run(theme) == "light"
    page.click("#theme")
    page.prefer("light")
    assert page.run(theme) == "light"


def test_the_pages_are_reached_by_the_keyboard_alone(page):
    from selenium.webdriver.common.keys import Keys

    def focused():
        return page.run(
            "return document.activeElement.textContent || document.activeElement.getAttribute('aria-label')"
        )

    page.one("body").send_keys(Keys.TAB)
    assert focused() == "Skip to the content"
    page.driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert page.run("return document.activeElement.id") == "main"
    page.run("document.querySelector('#nav a').focus()")
    page.driver.switch_to.active_element.send_keys(Keys.TAB)
    assert focused() == "Compare"
    outline = page.run("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.driver.switch_to.active_element.send_keys(Keys.ENTER)
    page.settle()
    assert page.path == "/compare"
    assert page.run("return document.activeElement.tagName") == "H1"
    unnamed = """return [...document.querySelectorAll("input, select, button")].filter((one) =>
        !one.labels?.length && !one.getAttribute("aria-label") && !one.textContent.trim()).length"""
    for address in ("/", "/meta", "/quality"):
        page.open(address)
        assert page.run(unnamed) == 0, address


def test_hostile_content_is_shown_as_text(page, store):
    runs = [run for run in store.list() if run.task.startswith("harm")]
    both = "&".join(f"key={run.key}" for run in runs)
    visible = HOSTILE.replace("\u202e", "").replace("\u202c", "")
    for address in (
        "/",
        f"/runs/{runs[0].key}",
        f"/compare?{both}",
        f"/query?{both}&query=%3Cb%3Eq",
        f"/playground?{both}",
        "/quality",
    ):
        page.open(address)
        content = (
            page.run("return document.getElementById('main').textContent").replace("\u202e", "").replace("\u202c", "")
        )
        assert visible[:20] in content or HOSTILE_MODEL in content, address
        assert page.run("return document.querySelectorAll('main script, main img, main b').length") == 0, address
    assert "goldrank" in page.driver.title
    assert page.run("return [...document.querySelectorAll('main bdi')].every(one => one.dir === 'auto')")


def test_a_long_text_is_folded_and_unfolds(page, store):
    run = next(run for run in store.list() if run.model == "calm")
    page.open(f"/query?key={run.key}&query=long")
    before = len(page.text(".ranking"))
    assert before < 500
    page.click(".ranking .more")
    assert len(page.text(".ranking")) > 9_000
    page.resize(PHONE)
    page.fit()


def test_what_cannot_be_shown_says_why_and_what_to_do(page):
    for address, message in {"/no/such/page": "There is no such page", "/runs/no-such-key": "no-such-key"}.items():
        page.open(address)
        assert message in page.text(".failure")
        assert page.text("#status").startswith("Error")
    # The console reports the expected 404.
    assert all("404" in line for line in page.complaints())


def test_an_empty_store_says_what_to_run(tmp_path, window):
    commands = set()
    with served(Store(tmp_path)) as home:
        page = Browser(window.driver, home)
        for address in ("/", "/compare", "/query", "/playground", "/quality", "/meta", "/masked"):
            page.open(address)
            assert "goldrank" in page.text(".empty pre"), address
            commands |= {command.text for command in page.all(".empty pre")}
        assert page.complaints() == []
    # Every command runs without changes, on built-in data.
    for command in commands:
        _, name, *options = command.split()
        if name == "run":
            assert set(options[options.index("-t") + 1 :]) <= BUILT_IN, command
        else:
            assert (name, *options) in {("demo",), ("masked", "predict", "persons", "-m", "names:majority")}, command


def test_a_row_of_a_narrow_table_has_one_background(page):
    page.resize(PHONE)
    page.open("/meta")
    for theme in ("light", "dark"):
        page.run(f'document.documentElement.dataset.theme = "{theme}"')
        behind = page.run('return getComputedStyle(document.querySelector(".board")).backgroundColor')
        cells = "[...document.querySelectorAll('.board tr > :first-child')]"
        colours = set(page.run(f"return {cells}.map((cell) => getComputedStyle(cell).backgroundColor)"))
        assert colours <= {behind, "rgba(0, 0, 0, 0)"}, theme


def test_a_run_is_deleted_only_where_that_is_allowed_and_asked_twice(tmp_path, window, keys):
    window.open(f"/runs/{keys[0]}")
    assert not window.all(".danger")
    store = Store(tmp_path)
    store.save(ranked("good"))
    with served(store, allow_delete=True) as home:
        other = Browser(window.driver, home)
        other.open(f"/runs/{store.list()[0].key}")
        other.click(".danger")
        assert len(store.list()) == 1
        other.click(".danger")
        assert store.list() == []
        assert other.path == "/"
