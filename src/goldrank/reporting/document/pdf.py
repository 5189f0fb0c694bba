"""Print a report as PDF with a headless browser of the Chromium family."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from goldrank.errors import GoldrankError, InputError
from goldrank.reporting.document.html import to_html
from goldrank.reporting.document.sections import Report

BROWSERS = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge", "microsoft-edge",
    "brave-browser",
)  # fmt: skip
_FAMILY = ("chrom", "edge", "brave")
_SECONDS = 120


def find_browser() -> str:
    """Return the browser of $BROWSER if it is of the Chromium family, else the first that is installed.

    Raises:
        InputError: no such browser is installed.
    """
    preferred = os.environ.get("BROWSER", "").split(os.pathsep)[0].strip()
    fitting = [preferred] if any(name in Path(preferred).name.lower() for name in _FAMILY) else []
    for name in (*fitting, *BROWSERS):
        if (path := shutil.which(name)) is not None:
            return path
    raise InputError(
        "a PDF is printed by Chromium, Chrome or Edge, and none is installed",
        remedy="install one, name it in $BROWSER, or write --format html and print that page",
    )


def to_pdf(report: Report) -> bytes:
    """Return the PDF, with all details unfolded, in light colours."""
    browser = find_browser()
    # A browser writes files of its own; they are removed with the folder.
    with tempfile.TemporaryDirectory(prefix="goldrank-", ignore_cleanup_errors=True) as folder:
        page, printed = Path(folder) / "report.html", Path(folder) / "report.pdf"
        page.write_text(to_html(report, "light", opened=True), "utf-8")
        _print(browser, page, printed, Path(folder) / "profile")
        return printed.read_bytes()


def _print(browser: str, page: Path, printed: Path, profile: Path) -> None:
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    command = [
        browser,
        "--headless=new",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        f"--user-data-dir={profile}",
        "--no-pdf-header-footer",
        "--virtual-time-budget=20000",
        f"--print-to-pdf={printed}",
        # The sandbox of a browser does not start for root; the page runs only its own scripts.
        *(["--no-sandbox"] if as_root else []),
        page.as_uri(),
    ]
    try:
        result = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GoldrankError(f"{browser} could not print the report ({error})") from None
    if result.returncode or not printed.is_file():
        lines = result.stderr.decode("utf-8", "replace").strip().splitlines()
        raise GoldrankError(f"{browser} could not print the report ({lines[-1] if lines else result.returncode})")
