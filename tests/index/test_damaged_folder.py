"""After any damage to an index folder, a search gives the right results, or one sentence and exit code 2."""

import json
import shutil

import pytest

from goldrank.cli.main import main
from goldrank.index.folder import MANIFEST, Manifest, _digest
from mutations import changed_json, mutations

pytest.importorskip("faiss")


@pytest.fixture(
    scope="module", params=["exact", *(pytest.param(factory, marks=pytest.mark.slow) for factory in ("Flat", "HNSW4"))]
)
def built(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("damaged")
    (folder / "texts.txt").write_text("\n".join(f"number {n} of the texts about topic {n % 7}" for n in range(40)))
    command = ["index", "build", str(folder / "texts.txt"), "-m", "wordllama(dim=64)", "--factory", request.param]
    assert main([*command, "--transform", "center", "-o", str(folder / "ix")]) == 0
    return folder / "ix"


def outcome(capsys, damage, built, tmp_path):
    """Search a damaged copy of the index; return the exit code, the output and the error output."""
    copy = tmp_path / "ix"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(built, copy)
    damage(copy)
    code = main(["index", "search", str(copy), "topic 3", "number 5", "--format", "json"])
    printed, errors = capsys.readouterr()
    return code, printed, errors


def ranked(printed):
    return [[(row["id"], row["score"]) for row in query["results"]] for query in json.loads(printed)["queries"]]


@pytest.mark.slow
def test_no_damage_to_a_file_gives_other_results_or_an_internal_error(built, tmp_path, capsys):
    right = outcome(capsys, lambda _: None, built, tmp_path)
    assert right[0] == 0
    refusals = 0
    for mutation in mutations(built, seed=14, flips=8):
        code, printed, errors = outcome(capsys, mutation.apply, built, tmp_path)
        if code == 0:
            # White space in the manifest has no meaning; all other changes must be detected.
            assert printed == right[1], mutation.name
            assert mutation.name.startswith("bit"), mutation.name
            assert MANIFEST in mutation.name, mutation.name
            continue
        refusals += 1
        assert (code, printed, errors.count("\n")) == (2, "", 1), (mutation.name, errors)
        assert "internal error" not in errors, (mutation.name, errors)
    assert refusals > 50


@pytest.mark.slow
def test_a_manifest_with_values_of_other_types_is_refused_though_its_checksum_is_right(built, tmp_path, capsys):
    content = json.loads((built / MANIFEST).read_text())
    content.pop("checksum")
    right = outcome(capsys, lambda _: None, built, tmp_path)
    for path, changed in changed_json(content):
        text = json.dumps({**changed, "checksum": _digest(changed)} if isinstance(changed, dict) else changed)
        code, printed, errors = outcome(
            capsys, lambda folder, text=text: (folder / MANIFEST).write_text(text), built, tmp_path
        )
        # Any provenance is valid, and texts may be missing; values that affect results must be right.
        assert code == 0 or (code, printed, errors.count("\n")) == (2, "", 1), (path, errors)
        assert code == 2 or ranked(printed) == ranked(right[1]), path
        assert "internal error" not in errors, (path, errors)
    assert Manifest.load(built).count == 40
