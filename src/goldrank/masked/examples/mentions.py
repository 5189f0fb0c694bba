"""Find the mentions of a person in a text: words that the name matcher accepts and that belong to nobody else's name.

The matcher judges words without their context. A surname after another given name (``Wilhelm von Humboldt`` on the page
of Alexander), a given name before another surname (``Alexander Graham Bell``) and a name with a different numeral
(``Pedro I``) are not mentions. Names are capitalised: ``rose`` is a flower on the page of Rose. Without a dictionary
some cases are undecidable: a capitalised word before the surname that is neither an honorific nor the start of a
sentence is treated as another given name (``Phenomenon Young``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache

from goldrank.masked.examples.cutting import Span
from goldrank.masked.names.folding import fold
from goldrank.masked.names.matching import Person
from goldrank.masked.names.patterns import Tier
from goldrank.masked.names.tokens import Word, words
from goldrank.masked.names.vocabulary import (
    FUNCTION_WORDS,
    GENERATIONS,
    HONORIFICS,
    NUMERALS,
    PARTICLES,
    PARTICLES_OR_NAMES,
    RANKS,
    word_set,
)

Finder = Callable[[str, str, Sequence[str]], list[Span]]
"""Finds mentions in (text, title, other names), in text order and without overlaps."""

# Words that may be capitalised before a name, at the start of a sentence or title, without being part of it.
_NO_NAMES = word_set(
    "according among back despite every few finally following like many meanwhile near of off one perhaps several "
    "soon the through throughout together two unlike upon within yet dom don dona sor"
)
_BEFORE_NAMES = _NO_NAMES | FUNCTION_WORDS | HONORIFICS | RANKS
_JOINING = (PARTICLES | PARTICLES_OR_NAMES) - {"of", "the"}
_SAINTS = word_set("st ste saint sainte san santa sankt")
_PLACE_WORDS = word_set("across around at in inside near outside throughout within")
_MONTHS = word_set("january february march april may june july august september october november december")
_TIME_WORDS = word_set(
    "by during each early every following from in last late mid next of on previous since the this through till to "
    "until"
)
_LONGEST = 10
"""Maximum number of words in a name."""


def find_mentions(text: str, title: str, names: Sequence[str] = ()) -> list[Span]:
    """Return where *text* names the person of *title*, in full or in part; other *names* have to appear in full.

    >>> text = "Von Humboldt wrote to his brother Wilhelm von Humboldt. Alexander's letters survive."
    >>> [text[start:end] for start, end in find_mentions(text, "Alexander von Humboldt")]
    ['Von Humboldt', 'Alexander']
    """
    return _MentionSearch(text, _sought(title, tuple(names))).find()


class _Sought:
    """A person to search for."""

    def __init__(self, title: str, names: Sequence[str]) -> None:
        self.person = Person(title, names)
        # The title alone, because the matcher treats every listed name as the whole name.
        self.titled = Person(title)
        self.names = (self.titled.display, *names)
        written = [word for name in self.names for word in words(name)]
        self.forms = {form for word in written for form in (word.text, *word.parts)}
        self.parts = {fold(form) for form in self.forms}
        surname, given = self.titled.surname, self.titled.given
        self.surname_first = bool(given) and _plain(self.titled.display).startswith(_plain(surname))

        self._known: dict[str, bool] = {}

    def has(self, word: Word) -> bool:
        """Return True if a word may be a name of the person; in lower case only if the name is written so."""
        known = self._known.get(word.text)
        if known is None:
            known = self._known[word.text] = word.text in self.forms or (word.capital and self._has_parts(word))
        return known

    def _has_parts(self, word: Word) -> bool:
        return _folded(word.text) in self.parts or all(_folded(part) in self.parts for part in word.parts)

    def joins(self, name: str) -> bool:
        """Return True if a name with a leading particle is part of one of the person's names."""
        return any(_plain(name) in _plain(own) for own in self.names)


_folded = lru_cache(maxsize=1 << 16)(fold)


def _is_particle(word: Word) -> bool:
    return not word.initial and _folded(word.text) in _JOINING


@lru_cache(maxsize=1024)
def _sought(title: str, names: tuple[str, ...]) -> _Sought:
    return _Sought(title, names)


def bare(name: str) -> str:
    """Return a name without case, accents, hyphens and full stops."""
    return " ".join(fold(name).replace("-", " ").replace(".", " ").split())


def _plain(name: str) -> str:
    return f" {bare(name)} "


class _MentionSearch:
    """The search for one person in the words of one text; methods refer to words by index."""

    def __init__(self, text: str, sought: _Sought) -> None:
        self.text = text
        self.sought = sought
        self.words = [part for word in words(text) for part in self._unjoined(word)]

    def _unjoined(self, word: Word) -> Iterator[Word]:
        """Yield the parts of a word such as ``Kennedy-era``, a name and other words; any other word as a whole."""
        parts = word.parts
        strange = [part for part in parts if part not in self.sought.forms]
        if len(parts) == 1 or not strange or len(strange) == len(parts) or not all(map(str.islower, strange)):
            yield word
            return
        start = word.start
        for part in parts:
            first = start == word.start
            yield Word(part, start, start + len(part), first and word.follows, first and word.opens)
            start += len(part) + 1

    @cached_property
    def common(self) -> set[str]:
        """The words that the text also has in lower case."""
        return {word.text for word in self.words if word.text.islower()}

    def find(self) -> list[Span]:
        """Return all mentions; of several that begin at one word, the longest."""
        mentions: list[Span] = []
        at = 0
        while at < len(self.words):
            last = self._longest(at)
            if last is not None and not self._of_another(at, last) and not self._is_month(at, last):
                mentions.append((self.words[at].start, self._end(last)))
            at = at + 1 if last is None else last + 1
        return mentions

    def _longest(self, first: int) -> int | None:
        """Return the last word of the longest name that begins with the word *first*."""
        if not self._may_begin(self.words[first]):
            return None
        last = first
        while last + 1 < len(self.words) and last - first < _LONGEST and self._goes_on(last + 1):
            last += 1
        for end in range(last, first - 1, -1):
            if self._is_name(first, end):
                return end
        return None

    def _may_begin(self, word: Word) -> bool:
        if word.text.islower() and not _is_particle(word):
            # A name in lower case (bell hooks) does not begin with a function word.
            return self.sought.has(word) and _folded(word.text) not in _BEFORE_NAMES
        return word.initial or self.sought.has(word)

    def _goes_on(self, number: int) -> bool:
        word = self.words[number]
        return word.follows and (word.capital or self.sought.has(word) or _is_particle(word))

    def _is_name(self, first: int, last: int) -> bool:
        chosen = self.words[first : last + 1]
        end = chosen[-1]
        if not (self.sought.has(end) or end.initial or self._is_numeral(last)):
            return False
        own = [self.sought.has(word) for word in chosen]
        name = self.text[chosen[0].start : end.end]
        if not any(own) or (_is_particle(chosen[0]) and not self.sought.joins(name)):
            return False
        match = self.sought.person.match(name)
        if match is None or match.tier <= Tier.INITIAL:
            return False
        strange = any(not mine and not word.initial for mine, word in zip(own[:-1], chosen, strict=False))
        return not strange or match.tier >= Tier.ALL

    def _is_numeral(self, number: int) -> bool:
        folded = _folded(self.words[number].text)
        return folded in NUMERALS and (self.words[number].text.isupper() or folded in GENERATIONS)

    def _end(self, last: int) -> int:
        word = self.words[last]
        dotted = word.initial or _folded(word.text) in GENERATIONS
        return word.end + (dotted and self.text[word.end : word.end + 1] == ".")

    def _of_another(self, first: int, last: int) -> bool:
        """Return True if the words around a name make it another person's."""
        name = self.text[self.words[first].start : self.words[last].end]
        after = last + 1
        if after < len(self.words) and self.words[after].follows and self._is_numeral(after):
            # With the person's own numeral, the numeral would be part of the mention.
            return True
        match = self.sought.titled.match(name)
        tier = match.tier if match else Tier.EXACT
        if tier >= Tier.ALL and last > first and not self.words[first].initial:
            return False
        if self._strange_before(first):
            return True
        open_end = tier == Tier.GIVEN or (tier == Tier.SURNAME and self.sought.surname_first)
        return open_end and self._strange_after(last)

    def _strange_before(self, first: int) -> bool:
        at = first
        if self.words[at].follows and _folded(self.words[at - 1].text) in _SAINTS:
            return True
        while self.words[at].follows and _is_particle(self.words[at - 1]):
            at -= 1
        if not self.words[at].follows or not self._is_strange(at - 1) or self._ends_with_numeral(at - 1):
            return False
        word = self.words[at - 1]
        begins_sentence = word.opens and word.text.lower() in self.common
        return not begins_sentence and not self._after_place_word(at - 1)

    def _ends_with_numeral(self, number: int) -> bool:
        """Return True if a letter is the numeral of ``Charles I`` at the end of a sentence, not an initial."""
        return self.words[number].initial and self.words[number].follows and self._is_numeral(number)

    def _after_place_word(self, number: int) -> bool:
        """Return True if capitalised words name a place: ``In the Radium Institute``."""
        at = number
        while (
            number - at < _LONGEST
            and self.words[at].follows
            and (self._is_strange(at - 1) or self.words[at - 1].text == "the")
        ):
            at -= 1
        return self.words[at].follows and _folded(self.words[at - 1].text) in _PLACE_WORDS

    def _strange_after(self, last: int) -> bool:
        at = last + 1
        while at < len(self.words) and self.words[at].follows and _is_particle(self.words[at]):
            at += 1
        return at < len(self.words) and self.words[at].follows and self._is_strange(at)

    def _is_strange(self, number: int) -> bool:
        """Return True if a word looks like a name that the person does not have."""
        word = self.words[number]
        return word.capital and not self.sought.has(word) and _folded(word.text) not in _BEFORE_NAMES

    def _is_month(self, first: int, last: int) -> bool:
        if first != last or _folded(self.words[first].text) not in _MONTHS:
            return False
        before = self.words[first - 1].text if first else ""
        after = self.words[last + 1].text if last + 1 < len(self.words) else ""
        return _folded(before) in _TIME_WORDS or before.isdigit() or after[:1].isdigit()
