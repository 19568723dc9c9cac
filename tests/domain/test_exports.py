import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.exports import (
    COLUMNS,
    LAST,
    LATER,
    NEWEST,
    PREFIX,
    SETTLED_MS,
    USABLE_MS,
    Export,
    ExportState,
    guard,
    header,
    rows,
)

NOW = 1_790_000_000_000


@pytest.mark.parametrize(
    "cell", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\tx", "\rx", "\nx", "\uff1d1", "+1 2", "'=1"]
)
def test_what_a_spreadsheet_would_take_for_a_formula_is_guarded(cell: str) -> None:
    assert guard(cell) == f"'{cell}"
    assert guard(f"Ann;{cell};x") == f"Ann;'{cell};x", "where cells are parted by semicolons"
    if cell[0] not in "\r\n":
        assert guard(f"Ann\t{cell}\tx") == f"Ann\t'{cell}\tx", "where they are parted by tabs"


@pytest.mark.parametrize(
    "cell", ["", "Ann", "a=b", "+33612345678", "-5", "+1.5", "'s-Gravenhage", "a@example.com", "''"]
)
def test_other_cells_and_plain_numbers_stay(cell: str) -> None:
    assert guard(cell) == cell


@pytest.mark.parametrize(
    ("cell", "guarded"),
    [
        ("Ann\n=1+1", "Ann\n'=1+1"),
        ("Ann\r\n@SUM(A1)\r\nx", "Ann\r\n'@SUM(A1)\r\nx"),
        ("a;b\n'+1 2\n", "a;b\n''+1 2\n"),
        ('"=1+1', "'\"=1+1"),
        ("Ann\n\"'=1", "Ann\n'\"'=1"),
        ("-5\n*2", "'-5\n*2"),
        ("Ulm\n+49731123\n\n-5", "Ulm\n+49731123\n\n-5"),
        ('"quoted"\nAnn', '"quoted"\nAnn'),
        ("x\t=HYPERLINK(1)", "x\t'=HYPERLINK(1)"),
        ('a;b\t"=1\t-5\t+1 2', "a;b\t'\"=1\t-5\t'+1 2"),
        ("\t=1", "'\t'=1"),
        ("Ann\tBen", "Ann\tBen"),
        ("a|=1", "a|=1"),
    ],
)
def test_neither_quotes_nor_line_breaks_bring_a_formula_in(cell: str, guarded: str) -> None:
    """A spreadsheet that parts cells at semicolons sees no quote of ours where it looks for one."""
    assert guard(cell) == guarded


SIGNS = "=+@\t-"


def original(cell: str) -> str:
    """Take the apostrophe from each part that looks guarded, as docs/exports.md says."""
    parts = []
    for part in cell.split(";"):
        first = part[1:] if re.match(f"'['\"]*[\r\n{SIGNS}]", part) else part
        parts.append(re.sub(f"(?<=[\r\n\t])'(?=['\"]*[{SIGNS}])", "", first))
    return ";".join(parts)


@given(st.text(alphabet="'\"=+-@\t\r\n1.a ;", max_size=10))
def test_taking_an_apostrophe_from_what_looks_guarded_gives_the_original(cell: str) -> None:
    assert original(guard(cell)) == cell
    number = re.compile(r"[+-]?\d+(\.\d+)?")
    starts = [line.lstrip('"') for part in guard(cell).split(";") for line in re.split("[\r\n\t]", part)]
    assert not any(x[:1] in tuple(SIGNS) and x and not number.fullmatch(x) for x in starts)
    assert not any(part[:1] in tuple("\r\n") and part for part in guard(cell).split(";"))


@given(st.lists(st.lists(st.text(alphabet=st.characters(codec="utf-8")), min_size=2, max_size=3), max_size=5))
def test_rows_are_read_back_as_they_were(cells: list[list[str]]) -> None:
    assert list(csv.reader(io.StringIO(rows(cells).decode(), newline=""))) == cells


def test_the_lists_columns_never_clash_with_ours() -> None:
    names = ["state", "recipient", "list.state", "first_name"]
    (found,) = csv.reader(io.StringIO(header(names).decode("utf-8-sig"), newline=""))
    assert found == [
        *COLUMNS,
        "list.state",
        "list.recipient",
        "list.list.state",
        "list.first_name",
        *LATER,
        *LAST,
        *NEWEST,
    ]
    assert len(set(found)) == len(found)
    assert not any(c.startswith(PREFIX) for c in (*COLUMNS, *LATER, *LAST, *NEWEST))


def test_names_of_columns_are_guarded_too() -> None:
    assert next(csv.reader([header(["x;=1+1"]).decode("utf-8-sig")]))[len(COLUMNS)] == "list.x;'=1+1"


def export(**changes: object) -> Export:
    ready = Export(
        id="x", account="a", run="r", jobs=("j", "k"), versions=(3, 4), begun_at=NOW, chunks=2, ttl=1, until=0
    )
    return ready.changed(state=ExportState.READY, finished_at=NOW, **changes)


def test_an_export_is_given_out_while_its_jobs_stand_still() -> None:
    same, moved = [("j", 3), ("k", 4)], [("j", 3), ("k", 5)]
    assert export().usable(same, NOW + USABLE_MS)
    assert not export().usable(same, NOW + USABLE_MS + 1)
    assert export().usable(moved, NOW + SETTLED_MS)
    assert not export().usable(moved, NOW + SETTLED_MS + 1)
    assert not export().usable(same[:1], NOW + SETTLED_MS + 1)
    assert not export().changed(state=ExportState.PREPARING).usable(same, NOW)


def test_each_run_has_its_own_file() -> None:
    assert export().blob == "exports/a/x/r.csv"
    assert export(run="s").blob != export().blob
    assert export(done=1).progress == 0.5
