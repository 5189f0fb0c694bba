"""Fold text for the comparison of names: lower case, no accents, normalised punctuation."""

from __future__ import annotations

import unicodedata

_LETTERS = {
    "ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "ŧ": "t", "ŋ": "n", "ĸ": "k", "æ": "ae", "œ": "oe",
    "þ": "th", "ƒ": "f", "ɓ": "b", "ɗ": "d", "ɖ": "d", "ƙ": "k", "ƴ": "y", "ɛ": "e", "ə": "e", "ɔ": "o", "ɨ": "i",
    "ʉ": "u", "ƶ": "z", "ǥ": "g", "ɲ": "n", "ⱡ": "l", "ɫ": "l",
}  # fmt: skip
_UNCHANGED = " ,()."
_ZERO_WIDTH = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
_SPELLINGS = {
    **_LETTERS,
    **{character: character for character in _UNCHANGED},
    **dict.fromkeys("'’‘`´ʼʻʽʾʿˈʹ′", "'"),
    **dict.fromkeys("-‐‑‒–—―−⁃", "-"),
    **dict.fromkeys("[{", "("),
    **dict.fromkeys("]}", ")"),
    **dict.fromkeys(_ZERO_WIDTH, ""),
}
# Unlike accents, the voicing marks of kana make a different letter; a virama joins two consonants.
_VOICING = "\u3099\u309a"
_VIRAMA_CLASS = 9


class _Folding(dict[int, str]):
    """The folded form of each decomposed, case-folded character, computed on first use."""

    def __missing__(self, code: int) -> str:
        folded = self[code] = _fold_character(chr(code))
        return folded


def _fold_character(character: str) -> str:
    if character in _SPELLINGS:
        return _SPELLINGS[character]
    if unicodedata.combining(character) not in (0, _VIRAMA_CLASS) and character not in _VOICING:
        return ""
    return character if unicodedata.category(character)[0] in "LMN" else " "


_FOLDING = _Folding()


def fold(text: str) -> str:
    """Return *text* in lower case without accents, its punctuation reduced to ``' - . , ( )`` and blanks.

    >>> fold("Bolesław Ó’Brien–Šmíd")
    "boleslaw o'brien-smid"
    """
    if text.isascii():
        lower = text.lower()
        return lower if lower.replace(" ", "").isalpha() else lower.translate(_FOLDING)
    # Decompose before and after case-folding: some letters fold to composed letters, and vice versa.
    decomposed = unicodedata.normalize("NFKD", text).casefold()
    return unicodedata.normalize("NFKD", decomposed).translate(_FOLDING)
