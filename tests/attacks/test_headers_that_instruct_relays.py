"""A client sets a header by which a relay adds recipients, past suppressions and pace."""

from dataclasses import replace

import pytest

from shared.contracts import Credential, Settings
from shared.domain.content.smtp import Mail, Relay, Reply, SmtpStep
from shared.domain.jobs.outcomes import Accepted, Rejected
from shared.providers.registry import Needs, provider
from tests.api.conftest import SENDER, Api
from tests.fakes.clock import FakeClock
from tests.providers.contract import CONTENT, target

ORDERS = ("X-MSYS-API", "X-MJ-CustomID", "X-Mailin-Tag", "X-SIB-API", "X-ElasticEmail-Settings", "X-Virtual-MTA")


@pytest.mark.promise(10)
@pytest.mark.parametrize("name", [*ORDERS, "x-msys-api", "X-VIRTUAL-MTA"])
def test_they_are_refused_whatever_the_provider(api: Api, name: str) -> None:
    mail = {"from": SENDER, "subject": "x", "body": "x", "headers": {name: '{"cc": "eve@example.net"}'}}
    assert api.call("POST", "/batches", {**mail, "to": "ann@example.org"}).status in (400, 422)


class Taking:
    """A transport that keeps what it was to send."""

    def __init__(self) -> None:
        self.mails: list[Mail] = []

    def greet(self, relay: Relay, *, deadline: float) -> Reply | None:
        return None

    def submit(self, relay: Relay, mail: Mail, *, deadline: float) -> Reply:
        self.mails.append(mail)
        return Reply(SmtpStep.END, 250, "2.0.0 Ok: queued as 1")


@pytest.mark.parametrize("name", ["X-Unheard-Of", "X-Order", "Cc"])
def test_a_relay_gets_no_header_that_its_credential_does_not_list(name: str) -> None:
    smtp, clock = Taking(), FakeClock()
    credential = Credential("relay", "smtp", "email", 10, headers=("X-Campaign",))
    settings = Settings("dev", (credential,), {"email": ("relay",)})
    assert Settings.loads(settings.dumps()) == settings
    needs = Needs(
        None,  # type: ignore[arg-type]
        clock,
        {"auth": "none"},
        "smtp://relay.example",
        smtp=smtp,
        credential=Settings.loads(settings.dumps()).credential("relay"),
    )
    relay = provider("smtp")(needs)
    plain = replace(CONTENT, headers=())
    refused = Rejected("header_not_allowed", permanent=False, about_message=True)
    ordered = replace(plain, headers=(("x-campaign", "1"), (name, "eve@example.net")))
    assert relay.send(ordered, [target(0)], deadline=clock.now() + 9) == [refused]
    assert smtp.mails == []
    links = (("List-Unsubscribe", "<https://x.example>"), ("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"))
    listed = replace(plain, headers=(("x-campaign", "1"), *links))
    assert isinstance(relay.send(listed, [target(0)], deadline=clock.now() + 9)[0], Accepted)
    assert b"x-campaign: 1" in b"".join(smtp.mails[0].data)
