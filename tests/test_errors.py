"""Test the error classes: control flow depends on types, and messages name only public calls."""

import ast
import builtins
import re
from pathlib import Path

import pytest

import goldrank
from goldrank.errors import AmbiguousNameError, GoldrankError, InputError, UnknownNameError
from goldrank.store import Store
from stored_examples import save_ranked

ROOT = Path(goldrank.__file__).parent
FAMILY = {kind.__name__ for kind in (GoldrankError, InputError, UnknownNameError, AmbiguousNameError)}


def handlers_of_own_errors(tree: ast.AST):
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and node.type is not None and node.name is not None:
            caught = {name.id for name in ast.walk(node.type) if isinstance(name, ast.Name)}
            if caught & FAMILY:
                yield node


def conditions(node: ast.AST):
    for inner in ast.walk(node):
        if isinstance(inner, (ast.If, ast.IfExp, ast.While, ast.Assert)):
            yield inner.test


def test_no_decision_depends_on_the_wording_of_an_error():
    read = 0
    for path in sorted(ROOT.rglob("*.py")):
        for handler in handlers_of_own_errors(ast.parse(path.read_text())):
            read += 1
            for condition in conditions(handler):
                text = ast.unparse(condition)
                assert f"{handler.name}.what" not in text, f"{path}:{condition.lineno}: {text}"
                assert f"str({handler.name})" not in text, f"{path}:{condition.lineno}: {text}"
    assert read > 5


def test_an_unknown_and_an_ambiguous_key_are_errors_of_their_own(tmp_path):
    store = Store.open(tmp_path)
    keys = [run.key for run in save_ranked(store, {"bm25": 3, "bm42": 4})]
    with pytest.raises(UnknownNameError, match="there is no stored run 'nothing'"):
        store.get("nothing")
    with pytest.raises(AmbiguousNameError, match="may be any of"):
        store.get(keys[0][:4])


def messages(tree: ast.AST):
    """Yield the literal parts of the arguments of the constructor of an error or a warning."""
    for node in ast.walk(tree):
        name = getattr(node.func, "id", getattr(node.func, "attr", "")) if isinstance(node, ast.Call) else ""
        if name.endswith("Error") or name in ("DataWarning", "unknown_name"):
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.value


def private_calls(message: str) -> list[str]:
    """Return the calls in a message that are neither public functions of goldrank nor built-in functions."""
    # Specs such as bm25(k1=0.9) and methods such as .fit(texts) are no functions of the package.
    calls = re.finditer(r"(?<![\w:.])(?P<home>\w+\.)?(?P<name>\w+)\((?!\w+=)", message)
    return [
        call["name"]
        for call in calls
        if (call["home"] == "goldrank." and call["name"] not in goldrank.__all__)
        or (call["home"] is None and not hasattr(builtins, call["name"]))
    ]


def test_messages_name_only_calls_that_users_can_make():
    assert private_calls("use measure(model, 'sts-b') or goldrank.nothing(x)") == ["measure", "nothing"]
    assert private_calls("use goldrank.evaluate(model, 'sts-b'), bm25(k1=0.9), .fit(texts) or len(x)") == []
    for path in sorted(ROOT.rglob("*.py")):
        for message in messages(ast.parse(path.read_text())):
            assert private_calls(message) == [], f"{path}: {message}"
