"""Rows of a CSV file: what the standard csv module reads, whatever the blocks, and nothing that stops the rest."""

import csv
import gzip
import io
import tracemalloc
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shared.domain.lists import csv_rows
from shared.domain.lists.csv_rows import MAX_CELL, MAX_LOOK, MAX_ROW, RowReader
from shared.domain.lists.header import MAX_COLUMNS
from shared.domain.lists.rows import Position, Row
from tests.tiers import examples

HEADER = b"recipient,name\n"
BAD = [
    (b"a\0,b", "nul_byte"),
    (b"a\xff,b", "invalid_utf8"),
    (b"a,b,c", "wrong_field_count"),
    (b"a,,c", "wrong_field_count"),
    (b"a\rb,c", "stray_carriage_return"),
    (b"a," + b"x" * (MAX_CELL + 1), "row_too_large"),
    (b"a," + "é".encode() * (MAX_CELL // 2 + 1), "row_too_large"),
    (b'a,"' + b"x\n" * 50_000 + b'"', "row_too_large"),
    (b"a," + b"x" * 100_000, "row_too_large"),
    (b",x" * MAX_COLUMNS, "row_too_large"),
    (b"a," + b"x" * (MAX_LOOK + 5), "row_too_large"),
    (b'a,"' + b"x" * (MAX_LOOK + 5) + b'"', "row_too_large"),
]
PIECES = st.sampled_from(
    [b'"', b'""', b",", b"\n", b"\r\n", b"\r", b"a", b"recipient", b"\0", b"\xff", "é".encode(), b" ", b"\xef\xbb\xbf"]
)
BYTES = st.one_of(st.binary(max_size=200), st.lists(PIECES, max_size=40).map(b"".join))


def read(data: bytes, size: int = 1 << 20, at: Position | None = None) -> tuple[list[Row], RowReader]:
    reader = RowReader(at)
    rows = []
    for i in range(0, len(data), size):
        rows += reader.feed(data[i : i + size])
    return rows + reader.finish(), reader


def good(data: bytes) -> list[list[str]]:
    rows, reader = read(data)
    assert reader.fault is None
    assert all(not r.code for r in rows), rows
    return [r.cells for r in rows]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("last", [True, False])
def test_what_spreadsheets_write(end: bytes, mark: bytes, last: bool) -> None:  # noqa: FBT001
    lines = [b"", b' Recipient ,"First Name"', b"", b'a@x,"Lee, ""Ann"""', b" \t", b'b@x,"two', b'lines"', b"c@x,"]
    data = mark + end.join(lines) + (end if last else b"")
    inner = end.decode()
    assert good(data) == [["a@x", 'Lee, "Ann"'], ["b@x", f"two{inner}lines"], ["c@x", ""]]
    assert read(data)[1].header == ("recipient", "first_name")


@pytest.mark.parametrize("times", [1, 20])
@pytest.mark.parametrize(
    ("body", "cells"),
    [
        (b"a@x\n", ["a@x", ""]),
        (b"a@x,\n", ["a@x", ""]),
        (b"a@x,Ann,,\n", ["a@x", "Ann"]),
        (b"a@x,Ann, ,\t\n", ["a@x", "Ann"]),
        (b'a@x, "Ann"\n', ["a@x", "Ann"]),
        (b'a@x,  "Smith, Ann"\n', ["a@x", "Smith, Ann"]),
        (b'a@x, "two\nlines"\r\n', ["a@x", "two\nlines"]),
        (b" a@x, Ann\n", ["a@x", "Ann"]),
        (b'a@x," Ann"\n', ["a@x", " Ann"]),
        (b",Ann\n", ["", "Ann"]),
    ],
)
def test_cells_are_what_a_spreadsheet_means(body: bytes, cells: list[str], times: int) -> None:
    assert good(HEADER + body * times) == [cells] * times
    assert good((HEADER + body * times).replace(b",", b";")) == [[c.replace(",", ";") for c in cells]] * times


@pytest.mark.parametrize("times", [1, 20])
@pytest.mark.parametrize("blank", [b",", b" , ", b'"",""', b",,,", b"\t,", "\u00a0,\u3000".encode()])
def test_a_row_of_separators_is_a_blank_row(blank: bytes, times: int) -> None:
    rows, reader = read(HEADER + b"a@x,Ann\n" + (blank + b"\n") * times + b"b@x,Bob\n")
    assert reader.fault is None
    assert [(row.number, row.sheet_row, row.cells[0], row.code) for row in rows] == [
        (1, 2, "a@x", ""),
        (2, 3 + times, "b@x", ""),
    ]


def test_rows_have_their_number_and_the_offset_of_the_next() -> None:
    data = HEADER + b'a,b\n\n"c\n",d\ne\nf,g'
    rows, _ = read(data)
    assert [(r.number, r.start, r.end, r.code) for r in rows] == [
        (1, 15, 19, ""),
        (2, 20, 27, ""),
        (3, 27, 29, ""),
        (4, 29, 32, ""),
    ]


@pytest.mark.parametrize(("bad", "code"), BAD, ids=[f"{code}-{len(bad)}" for bad, code in BAD])
@pytest.mark.parametrize("size", [1 << 20, 4096])
def test_a_bad_row_is_named_and_the_others_are_read(bad: bytes, code: str, size: int) -> None:
    before = b"".join(b"%d,x\n" % i for i in range(20))
    data = HEADER + before + bad + b"\n" + before
    rows, reader = read(data, size)
    assert reader.fault is None
    assert [(r.number, r.code) for r in rows if r.code] == [(21, code)]
    assert [r.cells[0] for r in rows if not r.code] == [str(i) for i in range(20)] * 2
    assert data[rows[21].start :].startswith(b"0,x\n")


def test_a_row_and_a_cell_at_their_limits_are_read_and_a_byte_more_is_not() -> None:
    header = b"recipient,a,b,c,d\n"
    full = b",".join([b"x" * 10, *[b"y" * MAX_CELL] * 3, b"y" * (MAX_ROW - 3 * MAX_CELL - 14)])
    assert len(full) == MAX_ROW
    rows, _ = read(header + full + b"\r\n" + full + b"z\n")
    assert [r.code for r in rows] == ["", "row_too_large"]


@pytest.mark.slow
def test_a_quote_that_is_never_closed_costs_its_own_row() -> None:
    data = HEADER + b'a,"b\n' + b"c,d\n" * 10
    for size in (len(data), 7):
        rows, _ = read(data, size)
        assert [r.code for r in rows] == ["unclosed_quote"] + [""] * 10
    far = HEADER + b'a,"b\n' + b"c,d\n" * (MAX_LOOK // 2)
    rows, _ = read(far, 50_000)
    assert [r.code for r in rows] == ["unclosed_quote"] + [""] * (MAX_LOOK // 2)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "no_header"),
        (b"\xef\xbb\xbf\n \n", "no_header"),
        (b"recipient", "no_rows"),
        (b"recipient\n\r\n", "no_rows"),
        (b"name\na\n", "missing_recipient"),
        (b"recipient,,b\na,b,c\n", "empty_column"),
        (b"List of May 2026,,\nname,a,b\n", "missing_recipient"),
        (b"List of May 2026,,\nrecipient,a,b\n", "no_rows"),
        (b"recipient,a, A\nx,y,z\n", "duplicate_column"),
        (b"recipient," + b",".join(b"c%d" % i for i in range(MAX_COLUMNS)) + b"\n", "too_many_columns"),
        (b"\xff\xfer\0e\0\n", "invalid_header"),
        (b'recipient,"a\nx,y\n', "invalid_header"),
        (b"recipient," + b"x" * MAX_ROW + b"\n", "invalid_header"),
        (b"recipient," + b"x" * 2 * MAX_LOOK + b"\n", "invalid_header"),
        (b"recipient,a\rx,y\rz,w", "invalid_header"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(data: bytes, code: str) -> None:
    for size in (1, 1 << 20) if len(data) < MAX_ROW else (1000, 1 << 20):
        rows, reader = read(data, size)
        assert rows == []
        assert reader.fault is not None
        assert reader.fault.code == code
        assert "row" not in reader.fault.detail or code in ("no_rows", "missing_recipient")
        assert reader.feed(b"a,b\n") == []


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ("recipient,name\n".encode("utf-16"), "UTF-16"),
        (b"\xfe\xff" + "recipient,name\n".encode("utf-16-be"), "UTF-16"),
        ("recipient,name\n".encode("utf-16-le"), "UTF-16"),
        ("recipient,name\n".encode("utf-32"), "UTF-32"),
        (b"\0\0\xfe\xff" + "recipient,name\n".encode("utf-32-be"), "UTF-32"),
        (b"PK\x03\x04\x14\0\x06\0\n", "spreadsheet"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\n", "spreadsheet"),
        (gzip.compress(b"recipient\na@example.org\n", mtime=0) + b"\n", "gzip"),
    ],
)
def test_a_file_that_is_no_csv_is_named_as_what_it_is(data: bytes, kind: str) -> None:
    for size in (1, 1 << 20):
        fault = read(data, size)[1].fault
        assert fault is not None
        assert fault.code == "invalid_header"
        assert kind in fault.detail
        assert "save it as CSV in UTF-8" in fault.detail.replace("Save", "save")


@pytest.mark.parametrize(
    "name",
    [
        "\u200brecipient\u200b",
        "\u200erecipient",
        "\u2060recipient",
        "rec\u00adipient",
        "\ufeff\ufeffrecipient",
        "\u00a0Recipient ",
    ],
)
def test_invisible_characters_are_removed_from_column_names(name: str) -> None:
    rows, reader = read(f"{name},na\u200bme\na@example.org,A\u200bnn\n".encode())
    assert (reader.fault, reader.header) == (None, ("recipient", "name"))
    assert rows[0].cells == ["a@example.org", "A\u200bnn"]


def test_a_file_with_other_separators_is_reported() -> None:
    fault = read(b"recipient|name\nann,x\n")[1].fault
    assert fault is not None
    assert fault.code == "missing_recipient"
    assert "commas, semicolons or tabs" in fault.detail


CELL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)


@given(
    st.lists(st.lists(CELL, min_size=3, max_size=3), min_size=1, max_size=30),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    st.integers(1, 60),
)
def test_well_formed_input_is_read_as_by_the_standard_module(
    table: list[list[str]], end: str, quoting: int, size: int
) -> None:
    if quoting == csv.QUOTE_MINIMAL:  # Python 3.11 leaves a carriage return without quotes, and then fails to read it
        table = [[cell.replace("\r", "") for cell in row] for row in table]
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator=end, quoting=quoting)  # type: ignore[arg-type]
    writer.writerow(["recipient", "b", "c"])
    writer.writerows(table)
    expected = list(csv.reader(io.StringIO(out.getvalue(), newline=""), skipinitialspace=True))[1:]
    expected = [row for row in expected if any(map(str.strip, row))]
    rows, reader = read(out.getvalue().encode(), size)
    assert (reader.fault is None) == bool(expected)
    assert [r.cells for r in rows] == expected


def _same(a: Iterable[Row], b: Iterable[Row]) -> None:
    assert list(a) == list(b)


@settings(max_examples=examples(150))
@given(BYTES, st.integers(1, 20), st.integers(0, 12))
@example(b'a\nx","\nx","\n', 3, 1)
def test_any_bytes_give_the_same_rows_in_any_blocks_and_from_any_row_on(body: bytes, size: int, some: int) -> None:
    for data in (HEADER + body, b"recipient\n" + body, body):
        rows, reader = read(data)
        split, other = read(data, size)
        _same(rows, split)
        assert (reader.fault, reader.header) == (other.fault, other.header)
        assert reader.fault or reader.position == other.position
        assert [r.number for r in rows] == list(range(1, len(rows) + 1))
        assert all(a.end <= b.start < b.end <= len(data) for a, b in pairwise(rows))
        here = Position(header=reader.header)
        if some < len(rows):
            at = here.after(rows[some])
            _same(read(data[at.offset :], size, at)[0], rows[some + 1 :])
            at = here.before(rows[some])
            _same(read(data[at.offset :], size, at)[0], rows[some:])


@settings(max_examples=examples(200))
@given(st.lists(st.one_of(st.just(b"a,b"), st.just(b'"a",b\r'), BYTES), max_size=60), st.sampled_from([1, 2]))
def test_many_rows_at_once_are_read_as_each_by_itself(lines: list[bytes], columns: int) -> None:
    data = (HEADER if columns == 2 else b"recipient\n") + b"\n".join(lines) + b"\n"
    _quick_as_careful(data)
    _quick_as_careful(data.replace(b",", b";"))


def _quick_as_careful(data: bytes) -> None:
    quick, _ = read(data)
    few = csv_rows.FEW
    csv_rows.FEW = 1 << 30  # type: ignore[misc]
    try:
        careful, _ = read(data)
    finally:
        csv_rows.FEW = few  # type: ignore[misc]
    _same(quick, careful)


@pytest.mark.slow
def test_the_limits_of_looking_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_rows, "MAX_LOOK", 12)
    monkeypatch.setattr(csv_rows, "MAX_ROW", 9)
    monkeypatch.setattr(csv_rows, "MAX_CELL", 6)
    endless = False

    @settings(max_examples=examples(200))
    @given(st.lists(PIECES, max_size=60).map(b"".join), st.integers(1, 30), st.integers(0, 12))
    @example(b"a,b\n" + b" " * 20 + b"x\na,b\n", 5, 1)
    @example(b'a,"b\nc,d\ne,f\ng,h\n"i,j\n', 5, 1)
    @example(b'x","\n' * 12, 5, 2)
    def check(body: bytes, size: int, some: int) -> None:
        nonlocal endless
        data = b"recipient\n" + body
        rows, reader = read(data)
        _same(rows, read(data, size)[0])
        endless = endless or any(r.endless for r in rows)
        for at in [reader.position.before(rows[some]), reader.position.after(rows[some])] if some < len(rows) else []:
            _same(read(data[at.offset :], size, at)[0], [r for r in rows if r.number > at.row])
        # the reader's own position, wherever a block ends
        part = RowReader()
        seen = part.feed(data[: size * 3])
        at = part.position
        if at.header:
            _same(seen + read(data[at.offset :], size, at)[0], rows)

    check()
    assert endless


@pytest.mark.slow
@pytest.mark.parametrize(
    ("piece", "times"),
    [(b"x", 80), (b'"', 20), (b'x","\n', 4), (b"\0", 40)],
    ids=["one line", "quotes", "quotes at line ends", "NUL"],
)
def test_no_file_takes_more_than_a_few_megabytes(piece: bytes, times: int) -> None:
    block = piece * ((1 << 16) // len(piece))
    reader = RowReader()
    reader.feed(HEADER + b'a,"b')
    tracemalloc.start()
    for _ in range(times):
        reader.feed(block)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert reader.position.offset > len(block) * times - 2 * MAX_LOOK
    assert peak < 16 << 20
    rows = reader.feed(b'"\n\nlast,row\n') + reader.finish()
    assert rows[-1].cells == ["last", "row"]


@pytest.mark.slow
@pytest.mark.parametrize("begin", [b"", b'"'], ids=["lines", "a quote that is not closed"])
def test_rows_of_a_byte_take_little_memory_however_many_columns_there_are(begin: bytes) -> None:
    header = b"recipient," + b",".join(b"c%d" % i for i in range(MAX_COLUMNS - 1)) + b"\n"
    reader = RowReader()
    count = 0
    tracemalloc.start()
    for block in (header + begin, b"a\n" * 30_000):
        for rows in reader.fed(block):
            count += len(rows)
            rows = []  # noqa: PLW2901 - what is made of them is not held
    for rows in reader.finished():
        count += len(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 30_000
    assert peak < 64 << 20


def test_a_list_may_have_many_columns() -> None:
    names = [b"c%d" % i for i in range(MAX_COLUMNS - 1)]
    data = b"recipient," + b",".join(names) + b"\n" + b"a@x.org" + b"," * (MAX_COLUMNS - 2) + b",last\n" + b"b@x.org\n"
    rows, reader = read(data)
    assert (reader.fault, [row.cells[-1] for row in rows]) == (None, ["last", ""])
    assert read(data.replace(b"recipient,", b"recipient,more,"))[1].fault is not None
