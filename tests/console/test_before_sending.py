"""What the page of a campaign and its summary say before anything is sent."""

import html
import re

import pytest

from shared.domain.people import Role
from tests.console.campaigns import sent, with_list
from tests.console.console import Console


def test_values_that_rows_lack_are_shown_on_the_page_and_in_the_summary(console: Console) -> None:
    console.member(role=Role.SENDER)
    campaign = with_list(console, "recipient,name\r\na@example.org,Ann\r\nb@example.org,\r\nc@example.org,\r\n")
    said = "2 rows have no name, so it is left empty. Rows of the sheet: 3, 4"
    for path in (f"/campaigns/{campaign}", f"/campaigns/{campaign}/send"):
        assert said in console.shown(path)
    whole = with_list(console)
    for path in (f"/campaigns/{whole}", f"/campaigns/{whole}/send"):
        assert "left empty" not in console.shown(path)


def test_the_rows_that_lack_a_value_are_one_click_away(console: Console) -> None:
    console.member(role=Role.SENDER)
    rows = "recipient,Prénom\r\na@example.org,Ann\r\nb@example.org, \r\nc@example.org,\r\n"
    campaign = with_list(console, rows, body="<p>Dear {{ prenom }}</p>", subject="Hello")
    link = re.search(
        r'left empty[^<]*<a href="[^"]*/recipients\?([^"]+)">Show them', console.shown(f"/campaigns/{campaign}")
    )
    assert link is not None
    page = console.shown(f"/campaigns/{campaign}/recipients?{html.unescape(link[1])}")
    assert re.findall(r"recipient=([a-z]%40)", page) == ["b%40", "c%40"]
    every = console.shown(f"/campaigns/{campaign}/recipients?lacks=nothing")
    assert re.findall(r"recipient=([a-z]%40)", every) == ["a%40", "b%40", "c%40"]


@pytest.mark.parametrize(
    ("changes", "offered"),
    [
        ({}, ["{{ first_name }}", "{{ name }}", "{{ recipient }}", '<a href="{{ unsubscribe_url }}">Unsubscribe</a>']),
        (
            {"format": "markdown"},
            ["{{ first_name }}", "{{ name }}", "{{ recipient }}", "[Unsubscribe]({{ unsubscribe_url }})"],
        ),
        ({"channel": "sms", "body": "{{ name }}"}, ["{{ first_name }}", "{{ name }}", "{{ recipient }}"]),
    ],
)
def test_a_list_s_columns_are_beside_the_message_by_the_names_of_their_placeholders(
    console: Console, changes: dict[str, str], offered: list[str]
) -> None:
    console.member(role=Role.SENDER)
    who = "+447400123456" if "channel" in changes else "a@example.org"
    campaign = with_list(console, f"recipient,First-Name,name,\u540d\r\n{who},Ann,Ann B.,x\r\n", **changes)
    page = console.shown(f"/campaigns/{campaign}/edit")
    assert [html.unescape(x) for x in re.findall(r"<li><code[^>]*>([^<]+)</code></li>", page)] == offered
    assert "<li><code>{{ recipient }}</code></li>" in console.shown("/campaigns/new?channel=sms")


def test_a_default_is_sent_in_place_of_a_value_that_a_row_lacks(console: Console) -> None:
    console.member(role=Role.SENDER)
    rows = "recipient,name\r\na@example.org,\r\nb@example.org,Ben\r\n"
    campaign = with_list(console, rows, body="<p>Dear {{ name | default: 'reader' }}</p>", subject="Hello")
    assert "left empty" not in console.shown(f"/campaigns/{campaign}")
    assert "Dear reader" in console.shown(f"/campaigns/{campaign}/preview?row=1")
    assert "Dear Ben" in console.shown(f"/campaigns/{campaign}/preview?row=2")
    sent(console, campaign)
    console.api.world.run()
    said = [content.text for provider in console.api.world.providers.values() for content in provider.said]
    assert sorted(said) == ["Dear Ben", "Dear reader"]


def test_numbers_that_take_no_texts_are_shown_on_the_page_and_in_the_summary(console: Console) -> None:
    console.member(role=Role.SENDER)
    sms = {"channel": "sms", "body": "Hello", "from": "", "subject": "", "unsubscribe": ""}
    said = "1 row has a landline or toll-free number, which most texts do not reach. Row of the sheet: 3"
    for number, shown in (("+442079460018", True), ("+447400123457", False)):
        rows = f"phone\r\n+447400123456\r\n{number}\r\n"
        campaign = with_list(console, rows, **sms)
        for path in (f"/campaigns/{campaign}", f"/campaigns/{campaign}/send"):
            assert (said in console.shown(path)) is shown


@pytest.mark.parametrize(
    ("changes", "warned"),
    [
        ({}, True),
        ({"text": "Leave: {{ unsubscribe_url }}"}, True),
        ({"body": '<a href="{{ unsubscribe_url }}">Leave</a>'}, False),
        ({"unsubscribe": ""}, False),
    ],
)
def test_a_message_that_shows_no_link_to_leave_is_warned_about(
    console: Console, changes: dict[str, str], *, warned: bool
) -> None:
    console.member(role=Role.SENDER)
    campaign = with_list(console, **changes)
    for path in (f"/campaigns/{campaign}", f"/campaigns/{campaign}/send"):
        assert ("The message shows no link to unsubscribe." in console.shown(path)) is warned
