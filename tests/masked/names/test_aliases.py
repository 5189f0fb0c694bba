"""Test alias tables and the grouping of guesses that name the same person."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.errors import InputError
from goldrank.masked.names.aliases import group_aliases, read_aliases


def groups(*guesses):
    """Return the groups of guesses as sorted lists."""
    by_group = {}
    for guess, number in zip(guesses, group_aliases(guesses), strict=True):
        by_group.setdefault(number, set()).add(guess)
    return sorted(map(sorted, by_group.values()))


@pytest.mark.parametrize(
    "together",
    [
        ("Truman", "Harry Truman", "Harry S. Truman", "truman's", "President Truman", "TRUMAN."),
        ("Harry", "Harry Truman", "H. Truman"),
        ("Kennedy", "John F. Kennedy", "J. F. Kennedy", "Kennedy, John", "John Fitzgerald Kennedy"),
        ("J.F.K.", "JFK", "jfk"),
        ("Élie Halévy", "elie halevy", "HALEVY", "Halévy’s"),
        ("Jean-Vital Jammes", "Jean Vital", "JeanVital", "Jammes"),
        ("Mick O'Dwyer", "ODwyer", "O’Dwyer"),
        ("Alexander von Humboldt", "Humboldt", "von Humboldt"),
        ("Henry VIII", "Henry", "King Henry VIII", "Henry the Eighth"),
        ("he", "He", "he.", '"HE"'),
        ("...", " ... "),
        ("1945", "1945 "),
        ("", " "),
        ("James Gibson (seaman)", "James Gibson", "Gibson"),
    ],
)
def test_names_of_one_person_are_put_together(together):
    assert group_aliases(together) == [0] * len(together)


@pytest.mark.parametrize(
    "apart",
    [
        ("John Kennedy", "John Smith", "John"),
        ("he", "his", "him", "together", "junior"),
        ("Sun He", "he"),
        ("Alexander von Humboldt", "von"),
        ("Truman", "Trumann", "True"),
        ("1945", "1946", "..."),
    ],
)
def test_names_that_may_be_of_several_persons_stay_alone(apart):
    assert group_aliases(apart) == list(range(len(apart)))


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        ("John Kennedy", "Robert Kennedy", "Kennedy"),
        ("John F. Kennedy", "John R. Kennedy", "John Kennedy"),
        ("James Kennedy", "John Kennedy", "J. Kennedy"),
        ("Henry VII", "Henry VIII", "Henry"),
        ("Sammy Davis Jr.", "Sammy Davis Sr.", "Davis"),
        ("James Gibson (actor)", "James Gibson (seaman)", "James Gibson"),
        ("Pedro of Brazil", "Pedro of Portugal", "Pedro"),
    ],
)
def test_a_surname_that_several_full_names_share_joins_the_one_with_the_largest_sum(one, other, shared):
    assert group_aliases([one, other, shared], [[0.3], [0.2], [0.9]]) == [0, 1, 0]
    assert group_aliases([one, other, shared], [[0.3], [0.2, 0.2], [0.9]]) == [0, 1, 1]
    # With equal sums the first name in alphabetical order wins, regardless of its position in the list.
    assert group_aliases([other, one, shared], [[0.2], [0.1, 0.1], [0.9]]) == [0, 1, 1]


def test_a_given_name_joins_no_person_where_several_have_it():
    assert group_aliases(["John Kennedy", "John Smith", "John"], [[0.3], [0.2], [0.9]]) == [0, 1, 2]


def test_a_shared_surname_does_not_count_where_another_one_goes():
    guesses = ["Ann Lee Fox", "Tom Lee Fox", "Ann Fox", "Fox", "Lee Fox"]
    # Ann Fox joins Ann Lee Fox first; Lee Fox and Fox are both shared, and each joins by the sums before the merge.
    assert group_aliases(guesses, [[0.2], [0.3], [0.2], [0.5], [0.1]]) == [0, 1, 0, 0, 0]


def test_two_persons_keep_what_only_one_of_them_has():
    assert groups("John Kennedy", "John Smith", "John", "Kennedy", "Smith") == [
        ["John"],
        ["John Kennedy", "Kennedy"],
        ["John Smith", "Smith"],
    ]


def test_groups_are_numbered_by_their_first_guess():
    assert group_aliases(["he", "Truman", "his", "Harry Truman", "he"]) == [0, 1, 2, 1, 0]
    assert group_aliases([]) == []


NAMES = [
    "John",
    "Robert",
    "Harry",
    "Kennedy",
    "Truman",
    "Jean-Vital",
    "JeanVital",
    "von",
    "II",
    "Jr.",
    "J.",
    "F.",
    "he",
]
GUESSES = st.lists(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map(" ".join), max_size=12)


def partition(guesses):
    return {frozenset(group) for group in groups(*guesses)}


@given(GUESSES, st.randoms(use_true_random=False))
def test_the_partition_does_not_depend_on_the_order(guesses, random):
    shuffled = random.sample(guesses, len(guesses))
    assert partition(shuffled) == partition(guesses)


@given(GUESSES)
def test_the_partition_does_not_depend_on_case_accents_and_punctuation(guesses):
    plain = group_aliases(guesses)
    assert group_aliases([guess.upper() for guess in guesses]) == plain
    assert group_aliases([f"“{guess}”, " for guess in guesses]) == plain
    assert group_aliases([guess.replace("e", "é").replace("o", "ö") for guess in guesses]) == plain


@given(GUESSES)
def test_a_guess_said_twice_changes_nothing(guesses):
    assert group_aliases(guesses + guesses) == group_aliases(guesses) * 2


TABLES = {
    "aliases.csv": 'title,alias\nJohn F. Kennedy,JFK\nJohn F. Kennedy,"Kennedy, Jack"\nMadonna,Madonna Ciccone\n',
    "aliases.tsv": "alias\ttitle\nJFK\tJohn F. Kennedy\nKennedy, Jack\tJohn F. Kennedy\nMadonna Ciccone\tMadonna\n",
    "aliases.jsonl": '{"title": "John F. Kennedy", "aliases": ["JFK", "Kennedy, Jack"]}\n\n'
    '{"title": "Madonna", "alias": "Madonna Ciccone"}\n',
    "aliases.json": '{"John F. Kennedy": ["JFK", "Kennedy, Jack"], "Madonna": "Madonna Ciccone"}',
    "records.json": '[{"Title": "John F. Kennedy", "Alias": ["JFK", "Kennedy, Jack"]}, '
    '{"Title": "Madonna", "Alias": "Madonna Ciccone"}]',
}


@pytest.mark.parametrize("name", TABLES)
def test_every_kind_of_table_gives_the_same_aliases(tmp_path, name):
    (tmp_path / name).write_text(TABLES[name], encoding="utf-8")
    expected = {"John F. Kennedy": ("JFK", "Kennedy, Jack"), "Madonna": ("Madonna Ciccone",)}
    assert read_aliases(tmp_path / name) == expected
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(TABLES[name].encode()))
    assert read_aliases(tmp_path / f"{name}.gz") == expected


def test_an_alias_listed_twice_counts_once(tmp_path):
    path = tmp_path / "aliases.csv"
    path.write_text("title,alias\nMadonna,Ciccone\nMadonna,Ciccone\n", encoding="utf-8")
    assert read_aliases(path) == {"Madonna": ("Ciccone",)}


@pytest.mark.parametrize(
    ("name", "content", "where", "what"),
    [
        ("a.csv", "title,alias\nMadonna,\n", "a.csv:2", "the alias '' is not a name"),
        ("a.csv", "title,alias\nMadonna\n", "a.csv:2", "the row has 1 column, the first one has 2"),
        ("a.csv", "title,other\nMadonna,x\n", "a.csv:1", "there is no column 'alias'"),
        ("a.tsv", "alias\nMadonna\n", "a.tsv:1", "there is no column 'title'"),
        (
            "a.jsonl",
            '{"title": "x", "alias": "y"}\n{"title": 3, "alias": "y"}\n',
            "a.jsonl:2",
            "the title 3 is not a name",
        ),
        ("a.jsonl", '{"title": "x"}\n', "a.jsonl:1", "there is no column 'alias'"),
        ("a.jsonl", '{"title": "x", "alias": "y"}\n{"title": \n', "a.jsonl:2", "this is not valid JSON"),
        ("a.jsonl", "[1]\n", "a.jsonl:1", "[1] is not a record"),
        ("a.json", '{"Madonna": [null]}', "a.json: 'Madonna'", "the alias None is not a name"),
        ("a.json", '["Madonna"]', "a.json: record 1", "'Madonna' is not a record"),
        ("a.txt", "x", "a.txt", "the format of the table is unknown"),
    ],
)
def test_a_faulty_table_is_refused_with_its_place(tmp_path, name, content, where, what):
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        read_aliases(tmp_path / name)
    assert str(refused.value).startswith(str(tmp_path / where) + ": " + what)


def test_aliases_of_the_demo_persons_are_exact(tmp_path):
    from importlib.resources import files

    from goldrank.masked.names.matching import Person
    from goldrank.masked.names.patterns import Tier

    records = [json.loads(line) for line in (files("goldrank.demo") / "persons.jsonl").read_text("utf-8").splitlines()]
    path = tmp_path / "names.jsonl"
    path.write_text("\n".join(json.dumps(record) for record in records), encoding="utf-8")
    for title, names in read_aliases(path).items():
        person = Person(title, names)
        assert [person.match(name).tier for name in names] == [Tier.EXACT] * len(names), title
