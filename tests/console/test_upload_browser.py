"""What the console asks before it uploads a file: an encoding that is not UTF-8, and a file that was sent before."""

from pathlib import Path

import pytest

from tests.console.campaigns import made
from tests.console.conftest import Console
from tests.console.test_campaign_browser import go, opened, type_into

pytestmark = pytest.mark.browser
TEXT = "recipient,name\r\nann@example.org,Zoë\r\nben@example.org,Ben\r\n"


def given(folder: Path, data: bytes, name: str = "people.csv") -> str:
    (folder / name).write_bytes(data)
    return str(folder / name)


@pytest.mark.parametrize(
    ("data", "question", "accepted"),
    [
        (TEXT.encode("windows-1252"), "It looks like Windows-1252, for example “ample.org,Zoë”. Read it so?", 2),
        (TEXT.encode("utf-16"), "This file is UTF-16, not UTF-8. Read it so?", 2),
        (TEXT.encode() + b"cem@example.org,\xff\r\n" + TEXT.encode(), "UTF-8 with damaged letters (1)", 4),
    ],
    ids=["windows-1252", "utf-16", "damaged"],
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
