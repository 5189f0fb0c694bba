"""Document files: sections and titles of each file type, line numbers of sections, and damaged files."""

import io
import sys
import zipfile

import pytest

from goldrank.data.collections.document_files import LARGEST, UnreadableFileError, read_document
from goldrank.errors import MissingExtraError


def read(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_document(path, name).document


def parts(document):
    return document.title, document.sections, document.lines


def test_the_first_heading_of_markdown_is_the_title_and_each_heading_a_section(tmp_path):
    document = read(tmp_path, "a.md", "# Install\n\nUse pip.\n\n## Windows ##\nUse it.\n\nMac\n---\nBrew.\n")
    assert parts(document) == ("Install", (("", "Use pip."), ("Windows", "Use it."), ("Mac", "Brew.")), (3, 6, 10))


def test_front_matter_is_not_text_and_names_the_title(tmp_path):
    document = read(tmp_path, "a.md", '---\ntitle: "Get started"\ntags: [x]\n---\nHello.\n\n# One\nText.\n')
    assert parts(document) == ("Get started", (("", "Hello."), ("One", "Text.")), (5, 8))
    assert read(tmp_path, "b.md", "+++\ntitle = 'Toml'\n+++\nHi.").title == "Toml"


def test_text_between_two_thematic_breaks_is_no_front_matter(tmp_path):
    document = read(tmp_path, "a.md", "---\nThis is a sentence of prose\n---\nmore\n")
    assert "This is a sentence of prose" in document.title + document.text
    assert read(tmp_path, "b.md", "---\nnever closed\n").text == "---\nnever closed"


def test_a_hash_in_a_code_block_is_no_heading(tmp_path):
    text = "# T\n```sh\n# comment\n```\n~~~~\n```\n# more\n~~~~\n#hashtag\n"
    assert parts(read(tmp_path, "a.md", text))[1] == (("", text.removeprefix("# T\n").strip()),)


def test_a_list_or_a_table_above_a_rule_is_no_heading(tmp_path):
    for start in ("- item\n---\nx", "| a | b |\n---\nx", "para\nlast line\n---\nx"):
        assert read(tmp_path, "a.md", start).title == "a"


def test_a_plain_text_is_named_after_its_file(tmp_path):
    document = read(tmp_path, "how-to_reset.txt", "\n\r\nClick.\r\nDone.\r\n")
    assert parts(document) == ("how to reset", (("", "Click.\nDone."),), (3,))


def test_html_is_read_without_markup_scripts_and_styles(tmp_path):
    page = (
        "<html><head><title>Refunds &amp; more</title><style>p {}</style></head>\n<body>Intro<script>x()</script>\n"
        "<h2>Money <b>back</b></h2>\n<p>Within\n30 days.</p><ul><li>one<li>two</ul></body></html>"
    )
    document = read(tmp_path, "a.html", page)
    assert document.title == "Refunds & more"
    assert document.sections == (("", "Intro"), ("Money back", "Within\n30 days.\none\ntwo"))
    assert document.lines == ()


def test_html_without_a_title_has_the_first_heading_as_its_title(tmp_path):
    assert parts(read(tmp_path, "a.htm", "<h1>Top</h1>text"))[:2] == ("Top", (("", "text"),))
    assert read(tmp_path, "b.html", "<h1>never closed<p>text").title.startswith("never closed")


def test_restructured_text_has_titles_with_rules_above_and_below(tmp_path):
    text = "=====\nSetup\n=====\n\nServer.\n\nPorts\n-----\n\nOpen 8080.\n\n====  ====\na     b\n====  ====\n"
    document = read(tmp_path, "a.rst", text)
    assert document.title == "Setup"
    assert document.sections[0] == ("", "Server.")
    assert document.sections[1][0] == "Ports"
    assert "a     b" in document.sections[1][1]
    assert document.lines == (5, 10)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_the_byte_order_mark_decides_the_encoding(tmp_path, encoding):
    assert read(tmp_path, "a.md", "# Übung\n\nStraße".encode(encoding)).title == "Übung"


def test_a_text_that_is_not_utf8_is_read_as_latin1(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("Straße und Übung, höher".encode("latin-1"))
    result = read_document(path, "a.txt")
    assert (result.document.text, result.encoding) == ("Straße und Übung, höher", "latin-1")


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.txt", b"abc\0def", "it is not a text file"),
        ("a.txt", bytes(range(128, 256)) * 9, "it is not a text file"),
        ("a.txt", b"\xff\xfea", "not valid utf-16"),
        ("a.docx", b"no archive", "not a readable Word document"),
        ("a.docx", b"", "not a readable Word document"),
    ],
)
def test_a_damaged_file_is_refused_with_the_reason(tmp_path, name, content, reason):
    with pytest.raises(UnreadableFileError, match=reason):
        read(tmp_path, name, content)


def test_a_file_that_would_fill_the_memory_is_not_read(tmp_path):
    path = tmp_path / "a.txt"
    with path.open("wb") as stream:
        stream.truncate(LARGEST + 1)
    with pytest.raises(UnreadableFileError, match="more than 256 MiB"):
        read_document(path, "a.txt")


def word_file(body, head=""):
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("word/document.xml", f"{head}<w:document {space}><w:body>{body}</w:body></w:document>")
    return packed.getvalue()


def paragraph(text, style=""):
    kind = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{kind}<w:r><w:t>{text}</w:t></w:r></w:p>"


def test_a_word_document_has_a_section_for_each_heading(tmp_path):
    body = paragraph("Handbook", "Title") + paragraph("Hello") + paragraph("Leave", "Heading1")
    body += f"<w:tbl><w:tr><w:tc>{paragraph('30 days')}</w:tc></w:tr></w:tbl>" + paragraph("a &amp; b")
    document = read(tmp_path, "a.docx", word_file(body))
    assert parts(document) == ("Handbook", (("", "Hello"), ("Leave", "30 days\na & b")), ())


def test_a_word_document_with_entities_is_refused(tmp_path):
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
    with pytest.raises(UnreadableFileError, match="declares entities"):
        read(tmp_path, "a.docx", word_file(paragraph("&b;"), bomb))


def pdf_file(*pages):
    """Return a PDF of one line of text on each page."""
    kids = " ".join(f"{4 + 2 * page} 0 R" for page in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for page, text in enumerate(pages):
        operators = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> "
            f"/Contents {5 + 2 * page} 0 R >>"
        )
        objects.append(f"<< /Length {len(operators)} >>\nstream\n{operators}\nendstream")
    content, offsets = "%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(content))
        content += f"{number} 0 obj\n{body}\nendobj\n"
    start = len(content)
    content += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n"
    content += "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    content += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    return content.encode()


def test_a_pdf_has_a_section_for_each_page(tmp_path):
    pytest.importorskip("pypdf")
    document = read(tmp_path, "price list.pdf", pdf_file("Ten euros", "Per seat"))
    assert parts(document) == ("price list", (("", "Ten euros"), ("", "Per seat")), ())


def test_a_damaged_pdf_is_refused_with_the_reason(tmp_path):
    pytest.importorskip("pypdf")
    with pytest.raises(UnreadableFileError, match="not a readable PDF"):
        read(tmp_path, "a.pdf", b"%PDF-1.4 nothing")


def test_without_the_package_for_pdf_the_error_names_the_command_that_installs_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(
        MissingExtraError, match=r"pypdf, which is not installed; run: pip install 'goldrank\[documents\]'"
    ):
        read(tmp_path, "a.pdf", pdf_file("x"))
