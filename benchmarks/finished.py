"""What a finished message costs: one to a thousand destinations, from the post until its content is removed."""

import json
from collections.abc import Mapping
from typing import Final

from benchmarks import rows
from benchmarks.meter import Tally
from benchmarks.rows import Row, named
from benchmarks.world import Wire, World, deployed
from shared.bootstrap.mailing import Mailing
from shared.contracts import Credential, Settings
from shared.domain.mails.mail import MailState
from shared.ports import Response

DESTINATIONS: Final = 1_000
DOMAINS: Final = 50
LOGGED_AT_ONCE: Final = 100
"""Ledgers of one invocation of the logger, as the stream hands them over in a burst."""
RATE: Final = 150.0
MESSAGE: Final = f"From: news@example.com\r\nSubject: Hello\r\n\r\n{'x' * 70}\r\n"


class MimeWire(Wire):
    """A provider that takes finished messages."""

    secret: Mapping[str, str] = {"api_key": "key-bench", "domain": "mg.example.com"}

    def answer(self, name: str) -> Response:
        """Return what such a provider says that took a message."""
        return Response(200, {}, json.dumps({"id": f"<{name}@mg.example.com>", "message": "Queued."}).encode())


def measure() -> list[Row]:
    """Return the write units and AWS calls of a destination."""
    tally = cost(DESTINATIONS)
    return [
        Row(named(rows.MAIL, "write units"), tally.wru / DESTINATIONS, 12, "WRU", counted=True),
        Row(named(rows.MAIL, "AWS calls"), tally.aws_calls / DESTINATIONS, 9, "calls", counted=True),
    ]


def cost(count: int) -> Tally:
    """Send a mail to so many destinations in a deployment that has sent before, and return what that took."""
    names = ("main", "second")
    credentials = tuple(Credential(c, "mailgun", "email", RATE, "https://provider.invalid") for c in names)
    with deployed(Settings("bench", credentials, {"email": names}), MimeWire()) as w:
        _deliver(w, 2)
        w.take()
        _deliver(w, count)
        return w.take()


def _deliver(w: World, count: int) -> None:
    to = [{"address": f"p{i}@d{i % DOMAINS}.example.org"} for i in range(count)]
    body = {"mail_from": "bounces@example.com", "destinations": to, "content": MESSAGE}
    name = w.ask("POST", "/mails", json.dumps(body))["mail_id"]
    w.finish(together=LOGGED_AT_ONCE)
    mail = Mailing(w.deployment).mails.get(name)
    if mail is None or mail.state is not MailState.CLEANED:
        raise RuntimeError("the mail has not come to its end")
