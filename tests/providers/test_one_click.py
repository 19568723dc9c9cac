"""The headers of a one-click unsubscription, on the wire of every provider of e-mail (RFC 8058)."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import parse_qs

import pytest

from shared.adapters.clock import SystemClock
from shared.adapters.http.transport import HttpClient
from shared.adapters.smtp.transport import SmtpClient
from shared.contracts import Credential
from shared.domain.content.content import Content, Mailbox
from shared.domain.content.unsubscribe import MAX_TOKEN
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.job import Job
from shared.domain.jobs.outcomes import Accepted
from shared.engine.lane.compose import Composition
from shared.ports import Http, Provider, Response
from shared.providers import registry
from shared.providers.registry import Needs
from shared.providers.smtp.send import SmtpRelay
from simulator.run import Simulator
from tests.fakes.links import FakeLinks
from tests.fakes.world import World
from tests.providers.contract import FAR, MAILING, target
from tests.providers.fakes import FakeHttp, Fixed
from tests.providers.relay import RelayServer

BASE: Final = f"https://{'long.' * 11}mail.example.com/unsubscribe/"
LONG: Final = f"{'n' * 64}@{'d' * 60}.{'d' * 60}.{'d' * 60}.example"
"""A recipient whose token is nearly as long as any."""
PLAIN: Final = Content(
    Mailbox("news@sender.example"),
    "Hello {{ name }}",
    html='<a href="{{ unsubscribe_url }}">no more</a>',
    headers=(("X-Campaign", "spring"),),
    merge=True,
    unsubscribe=BASE,
)


def json_pairs(body: bytes) -> dict[str, str]:
    headers: dict[str, str] = json.loads(body)["headers"]
    return headers


def form_pairs(body: bytes) -> dict[str, str]:
    form = parse_qs(body.decode(), strict_parsing=True)
    return {name[2:]: value for name, (value,) in form.items() if name.startswith("h:")}


def ses_pairs(body: bytes) -> dict[str, str]:
    found = [(h["Name"], h["Value"]) for h in json.loads(body)["Content"]["Simple"]["Headers"]]
    assert len(found) == len(dict(found))
    return dict(found)


def array_pairs(body: bytes) -> dict[str, str]:
    (mail,) = json.loads(body)
    return {h["Name"]: h["Value"] for h in mail["Headers"]}


WIRES: Final[Mapping[str, Callable[[bytes], dict[str, str]]]] = {
    "mailgun": form_pairs,
    "ses": ses_pairs,
    "postmark": array_pairs,
}
"""Provider → reads the headers of its request; the others have an object `headers` in JSON."""


def provider(name: str, http: Http, base_url: str, secret: Mapping[str, str]) -> Provider:
    declared = Credential(f"{name}-one", name, "email", 14, configuration_set="events")
    clock: Any = SystemClock() if isinstance(http, HttpClient) else Fixed()
    return registry.provider(name)(Needs(http, clock, secret, base_url, credential=declared))


@pytest.fixture(scope="module")
def content() -> Content:
    job: Job = World().accept(1)
    made = Composition(job, PLAIN, FakeLinks()).of(Recipient(LONG, LONG, values={"name": "Ann"})).content
    assert isinstance(made, Content)
    return made


def check(found: Mapping[str, str], content: Content) -> None:
    """Check that both headers are there, whole, beside the content's own."""
    link = found["List-Unsubscribe"]
    assert link.startswith(f"<{BASE}")
    assert link.endswith(">")
    assert 400 < len(link) - len(BASE) - 2 <= MAX_TOKEN
    assert found["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert found["X-Campaign"] == "spring"
    assert link[1:-1] in content.html


@pytest.mark.parametrize("name", MAILING)
def test_they_stand_in_the_request(name: str, content: Content, simulator: Simulator) -> None:
    http = FakeHttp(Response(500, {}, b""))
    secret = secret_of(simulator, name)
    provider(name, http, "https://api.example.com", secret).send(content, [target(0)], deadline=2e9)
    ((_, _, _, body),) = http.requests
    check(WIRES.get(name, json_pairs)(body), content)


@pytest.mark.parametrize("name", MAILING)
def test_the_far_side_takes_them(name: str, content: Content, simulator: Simulator, http: HttpClient) -> None:
    base = simulator.base_url(name, f"{name}-one")
    real = provider(name, http, base, secret_of(simulator, name))
    (outcome,) = real.send(content, [target(0)], deadline=SystemClock().now() + FAR)
    assert isinstance(outcome, Accepted)


def test_they_arrive_by_smtp_unfolded_and_as_they_were(transport: SmtpClient, content: Content) -> None:
    with RelayServer() as relay:
        through = SmtpRelay(
            transport, f"smtp+plain://127.0.0.1:{relay.port}", {"auth": "none"}, SystemClock(), ["X-Campaign"]
        )
        (outcome,) = through.send(content, [target(0)], deadline=SystemClock().now() + FAR)
        assert isinstance(outcome, Accepted)
        (delivery,) = relay.deliveries
    check(dict(delivery.message.items()), content)


def secret_of(simulator: Simulator, name: str) -> dict[str, str]:
    """Return the secret that the far side knows."""
    keys = simulator.control.keys(name)
    return {**{k: v for k, v in keys.items() if k != "keys"}, **({"api_key": keys["keys"][0]} if keys["keys"] else {})}
