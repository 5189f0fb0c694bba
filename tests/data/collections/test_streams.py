"""Lines read in blocks equal lines read one by one, and records are decoded as the json module decodes them."""

import json
from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.data.collections import streams
from goldrank.errors import InputError
from goldrank.io.formats.json_files import decode, decode_text

_PARTS = st.sampled_from([b"a", b"\n", b"\r\n", b"\r", "é".encode(), b"\xe9", b"\0", b" ", b"\x0b\x1c", b"bcdefgh"])


@given(content=st.lists(_PARTS, min_size=1, max_size=12).map(b"".join), size=st.integers(4, 16))
def test_lines_are_those_of_splitting_at_line_feeds(content, size, tmp_path_factory):
    path = tmp_path_factory.mktemp("lines") / "a.txt"
    path.write_bytes(content)
    expected = []
    error = None
    for number, line in enumerate(content.removesuffix(b"\n").split(b"\n"), 1):
        try:
            assert b"\0" not in line
            expected.append((number, line.decode().rstrip("\r")))
        except (AssertionError, UnicodeDecodeError):
            error = rf"a\.txt:{number}\b"
            break
    lines = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "_read", lambda stream: iter(lambda: stream.read(size), b""))
        with nullcontext() if error is None else pytest.raises(InputError, match=error):
            for line in streams.lines(path):
                lines.append(line)
    assert lines == expected


@pytest.mark.parametrize(
    "text", ['{"a": 1}', ' {"a": [1, {"b": null}]}\t', "[1, 2]\n", '"\\u00e9"', "7", '{"a": "\\\\u"}']
)
def test_json_is_decoded_as_json_does(text):
    assert decode(text, "x", 1) == decode_text(text, "x", 1) == json.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        '{"a": }',
        '{"a": 1} {"b": 2}',
        '{"a": 1},',
        '{"a": 1}\x0b',
        '{"a": 1, "a": 2}',
        '{"a": NaN}',
        '{"a": 1',
        "nul",
    ],
)
def test_what_is_no_json_is_refused_with_its_line(text):
    with pytest.raises(InputError) as refused:
        decode(text, "x.jsonl", 7)
    assert str(refused.value.where).startswith("x.jsonl:7")
