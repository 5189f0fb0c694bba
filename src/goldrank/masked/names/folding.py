"""Text folded for the comparison of names: no case, no accents, and one spelling of each kind of punctuation."""

from __future__ import annotations

import unicodedata

_LETTERS = {
    "ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "ŧ": "t", "ŋ": "n", "ĸ": "k", "æ": "ae", "œ": "oe",
    "þ": "th", "ƒ": "f", "ɓ": "b", "ɗ": "d", "ɖ": "d", "ƙ": "k", "ƴ": "y", "ɛ": "e", "ə": "e", "ɔ": "o", "ɨ": "i",
    "ʉ": "u", "ƶ": "z", "ǥ": "g", "ɲ": "n", "ⱡ": "l", "ɫ": "l",
}  # fmt: skip
_KEPT = " ,()."
_ZERO_WIDTH = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
_SPELLINGS = {
    **_LETTERS,
    **{character: character for character in _KEPT},
    **dict.fromkeys("'’‘`´ʼʻʽʾʿˈʹ′", "'"),
    **dict.fromkeys("-‐‑‒–—―−⁃", "-"),
    **dict.fromkeys("[{", "("),
    **dict.fromkeys("]}", ")"),
    **dict.fromkeys(_ZERO_WIDTH, ""),
}
# The voicing marks of kana make another letter, as no accent does; a virama joins two consonants.
_VOICING = "\u3099\u309a"
_VIRAMA_CLASS = 9


class _Folding(dict[int, str]):
    """What becomes of a character that was decomposed and case-folded before; filled as characters are met."""

    def __missing__(self, code: int) -> str:
        folded = self[code] = _folded_character(chr(code))
        return folded


def _folded_character(character: str) -> str:
    if character in _SPELLINGS:
        return _SPELLINGS[character]
    if unicodedata.combining(character) not in (0, _VIRAMA_CLASS) and character not in _VOICING:
        return ""
    return character if unicodedata.category(character)[0] in "LMN" else " "


_FOLDING = _Folding()


def fold(text: str) -> str:
    """*text* without case and accents, punctuation reduced to ``' - . , ( )`` and blanks.

    >>> fold("Bolesław Ó’Brien–Šmíd")
    "boleslaw o'brien-smid"
    """
    if text.isascii():
        lower = text.lower()
        return lower if lower.isalpha() else lower.translate(_FOLDING)
    # Decomposed before and after: folding the case of some letters gives composed ones, and the other way round.
    decomposed = unicodedata.normalize("NFKD", text).casefold()
    return unicodedata.normalize("NFKD", decomposed).translate(_FOLDING)
