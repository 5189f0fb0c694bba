"""`goldrank judge serve` refuses invalid arguments before it listens; the browser tests run the command itself."""

import pytest

pytest.importorskip("fastapi", reason="the judging page needs the extra web")

from goldrank.cli import judge_command
from goldrank.errors import InputError
from web.stores import judging_project


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--judge", "imported:x"), "judge's name 'imported:x' cannot be used"),
        (("--host", "0.0.0.0"), "could judge in your place"),
        (("--port", "70000"), "70000 is not a port"),
    ],
)
def test_what_cannot_be_served_is_refused(tmp_path, monkeypatch, arguments, said):
    monkeypatch.delenv("GOLDRANK_TOKEN", raising=False)
    judging_project(tmp_path / "judging")
    with pytest.raises(InputError, match=said):
        serve(tmp_path / "judging", "--port", "0", *arguments)


def test_a_folder_without_a_project_is_refused(tmp_path):
    with pytest.raises(InputError, match="there is no judging project") as raised:
        serve(tmp_path)
    assert "goldrank judge start" in raised.value.remedy


def serve(*arguments):
    judge_command.run(judge_command.build_parser().parse_args(["serve", *map(str, arguments)]))
