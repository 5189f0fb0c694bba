"""The judging page in a real browser: keyboard, touch, two judges at once, and a server that is killed."""

import re
import subprocess
import sys
import time

import pytest

pytest.importorskip("fastapi", reason="the judging page needs the extra web")

from web.browser import DESKTOP, PHONE, Browser, browser, missing
from web.stores import HOSTILE, judging_project, served

pytestmark = pytest.mark.slow

SERVE = "import sys; from goldrank.cli.main import main; sys.exit(main(['judge', 'serve', *sys.argv[1:]]))"


@pytest.fixture(scope="module")
def windows():
    """Two browsers with storages of their own."""
    if why := missing():
        pytest.skip(why)
    with browser("") as first, browser("") as second:
        yield first, second


@pytest.fixture
def project(tmp_path):
    return judging_project(tmp_path / "judging")


class Judge:
    """A judge in a browser who uses the keyboard unless a test clicks."""

    def __init__(self, window, home, name=None):
        self.page = Browser(window.driver, home)
        self.page.resize(DESKTOP)
        self.page.prefer("light")
        self.page.open("/")
        self.page.run("localStorage.clear()")
        self.page.open("/")
        self.page.complaints(), self.page.hosts()
        if name is not None:
            # The name field has the focus.
            self.page.driver.switch_to.active_element.send_keys(name + "\n")
            self.wait(lambda: self.grades)

    @property
    def grades(self):
        """Return the grades that the strip of passages shows."""
        return "".join(self.page.run("return [...document.querySelectorAll('.strip button')].map(b => b.dataset.sign)"))

    @property
    def place(self):
        return self.page.text("#place")

    def press(self, *keys):
        for key in keys:
            self.page.driver.switch_to.active_element.send_keys(key)
            self.page.settle(0)

    def wait(self, condition):
        until = time.monotonic() + 120
        while not condition():
            assert time.monotonic() < until, self.page.text("body")
            time.sleep(0.02)

    def saved(self, grades):
        self.wait(lambda: self.grades == grades)


def labels(project):
    return {(label.judge, label.query, label.item): label.grade for label in project.labels()}


def test_a_project_is_judged_by_the_keyboard_alone(project, windows):
    with served(project) as home:
        ann = Judge(windows[0], home, "Ann")
        page = ann.page
        assert ann.place == "Passage 1 of 3"
        query = page.text("h1")
        ann.press("3", "x")
        ann.saved("3x·")
        assert ann.place == "Passage 3 of 3"
        assert page.text("#saved") == "2 of 3 passages saved"
        ann.press("k", "k", "0")
        ann.saved("0x·")
        assert ann.place == "Passage 3 of 3"
        ann.press("u")
        ann.saved("3x·")
        assert ann.place == "Passage 1 of 3"
        ann.press("u", "u")
        ann.saved("···")
        ann.press("u")
        assert page.text("#status") == "There is nothing to undo."
        ann.press("1", "7", "2", "1")
        ann.saved("121")
        page.one(".complete")
        assert page.run("return document.activeElement.textContent") == "Next query"
        assert page.text("h1") == query
        ann.press("\n")
        ann.saved("···")
        assert page.text("h1") != query
        ann.press("u")
        ann.saved("12·")
        assert (page.text("h1"), ann.place) == (query, "Passage 3 of 3")
        page.reload()
        assert (page.text("h1"), ann.place, ann.grades) == (query, "Passage 3 of 3", "12·")
        ann.press("2")
        ann.saved("122")
        page.one(".complete")
        ann.press("\n")
        ann.saved("···")
        ann.press("0", "1", "2")
        page.one(".complete")
        ann.press("\n")
        ann.wait(lambda: page.text("h1") == "Everything is judged")
        assert "goldrank judge leaderboard" in page.text(".steps")
        assert page.text("#progress") == "6 of 6 labels"
        assert page.complaints() == []
        assert page.hosts() == {home.removeprefix("http://")}
    assert sorted(labels(project).values()) == [0, 1, 1, 2, 2, 2]
    assert all(label.seconds is not None for label in project.labels())


def test_two_judges_at_once_get_different_queries_and_all_of_their_labels_are_saved(tmp_path, windows):
    project = judging_project(tmp_path / "judging", items=2, queries=6, second=2)
    with served(project) as home:
        judges = [Judge(window, home, name) for window, name in zip(windows, ("Ann", "Bob"), strict=True)]
        queries = [judge.page.text("h1") for judge in judges]
        assert len(set(queries)) == 2
        finished = set()
        while len(finished) < 2:
            for number, judge in enumerate(judges):
                if judge.page.all(".steps"):
                    # Passages that the other judge has begun may become available to this judge later.
                    if judge.page.text("h1") == "Everything is judged":
                        finished.add(number)
                    else:
                        judge.page.click(".actions button")
                elif judge.page.all(".complete"):
                    judge.press("\n")
                else:
                    judge.press(str(number))
    grades = labels(project)
    assert len(grades) == project.plan.labels(project.pool) == 2 * (6 + 2)
    assert {(judge, grade) for (judge, _, _), grade in grades.items()} == {("Ann", 0), ("Bob", 1)}
    assert len(project.history()) == len(grades)


class Server:
    """`goldrank judge serve` in a process of its own, which can be killed and started again at the same address."""

    def __init__(self, folder):
        self.folder, self.port, self.process = folder, 0, None

    def start(self):
        command = [sys.executable, "-c", SERVE, str(self.folder), "--port", str(self.port)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if match := re.search(r"(http://127\.0\.0\.1:(\d+))/", line):
                self.port = int(match[2])
                return match[1]
        raise AssertionError("the server ended")

    def kill(self):
        self.process.kill()
        self.process.communicate()


def test_no_label_is_lost_when_the_server_is_killed(project, windows):
    server = Server(project.folder)
    home = server.start()
    try:
        ann = Judge(windows[0], home, "Ann")
        page = ann.page
        ann.press("2")
        ann.saved("2··")
        server.kill()
        ann.press("1")
        ann.wait(lambda: "1 change is not saved yet: the server does not answer" in page.text("#trouble"))
        assert ann.grades == "2…·"
        assert page.text("#saved") == "1 of 3 passages saved, 1 being saved"
        assert len(project.labels()) == 1
        server.start()
        ann.saved("21·")
        ann.wait(lambda: not page.text("#trouble"))
        server.kill()
        ann.press("0")
        ann.wait(lambda: page.text("#trouble"))
        # The page is closed, although it asks first, and opened again when the server is back.
        page.driver.get("about:blank")
        assert len(project.labels()) == 2
        server.start()
        page.open("/")
        ann.saved("···")
        assert page.text("#judge bdi") == "Ann"
    finally:
        server.kill()
    assert sorted(labels(project).values()) == [0, 1, 2]
    assert len(project.history()) == 3


def test_a_telephone_judges_by_touch_and_nothing_is_wider_than_its_screen(project, windows):
    with served(project) as home:
        ann = Judge(windows[0], home)
        page = ann.page
        page.resize(PHONE)
        page.fit()
        page.fill("#name", "Ann " + "x" * 70)
        page.click(".ask button")
        ann.wait(lambda: ann.grades)
        for scheme in ("light", "dark"):
            page.prefer(scheme)
            page.fit()
            for button in page.all(".panel button"):
                # The button is large enough for a finger, and within the screen.
                box = button.rect
                assert min(box["width"], box["height"]) >= 34, (button.text, box)
                assert box["x"] >= 0
                assert box["x"] + box["width"] <= PHONE[0]
        page.click('[data-grade="3"]')
        page.click('[data-grade="none"]')
        page.click(".strip li:nth-child(2) button")
        assert page.one('[data-grade="none"]').get_attribute("aria-pressed") == "true"
        page.click('[data-grade="1"]')
        page.click('[data-grade="0"]')
        ann.saved("310")
        page.fit()
        page.click(".complete button")
        ann.saved("···")
        unnamed = """return [...document.querySelectorAll("input, button")].filter((one) =>
            !one.labels?.length && !one.getAttribute("aria-label") && !one.textContent.trim()).length"""
        assert page.run(unnamed) == 0
        content = re.sub("[\u202a-\u202e]", "", page.run("return document.getElementById('main').textContent"))
        assert HOSTILE[:20] in content
        assert page.run("return document.querySelectorAll('main script, main img').length") == 0
        assert page.complaints() == []
