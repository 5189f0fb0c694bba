"""The report as PDF: the page, printed by a browser of the Chromium family without a window."""

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
    """The browser to print with: the one that $BROWSER names, if it can, else the first that is installed."""
    asked = os.environ.get("BROWSER", "").split(os.pathsep)[0].strip()
    fitting = [asked] if any(name in Path(asked).name.lower() for name in _FAMILY) else []
    for name in (*fitting, *BROWSERS):
        if (found := shutil.which(name)) is not None:
            return found
    raise InputError(
        "a PDF is printed by Chromium, Chrome or Edge, and none is installed",
        remedy="install one, name it in $BROWSER, or write --format html and print that page",
    )


def to_pdf(report: Report) -> bytes:
    """The report printed, everything unfolded, in light colours."""
    browser = find_browser()
    # Beside its own files a browser may write where it likes: all of it goes with the folder.
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
        # The sandbox of a browser does not start for the superuser; the page runs no script but its own.
        *(["--no-sandbox"] if as_root else []),
        page.as_uri(),
    ]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GoldrankError(f"{browser} could not print the report ({error})") from None
    if done.returncode or not printed.is_file():
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise GoldrankError(f"{browser} could not print the report ({said[-1] if said else done.returncode})")
