"""Workbooks of any program: cells as people read them, compared with openpyxl, and nothing unbounded."""

import csv
import io
import tracemalloc
import zipfile
from datetime import date, datetime, time, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl import Workbook, load_workbook

from shared.domain.workbooks import bounds
from shared.domain.workbooks.bounds import WorkbookError
from shared.domain.workbooks.numbers import Shown, number_text, shown_by
from shared.domain.workbooks.table import Sheets, csv_of, is_workbook
from tests.tiers import examples

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/spreadsheetml/main"
LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
STYLES = (
    '<numFmts><numFmt numFmtId="164" formatCode="[$-409]d\\ mmm\\ yyyy;@"/>'
    '<numFmt numFmtId="165" formatCode="0&quot; days&quot;"/><numFmt numFmtId="166" formatCode="[h]:mm"/></numFmts>'
    "<cellXfs>" + "".join(f'<xf numFmtId="{n}"/>' for n in (0, 14, 164, 165, 166, 22)) + "</cellXfs>"
)
"""Styles 0 to 5: general, a date, a date with a language, a number with a word, elapsed hours, date and time."""


def book(
    rows: str,
    *,
    strings: str = "",
    main: str = MAIN,
    prefix: str = "",
    book: str = "",
    parts: dict[str, str] | None = None,
) -> io.BytesIO:
    """Return an .xlsx of one sheet with these rows, as its XML."""

    def xml(root: str, inner: str) -> str:
        space = f"xmlns:{prefix.rstrip(':')}" if prefix else "xmlns"
        return f'<?xml version="1.0"?><{prefix}{root} {space}="{main}" xmlns:r="{LINKS}">{inner}</{prefix}{root}>'

    kinds = {"worksheet": "/xl/worksheets/sheet1.xml", "sharedStrings": "sharedStrings.xml", "styles": "styles.xml"}
    links = "".join(
        f'<Relationship Id="r{i}" Type="{LINKS}/{kind}" Target="{target}"/>'
        for i, (kind, target) in enumerate(kinds.items())
    )
    sheet = f'<{prefix}sheets><{prefix}sheet name="S" sheetId="1" r:id="r0"/></{prefix}sheets>'
    made = {
        "xl/workbook.xml": xml("workbook", book + sheet),
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="x">{links}</Relationships>',
        "xl/worksheets/sheet1.xml": xml("worksheet", f"<{prefix}sheetData>{rows}</{prefix}sheetData>"),
        "xl/sharedStrings.xml": xml("sst", strings),
        "xl/styles.xml": xml("styleSheet", STYLES if not prefix else ""),
        **(parts or {}),
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in made.items():
            archive.writestr(name, text)
    return out


def ods(tables: str, **parts: str) -> io.BytesIO:
    """Return an .ods with these tables, as the XML of its content; `parts`: others, by their names without ending."""
    names = ("office", "style", "table", "text")
    spaces = " ".join(f'xmlns:{x}="urn:oasis:names:tc:opendocument:xmlns:{x}:1.0"' for x in names)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        for name, inner in {"content": tables, **parts}.items():
            archive.writestr(f"{name}.xml", f"<a {spaces}>{inner}</a>")
    return out


def ods_sheet(inner: str, name: str = "S", style: str = "") -> str:
    """Return a sheet of an .ods with these rows, as their XML."""
    return f'<table:table table:name="{name}" table:style-name="{style}">{inner}</table:table>'


def rows_of(file: io.BytesIO, sheet: str = "", sheets: Sheets | None = None) -> list[list[str]]:
    return list(csv.reader(io.StringIO("".join(csv_of(file, sheet, sheets)), newline="")))


def reason(file: io.BytesIO) -> str:
    with pytest.raises(WorkbookError) as caught:
        rows_of(file)
    return f"{caught.value.code}: {caught.value.reason}"


def test_cells_of_every_type_are_read() -> None:
    strings = (
        "<si><t>email</t></si><si><r><t>a</t></r><r><t xml:space='preserve'>nn </t></r><rPh><t>x</t></rPh></si>"
        "<si/><si><t>1_x000D_\n2 _x005F_x0041_ _xD800_</t></si>"
    )
    rows = (
        '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="inlineStr"><is><r><t>in</t></r><t>line</t></is></c></row>'
        '<row r="3"><c r="A3" t="s"><v>1</v></c><c r="B3" t="b"><v>1</v></c><c r="C3" t="e"><v>#N/A</v></c></row>'
        '<row><c t="str"><f>A1&amp;B1</f><v>x_x0041_</v></c><c t="d"><v>2026-05-12T00:00:00Z</v></c>'
        '<c t="s"><v>2</v></c></row>'
        '<row r="5"><c r="A5" t="s"><v>3</v></c><c r="B5"/><c r="C5"><f>1+1</f></c></row>'
        '<row r="1048576"/>'
    )
    assert rows_of(book(rows, strings=strings)) == [
        ["email", "", "inline"],
        [],
        ["ann ", "TRUE", "#N/A"],
        ["xA", "2026-05-12", ""],
        ["1\n2 _x0041_ _xD800_", "", "#UNCALCULATED!"],
    ]


def test_numbers_are_shown_by_their_formats() -> None:
    cells = [(0, "491701234567"), (1, "46154"), (2, "46154.5"), (3, "46154"), (4, "1.5"), (5, "46154.999999999")]
    row = "".join(f'<c s="{style}"><v>{value}</v></c>' for style, value in cells)
    shown = ["491701234567", "2026-05-12", "2026-05-12 12:00:00", "46154", "36:00:00", "2026-05-13"]
    assert rows_of(book(f"<row>{row}</row>")) == [shown]
    old = rows_of(book(f"<row>{row}</row>", book='<workbookPr date1904="1"/>'))
    assert old[0][1] == "2030-05-13"


@pytest.mark.parametrize(("main", "prefix"), [(STRICT, ""), (MAIN, "x:")])
def test_other_spellings_of_the_same_workbook_are_read(main: str, prefix: str) -> None:
    rows = f'<{prefix}row><{prefix}c t="s"><{prefix}v>0</{prefix}v></{prefix}c></{prefix}row>'
    strings = f"<{prefix}si><{prefix}t>email</{prefix}t></{prefix}si>"
    assert rows_of(book(rows, strings=strings, main=main, prefix=prefix)) == [["email"]]


def test_a_hidden_sheet_is_not_the_first() -> None:
    made = Workbook()
    made.active.title = "Hidden"
    made.active.sheet_state = "hidden"
    made.create_chartsheet("Chart")
    made.create_sheet("Shown").append(["email"])
    out, sheets = io.BytesIO(), Sheets()
    made.save(out)
    assert rows_of(out, sheets=sheets) == [["email"]]
    assert (sheets.names, sheets.chosen) == (["Hidden", "Shown"], "Shown")


def ods_style(name: str, *, display: str, parent: str = "", family: str = "table") -> str:
    extends = f'style:parent-style-name="{parent}"' if parent else ""
    shown = f'table:display="{display}"' if display else ""
    return (
        f'<style:style style:name="{name}" style:family="{family}" {extends}>'
        f"<style:table-properties {shown}/></style:style>"
    )


def one_cell(text: str) -> str:
    return f"<table:table-row><table:table-cell><text:p>{text}</text:p></table:table-cell></table:table-row>"


SHEETS = ods_sheet(one_cell("secret"), "Hidden", "ta2") + ods_sheet(one_cell("email"), "Shown", "ta1")
"""Two sheets of an .ods; how styles of the names ta1 and ta2 show them is the test's."""


@pytest.mark.parametrize(
    ("styles", "own", "chosen"),
    [
        ("", ods_style("ta1", display="true") + ods_style("ta2", display="false"), "Shown"),
        (ods_style("base", display="false"), ods_style("ta2", display="", parent="base"), "Shown"),
        (ods_style("base", display="false"), ods_style("ta2", display="true", parent="base"), "Hidden"),
        ("", ods_style("ta2", display="false", family="table-row"), "Hidden"),
        ("", ods_style("ta1", display="false") + ods_style("ta2", display="false"), "Hidden"),
    ],
    ids=["own style", "inherited", "shown again", "style of rows", "all hidden"],
)
def test_a_hidden_sheet_of_an_open_document_is_not_the_first(styles: str, own: str, chosen: str) -> None:
    made, sheets = ods(own + SHEETS, styles=styles), Sheets()
    assert rows_of(made, sheets=sheets) == [["email" if chosen == "Shown" else "secret"]]
    assert (sheets.names, sheets.chosen) == (["Hidden", "Shown"], chosen)
    assert rows_of(made, "Hidden") == [["secret"]], "by its name a hidden sheet is read"


def test_styles_of_an_open_document_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MAX_PARTS", 10)
    assert "too many styles" in reason(ods("".join(ods_style(f"s{i}", display="false") for i in range(12))))


FIRST_AND_LAST = datetime(1900, 3, 1), datetime(2200, 1, 1)  # noqa: DTZ001 - a workbook knows no zones
TEXT = st.text(st.characters(min_codepoint=32, exclude_categories=["Cs", "Cn", "Cc"]), max_size=6)
VALUE = st.one_of(
    st.none(),
    TEXT.filter(lambda x: not x.startswith("=") and "_x" not in x),
    st.integers(-(10**14), 10**14),
    st.floats(-1e9, 1e9, allow_nan=False).map(lambda x: round(x, 4)),
    st.booleans(),
    st.datetimes(*FIRST_AND_LAST).map(lambda x: x.replace(microsecond=0)),
    st.dates(date(1900, 3, 1), date(2200, 1, 1)),
    st.times().map(lambda x: x.replace(microsecond=0)),
)


def shown(value: Any) -> str:
    """Return a cell that openpyxl read as the reader shows it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "seconds")
    if isinstance(value, date | time):
        return value.isoformat()
    return str(value).replace("\r", "\n")


@settings(max_examples=examples(60))
@given(st.lists(st.lists(VALUE, min_size=1, max_size=4), min_size=1, max_size=5))
def test_a_workbook_is_read_as_openpyxl_reads_it(rows: list[list[Any]]) -> None:
    made = Workbook()
    for row in [["email", "b", "c", "d"], *rows]:
        made.active.append(row)
    out = io.BytesIO()
    made.save(out)
    sheet = load_workbook(out, read_only=True, data_only=True).worksheets[0]
    found = [[shown(x) for x in row] for row in sheet.iter_rows(values_only=True)]
    while not any(cell.strip() for cell in found[-1]):
        found.pop()
    assert rows_of(out) == [row if any(x.strip() for x in row) else [] for row in found]


@pytest.mark.parametrize(
    ("number", "code", "wanted"),
    [
        (14, "", Shown.DATE),
        (46, "", Shown.SPAN),
        (9, "", Shown.NUMBER),
        (164, "General", Shown.NUMBER),
        (164, '#,##0.00 "days"', Shown.NUMBER),
        (164, "[Red]0.00", Shown.NUMBER),
        (164, "0\\d", Shown.NUMBER),
        (164, "yyyy-mm-dd", Shown.DATE),
        (164, "[$-407]TT.MM.JJJJ", Shown.DATE),
        (164, "[mm]:ss", Shown.SPAN),
    ],
)
def test_formats_of_dates_are_told_from_others(number: int, code: str, wanted: Shown) -> None:
    assert shown_by(number, code) is wanted


@pytest.mark.parametrize(
    ("text", "how", "wanted"),
    [
        ("1E+2", Shown.NUMBER, "100"),
        ("0.30000000000000004", Shown.NUMBER, "0.3"),
        ("3.3000000000000003", Shown.NUMBER, "3.3"),
        ("57.699999999999996", Shown.NUMBER, "57.7"),
        ("-57.699999999999996", Shown.NUMBER, "-57.7"),
        ("123456.789", Shown.NUMBER, "123456.789"),
        ("1E-7", Shown.NUMBER, "0.0000001"),
        ("1234567890123456", Shown.NUMBER, "1234567890123456"),
        ("1.590018106294576E17", Shown.NUMBER, "159001810629457600"),
        ("-1234567890123456", Shown.NUMBER, "-1234567890123456"),
        ("1e300", Shown.NUMBER, "1e+300"),
        ("nan", Shown.NUMBER, "nan"),
        ("1e400", Shown.NUMBER, "inf"),
        ("x", Shown.DATE, "x"),
        ("0", Shown.DATE, "00:00:00"),
        ("0.5", Shown.DATE, "12:00:00"),
        ("1", Shown.DATE, "1900-01-01"),
        ("-1", Shown.DATE, "-1"),
        ("2958466", Shown.DATE, "2958466"),
        ("99999999", Shown.SPAN, "99999999"),
    ],
)
def test_numbers_beyond_dates_stay_numbers(text: str, how: Shown, wanted: str) -> None:
    assert number_text(text, how) == wanted


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        ('<row><c t="s"><v>1</v></c></row>', "names a text that it does not have"),
        ('<row><c r="1"><v>1</v></c></row>', "a cell has no place"),
        ('<row><c r="AAAA1"><v>1</v></c></row>', "a cell has no place"),
        ('<row><c r="XFD1"><v>1</v></c></row>', "too many cells"),
        ('<row r="1048577"><c><v>1</v></c></row>', "workbook_too_large: is too large"),
        ('<row r="-1"/>', "one of its numbers is none"),
        ("<row><c>", "mismatched tag"),
    ],
)
def test_a_damaged_sheet_says_what_is_wrong(rows: str, wanted: str) -> None:
    assert wanted in reason(book(rows, strings="<si><t>x</t></si>"))


def test_a_document_type_is_refused_in_every_part() -> None:
    for part in ("xl/workbook.xml", "xl/sharedStrings.xml", "xl/styles.xml", "xl/worksheets/sheet1.xml"):
        made = book("", parts={part: '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'})
        assert "document type" in reason(made)


@pytest.mark.slow
def test_a_tag_that_does_not_end_is_not_held_in_memory() -> None:
    made = book("<row " + " " * (64 * 1024**2) + "/>")
    tracemalloc.start()
    assert "tags does not end" in reason(made)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 24 * 1024**2


def test_long_texts_take_little_memory_and_are_refused_as_cells() -> None:
    long = "x" * (3 * bounds.MAX_TEXT)
    made = book(f'<row><c t="str"><v>{long}</v></c><c t="inlineStr"><is><t>{long}</t></is></c></row>')
    ((cell,),) = rows_of(made)
    assert bounds.MAX_TEXT < len(cell) < len(long)


def test_shared_texts_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MAX_SHARED", 3)
    assert rows_of(book("<row><c><v>1</v></c></row>", strings="<si/>" * 3)) == [["1"]]
    assert "workbook_too_large" in reason(book("", strings="<si/>" * 4))


@pytest.mark.parametrize("long", [False, True])
def test_a_directory_of_millions_of_parts_is_not_read(long: bool) -> None:  # noqa: FBT001 - a parameter
    made = book("")
    data = bytearray(made.getvalue())
    at = data.rfind(b"PK\x05\x06")
    huge = bounds.MAX_DIRECTORY + 1
    if long:
        record = b"PK\x06\x06" + bytes(36) + huge.to_bytes(8, "little") + bytes(8)
        data[at:at] = record + b"PK\x06\x07" + bytes(16)
    else:
        data[at + 12 : at + 16] = huge.to_bytes(4, "little")
    with pytest.raises(WorkbookError, match="too many parts"):
        is_workbook(io.BytesIO(bytes(data)))


def test_repeated_rows_and_spaces_of_an_open_document_are_bounded() -> None:
    cell = "<table:table-cell><text:p>{}</text:p></table:table-cell>"
    empty = '<table:table-row table:number-rows-repeated="999999999"/>'
    row = f"<table:table-row>{cell.format('x')}</table:table-row>"
    assert rows_of(ods(ods_sheet(row + empty))) == [["x"]]
    assert "workbook_too_large" in reason(ods(ods_sheet(row + empty + row)))
    spaced = cell.format('a<text:s text:c="999999999"/>b')
    (found,) = rows_of(ods(ods_sheet(f"<table:table-row>{spaced}</table:table-row>")))
    assert len(found[0]) <= bounds.MAX_TEXT + 2
    nested = f"<table:table-cell><text:p>a</text:p><table:table table:name='T'>{row}</table:table></table:table-cell>"
    sheets = Sheets()
    rows_of(ods(ods_sheet(f"<table:table-row>{nested}</table:table-row>{row}")), sheets=sheets)
    assert (sheets.names, sheets.chosen) == (["S"], "S")


def test_elapsed_time_is_that_of_the_workbook() -> None:
    made = Workbook()
    made.active.append([timedelta(hours=25, minutes=3)])
    out = io.BytesIO()
    made.save(out)
    assert rows_of(out) == [["25:03:00"]]
