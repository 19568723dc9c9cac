"""The header of a list: its separator, and the column of its recipients under the names that people give it."""

import csv
import io
import json
from collections.abc import Collection, Mapping, Sequence

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shared.domain.channels.lookup import channel_of
from shared.domain.jobs import chunks
from shared.domain.lists.csv_rows import RowReader
from shared.domain.lists.gaps import MAX_ROWS, Gap
from shared.domain.lists.header import (
    SEPARATORS,
    FileCode,
    RecipientColumn,
    column_name,
    name_key,
    placeholder_names,
    recipient_at,
    why_absent,
)
from shared.domain.lists.ingest import Ingest
from shared.domain.lists.rows import Row
from shared.domain.lists.uploads import Checkpoint, Options
from shared.domain.recipients.hashes import marks_of
from tests.tiers import examples

ADDRESSES = RecipientColumn(also=channel_of("email").recipient_columns)
NUMBERS = RecipientColumn(also=channel_of("sms").recipient_columns)


def read(data: bytes, wanted: RecipientColumn = ADDRESSES, size: int = 1 << 20) -> tuple[list[Row], RowReader]:
    reader = RowReader(wanted=wanted)
    rows = [row for i in range(0, len(data), size) for row in reader.feed(data[i : i + size])]
    return rows + reader.finish(), reader


def fault(data: bytes, wanted: RecipientColumn = ADDRESSES) -> tuple[str, str]:
    found = read(data, wanted)[1].fault
    assert found is not None
    return found.code.value, found.detail


@pytest.mark.parametrize(
    "name",
    ["recipient", "Recipient", "email", "E-Mail", "e_mail", "Email Address", "E-MAIL-ADDRESS", "email_address", "To"],
)
@pytest.mark.parametrize("separator", SEPARATORS)
def test_usual_names_of_the_column_of_addresses_count_as_recipient(name: str, separator: str) -> None:
    rows, reader = read(separator.join(["Phone", name, "City\nx", "a@example.org", "Paris\n"]).encode())
    assert (reader.fault, reader.recipient) == (None, 1)
    assert rows[0].cells == ["x", "a@example.org", "Paris"]


@pytest.mark.parametrize(
    "name", ["recipient", "phone", "Phone number", "MOBILE", "mobile_number", "Mobile phone", "to"]
)
def test_usual_names_of_the_column_of_numbers_count_as_recipient(name: str) -> None:
    assert read(f"email;{name}\na@example.org;+33612345678\n".encode(), NUMBERS)[1].recipient == 1


def test_a_column_recipient_comes_before_any_other_name() -> None:
    assert read(b"email,recipient,to\na,b,c\n")[1].recipient == 1


@pytest.mark.parametrize("asked", ["Contact", "contact", "CON-TACT", " con tact"])
def test_the_owner_names_the_column(asked: str) -> None:
    wanted = RecipientColumn(asked, ADDRESSES.also)
    assert read(b"recipient,contact\na,b\n", wanted)[1].recipient == 1
    code, detail = fault(b"recipient,other\na,b\n", wanted)
    assert code == FileCode.MISSING_RECIPIENT
    assert detail.endswith("It has `recipient`, `other`.")


def test_an_exact_name_comes_before_one_that_is_only_alike() -> None:
    assert read(b"e-mail,email\na,b\n", RecipientColumn("email"))[1].recipient == 1


def test_two_columns_of_recipients_are_a_question() -> None:
    assert fault(b"e-mail;To;name\na;b;c\n") == (
        "ambiguous_recipient",
        "`e-mail`, `to` can each be the column of recipients. Say which one it is.",
    )


@pytest.mark.parametrize("separator", SEPARATORS)
def test_a_missing_column_names_those_that_were_found(separator: str) -> None:
    data = separator.join(["Name", "City", "Phone\na", "b", "c\n"]).encode()
    assert fault(data) == (
        "missing_recipient",
        "The header has no column `recipient`. It has `name`, `city`, `phone`.",
    )


def test_many_and_long_columns_are_named_in_short() -> None:
    detail = fault(",".join(f"{'c' * 50}{i}" for i in range(12)).encode() + b"\n")[1]
    assert detail.endswith(" and 2 more.")
    assert "c" * 41 not in detail


@pytest.mark.parametrize("first", [b"ann@example.org,Ann", b"Ann;+33 6 12 34 56 78"])
def test_a_file_without_header_is_named_as_such_and_shows_no_recipient(first: bytes) -> None:
    code, detail = fault(first + b"\n" + first + b"\n")
    assert code == "missing_recipient"
    assert "Put the names of the columns above" in detail
    assert "ann" not in detail.lower()
    assert "33" not in detail


def test_rows_have_their_number_in_a_spreadsheet() -> None:
    data = b'\n\nemail\na@x.org\n\n"b@x.org"\n \nc@x.org\n' + b"d@x.org\n" * 20 + b"\ne@x.org"
    for size in (1, 5, 1 << 20):
        rows, reader = read(data, size=size)
        assert [row.sheet_row for row in rows] == [4, 6, 8, *range(9, 29), 30]
        assert [row.number for row in rows] == list(range(1, 25))
        assert reader.position.blanks == 5


def test_a_strict_list_ends_at_its_first_invalid_row() -> None:
    data = b"email\nann@example.org\n\nnobody\n" + b"bob@example.org\n" * 600
    ingest = Ingest(Options("email", strict=True))
    ingest.feed(data)
    ingest.finish()
    assert ingest.fault is not None
    assert (ingest.fault.code, ingest.fault.detail) == ("invalid_row", "Row 4 cannot be used: The address has no @.")


CELL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), max_size=6)


@settings(max_examples=examples(200))
@given(
    st.lists(CELL, min_size=1, max_size=4),
    st.lists(st.lists(CELL, min_size=4, max_size=4), min_size=1, max_size=25),
    st.sampled_from(SEPARATORS),
    st.integers(1, 60),
    st.integers(0, 24),
)
def test_a_list_is_the_same_with_any_separator_in_any_blocks_and_from_any_row(
    names: list[str], table: list[list[str]], separator: str, size: int, some: int
) -> None:
    header = [f"n{i}{name_key(name)}" for i, name in enumerate(names)]
    header = ["".join(c for c in name if c.isalnum()) for name in header]
    table = [["a@example.org", *row[: len(names)]] for row in table]
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=separator, lineterminator="\r\n", quoting=csv.QUOTE_ALL)
    writer.writerows([["E-mail", *header], *table])
    data = out.getvalue().encode()
    rows, reader = read(data)
    assume(len(set(header)) == len(header))
    assert reader.fault is None
    assert [row.cells for row in rows] == table
    assert read(data, size=size)[0] == rows
    if some < len(rows):
        at = reader.start.after(rows[some])
        again = RowReader(at, ADDRESSES)
        assert again.feed(data[at.offset :]) + again.finish() == rows[some + 1 :]
        assert again.recipient == 0


def test_a_column_of_another_name_is_a_value_too() -> None:
    ingest = Ingest(Options("email"))
    ingest.feed(b"E-Mail;Name\nBob <bob@example.org>;Bob\n")
    (chunk,) = ingest.finish().chunks
    (found,) = chunks.unpack(chunk.data)
    assert (found.address, found.display) == ("bob@example.org", "Bob")
    assert found.values == {"e_mail": "bob@example.org", "name": "Bob"}


class Stopped:
    """Leaves out whose keys are among these."""

    def __init__(self, keys: Collection[str]) -> None:
        self._keys = keys

    def suspects(self, keys: Sequence[str]) -> Collection[int]:
        return range(len(keys))

    def codes(self, keys: Sequence[str]) -> Mapping[int, str]:
        return {place: "unsubscribed" for place, key in enumerate(keys) if key in self._keys}


NAMES = st.sampled_from(["Ann", "Bob", "\u017d\u00f3fia", "a\x1eb", ""])


@given(
    people=st.lists(st.tuples(st.sampled_from("abc"), NAMES, NAMES), min_size=1, max_size=8),
    column=st.sampled_from(["recipient", "E-Mail", "to"]),
    stopped=st.sets(st.sampled_from("abc")),
    first=st.booleans(),
)
def test_a_chunk_holds_each_row_once_by_whichever_name(
    people: list[tuple[str, str, str]], column: str, stopped: set[str], *, first: bool
) -> None:
    """What reads a chunk takes its column of addresses from the values, in this version as in earlier ones."""
    out = io.StringIO(newline="")
    header = [column, "Name"] if first else ["Name", column]
    csv.writer(out).writerow(header)
    for who, display, name in people:
        address = f"{display} <{who.upper()}@Example.org>" if display.isalpha() else f"{who.upper()}@Example.org"
        csv.writer(out).writerow([address, name] if first else [name, address])
    ingest = Ingest(Options("email"), skips=Stopped({f"{who}@example.org" for who in stopped}))
    made = [*ingest.feed(out.getvalue().encode()).chunks, *ingest.finish().chunks]
    found = [recipient for chunk in made for recipient in chunks.unpack(chunk.data)]
    key = column.lower().replace("-", "_")
    for (who, display, name), recipient in zip(people, found, strict=True):
        assert (recipient.address, recipient.key) == (f"{who.upper()}@example.org", f"{who}@example.org")
        assert recipient.display == (display if display.isalpha() else "")
        assert recipient.skip == ("unsubscribed" if who in stopped else "")
        assert recipient.values == {"name": name} | ({} if key == "recipient" else {key: recipient.address})


def test_a_checkpoint_keeps_what_earlier_versions_do_not_know_apart_from_what_they_read() -> None:
    ingest = Ingest(Options("email", column="to", size=1))
    step = ingest.feed(b"\nto;email\nann@example.org;x\nbob@example.org;y\n")
    document = json.loads(json.dumps(step.checkpoint.document()))
    assert Checkpoint.of(document) == step.checkpoint
    assert set(document["position"]) == {"offset", "row", "header", "skipping", "lines_until"}
    assert set(document["options"]) == {"channel", "region", "drop_duplicates", "size"}
    assert document["more"] == {"position.separator": ";", "position.blanks": 1, "options.column": "to"}
    plain = Ingest(Options("email")).feed(b"recipient\n").checkpoint
    assert "more" not in plain.document()


def test_values_that_rows_lack_are_counted_as_far_as_the_checkpoint() -> None:
    rows = [f"r{n}@example.org,{'' if n % 2 else n},  ,{n}\n" for n in range(50)]
    data = ("recipient,a,b,c\n" + "".join(rows)).encode()
    ingest = Ingest(Options("email", size=7))
    for i in range(0, len(data), 100):
        step = ingest.feed(data[i : i + 100])
        held = Checkpoint.of(json.loads(json.dumps(step.checkpoint.document())))
        assert held == step.checkpoint
        assert held.gaps is not None
        done = held.counts.accepted
        assert {gap.column: gap.rows for gap in held.gaps} == ({"a": done // 2, "b": done} if done else {})
    odd = tuple(range(3, 3 + 2 * MAX_ROWS, 2))
    assert ingest.finish().checkpoint.gaps == (Gap("a", 25, odd), Gap("b", 50, tuple(range(2, 2 + MAX_ROWS))))


def test_a_list_begun_by_an_earlier_version_has_no_count_of_what_rows_lack() -> None:
    options = Options("email", size=1)
    begun = Ingest(options).feed(b"recipient,a\nann@example.org,\n").checkpoint.document()
    del begun["gaps"]
    held = Checkpoint.of(begun)
    assert held.gaps is None
    marks = [marks_of(["ann@example.org"])]
    rest = Ingest(options, held, marks)
    assert rest.feed(b"bob@example.org,\n").checkpoint.gaps is None
    assert "gaps" not in rest.finish().checkpoint.document()


@pytest.mark.parametrize(
    ("first", "second"),
    [("sep=;", ";"), ('"sep=,"', ","), ("SEP=\t", "\t"), ("sep=,", ";")],
)
def test_the_line_by_which_excel_names_the_separator_is_no_header(first: str, second: str) -> None:
    text = f"\ufeff{first}\r\n{second.join(['email', 'name'])}\r\n{second.join(['a@example.org', 'Ann'])}\r\n"
    for size in (1, 1 << 20):
        rows, reader = read(text.encode(), size=size)
        assert (reader.fault, reader.header) == (None, ("email", "name"))
        assert [(row.cells, row.sheet_row) for row in rows] == [(["a@example.org", "Ann"], 3)]


def test_columns_without_a_name_behind_the_last_that_has_one_are_kept_and_not_used() -> None:
    rows, reader = read(b"email;name;;\na@example.org;Ann;;x\n")
    assert reader.header == ("email", "name", "column 3", "column 4")
    assert rows[0].cells == ["a@example.org", "Ann", "", "x"]
    assert fault(b"email,,name\n") == ("empty_column", "Column 2 has no name.")


@pytest.mark.parametrize("rows", [3, 3_000, 30_000])
def test_lines_that_end_in_carriage_returns_only_are_named_as_such(rows: int) -> None:
    code, detail = fault(b"email,name\r" + b"ann@example.org,Ann\r" * rows)
    assert (code, "carriage returns only" in detail) == (FileCode.INVALID_HEADER, True)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("First Name", "first_name"),
        ("first-name", "first_name"),
        ("FIRST  NAME", "first_name"),
        ("First\u00a0Name:", "first_name"),
        ("\uff26\uff49\uff52\uff53\uff54\u3000\uff2e\uff41\uff4d\uff45", "first_name"),
        ("Pr\u00e9nom", "prenom"),
        ("Pre\u0301nom", "prenom"),
        ("Größe", "grosse"),
        ("Płeć", "plec"),
        ("ADI", "adi"),
        ("Name (first)", "name_first"),
        ("{{ name }}", "name"),
        ("Tel. 2", "tel_2"),
        ("first__name", "first__name"),
        ("_x", "_x"),
        ("имя", "имя"),
        ("имя name", "имя name"),
        ("€", "€"),
        ("Récipient", "récipient"),
        ("Unsubscribe URL", "unsubscribe url"),
        ("long " * 14, ("long " * 14).strip()),
    ],
)
def test_a_column_serves_the_placeholder_that_is_written_like_it(name: str, wanted: str) -> None:
    rows, reader = read(f'"{name}",email\nAnn,a@example.org\n'.encode())
    assert (reader.header, reader.recipient, rows[0].cells) == ((wanted, "email"), 1, ["Ann", "a@example.org"])


def test_of_two_columns_written_alike_the_exact_one_serves_its_placeholder_and_else_none() -> None:
    exact = ("first name", "first_name", "city")
    assert placeholder_names(exact) == exact
    alike = ("first name", "first-name", "home town")
    assert placeholder_names(alike) == ("first name", "first-name", "home_town")
    why = "`first name`, `first-name` can each be the column `first_name`. Name one of them so."
    assert why_absent("first_name", alike) == why
    assert why_absent("age", alike) == "The list has no column “age”."


WRITTEN = st.lists(
    st.sampled_from(
        ["email", "E-mail", "e mail", "é-mail", "email:", "to", "To ", "recipient", "Récipient", "x", "x y"]
    ),
    min_size=1,
    max_size=4,
    unique_by=column_name,
)


@given(WRITTEN, st.sampled_from(["", "email", "E-Mail", "é mail", "Récipient", "X-Y"]))
def test_the_recipients_are_in_the_same_column_under_the_names_of_placeholders(names: list[str], asked: str) -> None:
    """A list that is gone on with has only these names: no other column may then be taken for the recipients'."""
    given_names = tuple(map(column_name, names))
    wanted = RecipientColumn(asked, ADDRESSES.also)
    at = recipient_at(given_names, wanted)
    if isinstance(at, int):
        assert recipient_at(placeholder_names(given_names), wanted) == at
