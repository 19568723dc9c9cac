"""A client puts characters that show nothing into addresses and names: fillers that Unicode counts as letters.

Then: `an<U+3164>n@example.org` was another person than `ann@example.org`, whom a suppression did not hold back, and
`ceo@bank<U+FE0F>.example` was no address in a sender's name.
"""

from collections.abc import Callable
from typing import Any, Final
from urllib.parse import quote

import pytest

from shared.domain.recipients.addresses import parse
from shared.domain.recipients.phones import Phone, PhoneReader
from shared.domain.recipients.reader import EmailReader, RecipientFault
from shared.domain.recipients.wishes import wish_of
from tests.api.conftest import SENDER, Api
from tests.api.test_mails import raw

MARKS: Final = ["\u3164", "\u2800", "\ufe0f", "\u115f", "\u1160", "\uffa0", "\u034f", "\u200b", "\U000e0100"]


def mail(api: Api, *, mail_from: str = SENDER, to: str = "ann@example.org", sender: str = SENDER) -> Any:
    envelope = [("mail_from", quote(mail_from)), ("rcpt_to", quote(to))]
    return raw(api, f"From: {sender}\r\n\r\nHello\r\n".encode(), query=envelope)


DOORS: Final[dict[str, Callable[[Api, str], Any]]] = {
    "to": lambda api, address: api.batch(to=[address]),
    "cc": lambda api, address: api.batch(cc=[address]),
    "from": lambda api, address: api.batch(from_=address),
    "reply_to": lambda api, address: api.batch(reply_to=address),
    "rcpt_to": lambda api, address: mail(api, to=address),
    "mail_from": lambda api, address: mail(api, mail_from=address),
    "From": lambda api, address: mail(api, sender=address),
    "suppression": lambda api, address: api.call("PUT", f"/suppressions/{address}", {}),
}


@pytest.mark.parametrize("door", DOORS.values(), ids=list(DOORS))
def test_an_address_with_one_is_refused_at_each_door(api: Api, door: Callable[[Api, str], Any]) -> None:
    api.services.accounts.add_sender(api.account, "example.com")
    for mark in MARKS:
        got = door(api, f"an{mark}n@example.com")
        assert (got.status, mark) == (422, mark), got.text
    assert door(api, "ann@example.com").status in (200, 201, 202, 204)


def test_a_row_of_a_list_with_one_is_invalid() -> None:
    lists = EmailReader()
    assert not isinstance(lists.read("bob@example.com"), RecipientFault)
    for mark in MARKS:
        found = lists.read(f"an{mark}n@example.com")
        assert isinstance(found, RecipientFault)
        assert f"U+{ord(mark):04X}" in found.detail


def test_a_number_and_an_answer_are_read_without_them() -> None:
    for mark in MARKS:
        assert PhoneReader("GB").read(f"{mark}07400 {mark}123456{mark}") == Phone("+447400123456")
        assert wish_of(f"ST{mark}OP{mark}") == wish_of("STOP") != wish_of("Hello")


def test_an_address_in_a_name_is_found_behind_them(api: Api) -> None:
    for mark in MARKS:
        name = f"ceo@bank{mark}.ex{mark}ample"
        assert api.batch(from_=f'"{name}" <{SENDER}>').status == 422
        assert mail(api, sender=f'"{name}" <{SENDER}>').status == 422


def test_a_name_of_nothing_else_is_no_name() -> None:
    for mark in MARKS:
        for name in (mark, f'"{mark} {mark}"', f"=?utf-8?q?{quote(mark).replace('%', '=')}?="):
            assert parse(f"{name} <{SENDER}>") == parse(SENDER)
    assert parse(f"Acme \u2764\ufe0f <{SENDER}>") != parse(SENDER)
