"""Previews: each row's own message, in a frame that runs nothing, whatever strangers have written."""

import html
import json
import re

import pytest

from functions.console.pages.campaigns.previewing import FRAMED
from functions.console.rendering import POLICY
from shared.domain.people import Role
from shared.engine.campaigns import preview
from tests.console.campaigns import SAID, made, sent, with_list
from tests.console.console import Console
from tests.console.test_security import ESCAPED, EVIL


def framed(page: str) -> str:
    """Return the message within a preview's inner frame."""
    found = re.search(r'<iframe class="mail" title="The message" sandbox srcdoc="([^"]*)"></iframe>', page)
    assert found is not None, page
    return html.unescape(found[1])


@pytest.mark.slow
def test_each_row_has_its_own_message(console: Console) -> None:
    console.member(role=Role.SENDER)
    campaign = with_list(console)
    assert "Dear Ann" in framed(console.shown(f"/campaigns/{campaign}/preview?row=1"))
    page = console.shown(f"/campaigns/{campaign}/preview?row=2")
    assert "Dear Ben" in framed(page)
    assert "<b>Hello Ben</b>" in page
    assert "b@example.org" in page
    assert "(row 3 of the sheet)" in page, "the header counts"
    none = console.shown(f"/campaigns/{campaign}/preview?row=3")
    assert "There is no recipient 3. The list has 2 recipients." in none
    assert "Rows that are not sent are not counted" in none
    assert 'src="../../' in console.shown(f"/campaigns/{campaign}?row=2")


@pytest.mark.slow
def test_a_message_is_found_by_its_row_in_the_sheet_and_has_neighbours(console: Console) -> None:
    console.member(role=Role.SENDER)
    rows = "recipient,name\r\nnobody,Kim\r\na@example.org,Ann\r\n\r\nb@example.org,Ben\r\nc@example.org,Cleo\r\n"
    campaign = with_list(console, rows)
    page = console.shown(f"/campaigns/{campaign}?row=2")
    assert "Message of row" in page
    for sheet_row, row in ((1, 1), (2, 1), (3, 1), (4, 2), (5, 2), (6, 3)):
        assert f'/preview?row={row}"' in console.shown(f"/campaigns/{campaign}?sheet={sheet_row}")
    beyond = console.get(f"/{console.account}/campaigns/{campaign}?sheet=7")
    assert (beyond.status, "No row from 7 on" in beyond.text) == (409, True)
    assert '<th scope="row">2</th>' in page, "the bad row has its number in the sheet"
    assert '"?row=1#check-title">Previous recipient' in page
    assert '"?row=3#check-title">Next recipient' in page
    assert "Dear Ann" in framed(console.shown(f"/campaigns/{campaign}/preview?row=1")), "row 3 of the sheet"
    assert "Previous recipient" not in console.shown(f"/campaigns/{campaign}")
    assert "Next recipient" not in console.shown(f"/campaigns/{campaign}?row=3")
    sent(console, campaign)
    after = console.shown(f"/campaigns/{campaign}/preview?row=4")
    assert "There is no recipient 4. The list has 3 recipients." in after, "of the list that was sent"


def test_a_recipient_s_message_is_found_by_the_address(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    console.member(role=Role.SENDER)
    rows = "recipient,name\r\n" + "".join(f"p{n}@example.org,Person {n}\r\n" for n in range(7))
    campaign = with_list(console, f"{rows}nobody,Kim\r\nANN@example.org,Ann\r\n")
    assert f'{campaign}/recipients">Search by address' in console.shown(f"/campaigns/{campaign}")
    page = console.shown(f"/campaigns/{campaign}/recipients?recipient=Ann+%3Cann%40Example.org%3E")
    (place,) = re.findall(r"\?message=([0-9.]+)#check-title", page)
    page = console.shown(f"/campaigns/{campaign}?message={place}")
    assert '/preview?row=8"' in page
    assert "Dear Ann" in framed(console.shown(f"/campaigns/{campaign}/preview?row=8"))
    assert '/preview?row=1"' in console.shown(f"/campaigns/{campaign}?message=x")
    monkeypatch.setattr(preview, "MAX_ROW", 7)
    got = console.get(f"/{console.account}/campaigns/{campaign}?message={place}")
    assert (got.status, "of the first 10,000 recipients" in got.text) == (409, True)


@pytest.mark.slow
def test_a_form_is_shown_before_it_is_saved(console: Console) -> None:
    console.member(role=Role.SENDER)
    got = console.post(f"/{console.account}/campaigns/preview", **{**SAID, "from": "someone new", "name": ""})
    assert "Dear name" in framed(got.text)
    assert "someone new" in got.text
    got = console.post(f"/{console.account}/campaigns/preview", **{**SAID, "body": "{{ #if }}"})
    assert "Line 1, column 1" in got.text
    assert console.api.call("GET", "/campaigns").json["items"] == []


@pytest.mark.slow
def test_a_change_is_shown_as_a_recipient_of_the_list_gets_it_before_it_is_saved(console: Console) -> None:
    console.member(role=Role.SENDER)
    campaign = with_list(console)
    there = f"/{console.account}/campaigns/{campaign}/preview"
    change = {**SAID, "subject": "Moin {{ name }}", "body": "<p>Good day, {{ name }}</p>"}
    got = console.post(there, **change, row="2")
    assert framed(got.text) == "<p>Good day, Ben</p>"
    assert "<b>Moin Ben</b>" in got.text
    assert "b@example.org" in got.text
    assert framed(console.post(there, **change).text) == "<p>Good day, Ann</p>"
    assert "There is no recipient 3. The list has 2 recipients." in console.post(there, **change, row="3").text
    assert "Line 1, column 1" in console.post(there, **{**change, "body": "{{ #if }}"}).text
    assert "Dear Ann" in framed(console.shown(f"/campaigns/{campaign}/preview")), "nothing is saved"
    assert 'name="row" form="writing" inputmode="numeric" autocomplete="off" value="2"' in console.shown(
        f"/campaigns/{campaign}/edit?row=2"
    )
    assert f'action="../../../{console.account}/campaigns/{campaign}/preview"' in console.shown(
        f"/campaigns/{campaign}/edit"
    )


@pytest.mark.slow
def test_a_change_is_shown_with_example_values_if_there_is_no_list(console: Console) -> None:
    console.member(role=Role.SENDER)
    campaign = made(console)
    got = console.post(f"/{console.account}/campaigns/{campaign}/preview", **SAID, row="2")
    assert framed(got.text) == "<p>Dear name</p>"
    assert "(an example)" in got.text
    assert "Message of recipient" not in console.shown(f"/campaigns/{campaign}/edit")


@pytest.mark.slow
def test_a_text_message_shows_its_segments_and_what_makes_it_dearer(console: Console) -> None:
    console.member(role=Role.SENDER)
    sms = {"channel": "sms", "name": "Texts", "body": "Hello {{ name }} ✓"}
    got = console.post(f"/{console.account}/campaigns/preview", **sms)
    assert "1 segment (Unicode)" in got.text
    assert "Dearer because of: ✓" in got.text
    assert '<pre class="bubble">Hello name ✓</pre>' in got.text
    long = console.post(f"/{console.account}/campaigns/preview", **{**sms, "body": "a" * 161})
    assert "2 segments (GSM 7)" in long.text


def test_a_preview_may_do_nothing(console: Console) -> None:
    console.member(role=Role.SENDER)
    campaign = with_list(console, f'recipient,name\r\na@example.org,"{EVIL.replace(chr(34), chr(34) * 2)}"\r\n')
    evil = {**SAID, "subject": EVIL, "from": EVIL, "body": "<script>alert(1)</script><p>Hello</p>"}
    for got in (
        console.get(f"/{console.account}/campaigns/{campaign}/preview?row=1"),
        console.post(f"/{console.account}/campaigns/preview", **evil),
    ):
        policy = got.headers["content-security-policy"]
        assert policy == FRAMED["Content-Security-Policy"]
        assert "script-src" not in policy
        assert policy.startswith("default-src 'none'")
        assert policy.endswith("; sandbox")
        assert "frame-ancestors 'self'" in policy
        outside = re.sub(r' srcdoc="[^"]*"', "", got.text)
        assert "<script>" not in outside
        assert "<img" not in outside
        assert got.headers["referrer-policy"] == "no-referrer"
    assert "&amp;lt;script&amp;gt;" in console.shown(f"/campaigns/{campaign}/preview?row=1"), "a value is text in HTML"


@pytest.mark.slow
def test_names_of_columns_values_and_files_are_text(console: Console) -> None:
    console.member(role=Role.SENDER)
    column = EVIL.replace('"', "").replace(",", "")
    campaign = with_list(console, f"recipient,name,{column}\r\na@example.org,Ann,1\r\n{column},Ben,2\r\n", name=EVIL)
    for path in ("", *(f"/{campaign}{part}" for part in ("", "/send", "/edit", "/withdraw", "/recipients"))):
        page = console.shown(f"/campaigns{path}")
        assert "<script>alert" not in page, path
        assert "<img src=x" not in page, path
        assert ESCAPED in page, path
    form = {"file": f"{EVIL}.csv"}
    got = console.post(f"/{console.account}/campaigns/{campaign}/uploads", **form)
    assert got.headers["content-type"] == "application/json"
    assert EVIL not in got.text
    refused = console.post(f"/{console.account}/campaigns/{campaign}/uploads", file=f"{EVIL}.exe")
    assert refused.status == 422
    assert "<script>alert" not in refused.text


@pytest.mark.slow
def test_an_upload_names_its_sheet(console: Console) -> None:
    console.member(role=Role.SENDER)
    campaign = made(console)
    form = {"file": "list.xlsx", "sheet": f" {EVIL}"}
    name = json.loads(console.post(f"/{console.account}/campaigns/{campaign}/uploads", **form).text)["upload"]
    found = console.services.campaigns().campaigns.uploads.get(campaign, name)
    assert found is not None
    assert found.sheet == f" {EVIL}", "with its blanks"


@pytest.mark.slow
def test_only_the_page_that_uploads_reaches_the_bucket(console: Console) -> None:
    console.member(role=Role.SENDER)
    campaign = with_list(console)
    policy = console.get(f"/{console.account}/campaigns/{campaign}").headers["content-security-policy"]
    wider = "connect-src 'self' https://files.example;"
    assert policy == POLICY.replace("connect-src 'self';", wider) + "; frame-src 'self'"
    assert "unsafe" not in policy
    for path in ("/campaigns", "/templates", f"/campaigns/{campaign}/send"):
        assert console.get(f"/{console.account}{path}").headers["content-security-policy"] == POLICY
    form = console.get(f"/{console.account}/campaigns/new").headers["content-security-policy"]
    assert form == f"{POLICY}; frame-src 'self'"
