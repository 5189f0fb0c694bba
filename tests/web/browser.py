"""A real browser that looks at the explorer: what its tests and the screenshots of the documentation share."""

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
    """Why there can be no browser here; None where there can."""
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
    """A browser that is asked by CSS selectors and tells what went wrong inside it."""

    def __init__(self, driver: Any, home: str, scale: float = 1.0) -> None:
        self.driver, self.home, self.scale = driver, home, scale

    def open(self, path: str) -> None:
        """Load an address of the explorer and wait until it is drawn."""
        self.driver.get(self.home + path)
        self.settle()

    def settle(self, pause: float = 0.05) -> None:
        """Wait a moment for what comes late, then until the view is drawn and nothing is being loaded."""
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
        """The present address, without the host."""
        parts = urlsplit(self.driver.current_url)
        return parts.path + (f"?{parts.query}" if parts.query else "")

    def all(self, selector: str) -> list[Any]:
        """The elements that match."""
        found: list[Any] = self.driver.find_elements("css selector", selector)
        return found

    def one(self, selector: str) -> Any:
        """The first element that matches; waits for it."""
        _wait(lambda: self.all(selector), f"there is no {selector} at {self.path}")
        return self.all(selector)[0]

    def click(self, selector: str) -> None:
        """Press an element and wait for what comes of it."""
        element = self.one(selector)
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()
        self.settle()

    def fill(self, selector: str, text: str) -> None:
        """Type into a field."""
        field = self.one(selector)
        field.clear()
        field.send_keys(text)
        # A search waits a quarter of a second for more to be typed.
        self.settle(0.4)

    def choose(self, selector: str, value: str) -> None:
        """Choose a value of a list."""
        from selenium.webdriver.support.ui import Select

        Select(self.one(selector)).select_by_value(value)
        self.settle()

    def text(self, selector: str) -> str:
        """What the first element that matches shows."""
        found = self.all(selector)
        return str(found[0].text) if found else ""

    def run(self, script: str) -> Any:
        """The value of some JavaScript."""
        return self.driver.execute_script(script)

    def resize(self, size: tuple[int, int]) -> None:
        """Show the page as a screen of that size does; windows do not get as narrow as a phone."""
        width, height = size
        settings = {"width": width, "height": height, "deviceScaleFactor": self.scale, "mobile": width < DESKTOP[0]}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", settings)

    def prefer(self, scheme: str) -> None:
        """Tell the page that the reader's system is ``light`` or ``dark``."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        script = f"return matchMedia('(prefers-color-scheme: {scheme})').matches"
        _wait(lambda: self.driver.execute_script(script), f"the page does not know that {scheme} is preferred")
        # What the page does about it is drawn with the frame after the next.
        self.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")

    def fit(self) -> None:
        """Wait until the page is no wider than the screen; figures follow a new size a moment later."""
        script = "return document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        _wait(lambda: self.run(script), f"{self.path} is wider than the screen")

    def complaints(self) -> list[str]:
        """The warnings and errors of the console since the last call."""
        entries = self.driver.get_log("browser")
        return [entry["message"] for entry in entries if entry["level"] in ("SEVERE", "WARNING")]

    def hosts(self) -> set[str]:
        """Every host that was asked for anything since the last call."""
        asked = set()
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = urlsplit(message["params"]["request"]["url"])
                # What Chromium asks of itself and what is part of the page (data:, blob:) goes to no host.
                if url.scheme in ("http", "https", "ws", "wss"):
                    asked.add(url.netloc)
        return asked

    def picture(self, path: str, *, height: int | None = None) -> None:
        """Save what the screen shows; on a screen of that *height*, where one is given."""
        width = int(self.run("return document.documentElement.clientWidth"))
        # What lies beyond the screen is captured without the patterns of bars, so the screen is made larger instead.
        if height is not None:
            self.resize((width, height))
            self.settle()
        self.driver.save_screenshot(path)


@contextmanager
def browser(home: str, *, size: tuple[int, int] = DESKTOP, scale: float = 1.0) -> Iterator[Browser]:
    """A headless Chromium with a profile of its own."""
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
