"""A relay over SMTP, and a way to send through it."""

import time
from collections.abc import Mapping

from shared.adapters.clock import SystemClock
from shared.adapters.smtp.transport import SmtpClient
from shared.domain.content.smtp import Mail, Relay, Reply, Tls
from shared.domain.jobs.outcomes import Outcome
from shared.ports import Target
from shared.providers.smtp.send import SmtpRelay
from tests.providers.contract import CONTENT, target
from tests.providers.relay import PASSWORD, USER

SECRET = {"username": USER, "password": PASSWORD}
OPEN = {"auth": "none"}


def provider(transport: SmtpClient, url: str, secret: Mapping[str, str] = SECRET) -> SmtpRelay:
    return SmtpRelay(transport, url, secret, SystemClock(), ("X-Campaign",))


def send(through: SmtpRelay, one: Target | None = None, content: object = CONTENT, seconds: float = 10) -> Outcome:
    (outcome,) = through.send(content, [one or target(0)], deadline=time.time() + seconds)  # type: ignore[arg-type]
    return outcome


class FakeSmtp:
    def __init__(self, answer: Reply | Exception) -> None:
        self.answer = answer
        self.relay = Relay("", 0, Tls.NONE)

    def greet(self, relay: Relay, *, deadline: float) -> Reply | None:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer if self.answer.code >= 400 else None

    def submit(self, relay: Relay, mail: Mail, *, deadline: float) -> Reply:
        self.relay = relay
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer
