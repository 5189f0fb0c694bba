"""Tables of questions: the columns that are read, how file names are resolved, and errors with their place."""

import json
import unicodedata
from pathlib import Path

import pytest

from goldrank.data.collections.questions import NameMatcher, QuestionTable, read_questions
from goldrank.errors import InputError

IDS = ["guide/install.md", "guide/faq.md", "de/faq.md", "pricing.txt", "a, b; c.md", "Café.md"]


def read(source, ids=IDS, left_out=None):
    return read_questions(QuestionTable.open(source), Path("docs"), ids, left_out or {})


def judged(result):
    gold = result.gold
    bounds = gold.starts.tolist()
    return {
        query: dict(zip(gold.items[start:end], gold.values[start:end].tolist(), strict=True))
        for query, start, end in zip(gold.queries, bounds[:-1], bounds[1:], strict=True)
    }


def asked(result):
    return {document.id: document.text for document in result.queries}


def table(tmp_path, text, name="questions.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


@pytest.mark.parametrize("query", ["question", "Query", "text", "user_input"])
@pytest.mark.parametrize("items", ["expected_file", "source", "doc_id", "id", "answer_file", "context", "positive"])
def test_the_usual_names_of_columns_are_known(query, items):
    result = read([{query: "How much?", items: "pricing.txt"}])
    assert judged(result) == {"q1": {"pricing.txt": 1.0}}
    assert asked(result) == {"q1": "How much?"}
    assert (result.reading, result.remarks) == (f"the list: query = {query}, items = {items}", [])


def test_further_columns_are_named():
    result = read([{"question": "?", "source": "pricing", "answer": "x", "difficulty": 3}])
    assert result.reading.endswith("; further columns: answer, difficulty")


@pytest.mark.parametrize(
    "cell",
    [
        "pricing.txt;guide/install.md",
        "pricing.txt | guide/install.md",
        "pricing.txt, guide/install.md",
        "pricing.txt\nguide/install.md",
        '["pricing.txt", "guide/install.md"]',
        "['pricing.txt', 'guide/install.md']",
        ["pricing.txt", "guide/install.md"],
        {"pricing.txt": 1, "guide/install.md": 1},
    ],
)
def test_a_cell_may_name_several_files(cell):
    assert judged(read([{"question": "?", "file": cell}])) == {"q1": {"pricing.txt": 1, "guide/install.md": 1}}


def test_a_file_name_may_hold_separators():
    assert judged(read([{"question": "?", "file": "a, b; c.md"}])) == {"q1": {"a, b; c.md": 1}}


def test_rows_with_the_same_question_are_one_query():
    rows = [
        {"question": "A?", "file": "pricing"},
        {"question": "B?", "file": "install"},
        {"question": "A?", "file": "install"},
    ]
    result = read(rows)
    assert judged(result) == {"q1": {"pricing.txt": 1, "guide/install.md": 1}, "q2": {"guide/install.md": 1}}


def test_repeated_pairs_are_said_and_contradicting_grades_refused():
    rows = [{"question": "A?", "file": "pricing", "grade": 2}, {"question": "A?", "file": "Pricing.txt", "grade": 2}]
    assert read(rows).remarks[-1] == "1 pair of a question and a file given again left out"
    rows[1]["grade"] = 1
    with pytest.raises(InputError, match=r"the list: row 2: 'pricing.txt' has the grade 1 here and 2 before"):
        read(rows)


def test_grades_and_ids_are_read(tmp_path):
    text = "id,question,source,grade\nx7,A?,pricing;install,2;1\nx8,B?,install,0\n"
    result = read(table(tmp_path, text))
    assert judged(result) == {"x7": {"pricing.txt": 2, "guide/install.md": 1}, "x8": {"guide/install.md": 0}}
    assert result.reading.endswith(", grade = grade, id = id")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"question": "?", "file": "pricing", "grade": "high"}, "the grade 'high' is not a number"),
        ({"question": "?", "file": "pricing;install", "grade": "1;2;3"}, "there are 2 files and 3 grades"),
        ({"question": " ", "file": "pricing"}, "the question is empty"),
        ({"question": None, "file": "pricing"}, "the question is empty"),
        ({"question": "?", "file": "pricing", "qid": ""}, "the id is empty"),
    ],
)
def test_a_bad_row_is_refused_with_its_place(row, message):
    with pytest.raises(InputError, match=message) as error:
        read([{"question": "?", "file": "pricing", "qid": "z", "grade": 1} if "qid" in row else dict(row), row])
    assert "row " in error.value.where


def test_two_texts_under_one_id_are_refused():
    rows = [{"qid": "1", "question": "A?", "file": "pricing"}, {"qid": "1", "question": "B?", "file": "pricing"}]
    with pytest.raises(InputError, match="the question '1' has another text here than before"):
        read(rows)


@pytest.mark.parametrize(
    ("name", "item"),
    [
        ("guide/install.md", "guide/install.md"),
        ("./guide/install.md", "guide/install.md"),
        ("guide\\install.md", "guide/install.md"),
        ("GUIDE/Install.MD", "guide/install.md"),
        ("install.md", "guide/install.md"),
        ("install", "guide/install.md"),
        ("docs/guide/install.md", "guide/install.md"),
        (str(Path("docs").absolute() / "guide/install.md"), "guide/install.md"),
        ("de/faq", "de/faq.md"),
        (unicodedata.normalize("NFD", "Café.md"), "Café.md"),
    ],
)
def test_a_name_means_the_only_file_that_it_can_mean(name, item):
    assert NameMatcher(Path("docs"), IDS).find(name) == [item]


def test_a_whole_path_is_meant_before_the_end_of_another():
    assert NameMatcher(Path("docs"), ["faq.md", "de/faq.md"]).find("faq.md") == ["faq.md"]
    assert NameMatcher(Path("docs"), ["faq.md", "de/faq.md"]).find("FAQ") == ["faq.md", "de/faq.md"]


def test_another_folder_in_the_name_is_not_ignored():
    assert NameMatcher(Path("docs"), IDS).find("other/install.md") == []


def test_a_name_of_several_files_is_refused_with_all_of_them(tmp_path):
    path = table(tmp_path, "question,file\nHow?,faq.md\n")
    with pytest.raises(InputError, match=r"questions.csv:2: 'faq.md' can be 'guide/faq.md' or 'de/faq.md'"):
        read(path)


def test_a_name_of_no_file_is_refused_with_the_nearest(tmp_path):
    path = table(tmp_path, 'question,file\n"How, then?",pricing\nB?,prices.txt\nC?,nothing.md\n')
    with pytest.raises(
        InputError, match=r"questions.csv:3: there is no document 'prices.txt' \(and 1 more name like it\)"
    ) as error:
        read(path)
    assert "did you mean 'pricing.txt'" in error.value.remedy


def test_a_column_that_names_no_file_is_refused_with_the_options_for_other_readings(tmp_path):
    path = table(tmp_path, "question,context\nWhat does it cost?,The team plan costs ten euros.\n")
    with pytest.raises(InputError, match=r"questions.csv:2: there is no document 'The team plan costs") as error:
        read(path)
    assert f"such as {IDS[0]!r}" in error.value.what
    assert f'--questions "{path}(items=COLUMN)"' in error.value.remedy
    assert f"-t 'pairs:{path}(query=question,item=context)' if context holds texts" in error.value.remedy
    with pytest.raises(InputError, match="call the column with the names of the files expected_file"):
        read([{"question": "What does it cost?", "source": "wikipedia"}])


def test_a_file_that_was_left_out_is_named_with_the_reason():
    with pytest.raises(InputError, match=r"scan\.pdf is the answer but was left out: it is encrypted"):
        read([{"question": "?", "file": "scan.pdf"}], left_out={"scan.pdf": "it is encrypted"})


def test_questions_without_a_file_are_refused_with_their_lines(tmp_path):
    path = table(tmp_path, "question,file\nA?,pricing\nB?,\nC?, \n")
    with pytest.raises(InputError, match=r"2 questions without a file in the column file \(line 3, 4\)"):
        read(path)


def test_blank_rows_are_left_out_and_said(tmp_path):
    result = read(table(tmp_path, "question,file\n,\nA?,pricing\n , \n"))
    assert result.remarks[-1] == "2 blank rows of the questions left out"


def test_two_columns_of_questions_are_refused_with_the_option_that_chooses(tmp_path):
    path = table(tmp_path, "question,query,file\nA?,B?,pricing\n")
    with pytest.raises(InputError, match=r"2 columns can hold the questions: 'question', 'query'") as error:
        read(path)
    assert f'--questions "{path}(query=question)" or --questions "{path}(query=query)"' in error.value.remedy
    assert asked(read(f"{path}(query=query)")) == {"q1": "B?"}


def test_of_two_columns_the_one_that_names_files_is_read():
    rows = [{"question": "A?", "context": "The price is ten.", "source": "pricing"}]
    assert read(rows).reading == "the list: query = question, items = source; further columns: context"


def test_two_columns_that_name_different_files_are_refused(tmp_path):
    path = table(tmp_path, "question,source,expected_file\nA?,pricing,install\n")
    with pytest.raises(InputError, match="2 columns can name the files: 'source', 'expected_file'"):
        read(path)
    assert judged(read(f"{path}(items=source)")) == {"q1": {"pricing.txt": 1}}


def test_two_columns_of_grades_or_ids_are_refused_where_they_differ(tmp_path):
    path = table(tmp_path, "question,file,label,score,qid,query_id\nA?,pricing,1,0.3,7,7\n")
    with pytest.raises(InputError, match="2 columns can be the grade: 'label', 'score'") as error:
        read(path)
    assert f'--questions "{path}(grade=label)" or --questions "{path}(grade=score)"' in error.value.remedy
    result = read(f"{path}(grade=label)")
    assert judged(result) == {"7": {"pricing.txt": 1}}
    assert result.reading == (
        "questions.csv: query = question, items = file, grade = label, id = qid; further columns: score, query_id"
    )
    with pytest.raises(InputError, match="2 columns can be the id: 'qid', 'query_id'"):
        read(table(tmp_path, "question,file,qid,query_id\nA?,pricing,1,2\n"))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"q": "?", "file": "pricing"}, r"no column is known to hold the questions \(columns: 'q', 'file'\)"),
        ({"question": "?", "answer": "ten"}, r"no column is known to name the files \(columns: 'question', 'answer'\)"),
    ],
)
def test_unknown_columns_are_refused_with_the_option_that_names_them(row, message):
    with pytest.raises(InputError, match=message) as error:
        read([row])
    assert "=COLUMN)" in error.value.remedy


def test_columns_of_any_name_can_be_named(tmp_path):
    path = table(tmp_path, "frage,datei,note,nr\nA?,pricing,2,7\n")
    result = read(f"{path}(query=frage, items=datei, grade=note, id=nr)")
    assert judged(result) == {"7": {"pricing.txt": 2}}


@pytest.mark.parametrize(
    ("options", "message"),
    [("items=datei", "there is no column 'datei'"), ("column=x", "no option of --questions 'column'")],
)
def test_a_wrong_option_is_refused(tmp_path, options, message):
    path = table(tmp_path, "question,file\nA?,pricing\n")
    with pytest.raises(InputError, match=message):
        read(f"{path}({options})")


def test_a_file_with_brackets_in_its_name_is_a_file(tmp_path):
    assert asked(read(table(tmp_path, "question,file\nA?,pricing\n", "questions (1).csv"))) == {"q1": "A?"}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("q.csv", 'question,file\r\n"A, ""b""?",pricing.txt\r\n'),
        ("q.csv", '\ufeffquestion,file\n"A, ""b""?",pricing.txt\n'),
        ("q.csv", 'question;file\n"A, ""b""?";pricing.txt\n'),
        ("q.tsv", 'question\tfile\n"A, ""b""?"\tpricing.txt\n'),
        ("q.jsonl", json.dumps({"question": 'A, "b"?', "file": ["pricing.txt"]}) + "\n"),
        ("q.json", json.dumps([{"question": 'A, "b"?', "file": "pricing.txt"}])),
    ],
)
def test_every_kind_of_text_table_is_read(tmp_path, name, content):
    result = read(table(tmp_path, content, name))
    assert (asked(result), judged(result)) == ({"q1": 'A, "b"?'}, {"q1": {"pricing.txt": 1}})


def test_parquet_and_data_frames_are_read(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"question": ["A?", "B?"], "file": [["pricing", "install"], ["install"]]})
    frame.to_parquet(tmp_path / "q.parquet")
    for source in (frame, str(tmp_path / "q.parquet")):
        assert judged(read(source)) == {"q1": {"pricing.txt": 1, "guide/install.md": 1}, "q2": {"guide/install.md": 1}}


def test_a_sheet_of_a_spreadsheet_is_read(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (("Question", "Expected file", "grade"), ("A?", "pricing", 2), (None, None, None), ("B?", "install", 1)):
        book.active.append(row)
    book.create_sheet("more").append(("question", "file"))
    book["more"].append(("C?", "install"))
    path = str(tmp_path / "q.xlsx")
    book.save(path)
    result = read(path)
    assert judged(result) == {"q1": {"pricing.txt": 2}, "q2": {"guide/install.md": 1}}
    assert result.remarks[0] == f"of {path}, only the first sheet, 'Sheet', was read of 2"
    assert asked(read(f"{path}(sheet=more)")) == {"q1": "C?"}
    with pytest.raises(InputError, match="no sheet 'mor'; did you mean 'more'"):
        read(f"{path}(sheet=mor)")
    with pytest.raises(InputError, match=r"q\.xlsx: row 2: there is no document"):
        read(path, ids=["other.md", "install.md"])
    Path(path).write_bytes(b"damaged")
    with pytest.raises(InputError, match="not a readable Excel file"):
        read(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("q.csv", "question,file\n", "the table has no rows"),
        ("q.csv", "question,file\nA?,x,y\n", "q.csv:2: the row has 3 columns, the first one has 2"),
        ("q.csv", "question,question,file\nA?,x,y\n", "two columns are called 'question'"),
        ("q.csv", b"question,file\n\xe4?,x\n", "UTF-8"),
        ("q.ods", "x", "the name of a table does not end in '.ods'"),
        ("q.jsonl", '{"question": "A?"\n', "q.jsonl"),
        ("q.parquet", "PAR1", "q.parquet"),
    ],
)
def test_a_damaged_table_is_refused(tmp_path, name, content, message):
    with pytest.raises(InputError, match=message):
        read(table(tmp_path, content, name))


def test_a_missing_table_is_refused(tmp_path):
    with pytest.raises(InputError, match="this is a folder, not a table"):
        read(str(tmp_path))
    for name in ("q.csv", "q.jsonl", "q.parquet", "q.xlsx"):
        if name.endswith("xlsx"):
            pytest.importorskip("openpyxl")
        with pytest.raises(InputError, match="there is no such file"):
            read(str(tmp_path / name))
