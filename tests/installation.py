"""Check that goldrank works where it is installed: a demo and a score, in an empty folder.

`python tests/installation.py` checks the goldrank of this interpreter. `python tests/installation.py DIST...` installs
each wheel or source distribution into a new environment and checks it there.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

QRELS = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 2\n"
RUN = "q1 Q0 d2 1 0.9 run\nq1 Q0 d1 2 0.8 run\nq2 Q0 d3 1 0.7 run\n"
VARIABLES_THAT_INTERFERE = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "GOLDRANK_NO_NATIVE")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("distributions", nargs="*", type=Path, metavar="DIST")
    distributions = parser.parse_args().distributions
    if not distributions:
        check_goldrank(Path(sys.executable))
    for distribution in distributions:
        with tempfile.TemporaryDirectory() as folder:
            check_goldrank(install(distribution.resolve(strict=True), Path(folder)))
        print(f"{distribution}: installed and checked")


def install(distribution: Path, folder: Path) -> Path:
    """Install a distribution into a new environment and return the interpreter of that environment."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", distribution], folder)
    return python


def check_goldrank(python: Path) -> None:
    """Run the commands that a new user runs first, and check what they print and write."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        goldrank = [python, "-m", "goldrank"]
        version = run([*goldrank, "--version"], folder)
        assert "(compiled)" in version, f"the compiled modules are missing: {version}"
        assert not list(folder.iterdir())

        demo = run([*goldrank, "demo"], folder)
        assert "15 results" in demo, demo

        (folder / "qrels.txt").write_text(QRELS)
        (folder / "bm25.run").write_text(RUN)
        scores = run([*goldrank, "score", "qrels.txt", "bm25.run", "--metric", "mrr"], folder)
        assert "0.7500" in scores, scores


def run(command: list[object], folder: Path) -> str:
    """Run a command in a folder, with the cache and the store of goldrank beside it, and return its output."""
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES_THAT_INTERFERE}
    with tempfile.TemporaryDirectory() as state:
        environment |= {"GOLDRANK_CACHE": f"{state}/cache", "GOLDRANK_STORE": f"{state}/store", "PYTHONUTF8": "1"}
        process = subprocess.run(
            list(map(str, command)), cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False
        )
    if process.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{process.stdout}\n{process.stderr}")
    return process.stdout


if __name__ == "__main__":
    main()
