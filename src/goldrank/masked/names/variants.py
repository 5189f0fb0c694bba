"""Variants of a name: transliterations, short forms, and forms in other languages.

All words are folded (`goldrank.masked.names.folding`). A different *spelling* is the same word and matches anywhere. A
short form or a form in another language is a different word: it matches a given name only beside the surname, because
``Jack`` alone may be anybody while ``Jack Kennedy`` is John F. Kennedy.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

# Each line is one name in several languages. Forms that are independent names are excluded (Jean and John, James and
# Jacob, Ian, Ivan and John, Andrea and Andrew), because a false match is as bad as a missed one.
_LANGUAGES = """
abdullah abdallah
agnes ines agnese
albert alberto albrecht
alexander alexandre alejandro alessandro aleksandr aleksander alexandros alexandru
alexei alexey aleksei aleksey
andrew andreas andre andres andrei andrej andrey
anne anna ana ann
anthony anton antoine antonio antonius antonin antoni
basil vasily vasili vasilios vasiliy
caroline carolina karoline karolina
catherine katherine katharina katharine catharina caterina catarina ekaterina yekaterina katarzyna kateryna katerina
charles carl karl carlos carlo karel karol
charlotte carlotta
christina christine kristina cristina
dmitri dmitry dimitri dmitrij dmytro dmitriy
edward eduard edouard eduardo edoardo
elizabeth elisabeth elisabetta elzbieta yelizaveta elizaveta erzsebet
eugene eugen eugenio yevgeny evgeny evgenii yevgeniy
francis franz francois francisco francesco franciscus frans ferenc frantisek
frederick friedrich frederic federico fredrik frederik
george georg georges jorge giorgio georgy georgi
gregory gregor gregorio grigori grigory gregoire grzegorz
helen helena elena helene yelena
henry heinrich henri enrique enrico hendrik henrik
hussein husayn hossein huseyin husain
irene irina irena
jacques jakob jacob giacomo jacobus yakov
john johann johannes johan juan giovanni joao
joseph josef jose giuseppe iosif jozef josip
jules julius julio giulio
julia giulia yulia julie
khalid khaled
lawrence laurence lorenzo laurent laurentius lorenz
louis ludwig luis luigi ludovicus ludovico lodewijk lajos ludvig
luke lucas luca lukas
margaret margarethe marguerite margarita margherita margareta
mark marcus marco marc markus marcos
martin martino martinus
mary maria marie mariya
matthew mathieu matteo mateo matthaus matthaeus
michael michel miguel michele mikhail michal mikael michail
muhammad mohammed mohamed mohammad muhammed mehmed mehmet mahomet
natalia natalie natalya
nicholas nicolas nikolaus nikolai nikolay niccolo nikola
paul pablo paolo paulus pavel paulo
peter pierre pedro pietro petrus pyotr petr piotr pieter petar
philip philippe felipe filippo philipp philippus
richard ricardo riccardo
robert roberto
sergei serge sergey sergio sergiy
sophia sophie sofia zofia sofya
stephen steven stefan etienne esteban stefano stephanus istvan stepan
suleiman suleyman sulayman soliman
theodore theodor teodor teodoro feodor fyodor fedor
theresa teresa therese
thomas tommaso tomas
umar omar
uthman usman osman
vladimir wladimir volodymyr
william wilhelm guillaume guillermo guglielmo willem vilhelm
xenia ksenia
"""
_GROUPS: dict[str, int] = {name: at for at, line in enumerate(_LANGUAGES.split("\n")) for name in line.split()}

# Pairs of the nicknames list that are two independent names.
_PAIRS = """
aaron-erin alexander-alexandria amelia-emily amos-moses andrea-andrew ann-antoinette ann-antonia anselm-selma
bert-bob bert-bobby bill-robert billy-robert brenda-brandy brian-bryant christiana-ann clare-clarence
clement-clementine delia-delius demaris-mary demerias-mary dennis-dennison derrick-eric dick-dickson
earnest-ernestine edwin-edwina eileen-helen elaine-eleanor elaine-helen elbert-albert eleanor-ellen eloise-louise
elouise-louise emeline-emily emeline-emma emil-emily emily-emma ernest-ernestine fallon-falcon frederica-frederick
genevieve-jean george-georgine gilbert-wilber helena-aileen helena-eileen helena-elaine helena-eleanor heloise-lois
ian-john iva-ivy ivan-john jane-jean jane-jessie janet-jessie jeanne-jane joan-joanna joan-johannah joanna-hannah
johannah-hannah johannes-jonathan john-johnathan john-johnathon john-jonathan john-jonathon julia-jules julie-jules
june-junior june-junius justin-justina justin-justus kendrick-kenneth kendrick-kent laurinda-lawrence lena-ellen
leo-leon lois-louisa lois-louise louis-louise louisa-eliza louise-eliza lucia-lucius lucias-luke luke-luther
margarita-megan mariah-mary marietta-mary marietta-maureen marilyn-mary marion-mary marsha-mary maureen-mary
patrick-peter philipina-phoebe reginald-reynold robert-rupert rodger-bobby roger-bobby rosemary-marie rosemary-mary
sheila-cecilia sophia-sophronia susan-hannah susannah-hannah theodosia-theodosius virginia-jane will-wilson
william-wilma willie-wilson
"""
_TWO_NAMES = frozenset(frozenset(pair.split("-")) for pair in _PAIRS.split())

_LEAST = 4
"""Minimum length of a normalised spelling: Jan and Ian are two names."""
_VOWELS = "aeiou"
# Applied in this order to folded words. Each rule removes a difference between transliteration systems of one alphabet,
# or between two ways to write an umlaut. The first string is a substring test that is cheaper than the pattern.
_SPELLINGS = tuple(
    (part, re.compile(pattern), to)
    for part, pattern, to in (
        ("mc", r"^mc(?=...)", "mac"),  # McGregor, MacGregor
        ("ch", r"tsch|tch", "ch"),  # Tschechow, Tchekhov, Chekhov
        ("sch", r"sch", "sh"),
        ("ch", r"ch(?=[rl])", "k"),  # Christian, Kristian
        ("ph", r"ph", "f"),
        ("th", r"th", "t"),
        ("kh", r"kh", "h"),
        ("", r"ck|q|c(?![eihyj])", "k"),
        ("x", r"x", "ks"),
        ("w", r"w", "v"),
        ("", r"[yj]", "i"),
        ("o", r"ou|oo", "u"),  # Mahmoud, Mahmud
        ("ie", rf"^ie|(?<=[{_VOWELS}])ie", "e"),  # Yevgeny, Evgeny; Dostoyevsky, Dostoevsky
        ("e", r"([aou])e", r"\1"),  # Mueller, Muller
        ("", r"(.)\1+", r"\1"),
        ("ah", r"ah$", "a"),
    )
)


# Fast path: most words are not changed by any rule.
_CHANGED = re.compile(rf"^mc|ch|ph|th|kh|[ckqxwyj]|o[ou]|[{_VOWELS}]e|(.)\1|^ie|ah$")


@lru_cache(maxsize=1 << 17)
def spelling(word: str) -> str:
    """Normalise the spelling of a word; return the word itself if the result would be too short to be distinctive.

    >>> spelling("dostoyevsky") == spelling("dostoevskij"), spelling("mcgregor") == spelling("macgregor")
    (True, True)
    """
    if len(word) < _LEAST or _CHANGED.search(word) is None or not (word.isascii() and word.isalpha()):
        return word
    result = word
    for part, pattern, to in _SPELLINGS:
        if part in result:
            result = pattern.sub(to, result)
    return result if len(result) >= _LEAST else word


# For the first letter of a normalised spelling: the other first letters that the rules above map to it.
_BEGINNINGS = {"k": "cqxt", "c": "t", "f": "p", "h": "k", "v": "w", "i": "yj", "e": "iyj", "u": "o"}


def beginnings(common: str) -> str:
    """Return the letters with which a word can begin if its `spelling` is *common*.

    Words with another first letter can be rejected without normalising them.

    >>> beginnings("kennedi"), beginnings("muller")
    ('kcqxt', 'm')
    """
    return common[0] + _BEGINNINGS.get(common[0], "")


@cache
def _nicknames() -> dict[str, frozenset[str]]:
    """Return every name with its short forms, and every short form with its names."""
    from nicknames import name_triplets

    forms: dict[str, set[str]] = {}
    for row in name_triplets():
        pair = frozenset((row.name1, row.name2))
        if row.relationship == "has_nickname" and pair not in _TWO_NAMES:
            forms.setdefault(row.name1, set()).add(row.name2)
            forms.setdefault(row.name2, set()).add(row.name1)
    return {name: frozenset(others) for name, others in forms.items()}


@lru_cache(maxsize=1 << 16)
def same_given_name(name: str, other: str) -> bool:
    """Return True if one name is a short form of the other, or if they are one name in two languages.

    Two short forms of one name do not count, or Jock would be Jack and Ted would be Ned.

    >>> same_given_name("jim", "james"), same_given_name("jules", "julius"), same_given_name("jim", "john")
    (True, True, False)
    """
    if spelling(name) == spelling(other) or other in _nicknames().get(name, ()):
        return True
    group = _GROUPS.get(name)
    return group is not None and group == _GROUPS.get(other)
