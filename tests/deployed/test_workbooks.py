"""Lists that are workbooks, as a spreadsheet program saves them, from the file to the mail on the local cloud."""

import io
import zipfile
from datetime import date
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

import pytest
from openpyxl import Workbook

from infra.local.cloud import Cloud
from simulator.client import ControlClient
from tests.deployed.api import Api
from tests.deployed.owner import Owner, mail_to
from tests.deployed.shell import checkout, typed

pytestmark = pytest.mark.deployed

LANE: Final = "campaign-mail"
TEMPLATE: Final = {
    "from": "News <news@example.com>",
    "subject": "{{ name }}, {{ points }} points until {{ until }}",
    "body": "<p>Dear {{ name }}</p>",
}
TYPES: Final = {
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "ods": "application/vnd.oasis.opendocument.spreadsheet",
}
HEADER: Final = ("Recipient", "name", "points", "until")
UNTIL: Final = date(2026, 12, 24)
BAD_ROW: Final = 5
"""As the spreadsheet program shows it: the header is row 1, and row 3 is empty."""
Row = tuple[str, str, int, date]


def rows(tag: str) -> list[Row | None]:
    """Return what is below the header; None: an empty row."""
    return [
        (f"zoe+{tag}@example.com", "Zoë & Łukasz", 1_200, UNTIL),
        None,
        (f"ann+{tag}@example.com", 'Ann "A", Ltd.', 0, UNTIL),
        ("no address at all", "Nobody", 7, UNTIL),
        (f"ben+{tag}@example.com", "Ben", -3, UNTIL),
    ]


def xlsx(people: list[Row | None]) -> bytes:
    """Return a workbook whose second sheet has the list; the first one is hidden."""
    book = Workbook()
    notes = book.active
    notes.title, notes.sheet_state = "Notes", "hidden"
    notes.append(["Recipient"])
    sheet = book.create_sheet("People")
    for row in (HEADER, *people):
        sheet.append(row or ())
    book.active = 1
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def ods(people: list[Row | None]) -> bytes:
    """Return an open document with the list, in a sheet behind another that `sheet` does not name."""
    spaces = " ".join(f'xmlns:{x}="urn:oasis:names:tc:opendocument:xmlns:{x}:1.0"' for x in ("office", "table", "text"))
    body = "".join(map(_ods_row, (HEADER, *people)))
    notes = f'<table:table table:name="Notes">{_ods_row(("Recipient",))}</table:table>'
    tables = f'{notes}<table:table table:name="People">{body}</table:table>'
    sheets = f"<office:body><office:spreadsheet>{tables}</office:spreadsheet></office:body>"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", TYPES["ods"])
        archive.writestr("content.xml", f"<office:document-content {spaces}>{sheets}</office:document-content>")
    return out.getvalue()


def _ods_row(row: tuple[object, ...] | None) -> str:
    return f"<table:table-row>{''.join(map(_ods_cell, row or ()))}</table:table-row>"


def _ods_cell(value: object) -> str:
    """Return a cell as its program saves it: the value, and beside it the text that is shown."""
    kind, shown = 'office:value-type="string"', escape(str(value))
    if isinstance(value, int):
        kind, shown = f'office:value-type="float" office:value="{value}"', f"{value:,}.00"
    elif isinstance(value, date):
        kind, shown = f'office:value-type="date" office:date-value="{value}"', f"{value:%d/%m/%y}"
    return f"<table:table-cell {kind}><text:p>{shown}</text:p></table:table-cell>"


MADE: Final = {"xlsx": xlsx, "ods": ods}


@pytest.fixture(params=sorted(MADE))
def book(request: pytest.FixtureRequest, tag: str, tmp_path: Path) -> Path:
    """A workbook with the list in its sheet `People`."""
    file = tmp_path / f"people.{request.param}"
    file.write_bytes(MADE[request.param](rows(tag)))
    return file


def wanted(tag: str) -> dict[str, str]:
    """Return the subject of each recipient's mail: cells have their values, whatever their format shows."""
    return {x[0]: f"{x[1]}, {x[2]} points until 2026-12-24" for x in rows(tag) if x is not None and "@" in x[0]}


def test_an_uploaded_workbook_becomes_mails(api: Api, control: ControlClient, book: Path, tag: str) -> None:
    owner = Owner(api, LANE, TEMPLATE)
    kind = TYPES[book.suffix[1:]]
    found = owner.read(owner.upload(book, content_type=kind, sheet="People"))
    assert (found["state"], found["accepted"], found["invalid"]) == ("ready", 3, 1), found
    assert [(x["sheet_row"], x["code"]) for x in found["errors"]] == [(BAD_ROW, "invalid_address")]
    assert api.finished(owner.send())["counts"]["delivered"] == len(wanted(tag))
    assert {to: mail_to(control, to)["subject"] for to in wanted(tag)} == wanted(tag)


def test_a_workbook_in_a_request_is_read_as_well(api: Api, book: Path) -> None:
    owner = Owner(api, LANE, TEMPLATE)
    path = f"/campaigns/{owner.id}/recipients?sheet=People"
    taken = api.call("PUT", path, raw=book.read_bytes(), content_type=TYPES[book.suffix[1:]])
    assert taken.status == 202, taken.body
    found = owner.read(taken.body["upload_id"])
    assert (found["state"], found["accepted"], found["invalid"]) == ("ready", 3, 1), found


def test_a_sheet_that_is_not_there_fails_the_list(api: Api, book: Path) -> None:
    owner = Owner(api, LANE, TEMPLATE)
    found = owner.read(owner.upload(book, sheet="Leads"))
    assert (found["state"], found["accepted"]) == ("failed", 0), found
    assert "no_such_sheet" in str(found)
    assert "People" in str(found), "the sheets that there are"


def test_a_command_sends_a_workbook(cloud: Cloud, control: ControlClient, book: Path, tag: str, tmp_path: Path) -> None:
    folder = checkout(cloud, tmp_path)
    (folder / "mail.html").write_text(TEMPLATE["body"], "utf-8")
    said = typed(
        f"posthaste=.venv/bin/posthaste\n$posthaste campaign run {book} --sheet People --credential {LANE} "
        f"--from '{TEMPLATE['from']}' --subject '{TEMPLATE['subject']}' --template mail.html --yes\n",
        folder,
    )
    assert "3 recipients of 4 rows" in said
    assert "invalid_address" in said
    assert {to: mail_to(control, to)["subject"] for to in wanted(tag)} == wanted(tag)
