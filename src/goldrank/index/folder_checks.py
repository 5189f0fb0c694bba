"""Check the manifest and the files of an index folder: types, sizes and checksums."""

from __future__ import annotations

import hashlib
import re
import zlib
from pathlib import Path
from typing import Any

from goldrank.errors import InputError

VECTORS, FAISS = "vectors.npy", "index.faiss"
IDS, TEXTS, TRANSFORM = "ids.json", "texts.json.zst", "transform.npz"
REBUILD = "copy the folder again, or build the index again"
BLOCK = 1 << 24
"""Bytes of a file that have one CRC-32."""
BLOCKS_CHECKED = 64
"""Blocks of a file that are checked whenever an index is opened: all of them up to 1 GiB."""

_TYPES: dict[str, type | tuple[type, ...]] = {
    "index": str,
    "similarity": str,
    "dimension": int,
    "count": int,
    "model": (str, type(None)),
    "identity": (str, type(None)),
    "prompts": dict,
    "transform": (str, type(None)),
    "goldrank": str,
    "faiss": (str, type(None)),
    "created": str,
    "folder": str,
    "files": dict,
    "format": int,
}


def is_manifest(content: dict[str, Any]) -> bool:
    """Return True if all values have the right types and every file is one that an index folder may hold."""
    if content.keys() != _TYPES.keys() or not all(_is(content[name], kind) for name, kind in _TYPES.items()):
        return False
    vectors = VECTORS if content["index"] == "exact" else FAISS
    return (
        re.fullmatch(r"files-[0-9a-f]{12}", content["folder"]) is not None
        and all(isinstance(text, str) for text in content["prompts"].values())
        and (TRANSFORM in content["files"]) == (content["transform"] is not None)
        and {IDS, vectors} <= content["files"].keys() <= {IDS, vectors, TEXTS, TRANSFORM}
        and all(_is_stamp(expected) for expected in content["files"].values())
    )


def _is(value: Any, kind: type | tuple[type, ...]) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _is_stamp(expected: Any) -> bool:
    return (
        isinstance(expected, dict)
        and expected.keys() == {"size", "sha256", "crc32"}
        and _is(expected["size"], int)
        and isinstance(expected["sha256"], str)
        and isinstance(expected["crc32"], list)
        and len(expected["crc32"]) == -(-expected["size"] // BLOCK)
    )


def stamp(path: Path) -> dict[str, Any]:
    """Return the size and the checksums of a file."""
    digest, sums = hashlib.sha256(), []
    with path.open("rb") as stream:
        while block := stream.read(BLOCK):
            digest.update(block)
            sums.append(zlib.crc32(block))
    return {"size": path.stat().st_size, "sha256": digest.hexdigest(), "crc32": sums}


def refuse_damaged(path: Path, expected: dict[str, Any], verify: bool) -> None:
    """Raise unless the file has the expected size and checksums; see `goldrank.index.folder.open_index`."""
    if not path.is_file():
        raise InputError("the file is missing from the index", where=str(path), remedy=REBUILD)
    try:
        size = path.stat().st_size
        if size != expected["size"]:
            raise InputError(
                f"the file has {size} bytes instead of {expected['size']}", where=str(path), remedy=REBUILD
            )
        is_whole = stamp(path) == expected if verify else _has_blocks(path, expected["crc32"])
    except OSError as error:
        raise InputError(f"the file cannot be read ({error.strerror})", where=str(path), remedy=REBUILD) from None
    if not is_whole:
        raise InputError("the file is damaged (its checksum is wrong)", where=str(path), remedy=REBUILD)


def _has_blocks(path: Path, sums: list[int]) -> bool:
    last = len(sums) - 1
    chosen = range(len(sums))
    spread = (
        chosen if len(sums) <= BLOCKS_CHECKED else [n * last // (BLOCKS_CHECKED - 1) for n in range(BLOCKS_CHECKED)]
    )
    with path.open("rb") as stream:
        for number in spread:
            stream.seek(number * BLOCK)
            if zlib.crc32(stream.read(BLOCK)) != sums[number]:
                return False
    return True
