"""Writes the pictures of report and explorer under docs/images, from the demo's own data in a real browser."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDER = HERE / "images"
# The browser is the one that the tests use.
sys.path.insert(0, str(HERE.parent / "tests"))

from goldrank.cli.main import main as goldrank  # noqa: E402
from goldrank.judging.project import JudgingProject  # noqa: E402
from goldrank.store import Store  # noqa: E402
from web.browser import Browser, browser, missing  # noqa: E402
from web.stores import served  # noqa: E402

SIZE = (1280, 860)
_COMMANDS = (
    ["demo", "-o", "{folder}/demo.html"],
    ["run", "-m", "wordllama", "tfidf", "lsa:64", "-t", "sentence-pairs"],
    ["masked", "predict", "persons", "-m", "names:majority", "retrieve:wordllama"],
    ["judge", "start", "questions", "-m", "bm25", "wordllama", "--folder", "{folder}/judging", "--no-serve"],
)


def main() -> int:
    """Make the runs, look at them, and save what is seen."""
    if why := missing():
        print(f"no screenshots: {why}", file=sys.stderr)
        return 1
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GOLDRANK_STORE"] = folder
        for command in _COMMANDS:
            if code := goldrank([word.format(folder=folder) for word in command]):
                return code
        store = Store(folder)
        with served(store) as home, browser(home, size=SIZE, scale=1.5) as page:
            _take(page, store)
            _take_report(page, Path(folder) / "demo.html")
        with served(JudgingProject.open(Path(folder) / "judging")) as home, browser(home, size=SIZE, scale=1.5) as page:
            _take_judging(page)
    return 0


def _take_report(page: Browser, report: Path) -> None:
    page.resize((SIZE[0], 1500))
    page.driver.get(report.as_uri())
    # Figures are drawn when they come near the screen.
    time.sleep(3)
    path = FOLDER / "report.png"
    page.driver.save_screenshot(str(path))
    print(path.relative_to(HERE.parent))


def _take_judging(page: Browser) -> None:
    page.open("/")
    page.one("#name").send_keys("Ann\n")
    for grade in "0130x":
        page.click(f'[data-grade="{grade if grade != "x" else "none"}"]')
    page.run("document.activeElement.blur(); scrollTo(0, 0)")
    _save(page, "judging")


def _take(page: Browser, store: Store) -> None:
    questions = {run.model: run.key for run in store.list(task="questions")}
    keys = [key for model, key in questions.items() if model != "random"]
    page.open("/?kind=ranked")
    for key in keys[:2]:
        page.click(f'input[data-key="{key}"]')
    page.run("document.activeElement.blur(); scrollTo(0, 0)")
    _save(page, "runs")
    page.open("/compare?" + "&".join(f"key={key}" for key in keys))
    page.resize((SIZE[0], 1500))
    page.one(".canvas[data-drawn]")
    _save(page, "compare", height=1500)
    page.resize(SIZE)
    page.open(f"/compare?key={questions['bm25']}&key={questions['wordllama']}")
    page.click(".case h3 a")
    _save(page, "query", height=1080)
    page.resize(SIZE)
    page.open("/playground?" + "&".join(f"key={key}" for key in keys))
    _save(page, "playground")
    (retrieved,) = store.list(task="masked-*", model="retrieve:*")
    page.open(f"/masked/{retrieved.key}?sort=masks&order=desc&q=Nansen")
    name = page.one("[data-id]").get_attribute("data-id")
    page.open(f"/masked/{retrieved.key}?sort=masks&order=desc&id={name}")
    page.click(".masked-text .mask")
    page.run("document.activeElement.blur(); scrollTo(0, 0)")
    _save(page, "masked", height=1000)


def _save(page: Browser, name: str, *, height: int | None = None) -> None:
    path = FOLDER / f"explorer-{name}.png"
    page.picture(str(path), height=height)
    print(path.relative_to(HERE.parent))


if __name__ == "__main__":
    sys.exit(main())
