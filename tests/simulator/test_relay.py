"""The simulator's SMTP relays, as a client meets them."""

import smtplib
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from urllib.parse import urlsplit

import pytest

from simulator.client import ControlError
from simulator.run import Simulator

MESSAGE = b"From: ann@sender.example\r\nSubject: Hello\r\nX-Posthaste-Ref: r-1\r\n\r\n.\r\nx\r\n"
THREE = ["a@example.com", "b@example.com", "c@example.com"]


@contextmanager
def client(url: str) -> Iterator[smtplib.SMTP]:
    parts = urlsplit(url)
    with smtplib.SMTP(parts.hostname or "", parts.port or 0, timeout=10) as smtp:
        yield smtp


def test_a_message_is_logged_with_its_bytes(sim: Simulator) -> None:
    with client(sim.control.relay("logged")) as smtp:
        assert smtp.sendmail("ann@sender.example", THREE[:2], MESSAGE) == {}
    log = sim.control.log("smtp", "logged")
    assert [(x["recipient"], x["ref"], x["subject"], x["status"]) for x in log] == [
        (address, "r-1", "Hello", 250) for address in THREE[:2]
    ]
    assert {line["finished_hash"] for line in log} == {sha256(MESSAGE).hexdigest()}
    assert len({line["call"] for line in log}) == 1
    inbox = sim.control.json("GET", "/inbox.json?limit=1")["messages"][0]
    assert (inbox["provider"], inbox["to"]) == ("smtp", "b@example.com")
    shown = sim.control.json("GET", f"/inbox/{inbox['seq']}.json")
    assert (shown["text"].split(), shown["writes"]) == ([".", "x"], False)


@pytest.mark.parametrize("offered", [True, False])
def test_extensions_are_switched_on_and_off(sim: Simulator, offered: bool) -> None:  # noqa: FBT001
    with client(sim.control.relay("extended", eight_bit=offered, utf8=offered)) as smtp:
        smtp.ehlo()
        assert smtp.has_extn("8bitmime") is offered
        assert smtp.has_extn("smtputf8") is offered


def test_one_refused_recipient_of_three_takes_no_other_along(sim: Simulator) -> None:
    with client(sim.control.relay("picky", refused=["b@*"])) as smtp:
        refused = smtp.sendmail("ann@sender.example", THREE, MESSAGE)
    assert {address: code for address, (code, _) in refused.items()} == {"b@example.com": 550}
    log = sim.control.log("smtp", "picky")
    assert [line["recipient"] for line in log] == ["a@example.com", "c@example.com"]
    assert [call["status"] for call in sim.control.calls("smtp", "picky")] == [550, 250]


def test_a_new_recipient_is_greylisted_for_a_while(sim: Simulator) -> None:
    with client(sim.control.relay("grey", greylist_s=3600)) as smtp:
        with pytest.raises(smtplib.SMTPRecipientsRefused) as caught:
            smtp.sendmail("ann@sender.example", THREE[:1], MESSAGE)
        assert caught.value.recipients["a@example.com"][0] == 450
        sim.control.relay("grey", greylist_s=0)
        assert smtp.sendmail("ann@sender.example", THREE[:1], MESSAGE) == {}


def test_a_relay_that_offers_something_else_hangs_up(sim: Simulator) -> None:
    with client(sim.control.relay("changed")) as smtp:
        sim.control.relay("changed", refused=["x@*"])
        assert smtp.noop()[0] == 250
        sim.control.relay("changed", eight_bit=False)
        with pytest.raises(smtplib.SMTPServerDisconnected):
            smtp.noop()


def test_a_relay_may_refuse_all(sim: Simulator) -> None:
    url = sim.control.relay("shut", refuses_all=True)
    with pytest.raises(smtplib.SMTPConnectError), client(url):
        pass
    sim.control.reset()
    with client(url) as smtp:
        assert smtp.sendmail("ann@sender.example", THREE[:1], MESSAGE) == {}


def test_what_is_no_message_is_refused(sim: Simulator) -> None:
    with client(sim.control.relay("strict")) as smtp, pytest.raises(smtplib.SMTPDataError, match="From"):
        smtp.sendmail("ann@sender.example", THREE[:1], b"Subject: x\r\n\r\nx\r\n")
    assert sim.control.log("smtp", "strict") == []


@pytest.mark.parametrize(("name", "settings"), [("a b", {}), ("relay", {"greylist_s": -1}), ("relay", {"x": 1})])
def test_a_wrong_setting_is_refused(sim: Simulator, name: str, settings: dict[str, object]) -> None:
    with pytest.raises(ControlError, match="400"):
        sim.control.relay(name.replace(" ", "%20"), **settings)
