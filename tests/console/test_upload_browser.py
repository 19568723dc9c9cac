"""What the console asks before it uploads a file: an encoding that is not UTF-8, and a file that was sent before."""

import zipfile
from collections.abc import Callable
from html import escape
from pathlib import Path

import pytest
from openpyxl import Workbook

from tests.console.campaigns import made
from tests.console.console import Console
from tests.console.fitting import assert_fits
from tests.console.test_campaign_browser import go, opened, type_into
from tests.fakes.axe import press_keys

pytestmark = pytest.mark.browser
TEXT = "recipient,name\r\nann@example.org,Zoë\r\nben@example.org,Ben\r\n"


def given(folder: Path, data: bytes, name: str = "people.csv") -> str:
    (folder / name).write_bytes(data)
    return str(folder / name)


@pytest.mark.parametrize(
    ("data", "question", "accepted"),
    [
        (TEXT.encode("windows-1252"), "It looks like Windows-1252, for example “ample.org,Zoë”. Read it so?", 2),
        (
            TEXT.replace("Zoë", "Łukasz Żółć").encode("windows-1250"),
            "It looks like Windows-1250, for example “example.org,Łukasz",
            2,
        ),
        (TEXT.encode("utf-16"), "This file is UTF-16, not UTF-8. Read it so?", 2),
        (TEXT.encode() + b"cem@example.org,\xff\r\n" + TEXT.encode(), "UTF-8 with damaged letters (1)", 2),
    ],
    ids=["windows-1252", "windows-1250", "utf-16", "damaged"],
)
def test_an_encoding_is_asked_about_before_anything_is_uploaded(
    console: Console, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, data: bytes, question: str, accepted: int
) -> None:
    with opened(console, monkeypatch) as (browser, account, files):
        campaign = made(console)
        go(browser, f"{account}/campaigns/{campaign}")
        type_into(browser, "#file", given(tmp_path, data))
        browser.reads("#upload-asked", question)
        browser.click("#upload-no")
        browser.reads("#upload-note", "Nothing was uploaded")
        assert files.files.items == {}
        type_into(browser, "#file", given(tmp_path, data))
        browser.reads("#upload-asked", question)
        browser.click("#upload-yes")
        browser.reads(".state", "The list is being read")
        console.api.lists.read()
        browser.reads(".state", f"{accepted} messages to send")


def test_the_recipients_column_is_typed_or_chosen_after_the_upload(
    console: Console, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    data = b"Members\r\n\r\nKontakt,name,Ersatz\r\nann@example.org,Ann,ann@work.example\r\n"
    with opened(console, monkeypatch) as (browser, account, files):
        campaign = made(console)
        go(browser, f"{account}/campaigns/{campaign}")
        type_into(browser, "#column", "Kontakt")
        type_into(browser, "#file", given(tmp_path, data))
        browser.reads(".state", "The list is being read")
        console.api.lists.read()
        browser.reads(".state", "1 message to send")
        put = set(files.files.items)
        go(browser, f"{account}/campaigns/{campaign}/header")
        assert browser.script("return document.querySelector('#row').value") == "3"
        assert browser.script("return document.querySelector('#column').value") == "Kontakt"
        assert_fits(browser, "header")
        browser.script("document.querySelector('#column').value = 'Ersatz'")
        browser.click("form[action$='/header'] button.primary")
        browser.reads(".state", "The list is being read")
        console.api.lists.read()
        browser.reads(".state", "1 message to send")
        assert "Recipients are in “Ersatz”" in browser.text("main")
        assert not [name for name in set(files.files.items) - put if ".marks/" not in name], "nothing was uploaded"


def test_another_code_page_is_chosen_by_its_example(
    console: Console, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    data = TEXT.replace("Zoë", "Jiří").encode("windows-1250")
    with opened(console, monkeypatch) as (browser, account, _):
        campaign = made(console)
        go(browser, f"{account}/campaigns/{campaign}")
        type_into(browser, "#file", given(tmp_path, data))
        browser.reads("#upload-asked", "It looks like Windows-1252")
        assert "windows-1250: ample.org,Jiří" in browser.text("#encoding").split("\n")
        browser.script("scrollTo(0, 0)")
        assert_fits(browser, "a choice of encodings")
        browser.script("document.getElementById('encoding').value = 'windows-1250'")
        browser.click("#upload-yes")
        browser.reads(".state", "The list is being read")
        console.api.lists.read()
        browser.reads(".state", "2 messages to send")
        assert console.api.call("GET", f"/campaigns/{campaign}/preview").json["subject"] == "Hello Jiří"


def test_a_file_that_was_sent_before_is_asked_about(
    console: Console, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with opened(console, monkeypatch) as (browser, account, files):
        first, second = made(console), made(console)
        go(browser, f"{account}/campaigns/{first}")
        type_into(browser, "#file", given(tmp_path, TEXT.encode()))
        browser.reads(".state", "The list is being read")
        console.api.lists.read()
        assert console.api.call("POST", f"/campaigns/{first}/send", {}).status == 202
        before = len(files.files.items)
        go(browser, f"{account}/campaigns/{second}")
        type_into(browser, "#file", given(tmp_path, TEXT.encode(), "again.csv"))
        browser.reads("#upload-asked", "This file was sent before by the campaign")
        assert len(files.files.items) == before
        browser.click("#upload-yes")
        browser.reads(".state", "The list is being read")


def xlsx(file: Path, sheets: dict[str, str]) -> str:
    """Store a workbook whose second sheet is hidden. `sheets`: name → first name of its only recipient."""
    book = Workbook()
    book.remove(book.worksheets[0])
    for name, first in sheets.items():
        sheet = book.create_sheet(name)
        sheet.append(["recipient", "name"])
        sheet.append([f"{first.lower()}@example.org", first])
    book.worksheets[1].sheet_state = "hidden"
    book.save(file)
    return str(file)


ODS = """<?xml version="1.0"?><office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"
 xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:automatic-styles><style:style style:name="out"
 style:family="table"><style:table-properties table:display="false"/></style:style></office:automatic-styles>
<office:body><office:spreadsheet>{}</office:spreadsheet></office:body></office:document-content>"""


def ods(file: Path, sheets: dict[str, str]) -> str:
    """Store the same as an OpenDocument file."""

    def row(*cells: str) -> str:
        made = (f"<table:table-cell><text:p>{cell}</text:p></table:table-cell>" for cell in cells)
        return f"<table:table-row>{''.join(made)}</table:table-row>"

    tables = [
        f'<table:table table:name="{escape(name)}"{" table:style-name=" + chr(34) + "out" + chr(34) if n == 1 else ""}>'
        f"{row('recipient', 'name')}{row(f'{first.lower()}@example.org', first)}</table:table>"
        for n, (name, first) in enumerate(sheets.items())
    ]
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet", zipfile.ZIP_STORED)
        made.writestr("content.xml", ODS.format("".join(tables)))
    return str(file)


@pytest.mark.parametrize(("make", "name"), [(xlsx, "people.xlsx"), (ods, "people.ods")])
def test_a_workbook_with_several_sheets_asks_for_one(
    console: Console,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    make: Callable[[Path, dict[str, str]], str],
    name: str,
) -> None:
    file = make(tmp_path / name, {"Guests": "Ann", "Old": "Ben", "Größe & <co>": "Cem"})
    with opened(console, monkeypatch) as (browser, account, _):
        campaign = made(console)
        go(browser, f"{account}/campaigns/{campaign}")
        type_into(browser, "#file", file)
        browser.reads("#upload-asked", "This workbook has 2 sheets. Choose the one with the list.")
        assert browser.script("return document.activeElement.id") == "sheet"
        assert browser.text("#sheet").split("\n") == ["Guests", "Größe & <co>"]
        press_keys(browser, "\ue015")
        browser.script("scrollTo(0, 0)")  # nothing is half under the bar at the top
        assert_fits(browser, "a choice of sheets")
        browser.click("#upload-yes")
        browser.reads(".state", "The list is being read")
        console.api.lists.read()
        browser.reads(".state", "1 message to send")
        assert "Sheet: Größe & <co>." in browser.text("main")
        browser.enter("#preview")
        browser.reads("body", "Cem")
