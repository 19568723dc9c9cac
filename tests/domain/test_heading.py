"""The row with the names of columns: below titles and empty rows, or the one that the list's owner names."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.domain.channels.lookup import channel_of
from shared.domain.lists.csv_rows import RowReader
from shared.domain.lists.header import FileCode, RecipientColumn
from shared.domain.lists.heading import LOOKED_AT
from shared.domain.lists.ingest import Ingest
from shared.domain.lists.rows import Position
from shared.domain.lists.uploads import Checkpoint, Options
from tests.tiers import examples

ADDRESSES = RecipientColumn(also=channel_of("email").recipient_columns)
NUMBERS = RecipientColumn(also=channel_of("sms").recipient_columns)
PEOPLE = b"Ann;ann@example.org\nBob;bob@example.org\n"
TITLES = (
    b"Report of May 2026;;\nCreated by;HR;2026-05-12\n\n",
    b"Members\n",
    b";;\n \n",
    b'"A title, ""quoted""\nin two lines"\n',
    b"Report for ann@example.org and others\n",
    b"From;01.05.2026;until;31.05.2026 12:00\n",
)
Placed = list[tuple[int, list[str]]]


def read(
    data: bytes, wanted: RecipientColumn = ADDRESSES, *, row: int = 0, size: int = 1 << 20
) -> tuple[Placed, RowReader]:
    reader = RowReader(wanted=wanted, header_row=row)
    rows = [x for i in range(0, len(data), size) for x in reader.feed(data[i : i + size])] + reader.finish()
    return [(x.sheet_row, x.cells) for x in rows], reader


def fault(data: bytes, wanted: RecipientColumn = ADDRESSES, row: int = 0) -> tuple[str, str]:
    found = read(data, wanted, row=row)[1].fault
    assert found is not None
    return found.code.value, found.detail


@pytest.mark.parametrize("title", TITLES)
@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_the_header_is_found_below_a_title_and_rows_keep_their_numbers(title: bytes, size: int) -> None:
    above = 2 if title.startswith(b'"') else title.count(b"\n") + 1
    above = {TITLES[3]: 2}.get(title, above)
    rows, reader = read(title + b"Name;E-Mail\n" + PEOPLE, size=size)
    assert reader.fault is None
    assert rows == [(above + 1, ["Ann", "ann@example.org"]), (above + 2, ["Bob", "bob@example.org"])]
    assert (reader.position.header_row, reader.position.named, reader.recipient) == (above, "E-Mail", 1)


@pytest.mark.parametrize("end", range(1, 60))
def test_a_search_that_is_interrupted_anywhere_finds_the_same_header(end: int) -> None:
    data = TITLES[0] + b"Name;E-Mail\n" + PEOPLE
    first = RowReader(wanted=ADDRESSES)
    rows = first.feed(data[:end])
    again = RowReader(first.position, ADDRESSES)
    rows += again.feed(data[first.position.offset :]) + again.finish()
    assert [x.sheet_row for x in rows] == [5, 6]
    assert (again.position.header_row, again.position.named) == (4, "E-Mail")


def test_what_the_first_rows_have_is_said_by_a_reader_that_continues_too() -> None:
    data = b"Name;Town;Street\nAnn\nBob\n"
    first = RowReader(wanted=ADDRESSES)
    first.feed(data[:-2])
    again = RowReader(first.position, ADDRESSES)
    again.feed(data[first.position.offset :])
    again.finish()
    assert again.fault is not None
    assert again.fault.detail.endswith("It has `name`, `town`, `street`.")


def test_people_above_a_second_header_are_never_left_out() -> None:
    data = b"Name;Adresse\nAnn;ann@example.org\nName;E-Mail\nBob;bob@example.org\n"
    code, detail = fault(data)
    assert (code, detail) == (
        "missing_recipient",
        "The header has no column `recipient`. It has `name`, `adresse`.",
    )
    numbers = b"Name;Nr\nAnn;+33612345678\nName;Phone\nBob;+33612345679\n"
    assert fault(numbers, NUMBERS)[0] == "missing_recipient"
    assert fault(b"ann@example.org\nemail\nbob@example.org\n")[0] == "missing_recipient"
    assert fault(b"Report\nann@example.org;E-Mail\nbob@example.org;x\n")[0] == "missing_recipient"


def test_what_the_first_rows_have_is_said_without_showing_people() -> None:
    code, detail = fault(b"Report\n\nKunde;Adresse;Stadt\nAnn;Zoo;Paris\nBob;ann@example.org;Rome\n")
    assert code == FileCode.MISSING_RECIPIENT
    assert detail == (
        "No row down to row 3 has a column `recipient`. Row 1 has `report`. Row 3 has `kunde`, `adresse`, `stadt`."
    )
    assert fault(b"Report\nann@example.org;Ann\nbob@example.org;Bob\n")[1] == (
        "No row down to row 2 has a column `recipient`. Row 1 has `report`. Row 2 holds recipients."
    )


def test_the_header_is_looked_for_in_the_first_rows_only() -> None:
    for above, found in ((LOOKED_AT - 1, True), (LOOKED_AT, False)):
        rows, reader = read(b"x\n" * above + b"email;name\n" + b"ann@example.org;Ann\n")
        assert (reader.fault is None) is found
        assert [number for number, _ in rows] == ([above + 2] if found else [])


@pytest.mark.parametrize("size", [1, 1 << 20])
def test_an_owner_names_the_row(size: int) -> None:
    data = b"email;to\nName;Kontakt\nemail;x\n" + PEOPLE
    rows, reader = read(data, RecipientColumn("kontakt", ADDRESSES.also), row=2, size=size)
    assert (reader.fault, reader.header) == (None, ("name", "kontakt"))
    assert [number for number, _ in rows] == [3, 4, 5]
    assert (reader.position.header_row, reader.position.named) == (2, "Kontakt")


@pytest.mark.parametrize(
    ("row", "code", "said"),
    [
        (1, "missing_recipient", "It has `a title`."),
        (2, "no_header", "Row 2 is blank."),
        (3, "no_rows", "no row below its header"),
        (4, "no_header", "The file has no row 4: it ends at row 3."),
    ],
)
def test_a_row_that_cannot_be_the_header_says_why(row: int, code: str, said: str) -> None:
    found = fault(b"A title\n\nemail;name\n", row=row)
    assert found[0] == code
    assert said in found[1]


def test_a_title_in_another_encoding_is_named_as_such() -> None:
    assert fault("Übersicht\nemail;name\n".encode("windows-1252"))[0] == "invalid_encoding"
    assert fault("Title\nPrénom;Email\n".encode("windows-1252"))[0] == "invalid_encoding"


def test_what_is_read_of_the_header_outlives_its_reader_and_is_no_burden_to_earlier_versions() -> None:
    step = Ingest(Options("email", size=1, header_row=2)).feed(b"Title\nE-Mail\nann@example.org\nbob@example.org\n")
    document = json.loads(json.dumps(step.checkpoint.document()))
    assert Checkpoint.of(document) == step.checkpoint
    assert document.pop("heading") == {"row": 2, "named": "E-Mail", "asked": 2}
    earlier = Checkpoint.of(document)
    assert (earlier.position.header_row, earlier.position.named, earlier.options.header_row) == (0, "", 0)
    assert earlier.position.header == ("e_mail",)
    assert document["more"] == {"position.blanks": 1}


@settings(max_examples=examples(100))
@given(
    st.lists(st.sampled_from([b"\n", b";;\n", b"Title\n", b"By;HR\n", b'"x\ny"\n', b"1.5.2026;-\n"]), max_size=12),
    st.integers(1, 40),
    st.integers(0, 200),
)
def test_the_header_is_the_same_in_any_blocks_and_from_any_place(above: list[bytes], size: int, end: int) -> None:
    data = b"".join(above) + b"Name;E-Mail\n" + PEOPLE
    whole, reader = read(data)
    assert reader.position.header_row == len(above) + 1
    assert read(data, size=size)[0] == whole
    first = RowReader(wanted=ADDRESSES)
    rows = first.feed(data[:end])
    place = first.position
    again = RowReader(Position(**{name: getattr(place, name) for name in Position.__slots__}), ADDRESSES)
    rows += again.feed(data[place.offset :]) + again.finish()
    assert [(x.sheet_row, x.cells) for x in rows] == whole
