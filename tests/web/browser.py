"""Driver of a real browser, shared by the tests of the explorer and the screenshots of the documentation."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
)
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
DESKTOP, PHONE = (1280, 900), (360, 740)
_PATIENCE = 120.0


def missing() -> str | None:
    """Return why no browser can be started, or None if one can."""
    if not any(map(shutil.which, _BROWSERS)):
        return f"no browser: none of {', '.join(_BROWSERS)} is on the path"
    if shutil.which("chromedriver") is None:
        return "no chromedriver on the path (Debian: apt install chromium-driver)"
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "selenium is not installed"
    return None


class Browser:
    """A browser whose elements are found by CSS selectors, and which reports the errors of its console."""

    def __init__(self, driver: Any, home: str, scale: float = 1.0) -> None:
        self.driver, self.home, self.scale = driver, home, scale

    def open(self, path: str) -> None:
        """Load an address of the explorer and wait until it is drawn."""
        self.driver.get(self.home + path)
        self.settle()

    def settle(self, pause: float = 0.05) -> None:
        """Wait for *pause* seconds, then until the view is drawn and nothing is being loaded."""
        script = """
            return document.readyState === "complete" && !document.body.classList.contains("loading")
                && document.getElementById("main").dataset.shown !== undefined
                && !document.querySelector("[aria-busy], .view > .skeleton")"""
        time.sleep(pause)
        _wait(lambda: self.driver.execute_script(script), f"{self.path} was not drawn: {self.text('body')[:500]}")

    def reload(self) -> None:
        """Load the present address again."""
        self.driver.refresh()
        self.settle()

    def back(self) -> None:
        """Go back, as with the browser's button."""
        self.driver.back()
        self.settle(0.2)

    @property
    def path(self) -> str:
        """Return the present address without the host."""
        parts = urlsplit(self.driver.current_url)
        return parts.path + (f"?{parts.query}" if parts.query else "")

    def all(self, selector: str) -> list[Any]:
        """Return the elements that match."""
        elements: list[Any] = self.driver.find_elements("css selector", selector)
        return elements

    def one(self, selector: str) -> Any:
        """Wait for an element that matches, and return the first one."""
        _wait(lambda: self.all(selector), f"there is no {selector} at {self.path}")
        return self.all(selector)[0]

    def click(self, selector: str) -> None:
        """Click an element and wait until the view is drawn."""
        element = self.one(selector)
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()
        self.settle()

    def fill(self, selector: str, text: str) -> None:
        """Type into a field."""
        field = self.one(selector)
        field.clear()
        field.send_keys(text)
        # The search waits a quarter of a second for further input.
        self.settle(0.4)

    def choose(self, selector: str, value: str) -> None:
        """Choose a value of a list."""
        from selenium.webdriver.support.ui import Select

        Select(self.one(selector)).select_by_value(value)
        self.settle()

    def text(self, selector: str) -> str:
        """Return the text of the first element that matches, or an empty text."""
        elements = self.all(selector)
        return str(elements[0].text) if elements else ""

    def run(self, script: str) -> Any:
        """Run JavaScript and return its value."""
        return self.driver.execute_script(script)

    def resize(self, size: tuple[int, int]) -> None:
        """Emulate a screen of that size; windows cannot be as narrow as a phone."""
        width, height = size
        settings = {"width": width, "height": height, "deviceScaleFactor": self.scale, "mobile": width < DESKTOP[0]}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", settings)

    def prefer(self, scheme: str) -> None:
        """Tell the page that the reader's system is ``light`` or ``dark``."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        script = f"return matchMedia('(prefers-color-scheme: {scheme})').matches"
        _wait(lambda: self.driver.execute_script(script), f"the page does not know that {scheme} is preferred")
        # The page draws the change with the frame after the next.
        self.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")

    def fit(self) -> None:
        """Wait until the page is no wider than the screen; figures follow a new size a moment later."""
        script = "return document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        _wait(lambda: self.run(script), f"{self.path} is wider than the screen")

    def complaints(self) -> list[str]:
        """Return the warnings and errors of the console since the last call."""
        entries = self.driver.get_log("browser")
        return [entry["message"] for entry in entries if entry["level"] in ("SEVERE", "WARNING")]

    def hosts(self) -> set[str]:
        """Return every host that was requested since the last call."""
        hosts = set()
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = urlsplit(message["params"]["request"]["url"])
                # Requests to Chromium itself and to parts of the page (data:, blob:) go to no host.
                if url.scheme in ("http", "https", "ws", "wss"):
                    hosts.add(url.netloc)
        return hosts

    def picture(self, path: str, *, height: int | None = None) -> None:
        """Save a screenshot, of a screen of that *height* if one is given."""
        width = int(self.run("return document.documentElement.clientWidth"))
        # A capture beyond the screen lacks the patterns of bars, so the screen is made larger instead.
        if height is not None:
            self.resize((width, height))
            self.settle()
        self.driver.save_screenshot(path)


@contextmanager
def browser(home: str, *, size: tuple[int, int] = DESKTOP, scale: float = 1.0) -> Iterator[Browser]:
    """Yield a headless Chromium with a profile of its own."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = next(filter(None, map(shutil.which, _BROWSERS)))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*_FLAGS, f"--user-data-dir={profile}", f"--window-size={size[0]},{size[1]}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            opened = Browser(driver, home, scale)
            opened.resize(size)
            yield opened
        finally:
            driver.quit()


def _wait(condition: Callable[[], Any], complaint: str) -> None:
    until = time.monotonic() + _PATIENCE
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError(complaint)
        time.sleep(0.05)
