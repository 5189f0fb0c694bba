"""The completion script completes commands, options, choices and names in a real shell."""

import shutil
import subprocess

import pytest

from goldrank.cli.main import main

pytest.importorskip("shtab")

CASES = {
    "goldrank sc": {"schema", "score"},
    "goldrank schema comp": {"compare"},
    "goldrank runs ex": {"export"},
    "goldrank run --trans": {"--transform"},
    "goldrank run -m wordl": {"wordllama"},
    "goldrank run -m bm25 wordl": {"wordllama"},
    "goldrank run -m bm25 -t win": {"wines"},
    "goldrank score -M ndcg@": {"ndcg@10"},
    "goldrank score --profile trec_": {"trec_eval", "trec_eval9"},
    "goldrank compare --test wil": {"wilcoxon"},
    "goldrank score qre": {"qrels.txt"},
    "goldrank help sens": {"sensitivity"},
}
# Calls the function that the script registers, as bash does when Tab is pressed.
BASH = """
source ./script
read -ra COMP_WORDS <<< "$1"
COMP_LINE=$1 COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
complete=$(complete -p goldrank | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
$complete goldrank "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""
FISH = "source ./script; complete -C $argv[1] | string split -f1 \\t; true"


@pytest.fixture
def complete(tmp_path, capsys):
    (tmp_path / "qrels.txt").write_text("q 0 d 1\n")

    def complete_in(shell, line):
        if shutil.which(shell) is None:
            pytest.skip(f"{shell} is not installed")
        if not (tmp_path / "script").exists():
            assert main(["completion", shell]) == 0
            (tmp_path / "script").write_text(capsys.readouterr().out)
        arguments = ["-c", BASH, "bash", line] if shell == "bash" else ["-c", FISH, line]
        process = subprocess.run([shell, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True)
        return set(process.stdout.split())

    return complete_in


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_names_are_completed(complete, shell):
    for line, expected in CASES.items():
        # fish completes the first value of an option only.
        if shell == "bash" or "-m bm25 wordl" not in line:
            assert complete(shell, line) == expected, line


def test_the_script_for_zsh_is_valid(tmp_path, capsys):
    assert main(["completion", "zsh"]) == 0
    script = capsys.readouterr().out
    assert script.startswith("#compdef goldrank")
    assert "wordllama" in script
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")
    (tmp_path / "_goldrank").write_text(script)
    subprocess.run(["zsh", "-n", tmp_path / "_goldrank"], check=True)


def test_an_unknown_shell_is_refused(capsys):
    assert main(["completion", "bsh"]) == 2
    assert "did you mean 'bash' or 'zsh'?" in capsys.readouterr().err
