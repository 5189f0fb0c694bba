"""Install goldrank as a user does and run the commands that a new user runs first, in an empty folder.

`python tests/installation.py` checks the goldrank of this interpreter. `python tests/installation.py DIST...` installs
each wheel or source distribution into new environments, one for each of `--extras` and `--python`, prints the number of
packages, their size and the time, and checks goldrank there. `--oldest` installs the oldest version of every dependency
that the distribution allows. Environments are made by uv (`pip install uv`).
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from dataclasses import dataclass
from email.parser import HeaderParser
from importlib.util import find_spec
from pathlib import Path

CORPUS = ("a sweet white wine", "a board game for two", "a red wine of Piedmont")
FILES = {
    "qrels.txt": "q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 2\n",
    "bm25.run": "q1 Q0 d2 1 0.9 run\nq1 Q0 d1 2 0.8 run\nq2 Q0 d3 1 0.7 run\n",
    "dense.run": "q1 Q0 d1 1 0.9 run\nq1 Q0 d2 2 0.8 run\nq2 Q0 d3 1 0.7 run\n",
    "my-folder/corpus.jsonl": "".join(
        f'{{"_id": "d{n}", "text": "{text}"}}\n' for n, text in enumerate(CORPUS, start=1)
    ),
    "my-folder/queries.jsonl": '{"_id": "q1", "text": "sweet wine"}\n{"_id": "q2", "text": "red wine"}\n',
    "my-folder/qrels.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td3\t1\n",
}
VARIABLES_THAT_INTERFERE = ("PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV", "GOLDRANK_NO_NATIVE")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("distributions", nargs="*", type=Path, metavar="DIST")
    parser.add_argument("--extras", nargs="+", default=["", "models"], choices=["", "models", "all"])
    parser.add_argument("--python", nargs="+", default=[sys.executable], help="versions such as 3.10, or interpreters")
    parser.add_argument("--oldest", action="store_true", help="install the oldest versions that are allowed")
    args = parser.parse_args()
    if not args.distributions:
        check_goldrank(Path(sys.executable), "models" if find_spec("wordllama") else "", compiled=True)
    for distribution in args.distributions:
        for python in args.python:
            for extras in args.extras:
                print(check_distribution(distribution.resolve(strict=True), python, extras, oldest=args.oldest))


def check_distribution(distribution: Path, python: str, extras: str, *, oldest: bool) -> str:
    """Install a distribution into a new environment, run the first commands there, and return a line about it."""
    interpreter = python if os.sep in python else find_python(python)
    if interpreter is None:
        sys.exit(f"there is no Python {python} here")
    with tempfile.TemporaryDirectory() as folder:
        environment = install(distribution, interpreter, extras, Path(folder), oldest=oldest)
        # A wheel for any Python has no compiled modules, or those of another Python.
        compiled = not distribution.name.endswith("-none-any.whl")
        check_goldrank(environment.python, extras, compiled=compiled)
    name = f"goldrank[{extras}]" if extras else "goldrank"
    versions = "oldest" if oldest else "newest"
    return (
        f"{name} with Python {environment.version} and the {versions} versions: {environment.packages} packages, "
        f"{environment.megabytes} MB, installed in {environment.seconds:.0f} s and checked"
    )


def find_python(version: str) -> str | None:
    """Return an interpreter of a version such as 3.10 from $PATH or from pyenv; None if there is none."""
    installed = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for candidate in (shutil.which(f"python{version}"), *sorted(installed.glob(f"{version}.*/bin/python"))):
        # The command of pyenv on $PATH fails if that version is not selected.
        if candidate and subprocess.run([candidate, "--version"], capture_output=True, check=False).returncode == 0:
            return str(candidate)
    return None


@dataclass(frozen=True)
class Environment:
    """A new virtual environment, with the size and time of its installation."""

    python: Path
    version: str
    packages: int
    megabytes: int
    seconds: float


def install(distribution: Path, interpreter: str, extras: str, folder: Path, *, oldest: bool) -> Environment:
    """Install a distribution into a new environment in *folder*."""
    uv = [sys.executable, "-m", "uv", "--quiet", "--no-python-downloads"]
    run([*uv, "venv", "--clear", "--python", interpreter, folder], folder.parent)
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    requirement = f"goldrank[{extras}] @ {distribution.as_uri()}" if extras else f"goldrank @ {distribution.as_uri()}"
    options, requirements = [], [requirement]
    if oldest:
        # Only direct requirements get their oldest versions, and only wheels, because few old sources still build.
        options = ["--resolution", "lowest-direct", "--only-binary", ":all:"]
        requirements += direct_requirements(distribution, extras)
    start = time.monotonic()
    run([*uv, "pip", "install", "--python", python, *options, *requirements], folder.parent)
    seconds = time.monotonic() - start
    version = run([python, "-c", "import platform; print(platform.python_version())"], folder.parent).strip()
    (packages,) = (folder / "Lib", *folder.glob("lib/*"))[-1:]
    packages /= "site-packages"
    size = sum(file.stat().st_size for file in packages.rglob("*") if file.is_file() and file.suffix != ".pyc")
    return Environment(python, version, len(list(packages.glob("*.dist-info"))), round(size / 1e6), seconds)


def direct_requirements(wheel: Path, extras: str) -> list[str]:
    """Return the requirements of a wheel with some extras, including extras that these refer to."""
    from packaging.requirements import Requirement

    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        declared = HeaderParser().parsestr(archive.read(metadata).decode()).get_all("Requires-Dist", [])
    pending, visited, requirements = ["", *filter(None, extras.split(","))], set(), []
    while pending:
        extra = pending.pop()
        visited.add(extra)
        for requirement in map(Requirement, declared):
            of_an_extra = requirement.marker is not None and "extra" in str(requirement.marker)
            if of_an_extra != bool(extra):
                continue
            if of_an_extra and not requirement.marker.evaluate({"extra": extra}):
                continue
            if requirement.name == "goldrank":
                pending += sorted(requirement.extras - visited)
            elif of_an_extra:
                requirement.marker = None
                requirements.append(str(requirement))
            else:
                requirements.append(str(requirement))
    return requirements


def check_goldrank(python: Path, extras: str, *, compiled: bool) -> None:
    """Run the commands that a new user runs first, and check their output and files."""
    with tempfile.TemporaryDirectory() as name:
        user = User(python, Path(name))
        version = user.goldrank("--version")
        assert not compiled or "(compiled)" in version, f"the compiled modules are missing: {version}"
        assert not list(user.folder.iterdir())
        for file, text in FILES.items():
            user.write(file, text)
        checks = {"": check_scoring, "models": check_models, "all": check_everything}
        checks[extras](user)


def check_scoring(user: "User") -> None:
    """Run commands that need files only, and commands that report a missing extra."""
    scores = user.goldrank("score", "qrels.txt", "bm25.run", "--metric", "mrr")
    assert "0.7500" in scores, scores
    comparison = user.goldrank("compare", "qrels.txt", "bm25.run", "dense.run", "--metric", "mrr")
    assert "+0.2500" in comparison, comparison
    assert "Normalised" in user.goldrank("explain", "ndcg@10")
    assert "wordllama" in user.goldrank("list", "models")
    assert "queries with gold" in user.goldrank("data", "check", "my-folder")
    missing = user.goldrank("score", "qrels.txt", "no-such.run", code=2)
    assert "no-such.run" in missing, missing
    needs_models = user.goldrank("run", "-m", "bm25", "-t", "my-folder", code=2)
    assert "pip install 'goldrank[models]'" in needs_models, needs_models


def check_models(user: "User") -> None:
    """Run commands that need models, an index and the store of runs; none may need a package of another extra."""
    assert user.run([user.python, "-c", "import pandas"], code=1), "pandas is installed: its absence is not tested"
    board = user.goldrank("run", "-m", "bm25", "wordllama", "tfidf", "lsa:2", "-t", "my-folder", "--metric", "mrr")
    assert board.count("1.0000") >= 4, board
    keys = [line.partition(",")[0] for line in user.goldrank("runs", "list", "--format", "csv").splitlines()[1:]]
    assert len(keys) == 4, keys
    assert "recall@1" in user.goldrank("compare", *keys[:2], "--metric", "recall@1")
    user.goldrank(
        "index", "build", "my-folder/corpus.jsonl", "-m", "wordllama", "--factory", "HNSW8", "-o", "wine.index"
    )
    assert "d3" in user.goldrank("index", "search", "wine.index", "red wine")
    needs_report = user.goldrank("report", *keys, "-o", "report.html", code=2)
    assert "pip install 'goldrank[report]'" in needs_report, needs_report
    assert not (user.folder / "report.html").exists()


def check_everything(user: "User") -> None:
    """Run the demo, which writes a report with figures."""
    assert "15 results" in user.goldrank("demo")
    assert (user.folder / "goldrank-demo.html").stat().st_size > 1_000_000


@dataclass(frozen=True)
class User:
    """A user with an interpreter and a folder."""

    python: Path
    folder: Path

    def write(self, name: str, text: str) -> None:
        """Write a file of the folder."""
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def goldrank(self, *arguments: str, code: int = 0) -> str:
        """Run a command and return its output, or its errors if *code* is not 0."""
        return self.run([self.python, "-m", "goldrank", *arguments], code)

    def run(self, command: list[object], code: int = 0) -> str:
        """Run any command in the folder."""
        return run(command, self.folder, code)


def run(command: list[object], folder: Path, code: int = 0) -> str:
    """Run a command in a folder, with the cache and the store of goldrank in it; return its output or its errors."""
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES_THAT_INTERFERE}
    environment |= {"GOLDRANK_CACHE": f"{folder}/.cache", "GOLDRANK_STORE": f"{folder}/.store", "PYTHONUTF8": "1"}
    process = subprocess.run(
        list(map(str, command)), cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False
    )
    if process.returncode != code:
        sys.exit(f"{' '.join(map(str, command))} ended with {process.returncode}:\n{process.stdout}\n{process.stderr}")
    return process.stderr if code else process.stdout


if __name__ == "__main__":
    main()
