"""Finished messages by the simulator's SMTP relays: what only a far side can tell."""

from hashlib import sha256

import pytest

from shared.adapters.clock import SystemClock
from shared.adapters.smtp.transport import SmtpClient
from shared.domain.jobs.outcomes import Accepted, Outcome, Rejected
from simulator.run import Simulator
from tests.fakes.finished import Bytes
from tests.providers.contract import FAR, target
from tests.providers.corpus import CORPUS, EIGHT_BIT, HEADER, SEVEN_BIT, complete, content
from tests.providers.relaying import OPEN, provider

CLOCK = SystemClock()
TEXT = HEADER + b"\r\nx\r\n"


def send(transport: SmtpClient, url: str, data: bytes, n: int = 0) -> Outcome:
    by = provider(transport, url, OPEN)
    return by.send_finished(content(data), Bytes(data), target(n), deadline=CLOCK.now() + FAR)


@pytest.mark.slow
def test_the_far_side_gets_the_very_bytes(simulator: Simulator, transport: SmtpClient) -> None:
    url = simulator.control.relay("bytes")
    for n, data in enumerate(CORPUS.values()):
        assert isinstance(send(transport, url, data, n), Accepted)
    log = simulator.control.log("smtp", "bytes")
    assert [line["finished_hash"] for line in log] == [sha256(complete(x)).hexdigest() for x in CORPUS.values()]
    assert [line["recipient"] for line in log] == [f"reader{n}@example.com" for n in range(len(CORPUS))]


@pytest.mark.slow
def test_a_relay_without_extensions_gets_what_is_seven_bit_as_it_is(
    simulator: Simulator, transport: SmtpClient
) -> None:
    url = simulator.control.relay("seven", eight_bit=False, utf8=False)
    messages = [*SEVEN_BIT.values(), *EIGHT_BIT.values()]
    for n, data in enumerate(messages):
        assert isinstance(send(transport, url, data, n), Accepted)
    hashes = [line["finished_hash"] for line in simulator.control.log("smtp", "seven")]
    assert hashes[: len(SEVEN_BIT)] == [sha256(complete(x)).hexdigest() for x in SEVEN_BIT.values()]
    assert not set(hashes[len(SEVEN_BIT) :]) & {sha256(x).hexdigest() for x in EIGHT_BIT.values()}
    assert len(hashes) == len(messages)


def test_a_grey_list_is_about_the_message_and_ends(simulator: Simulator, transport: SmtpClient) -> None:
    url = simulator.control.relay("grey", greylist_s=3600)
    assert send(transport, url, TEXT) == Rejected("4.7.1", permanent=False, about_message=True)
    simulator.control.relay("grey")
    assert isinstance(send(transport, url, TEXT), Accepted)
    assert len(simulator.control.log("smtp", "grey")) == 1


def test_a_host_that_refuses_all_is_down_for_all(simulator: Simulator, transport: SmtpClient) -> None:
    url = simulator.control.relay("shut", refuses_all=True)
    assert send(transport, url, TEXT) == Rejected("5.3.2", permanent=False, provider_down=True)
    assert simulator.control.log("smtp", "shut") == []


@pytest.mark.promise(6)
def test_one_refused_destination_of_three_takes_no_other_along(simulator: Simulator, transport: SmtpClient) -> None:
    url = simulator.control.relay("picky", refused=["reader1@*"])
    outcomes = [send(transport, url, TEXT, n) for n in range(3)]
    assert [isinstance(outcome, Accepted) for outcome in outcomes] == [True, False, True]
    assert outcomes[1] == Rejected("5.1.1", permanent=True)
    recipients = [line["recipient"] for line in simulator.control.log("smtp", "picky")]
    assert recipients == ["reader0@example.com", "reader2@example.com"]
