"""Mails through an SMTP relay and through SES raw; `test_mails.py` sends through Mailgun."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from typing import Any, Final

import pytest

from infra.local import emulator
from infra.local.processes import wait_for
from shared.contracts import MAIL_ROUTE
from simulator.client import ControlClient
from tests.deployed.api import Api
from tests.deployed.inside import Inside
from tests.deployed.mail_door import SOON, MailDoor
from tests.deployed.routed import routed

pytestmark = [pytest.mark.deployed, pytest.mark.promise(1)]

RELAY: Final = "relay-main"
SES: Final = "ses-main"
SEVEN_BIT: Final = b".\r\n..\r\n.x\r\nFrom the start\r\n \t\r\n" + b"x" * 998 + b"\r\n\r\n"
EIGHT_BIT: Final = b"Gr\xc3\xbc\xc3\x9fe \xff\x80\r\n" + SEVEN_BIT


@pytest.fixture
def through(
    door: MailDoor,
    inside: Inside,
    api: Api,
    control: ControlClient,
    cloud_port: int,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[[str], MailDoor]]:
    """Returns where mails are handed in that go through a lane."""
    for name, value in emulator.client_environment(cloud_port).items():
        monkeypatch.setenv(name, value)
    yield lambda lane: replace(door, api=routed(inside, api, MAIL_ROUTE, [lane]))
    control.relay(RELAY)


def arrived(door: MailDoor, *people: str) -> list[dict[str, Any]]:
    """Wait until each has the message, once."""
    assert wait_for(lambda: len(door.rows(*people)) >= len(people), SOON, pause=0.2), door.rows(*people)
    rows = door.rows(*people)
    assert sorted(row["recipient"] for row in rows) == sorted(door.to(x) for x in people)
    return rows


def test_a_relay_gets_the_bytes_and_one_of_three_is_refused(
    door: MailDoor, through: Callable[[str], MailDoor], control: ControlClient
) -> None:
    control.relay(RELAY, refused=["refused*"])
    message = door.message(EIGHT_BIT)
    blind = message.replace(b"X-Tag", b"Bcc: hidden@example.net\r\nX-Tag")
    mail = through(RELAY).post(blind, "ann", "refused", "ben")
    rows = arrived(door, "ann", "ben")
    assert {(row["provider"], row["finished_hash"]) for row in rows} == {("smtp", sha256(message).hexdigest())}
    assert door.reported(1) == [(door.to("refused"), "It was refused.")]
    door.ended(mail)
    assert door.rows("refused") == []


def test_a_relay_without_8bitmime_gets_the_same_text_in_seven_bits(
    door: MailDoor, through: Callable[[str], MailDoor], control: ControlClient
) -> None:
    control.relay(RELAY, eight_bit=False)
    handing, text = through(RELAY), "Gr\N{LATIN SMALL LETTER U WITH DIAERESIS}\N{LATIN SMALL LETTER SHARP S}e"
    kind = b"MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n"
    handing.post(kind + door.message(text.encode() + b"\r\n.\r\n"), "cleo", key="text")
    handing.post(door.message(SEVEN_BIT), "dora", key="seven-bit")
    encoded, plain = sorted(arrived(door, "cleo", "dora"), key=lambda row: str(row["recipient"]))
    assert control.json("GET", f"/inbox/{encoded['seq']}.json")["text"].replace("\r", "") == f"{text}\n.\n"
    assert plain["finished_hash"] == sha256(door.message(SEVEN_BIT)).hexdigest()


def test_ses_gets_the_bytes_of_seven_bits(door: MailDoor, through: Callable[[str], MailDoor]) -> None:
    message = door.message(SEVEN_BIT)
    mail = through(SES).post(message, "ann", "ben")
    rows = arrived(door, "ann", "ben")
    assert {(row["provider"], row["finished_hash"]) for row in rows} == {("ses", sha256(message).hexdigest())}
    door.ended(mail)
