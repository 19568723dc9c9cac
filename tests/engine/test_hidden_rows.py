"""Rows of a workbook that its user does not see get nothing, unless the upload asks for it; they are counted."""

import pytest

from shared.domain.jobs import chunks
from shared.engine.work import WorkResult
from tests.domain.test_workbooks import book, ods, ods_sheet
from tests.fakes.intake import Intake

PEOPLE = ("ann@example.org", "bob@example.org", "cid@example.org")


def xlsx_rows(hidden: str = 'hidden="1"', *, header: str = "") -> bytes:
    """Return a workbook in which the second of three people is hidden."""
    rows = [(header, "recipient"), ("", PEOPLE[0]), (hidden, PEOPLE[1]), ("", PEOPLE[2]), (hidden, "")]
    return book(
        "".join(f'<row {how}><c t="inlineStr"><is><t>{text}</t></is></c></row>' for how, text in rows)
    ).getvalue()


def ods_rows(how: str = 'table:visibility="filter"', *, times: int = 1, group: str = "") -> bytes:
    """Return the same as an open document; the hidden row may be repeated, or be in a group."""
    row = "<table:table-row {}><table:table-cell><text:p>{}</text:p></table:table-cell></table:table-row>"
    hidden = row.format(f'{how} table:number-rows-repeated="{times}"', PEOPLE[1])
    inner = [row.format("", "recipient"), row.format("", PEOPLE[0]), hidden, row.format("", PEOPLE[2])]
    if group:
        inner[2] = (
            f"<table:table-row-group {group}><table:table-row-group>{hidden}"
            "</table:table-row-group></table:table-row-group>"
        )
    return ods(ods_sheet("".join(inner))).getvalue()


HIDDEN = [
    (xlsx_rows(), 1),
    (xlsx_rows('hidden="true"', header='hidden="1"'), 1),
    (ods_rows(), 1),
    (ods_rows(times=3), 3),
    (ods_rows('table:visibility="collapse"'), 1),
    (ods_rows("", group='table:display="false"'), 1),
]


def sent(data: bytes, *, keep: bool = False) -> tuple[list[str], int, int]:
    """Return to whom a list is sent, how many rows were read, and how many are hidden."""
    intake = Intake()
    upload = intake.take(data, keep_hidden=keep)
    assert intake.serve() == [WorkResult.READY]
    end = intake.now(upload)
    assert end.checkpoint is not None
    people = [person.address for x in intake.chunks(upload) for person in chunks.unpack(x.data)]
    return people, end.checkpoint.counts.rows, end.hidden


@pytest.mark.parametrize(("data", "count"), HIDDEN)
def test_a_row_that_a_filter_hides_is_left_out_and_counted(data: bytes, count: int) -> None:
    assert sent(data) == ([PEOPLE[0], PEOPLE[2]], 2, count)


@pytest.mark.parametrize(("data", "count"), HIDDEN)
def test_a_hidden_row_is_sent_if_the_upload_asks_for_it(data: bytes, count: int) -> None:
    assert sent(data, keep=True) == ([PEOPLE[0], *[PEOPLE[1]] * count, PEOPLE[2]], 2 + count, count)


@pytest.mark.parametrize("data", [xlsx_rows('hidden="0"'), xlsx_rows(""), ods_rows('table:visibility="visible"')])
def test_a_row_that_is_seen_is_sent(data: bytes) -> None:
    assert sent(data) == (list(PEOPLE), 3, 0)


def test_the_rows_below_a_hidden_one_keep_their_numbers() -> None:
    row = "<table:table-row {}><table:table-cell><text:p>{}</text:p></table:table-cell></table:table-row>"
    rows = [("", "recipient"), ("", PEOPLE[0]), ('table:visibility="filter"', PEOPLE[1]), ("", "no address")]
    intake = Intake()
    upload = intake.take(ods(ods_sheet("".join(row.format(*x) for x in rows))).getvalue())
    assert intake.serve() == [WorkResult.READY]
    (problem,), _ = intake.uploads.problems(intake.now(upload), after=0, limit=10)
    assert (problem.sheet_row, problem.code) == (4, "invalid_address")
