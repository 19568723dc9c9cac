"""What the page of a campaign and its summary say before anything is sent."""

import pytest

from shared.domain.people import Role
from tests.console.campaigns import with_list
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
