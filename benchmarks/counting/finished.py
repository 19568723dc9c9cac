"""The cost of a finished message: one to a thousand destinations, from the post until its content is removed."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from benchmarks.rig import rows
from benchmarks.rig.meter import Tally
from benchmarks.rig.rows import Row, counted, named
from benchmarks.rig.world import Wire, World, deployed
from shared.contracts import Credential, Settings
from shared.domain.mails.mail import MailState
from shared.ports import Response

DESTINATIONS: Final = 1_000
PAGE: Final = 100
"""Destinations of a page of `GET /mails/{id}`."""
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
    tally, page = cost(DESTINATIONS), showing(PAGE)
    return [
        counted(named(rows.MAIL, "write units"), tally.wru / DESTINATIONS, 12, "WRU"),
        counted(named(rows.MAIL, "AWS calls"), tally.aws_calls / DESTINATIONS, 9, "calls"),
        counted(named(rows.MAIL, "AWS calls to show its end"), page.aws_calls / PAGE, 2.1, "calls"),
    ]


def cost(count: int, together: int = LOGGED_AT_ONCE) -> Tally:
    """Send a mail in a deployment that has sent before, and return what that took.

    Args:
        count: destinations.
        together: ledgers of one invocation of the logger.
    """
    with _sending() as w:
        _deliver(w, 2)
        w.take()
        _deliver(w, count, together)
        return w.take()


def showing(count: int) -> Tally:
    """Return what it takes to show how so many destinations ended, up to a page."""
    with _sending() as w:
        name = _deliver(w, count)
        w.take()
        shown = w.ask("GET", f"/mails/{name}", "")["destinations"]
        if [x["end"] for x in shown] != ["sent"] * count:
            raise RuntimeError("the ends are not shown")
        return w.take()


@contextmanager
def _sending() -> Iterator[World]:
    names = ("main", "second")
    credentials = tuple(Credential(c, "mailgun", "email", RATE, "https://provider.invalid") for c in names)
    with deployed(Settings("bench", credentials, {"email": names}), MimeWire()) as w:
        yield w


def _deliver(w: World, count: int, together: int = LOGGED_AT_ONCE) -> str:
    to = [{"address": f"p{i}@d{i % DOMAINS}.example.org"} for i in range(count)]
    body = {"mail_from": "bounces@example.com", "destinations": to, "content": MESSAGE}
    name = w.ask("POST", "/mails", json.dumps(body))["mail_id"]
    w.finish(together=together)
    mail = w.deployment.mailing.mails.get(name)
    if mail is None or mail.state is not MailState.CLEANED:
        raise RuntimeError("the mail has not come to its end")
    return str(name)
