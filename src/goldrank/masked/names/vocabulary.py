"""Words in and around names that are not names: particles, numerals, honorifics, ranks and function words.

All words are folded: lower case, without accents.
"""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """Return the words of a list that is written as running text."""
    return frozenset(text.split())


PARTICLES = word_set(
    "von vom zu zum zur und de du des dell dall degl dos das do da di del delle dello dei degli af av "
    "ibn bin bint binti ould walad ter ten op den der het i y te of the st ste la le lo las los el ul "
    "abu umm ap"
)
"""Words that join the parts of a name; none of them ever matches alone."""

PARTICLES_OR_NAMES = word_set("al van ben bar saint san santa mac della")
"""Particles inside a name and before a hyphen, but names at the beginning of a title (Al Purdy, Van Morrison)."""

ELISIONS = word_set("d l dell dall nell sull all degl t")
"""Particles joined to the next name by an apostrophe (d'Ortigue); any other apostrophe is omitted (O'Brien)."""

CONNECTORS = word_set("i y und")
"""Particles between two surnames (Ramón y Cajal)."""

_UNITS = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")
ROMAN = {tens * "x" + unit: str(10 * tens + value) for tens in range(4) for value, unit in enumerate(_UNITS)}
del ROMAN[""]
GENERATIONS = {"jr": "jr", "jnr": "jr", "junior": "jr", "sr": "sr", "snr": "sr", "senior": "sr"}
NUMERALS = {**ROMAN, **GENERATIONS}
"""Regnal numerals and generations, with their meaning; they tell namesakes apart and never match alone."""

FIRST_OF_A_NAME = frozenset(("1", "sr"))
"""Numerals that a name without a numeral may stand for."""

_ORDINALS = """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
fifteenth sixteenth seventeenth eighteenth"""
ORDINAL_WORDS = {word: str(number) for number, word in enumerate(_ORDINALS.split(), start=1)}
"""Numerals in words, which count after *the* (Henry the Eighth)."""

NUMERAL_NAMES = frozenset(("xi", "vi"))
"""Numerals that are names if they do not follow a name (Xi Jinping)."""

HONORIFICS = word_set(
    "sir dame lord lady mr mrs ms miss mx master madam madame mme mlle monsieur herr frau fraulein senor senora "
    "signor signora dr doctor doktor prof professor rev reverend fr father mother sister brother rabbi imam sheikh "
    "shaykh sheik mullah pope bishop archbishop cardinal abbot king queen emperor empress prince princess tsar czar "
    "tsarina sultan kaiser president senator congressman congresswoman governor mayor minister premier "
    "chancellor ambassador secretary general gen colonel col captain capt lieutenant lt sergeant sgt admiral adm "
    "commander marshal hon honourable honorable deposed late vice prime former "
    "saint san santa"
)
"""Forms of address and offices: ignored before a name, a name if no other name follows (Prince)."""

RANKS = word_set(
    "baron baronet baroness earl count countess duke duchess marquess marquis marquise viscount viscountess knight "
    "judge justice dean major squire chief actor actress singer poet writer author novelist composer painter artist "
    "musician politician scientist photographer don dom dona"
)
"""Ranks and occupations that may be given names (Duke Ellington): ignored before a name in guesses, not in titles."""

QUALIFYING = (RANKS | HONORIFICS) - {"dean", "major", "judge", "justice"}
"""A segment after a comma with one of these words describes the person and is not part of the name."""

DEGREES = word_set("phd md esq obe mbe cbe kbe kcb qc kc frs sj osb dds dphil llb llm mba ba bsc msc mp ret")

FUNCTION_WORDS = word_set(
    "a an and or but nor as at by for from in into on onto to with without after before during between against about "
    "over under than then there here this that these those who whom whose which what when where why how he she it "
    "they we you me him her them us his its their our your my mine hers theirs himself herself itself themselves i "
    "be is am are was were been being has have had having does did done doing can could should would might must not "
    "no nor so also too only just even still again ever never always often later once both each all any some such "
    "same other another own more most very however although though because since while until if whether "
    "said says told asked wrote became becomes made went came took gave got left died born lived worked moved "
    "returned began married published played won served studied named called known thus hence"
)
"""Function words that a guess may have beside a name: ignored there, and never a match alone."""

AUXILIARIES = frozenset(("will", "may"))
"""Function words that are names if the title has them."""

_BORNE_AS_NAMES = word_set(
    "abbot baron bishop born can cardinal chief count dame dean dom don duke earl ever how imam judge just justice "
    "kaiser king knight late left lord major marquis marshal master mayor mine miss more most mullah over own painter "
    "pope premier prince princess queen said saint san santa sheikh sheik shaykh singer squire still such sultan won"
)
ARTICLES = word_set("a an the")
NO_NAMES = (FUNCTION_WORDS | HONORIFICS | RANKS | GENERATIONS.keys()) - _BORNE_AS_NAMES | word_set(
    "the of de von together someone somebody nobody everyone everybody anyone anybody none nothing everything one ones "
    "people person persons man men woman women boy girl child children son sons daughter daughters wife husband widow "
    "parents family friend friends himself myself yourself ourselves yourselves ours yours oneself"
)
"""Words that name nobody, alone or together: pronouns, function words, kinship, and offices and occupations.

Words that are also surnames or given names (Born, King, More, Prince, Said) are excluded, because without another name
they are ambiguous.
"""

FAMILY_FIRST = word_set(
    "zhang wang zhao zhou chen huang liu yang xu guo gao he luo zheng liang xie tang deng feng cao peng zeng xiao "
    "tian dong yuan cai jiang yu du ye cheng wei ding shen yao fu zhong cui liao jin shi xia jia zou xi xiong "
    "bai meng qin qiu hou yan xue hu mao hao gong shao wan qian dou tie li wu sun lu zhu jang yun yoon jung choi "
    "choe kang shin hwang ahn bae baek nguyen tran pham hoang yuwen sima ouyang zhuge helian"
)
"""Chinese, Korean and Vietnamese family names that are rarely given names elsewhere."""

FAMILY_FIRST_BEFORE_A_HYPHEN = word_set("kim lee park han song ko oh im lim no ryu seo son yi quah tan ong goh")
"""Names that are family names before a hyphenated given name (Kim Jong-il, Quah Mei-Lan)."""
