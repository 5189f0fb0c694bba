"""Test whether a guess names the person of a title: cases for each class, and properties of all matchers."""

import string
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from goldrank.errors import InputError
from goldrank.masked.names.matching import MATCHERS, Person
from goldrank.masked.names.patterns import Match, Pattern, Tier, title_name
from goldrank.masked.names.variants import beginnings, spelling
from goldrank.masked.names.vocabulary import FUNCTION_WORDS, NUMERALS, PARTICLES

INITIAL, GIVEN, SURNAME, ALL, EXACT = Tier
WRONG = None

CASES = {
    "plain": [
        ("Lise Meitner", "Lise Meitner", EXACT),
        ("Lise Meitner", "Meitner", SURNAME),
        ("Lise Meitner", "Lise", GIVEN),
        ("Lise Meitner", "Otto Hahn", WRONG),
        ("Lise Meitner", "Hahn", WRONG),
        ("William Henry Harvey", "Henry", GIVEN),
        ("William Henry Harvey", "William Henry", GIVEN),
        ("William Henry Harvey", "William Harvey", ALL),
        ("William Henry Harvey", "Henry Harvey", ALL),
    ],
    "whole words": [
        ("John Deely", "Johnnie", WRONG),
        ("John Deely", "Dee", WRONG),
        ("John Deely", "John", GIVEN),
        ("Johnnie Jones", "John", WRONG),
        ("Al Howie", "Albert", WRONG),
        ("Philippe Petit", "Philippe Petitpierre", WRONG),
        ("Ian Young (academic)", "Christian", WRONG),
    ],
    "case": [
        ("John McIntire", "JOHN MCINTIRE", EXACT),
        ("John McIntire", "mcintire", SURNAME),
        ("Cliff Chiang", "cLIFF", GIVEN),
        ("Cliff Chiang", "CLIFTON", WRONG),
    ],
    "accents": [
        ("Élie Halévy", "Elie Halevy", EXACT),
        ("Elie Halevy", "Élie Halévy", EXACT),
        ("Bolesław II the Horned", "Boleslaw", SURNAME),
        ("Tōson Shimazaki", "Toson", GIVEN),
        ("Igor Cașu", "Casu", SURNAME),
        ("Hieronymus Münzer", "Munzer", SURNAME),
        ("Søren Kierkegaard", "Soren Kierkegaard", EXACT),
        ("Halldór Laxness", "HALLDOR", GIVEN),
        ("Þórbergur Þórðarson", "Thorbergur Thordarson", EXACT),
        ("Johann Strauß", "Strauss", SURNAME),
        ("Daniel Acuña", "Acu\N{LATIN SMALL LETTER N}\N{COMBINING TILDE}a", SURNAME),
        ("Ján Zimmer", "Jan Zimmermann", WRONG),
    ],
    "qualifiers": [
        ("Alfred Hill (composer)", "Alfred Hill", EXACT),
        ("Alfred Hill (composer)", "Hill", SURNAME),
        ("Alfred Hill (composer)", "composer", WRONG),
        ("Alfred Hill (composer)", "(composer)", WRONG),
        ("James Thomson (poet, born 1700)", "Thomson", SURNAME),
        ("James Thomson (poet, born 1700)", "James Thomson (Scottish poet)", EXACT),
        ("James Thomson (poet, born 1700)", "James Thomson (engineer)", WRONG),
        ("James Thomson (poet, born 1700)", "born", WRONG),
        ("Marcus Plautius Silvanus (consul 2 BC)", "BC", WRONG),
        ("Lise Meitner", "Lise Meitner (physicist)", EXACT),
        ("Bryce Gibbs (Australian rules footballer)", "Australian", WRONG),
    ],
    "ranks after a comma": [
        ("Sir Robert Grierson, 1st Baronet", "Grierson", SURNAME),
        ("Sir Robert Grierson, 1st Baronet", "Robert Grierson", EXACT),
        ("Sir Robert Grierson, 1st Baronet", "Baronet", WRONG),
        ("Robert Ufford, 1st Earl of Suffolk", "Ufford", SURNAME),
        ("Robert Ufford, 1st Earl of Suffolk", "Suffolk", WRONG),
        ("Robert Ufford, 1st Earl of Suffolk", "Earl of Suffolk", WRONG),
        ("Robert Ufford, 1st Earl of Suffolk", "Robert Ufford, 2nd Earl of Suffolk", WRONG),
        ("Hugh de Courtenay, 2nd/10th Earl of Devon", "Hugh de Courtenay, 10th Earl of Devon", EXACT),
        ("William Herbert, 1st Earl of Pembroke (died 1570)", "William Herbert", EXACT),
        ("Ansfried the Elder, Count in Lotharingia", "Ansfried", SURNAME),
        ("Ansfried the Elder, Count in Lotharingia", "Count", WRONG),
    ],
    "hyphens": [
        ("Jean-Vital Jammes", "Jean Vital", GIVEN),
        ("Jean-Vital Jammes", "Jean Vital Jammes", EXACT),
        ("Jean-Vital Jammes", "JeanVital Jammes", ALL),
        ("Jean-Vital Jammes", "Jean–Vital", GIVEN),
        ("Jean-Vital Jammes", "Jean", GIVEN),
        ("Jean-Vital Jammes", "Jean-Pierre Jammes", WRONG),
        ("Jean Vital Jammes", "Jean-Vital", GIVEN),
        ("Irène Joliot-Curie", "Curie", SURNAME),
        ("Irène Joliot-Curie", "Irène Curie", ALL),
        ("Irène Joliot-Curie", "JoliotCurie", SURNAME),
        ("Irène Joliot-Curie", "Marie Curie", WRONG),
        ("Yun Jeong-mo", "Jeongmo", GIVEN),
        ("Zhang Zhongwu", "Zhong-wu Zhang", ALL),
        ("Lise Meitner", "Meitner-Hahn", WRONG),
    ],
    "apostrophes": [
        ("Mick O'Dwyer", "O’Dwyer", SURNAME),
        ("Mick O'Dwyer", "ODwyer", SURNAME),
        ("Mick O'Dwyer", "Mick O`Dwyer", EXACT),
        ("Mick O'Dwyer", "Dwyer", WRONG),
        ("Mick O'Dwyer", "O", WRONG),
        ("Joseph d'Ortigue", "Ortigue", SURNAME),
        ("Joseph d'Ortigue", "d’Ortigue", SURNAME),
        ("Joseph d'Ortigue", "Dortigue", SURNAME),
        ("Joseph d'Ortigue", "d", WRONG),
        ("N'Golo Kanté", "Ngolo Kante", EXACT),
    ],
    "particles": [
        ("Alexander von Humboldt", "von Humboldt", SURNAME),
        ("Alexander von Humboldt", "Humboldt", SURNAME),
        ("Alexander von Humboldt", "von", WRONG),
        ("Alexander von Humboldt", "Wilhelm von Humboldt", WRONG),
        ("Antoni van Leeuwenhoek", "van", WRONG),
        ("Antoni van Leeuwenhoek", "Van Leeuwenhoek", SURNAME),
        ("Juana Inés de la Cruz", "de la", WRONG),
        ("Juana Inés de la Cruz", "la", WRONG),
        ("Juana Inés de la Cruz", "De la Cruz", SURNAME),
        ("Juana Inés de la Cruz", "Delacruz", SURNAME),
        ("Abdullah ibn Masud", "ibn", WRONG),
        ("Abdullah ibn Masud", "Ibn Masud", SURNAME),
        ("Yusuf al-Karmuzi", "al", WRONG),
        ("Yusuf al-Karmuzi", "Al-Karmuzi", SURNAME),
        ("Yusuf al-Karmuzi", "Karmuzi", SURNAME),
        ("Ibn Battuta (traveller)", "Ibn", WRONG),
        ("Ibn Battuta (traveller)", "Battuta", SURNAME),
        ("Santiago Ramón y Cajal", "Ramón", SURNAME),
        ("Santiago Ramón y Cajal", "y", WRONG),
        ("Maria Antònia Salvà i Ripoll", "Salvà", SURNAME),
        ("Maria Antònia Salvà i Ripoll", "Maria Ripoll", ALL),
        ("Al Purdy", "Al", GIVEN),
        ("Van Morrison", "Van", GIVEN),
        ("Anthony St Leger (Lord Deputy of Ireland)", "St", WRONG),
        ("Anthony St Leger (Lord Deputy of Ireland)", "St. Leger", SURNAME),
        ("Thomas de Trafford", "of", WRONG),
        ("Le Corbusier", "Le", WRONG),
        ("Le Corbusier", "Corbusier", SURNAME),
        ("Abu Bakr", "Abu", WRONG),
        ("Antoine de Saint-Exupéry", "Saint", WRONG),
        ("Antoine de Saint-Exupéry", "Exupéry", SURNAME),
        ("Eva Marie Saint", "Saint", SURNAME),
    ],
    "numerals": [
        ("Leonidas I", "I", WRONG),
        ("Leonidas I", "Leonidas", SURNAME),
        ("Leonidas I", "Leonidas I", EXACT),
        ("Leonidas I", "Leonidas II", WRONG),
        ("Robert J. Marks II", "II", WRONG),
        ("Robert J. Marks II", "Marks", SURNAME),
        ("Robert J. Marks II", "Robert Marks II", ALL),
        ("Robert J. Marks II", "Robert Marks III", WRONG),
        ("Henry VIII", "Henry VII", WRONG),
        ("Henry VIII", "Henry the Eighth", EXACT),
        ("Henry VIII", "Henry the Seventh", WRONG),
        ("Henry VIII", "King Henry", SURNAME),
        ("Sammy Davis Jr.", "Sammy Davis, Jr.", EXACT),
        ("Sammy Davis Jr.", "Sammy Davis Junior", EXACT),
        ("Sammy Davis Jr.", "Sammy Davis", ALL),
        ("Sammy Davis Jr.", "Sammy Davis Sr.", WRONG),
        ("Sammy Davis Jr.", "Jr.", WRONG),
        ("Sammy Davis Jr.", "junior", WRONG),
        ("Sammy Davis", "Sammy Davis Jr.", WRONG),
        ("Sammy Davis", "Sammy Davis Sr.", ALL),
        ("Malcolm X", "X", WRONG),
        ("Xi Jinping", "Xi", SURNAME),
        ("Xi Jinping", "Jinping Xi", ALL),
    ],
    "bynames": [
        ("Pedro II of Brazil", "Pedro II", SURNAME),
        ("Pliny the Elder", "Pliny", SURNAME),
        ("Pliny the Elder", "Pliny the Younger", WRONG),
        ("Pedro II of Brazil", "Brazil", WRONG),
        ("Pedro II of Brazil", "Pedro of Portugal", WRONG),
        ("Pedro II of Brazil", "Pedro of Brazil", SURNAME),
        ("Bolesław II the Horned", "the Horned", WRONG),
        ("Bolesław II the Horned", "Bolesław the Brave", WRONG),
        ("Bolesław II the Horned", "Bolesław the Horned", SURNAME),
        ("Anatole France", "King of France", WRONG),
    ],
    "honorifics": [
        ("John F. Kennedy", "President Kennedy", SURNAME),
        ("John F. Kennedy", "President", WRONG),
        ("John F. Kennedy", "Mr. Kennedy", SURNAME),
        ("Sir Richard Grenville, 1st Baronet", "Sir Richard", GIVEN),
        ("Sir Richard Grenville, 1st Baronet", "Sir", WRONG),
        ("Lise Meitner", "Dr. Lise Meitner", EXACT),
        ("Lise Meitner", "Prof. Dr. Meitner", SURNAME),
        ("Stephen King", "King", SURNAME),
        ("Stephen King", "King Stephen", ALL),
        ("Stephen Fox", "Stephen King", WRONG),
        ("Martin Luther King Jr.", "King Jr.", SURNAME),
        ("Duke Ellington", "Duke", GIVEN),
        ("Deposed Queen Yun", "Queen Yun", EXACT),
        ("Deposed Queen Yun", "Queen", WRONG),
        ("Prince (musician)", "Prince", EXACT),
        ("Saint Peter", "Saint", WRONG),
        ("Saint Peter", "St. Peter", SURNAME),
        ("Diana, Princess of Wales", "Princess Diana", EXACT),
        ("Diana, Princess of Wales", "Princess of Wales", WRONG),
    ],
    "initials": [
        ("John F. Kennedy", "J. F. Kennedy", ALL),
        ("John F. Kennedy", "J.F. Kennedy", ALL),
        ("John F. Kennedy", "J. Kennedy", ALL),
        ("John F. Kennedy", "R. Kennedy", WRONG),
        ("John F. Kennedy", "J. R. Kennedy", WRONG),
        ("John F. Kennedy", "John F.", GIVEN),
        ("John F. Kennedy", "John K.", GIVEN),
        ("John F. Kennedy", "John R.", WRONG),
        ("John F. Kennedy", "J.F.K.", INITIAL),
        ("John F. Kennedy", "J. K.", INITIAL),
        ("John F. Kennedy", "J. R. K.", WRONG),
        ("John F. Kennedy", "J.", WRONG),
        ("John F. Kennedy", "F", WRONG),
        ("John F. Kennedy", "JFK", WRONG),
        ("John F. Kennedy", "John Fitzgerald Kennedy", ALL),
        ("John F. Kennedy", "John Robert Kennedy", WRONG),
        ("John F. Kennedy", "Frank Kennedy", WRONG),
        ("C. V. Raman", "Chandrasekhara Venkata Raman", ALL),
        ("C. V. Raman", "Chandrasekhara", WRONG),
        ("C. V. Raman", "CV Raman", ALL),
        ("C. V. Raman", "K. Raman", WRONG),
        ("Harry Truman", "Harry S. Truman", ALL),
        ("Harry Truman", "S. Truman", WRONG),
        ("Jean-Vital Jammes", "J.-V. Jammes", ALL),
    ],
    "mononyms": [
        ("Siyaka", "Siyaka", EXACT),
        ("2Pac", "2pac", EXACT),
        ("2Pac", "2", WRONG),
        ("Siyaka", "siyaka's", EXACT),
        ("Siyaka", "Siyaka Smith", WRONG),
        ("Zimri (king)", "King Zimri", EXACT),
        ("Nzinga of Ndongo and Matamba", "Nzinga", SURNAME),
        ("Nzinga of Ndongo and Matamba", "Matamba", WRONG),
    ],
    "surname first": [
        ("John F. Kennedy", "Kennedy, John", ALL),
        ("John F. Kennedy", "Kennedy, John F.", ALL),
        ("John F. Kennedy", "Kennedy, Robert", WRONG),
        ("John F. Kennedy", "Kennedy John", ALL),
        ("Sun He", "Sun He", EXACT),
        ("Sun He", "He Sun", ALL),
        ("Sun He", "Sun", SURNAME),
        ("Sun He", "he", WRONG),
        ("Sun He", "Sun Quan", WRONG),
        ("Guo Shoujing", "Shoujing Guo", ALL),
        ("Guo Shoujing", "Guo", SURNAME),
        ("Haruto Kisegawa", "Kisegawa Haruto", ALL),
    ],
    "possessives": [
        ("John F. Kennedy", "Kennedy's", SURNAME),
        ("John F. Kennedy", "Kennedy’s", SURNAME),
        ("John F. Kennedy", "Kennedy 's", SURNAME),
        ("Johnnie Jones", "Jones'", SURNAME),
        ("Johnnie Jones", "Jones's", SURNAME),
        ("John F. Kennedy", "Kennedys", WRONG),
    ],
    "contradictions": [
        ("John F. Kennedy", "Robert Kennedy", WRONG),
        ("John F. Kennedy", "John Smith", WRONG),
        ("John F. Kennedy", "Kennedy Onassis", WRONG),
        ("John F. Kennedy", "Kennedy and Johnson", WRONG),
        ("Edward Lewknor (died 1556)", "Elizabeth Lewknor", WRONG),
        ("Erling Brene", "Erling Emmanuel Brene", ALL),
        ("Erling Brene", "Erling Brene Emmanuel", WRONG),
    ],
    "short forms": [
        ("Charlie Munger", "Charles Munger", ALL),
        ("Charlie Munger", "Charles Thomas Munger", ALL),
        ("Charlie Munger", "Munger, Charles", ALL),
        ("Charlie Munger", "Charles", WRONG),
        ("Charlie Munger", "Charles Manson", WRONG),
        ("Jim Simons", "James Simons", ALL),
        ("Jim Simons", "James Harris Simons", ALL),
        ("Jim Simons", "John Simons", WRONG),
        ("John Simons", "Jim Simons", WRONG),
        ("James Simons", "Jim", WRONG),
        ("Bill Gates", "William Gates", ALL),
        ("Bill Gates", "William Gates III", WRONG),
        ("Elizabeth Taylor", "Liz Taylor", ALL),
        ("Elizabeth Taylor", "Lisbeth Salander", WRONG),
        ("John F. Kennedy", "Jack Kennedy", ALL),
        ("John F. Kennedy", "Jack F. Kennedy", ALL),
        ("John F. Kennedy", "Ted Kennedy", WRONG),
        ("Robert Kennedy", "Bob Kennedy", ALL),
        ("Robert Kennedy", "Bill Kennedy", WRONG),
        ("Robert Kennedy", "John Kennedy", WRONG),
        ("Ted Kennedy", "Edward Moore Kennedy", ALL),
        ("Ted Kennedy", "Ned Kennedy", WRONG),
        ("William Henry Harvey", "Bill Harvey", ALL),
        ("William Henry Harvey", "Hank Harvey", WRONG),
        ("Ian Young (academic)", "John Young", WRONG),
        ("Patrick Moore", "Peter Moore", WRONG),
    ],
    "other languages": [
        ("Jules Dassin", "Julius Dassin", ALL),
        ("Jules Dassin", "Joe Dassin", WRONG),
        ("Jules Dassin", "Julius", WRONG),
        ("Jules Dassin", "Julius Caesar", WRONG),
        ("Catherine Deneuve", "Katharina Deneuve", ALL),
        ("Nikolai Gogol", "Nicholas Gogol", ALL),
        ("Jean Simmons", "John Simmons", WRONG),
        ("James Joyce", "Jacob Joyce", WRONG),
        ("Andrea Smith", "Andrew Smith", WRONG),
    ],
    "transliterations": [
        ("Rob Roy MacGregor", "Rob Roy McGregor", ALL),
        ("Rob Roy MacGregor", "McGregor", SURNAME),
        ("Rob Roy MacGregor", "Gregor", WRONG),
        ("Rob Roy MacGregor", "Conor McGregor", WRONG),
        ("Fyodor Dostoyevsky", "Dostoevsky", SURNAME),
        ("Fyodor Dostoyevsky", "Fjodor Dostojewskij", ALL),
        ("Fyodor Dostoyevsky", "Mikhail Dostoevsky", WRONG),
        ("Pyotr Ilyich Tchaikovsky", "Peter Tschaikowski", ALL),
        ("Kurt Müller", "Kurt Mueller", ALL),
        ("Kurt Müller", "Mueller", WRONG),
        ("Kurt Müller", "Otto Mueller", WRONG),
        ("Mahmoud Abbas", "Mahmud Abbas", ALL),
        ("John Smith", "John Smit", WRONG),
        ("John Schmidt", "John Schmitt", WRONG),
        ("Ian Young (academic)", "Jan Young", WRONG),
    ],
    "further names": [
        ("Johann Sebastian Bach", "Johann Sebastian Maria Bach", ALL),
        ("Johann Sebastian Bach", "Johann Christian Bach", WRONG),
        ("Béla Bartók", "Bartók Béla Viktor János", ALL),
        ("Béla Bartók", "Bartók Viktor Béla", WRONG),
        ("Faustina the Elder", "Annia Galeria Faustina", SURNAME),
        ("Faustina the Younger", "Annia Galeria Faustina the Elder", WRONG),
        ("Seneca the Younger", "Lucius Annaeus Seneca", SURNAME),
        ("Charles the Bald", "Ray Charles", WRONG),
        ("Charles the Bald", "Prince Arthur Charles", WRONG),
        ("Annia Galeria Faustina", "Annia Faustina", ALL),
        ("Annia Galeria Faustina", "Faustina Annia Galeria", ALL),
        ("Annia Galeria Faustina", "Annia Aurelia Faustina", WRONG),
    ],
    "words of running text": [
        ("John F. Kennedy", "Kennedy was", SURNAME),
        ("John F. Kennedy", "the Kennedy", SURNAME),
        ("John F. Kennedy", "when John Kennedy", ALL),
        ("John F. Kennedy", "Kennedy, however,", SURNAME),
        ("Can Xue", "can", WRONG),
        ("Can Xue", "Xue", SURNAME),
        ("May Winter (referee)", "May", GIVEN),
        ("Will Smith", "Will", GIVEN),
        ("John F. Kennedy", "Kennedy will", SURNAME),
    ],
    "other scripts": [
        ("Лев Толстой", "ТОЛСТОЙ", SURNAME),
        ("Лев Толстой", "Алексей Толстой", WRONG),
        ("Νίκος Καζαντζάκης", "ΝΙΚΟΣ ΚΑΖΑΝΤΖΑΚΗΣ", EXACT),
        ("नरेन्द्र मोदी", "मोदी", SURNAME),
        ("村上春樹", "村上春樹", EXACT),
    ],
    "nothing": [
        ("Lise Meitner", "", WRONG),
        ("Lise Meitner", "  ", WRONG),
        ("Lise Meitner", "1878", WRONG),
        ("Lise Meitner", "—…!", WRONG),
        ("Lise Meitner", "<mask>", WRONG),
    ],
}


@pytest.mark.parametrize(
    ("title", "guess", "tier"),
    [pytest.param(*case, id=f"{kind}: {case[1]} for {case[0]}") for kind, cases in CASES.items() for case in cases],
)
def test_a_guess_names_the_person_as_well_as_it_does(title, guess, tier):
    match = Person(title).match(guess)
    assert (match and match.tier) == tier, match


def test_the_table_has_enough_cases_of_both_kinds_in_every_class():
    assert sum(map(len, CASES.values())) >= 120
    for kind, cases in CASES.items():
        assert {tier is WRONG for _, _, tier in cases} == ({True} if kind == "nothing" else {True, False}), kind


def test_tiers_are_ordered_from_exact_to_initial():
    assert Tier.EXACT > Tier.ALL > Tier.SURNAME > Tier.GIVEN > Tier.INITIAL


def test_a_match_says_what_it_rests_on():
    kennedy = Person("John F. Kennedy")
    assert kennedy.match("President Kennedy's") == Match(Tier.SURNAME, "surname 'kennedy'")
    assert kennedy.match("John") == Match(Tier.GIVEN, "given name 'john'")
    assert kennedy.match("J. Kennedy") == Match(Tier.ALL, "surname 'kennedy' and an initial")


def test_a_whole_alias_is_exact_and_a_part_of_it_is_nothing():
    kennedy = Person("John F. Kennedy", aliases=["JFK", "Jack Kennedy", "The Kid"])
    assert kennedy.match("jfk") == Match(Tier.EXACT, "alias 'JFK'")
    assert kennedy.match("J.F.K.").tier == Tier.EXACT
    assert kennedy.match("President Jack Kennedy's").tier == Tier.EXACT
    assert kennedy.match("Jack") is None
    assert kennedy.match("Kennedy").tier == Tier.SURNAME


@pytest.mark.parametrize(
    ("alias", "guesses"), [("ŁØĐ", ["Ł. Ø. Đ.", "Ł Ø Đ", "łød", "L O D"]), ("AWB", ["A.W.B.", "A W B", "awb"])]
)
def test_an_alias_of_initials_is_matched_in_any_form(alias, guesses):
    for guess in guesses:
        assert Person("John Smith", [alias]).match(guess) == Match(Tier.EXACT, f"alias {alias!r}")


def test_an_alias_is_read_with_the_odd_names_of_the_title():
    king = Person("Stephen King", aliases=["King Stephen", "Will"])
    assert king.match("King Stephen").tier == Tier.EXACT
    assert king.match("Stephen").tier == Tier.GIVEN
    assert king.match("will").tier == Tier.EXACT


@pytest.mark.parametrize("alias", ["von", "II", "he", "J.", "…", ""])
def test_an_alias_that_is_no_name_is_left_out(alias):
    assert Person("John F. Kennedy", aliases=[alias]).match(alias) is None


@pytest.mark.parametrize("title", ["", " ", "1066", "—", "(2)"])
def test_a_title_without_letters_is_refused(title):
    with pytest.raises(InputError, match="has no letters"):
        Person(title)


@pytest.mark.parametrize(
    ("title", "tier"),
    [
        *((title, WRONG) for title in ("Of", "The", "1st", "II", "The Who", "De", "I")),
        *((title, EXACT) for title in ("Sir", "d'", "al-", "1st Baronet")),
    ],
)
def test_a_title_of_odd_words_is_named_by_itself_if_it_can_be_a_name_and_by_no_other(title, tier):
    person = Person(title)
    itself = person.match(title)
    assert (itself and itself.tier) == tier
    assert person.display == title
    for guess in ("J. K.", "Kennedy", "a b c", "de la Cruz", "Jean-Vital"):
        assert person.match(guess) is None, guess


@pytest.mark.parametrize(
    ("title", "display", "given", "surname"),
    [
        ("Robert Dick (flutist)", "Robert Dick", "Robert", "Dick"),
        ("Sir Robert Grierson, 1st Baronet", "Sir Robert Grierson", "Robert", "Grierson"),
        ("William Herbert, 1st Earl of Pembroke (died 1570)", "William Herbert", "William", "Herbert"),
        ("Santiago Ramón y Cajal", "Santiago Ramón y Cajal", "Santiago", "Ramón y Cajal"),
        ("Juana Inés de la Cruz", "Juana Inés de la Cruz", "Juana Inés", "Cruz"),
        ("Siyaka", "Siyaka", "", "Siyaka"),
        ("Yun Jeong-mo", "Yun Jeong-mo", "Jeong-mo", "Yun"),
        ("Kim Ok (poet)", "Kim Ok", "Kim", "Ok"),
        ('Bill "Hoss" Allen', 'Bill "Hoss" Allen', "Bill Hoss", "Allen"),
        ("Pedro II of Brazil", "Pedro II of Brazil", "", "Pedro"),
        ("Irène Joliot-Curie", "Irène Joliot-Curie", "Irène", "Joliot-Curie"),
    ],
)
def test_a_title_is_taken_apart_as_written(title, display, given, surname):
    person = Person(title)
    assert (person.display, person.given, person.surname) == (display, given, surname)


def test_every_title_of_the_sample_is_matched_by_itself_its_display_and_its_surname(shared_data):
    import json

    with (shared_data / "masked" / "wiki_mask_filling" / "small-test-mask.jsonl").open(encoding="utf-8") as lines:
        people = [Person(json.loads(line)["title"]) for line in lines]
    for person in people:
        assert person.match(person.title).tier == Tier.EXACT, person.title
        assert person.match(person.display).tier == Tier.EXACT, person.title
        # A surname of one letter, as in Winky D, never matches alone.
        if len(person.surname) > 1:
            assert person.match(person.surname).tier >= Tier.SURNAME, person.title


@pytest.mark.parametrize(
    ("title", "guess", "right_for"),
    [
        ("John Deely", "Johnnie", {"original"}),
        ("John Deely", "john", {"names", "tokens", "seed"}),
        ("Alexander von Humboldt", "von", {"original", "seed"}),
        ("Alexander von Humboldt", "Wilhelm von Humboldt", {"tokens", "surname", "original", "seed"}),
        ("Robert Dick (flutist)", "the (flutist)", {"original", "seed"}),
        ("Robert Dick (flutist)", "the flutist", {"original"}),
        ("Robert Dick (flutist)", "Robert", {"names", "tokens", "original", "seed"}),
        ("Élie Halévy", "Halevy", {"names", "tokens", "surname"}),
        ("Élie Halévy", "Elie", {"names", "tokens"}),
        ("John F. Kennedy", "Robert Kennedy", {"tokens", "surname", "original", "seed"}),
        ("John F. Kennedy", "Kennedy's", {"names", "tokens", "surname", "original"}),
        ("John F. Kennedy", "F.", {"original", "seed"}),
        ("John F. Kennedy", "F", set()),
        ("Henry VIII", "Edward VIII", {"original", "seed"}),
        ("Robert Ufford, 1st Earl of Suffolk", "Earl of Suffolk", {"original", "seed"}),
        ("Robert Ufford, 1st Earl of Suffolk", "the Uffords", set()),
        ("Irène Joliot-Curie", "Marie Curie", {"tokens", "surname"}),
        ("Yun Jeong-mo", "Yun Bong-gil", {"tokens", "surname", "original", "seed"}),
        ("Sun He", "he", {"seed"}),
        ("Malcolm X", "X", {"original", "seed"}),
        ("Lise Meitner", "Hahn", set()),
        ("Lise Meitner", "Lise Meitner, scientist", {"names", "tokens", "surname", "original", "seed"}),
    ],
)
def test_each_matcher_accepts_what_it_is_defined_to(title, guess, right_for):
    assert {name for name, make in MATCHERS.items() if make(title, ()).match(guess) is not None} == right_for


def test_tokens_tell_a_surname_from_a_given_name():
    tokens = MATCHERS["tokens"]("John F. Kennedy", ())
    assert tokens.match("Robert Kennedy") == Match(Tier.SURNAME, "surname token 'kennedy'")
    assert tokens.match("John Smith") == Match(Tier.GIVEN, "given-name token 'john'")


@pytest.mark.parametrize(
    ("title", "guess", "right"),
    [
        # Parentheses around one part or several parts are not searched for.
        ("Ian Young (academic)", "an academic", True),
        ("Ian Young (academic)", "(academic)", True),
        ("Anthony St Leger (Lord Deputy of Ireland)", "the Lord", True),
        ("Anthony St Leger (Lord Deputy of Ireland)", "Northern Ireland", True),
        ("Anthony St Leger (Lord Deputy of Ireland)", "Ireland)", True),
        ("Anthony St Leger (Lord Deputy of Ireland)", "(Lor", False),
        # A full stop matches literally, and so do the operators * and ?.
        ("John F. Kennedy", "Frank Sinatra", False),
        ("John F. Kennedy", "F. Sinatra", True),
        ("M*A*S*H", "MASH", False),
        ("M*A*S*H", "M*A*S*H", True),
        ("?uestlove", "?uestlove", True),
        # The anchor $ inside a name never matches.
        ("Ke$ha", "Ke$ha", False),
        # An empty group matches any guess.
        ("Foo ()", "anybody", True),
        # The published code fails on an invalid pattern; goldrank searches for each part literally.
        ("Foo (bar", "(bar", True),
        ("Foo (bar", "bar", False),
        ("Foo bar)", "bar", False),
        ("Foo bar)", "Foo", True),
    ],
)
def test_the_original_matcher_takes_the_parentheses_of_a_title_for_groups(title, guess, right):
    assert (MATCHERS["original"](title, ()).match(guess) is not None) == right


def test_a_title_cannot_make_the_original_matcher_search_forever():
    assert MATCHERS["original"]("Ann (a+)+$ (.*)*(.*)*!", ()).match("a" * 100_000) is None


TITLES = st.sampled_from(sorted({title for cases in CASES.values() for title, _, _ in cases}))
GUESSES = st.sampled_from(sorted({guess for cases in CASES.values() for _, guess, _ in cases}))
WORDS = st.text(st.sampled_from("abijkvxyz éłøßIV-'. "), max_size=12)
ACCENTS = "\N{COMBINING ACUTE ACCENT}\N{COMBINING DIAERESIS}\N{COMBINING CEDILLA}\N{COMBINING TILDE}"
PUNCTUATION = string.punctuation + "«»„“”‘’…–—¿¡· \t\n"


def tier_of(title, guess):
    match = Person(title).match(guess)
    return match and match.tier


@given(TITLES, GUESSES | WORDS)
def test_matching_does_not_depend_on_case(title, guess):
    expected = tier_of(title, guess)
    assert tier_of(title, guess.upper()) == expected
    assert tier_of(title, guess.lower()) == expected
    assert tier_of(title.upper(), guess) == expected
    assert tier_of(title.lower(), guess.title() if guess.isascii() and "'" not in guess else guess) == expected


@given(TITLES, GUESSES | WORDS, st.data())
def test_matching_does_not_depend_on_accents(title, guess, data):
    def accented(text):
        return "".join(
            letter + (data.draw(st.sampled_from(["", *ACCENTS])) if letter.isalpha() else "") for letter in text
        )

    expected = tier_of(title, guess)
    assert tier_of(title, accented(guess)) == expected
    assert tier_of(accented(title), guess) == expected
    assert tier_of(title, unicodedata.normalize("NFC", accented(guess))) == expected
    assert tier_of(unicodedata.normalize("NFD", title), unicodedata.normalize("NFC", guess)) == expected


@given(TITLES, GUESSES | WORDS, st.text(PUNCTUATION, max_size=4), st.text(PUNCTUATION, max_size=4))
def test_matching_does_not_depend_on_punctuation_around(title, guess, before, after):
    assert tier_of(title, before + guess + after) == tier_of(title, guess)


@given(TITLES, GUESSES | WORDS | st.text("aeéjkKłvwy ", max_size=8))
@example("de la Cruz", "Dé la Crüz")
@example("John F. Kennedy", "Jöhn Fränk")
@example("Muammar Gaddafi", "Qaddáfi")
def test_a_guess_that_is_rejected_unparsed_is_rejected_parsed_as_well(title, guess):
    pattern = Pattern(title_name(title))
    assert Person(title).match(guess) == pattern.judge(pattern.read(guess))


@given(TITLES, st.sampled_from(sorted(PARTICLES | NUMERALS.keys() | FUNCTION_WORDS)), st.booleans())
def test_a_particle_a_numeral_or_a_function_word_alone_never_matches(title, word, upper):
    if (title, word) not in {("Xi Jinping", "xi")}:
        assert Person(title).match(word.upper() if upper else word) is None


@example(",A", "")
@example("1, Ann", "")
@given(st.text(min_size=1, max_size=30), st.text(max_size=30))
def test_any_title_with_letters_takes_any_guess(title, guess):
    try:
        person = Person(title)
    except InputError:
        return
    match = person.match(guess)
    assert match is None or any(character.isalpha() for character in guess)
    assert person.match(guess) == match
    assert person.surname
    assert person.display


@given(st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=12))
def test_a_spelling_begins_with_a_letter_that_its_words_can_begin_with(word):
    assert word[0] in beginnings(spelling(word))


@pytest.mark.parametrize(
    "word", ["tchristian", "tschechow", "yevgeny", "jekaterina", "xerxes", "qadhafi", "khrushchev"]
)
def test_respelled_words_begin_as_their_spelling_allows(word):
    assert word[0] in beginnings(spelling(word))
