"""What our adapters make of a vendor that breaks: its answers as the simulator words them, judged by the real adapters.

A storm that draws from these finds an adapter that calls a message surely unsent which its vendor has taken.
"""

from dataclasses import dataclass
from functools import cache
from typing import Final

from shared.contracts import Credential
from shared.domain.jobs.outcomes import Outcome
from shared.ports import Response
from shared.providers import registry
from shared.providers.registry import Needs
from simulator.model import Mode
from simulator.registry import providers
from tests.providers.contract import CHANNELS, CONTENT, target
from tests.providers.fakes import NOW, FakeHttp, Fixed

STATUSES: Final = (500, 502, 504)
KEYS: Final = {"resend": "re_key", "twilio": "SK1:secret"}


@dataclass(frozen=True, slots=True)
class Broken:
    """A vendor's answer that says that it broke, and what its adapter makes of it for one message."""

    vendor: str
    status: int
    outcome: Outcome


@cache
def broken_words() -> tuple[Broken, ...]:
    """Return every vendor's answers that say that it broke."""
    return tuple(Broken(name, status, _outcome(name, status)) for name in providers() for status in STATUSES)


def _outcome(name: str, status: int) -> Outcome:
    vendor = providers()[name](None)
    reply = vendor.refusal(Mode.GATEWAY, status, 0)
    headers = {key.decode(): value.decode() for key, value in reply.headers}
    http = FakeHttp(Response(reply.status, headers, reply.body))
    channel = CHANNELS.get(name, "email")
    lane = Credential("main", name, channel, 10)
    secret = {**vendor.describe(), "api_key": KEYS.get(name, "key")}
    needs = Needs(http, Fixed(), secret, "http://127.0.0.1:9", credential=lane, public_url="https://api.example")
    (outcome,) = registry.provider(name)(needs).send(CONTENT, [target(0, channel=channel)], deadline=NOW + 5)
    if not http.requests:
        raise RuntimeError(f"{name} was not asked")
    return outcome
