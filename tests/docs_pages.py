"""Run the commands of documentation pages unchanged, and compare their output with the output shown."""

import os
import re
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"


def run_pages(names, folder, *more_commands, **environment):
    """Run the commands of some pages unchanged, one page after the other, and return the completed process."""
    commands = [*(block for name in names for block in blocks(name, "sh")), *more_commands]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    folders = {"GOLDRANK_CACHE": str(folder / "cache"), "GOLDRANK_STORE": str(folder / "store")}
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(commands)],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PATH": path, **folders, **environment},
    )


def blocks(name, language):
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / name).read_text(), re.DOTALL)


def assert_shown_lines_are_printed(names, process):
    assert process.returncode == 0, process.stderr
    printed = {timeless(line) for line in process.stdout.splitlines()}
    for name in names:
        expected = [line for block in blocks(name, "text") for line in block.splitlines()]
        assert expected
        for line in expected:
            assert timeless(line) in printed, (name, line)


def timeless(line):
    """Return a line without the parts that differ between runs and versions: digests, dates and seconds."""
    line = re.sub(r"-\d{8}t\d{4,12}z\b", "-date", line)
    line = re.sub(r"-[0-9a-f]{4}\b", "-digest", line)
    return re.sub(r" +\d{4}-\d\d-\d\d \d\d:\d\d\S* +[\d.]+$", " date seconds", line).rstrip()
