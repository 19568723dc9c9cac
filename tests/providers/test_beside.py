"""Several people in `To`: one call, in which each service sees all of them, and events that are about the first."""

from dataclasses import replace

import pytest

from shared.adapters.clock import SystemClock
from shared.adapters.http.transport import HttpClient
from shared.adapters.smtp.transport import SmtpClient
from shared.contracts import Credential
from shared.domain.content.content import Mailbox
from shared.domain.jobs.outcomes import Accepted
from shared.ports import Provider
from shared.providers import registry
from shared.providers.registry import Needs
from simulator.run import Simulator
from tests.providers.contract import CONTENT, FAR, MAILING, target
from tests.providers.hooks import Hook
from tests.providers.relay import RelayServer
from tests.providers.relaying import OPEN, provider, send
from tests.simulator.conftest import listening

CLOCK = SystemClock()
MANY = replace(
    CONTENT,
    beside=(Mailbox("bounce@example.com", "Bo, Unce"), Mailbox("ADA@example.com", "the recipient")),
    cc=(Mailbox("cc@example.com"), Mailbox("Bounce@example.com", "there already")),
)


def made(simulator: Simulator, http: HttpClient, name: str) -> Provider:
    keys = simulator.control.keys(name)
    secret = {"api_key": keys.pop("keys", [""])[0], **keys}
    secret = {key: value for key, value in secret.items() if isinstance(value, str) and value}
    declared = Credential("beside", name, "email", 14, configuration_set="events" if name == "ses" else "")
    base = simulator.base_url(name, "beside")
    return registry.provider(name)(Needs(http, CLOCK, secret, base, credential=declared))


@pytest.mark.parametrize("name", MAILING)
def test_all_are_in_one_call_and_the_others_events_are_secondary(
    simulator: Simulator, http: HttpClient, name: str
) -> None:
    one = target(0, "Ada@example.com")
    with listening() as far:
        hook = Hook(far, registry.webhooks(name), simulator.control.keys(name), CLOCK)
        simulator.control.webhooks(name, "beside", url=hook.url, delay={"ms": 1}, attempts=1)
        (outcome,) = made(simulator, http, name).send(MANY, [one], deadline=CLOCK.now() + FAR)
        assert isinstance(outcome, Accepted)
        assert simulator.control.flush(now=True)["failed"] == 0
        words = {(w.word, w.secondary) for w in hook.words if w.word in ("delivered", "bounced")}
    log = [(line["role"], line["recipient"]) for line in simulator.control.log(name, "beside")]
    assert log == [("to", "Ada@example.com"), ("to", "bounce@example.com"), ("cc", "cc@example.com")]
    assert ("delivered", False) in words
    assert ("bounced", True) in words
    assert ("bounced", False) not in words


def test_a_mail_shows_all_and_goes_to_all(transport: SmtpClient) -> None:
    with RelayServer() as relay:
        through = provider(transport, f"smtp+plain://127.0.0.1:{relay.port}", OPEN)
        assert isinstance(send(through, target(0, "Ada@example.com"), MANY), Accepted)
        (delivery,) = relay.deliveries
    assert delivery.recipients == ("Ada@example.com", "bounce@example.com", "cc@example.com")
    assert delivery.message["To"] == 'Ada@example.com, "Bo, Unce" <bounce@example.com>'
    assert delivery.message["Cc"] == "cc@example.com"
