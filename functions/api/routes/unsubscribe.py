"""What a recipient's unsubscription link leads to: a page to ask, one click to be off, and a way back.

Sources: RFC 8058 (one click: a POST without cookies, redirects or questions), RFC 2369. A GET never unsubscribes: mail
servers, scanners and clients fetch links that nobody has clicked.
"""

import math
from collections.abc import Callable
from typing import Final
from urllib.parse import parse_qs

from functions.api.http import Answer
from functions.api.pages import BUTTON, FIELD, button, page, quoted
from functions.api.routing import Public, Visit
from shared.domain.suppressions import Reach
from shared.domain.unsubscribe import Unsubscription
from shared.ports import Retriable

CAMPAIGNS: Final = Reach.CAMPAIGNS
SHORT: Final = 2000
"""Bytes of a body that are looked at: the page's form and RFC 8058's have less than 200."""
TEST: Final = "This link is from a test: nothing was changed, and nothing will be."
Step = Callable[[Visit, Unsubscription], Answer]


def _step(step: Step) -> Callable[[Visit], Answer]:
    """Return a handler that lets a step only see a link that was signed here, and only so many of an account's."""

    def answer(visit: Visit) -> Answer:
        try:
            wanted = visit.services.links.read(visit.path["token"])
            if wanted is None:
                return page("This link does not work", "Please use the link as it stands in the e-mail.", status=404)
            wait = visit.services.visits.take(wanted.account)
            if wait is not None:
                seconds = max(1, math.ceil(wait))
                return _later(429, f"Please try again in {seconds} seconds.", seconds)
            return step(visit, wanted)
        except Retriable:
            return _later(503, "This did not work just now. Please try again in a moment.", 1)

    return answer


def _later(status: int, text: str, seconds: int) -> Answer:
    return page("Please try again", text, status=status, more={"Retry-After": str(seconds)})


def ask(visit: Visit, wanted: Unsubscription) -> Answer:
    """Show whose mail it is about and a button; change nothing."""
    who = quoted(wanted.address)
    if wanted.test:
        return page("Unsubscribe", f"Newsletters to {who}.", TEST, form=button("Unsubscribe"))
    if visit.services.records.suppressed(wanted.account, [wanted.address], (CAMPAIGNS,)):
        return _done(visit, wanted)
    return page(
        "Unsubscribe",
        f"Stop this sender's newsletters to {who}?",
        form=button("Unsubscribe"),
    )


def leave(visit: Visit, wanted: Unsubscription) -> Answer:
    """Unsubscribe, from the page's button or by a mailbox provider's one click; repeating it changes nothing."""
    by_button = parse_qs(visit.request.body[:SHORT].decode("latin-1")).get(FIELD) == [BUTTON]
    if not wanted.test:
        now = int(visit.services.clock.now() * 1000)
        reason = "page" if by_button else "one_click"
        records = visit.services.records
        records.suppress(wanted.account, wanted.address, reason, now, reach=CAMPAIGNS, job=wanted.job)
    if not by_button:
        return Answer(200, "Unsubscribed.\n", content_type="text/plain; charset=utf-8")
    return _done(visit, wanted)


def back(visit: Visit, wanted: Unsubscription) -> Answer:
    """Take an unsubscription back; repeating it changes nothing."""
    if not wanted.test:
        visit.services.records.allow(wanted.account, wanted.address, reach=CAMPAIGNS)
    told = TEST if wanted.test else f"{quoted(wanted.address)} gets newsletters from this sender again."
    form = button("Unsubscribe", f"../{visit.path['token']}")
    return page("You are subscribed", told, form=form)


def _done(visit: Visit, wanted: Unsubscription) -> Answer:
    told = TEST if wanted.test else f"{quoted(wanted.address)} gets no more newsletters from this sender."
    undo = button("Undo", f"{visit.path['token']}/undo")
    return page("You are unsubscribed", told, "Was this a mistake?", form=undo)


ROUTES: Final = (
    Public(
        method="GET",
        path="/unsubscribe/{token}",
        name="showUnsubscription",
        summary="A page that asks whether to unsubscribe",
        description="It changes nothing: programs follow links, too.",
        handler=_step(ask),
        answers=("text/html",),
    ),
    Public(
        method="POST",
        path="/unsubscribe/{token}",
        name="unsubscribe",
        summary="Unsubscribe by one click",
        description="By a mailbox provider (RFC 8058, whatever the body) or the page's button. Campaigns, and batches "
        "that offer an unsubscription, leave this recipient out from now on, with the code `unsubscribed`.",
        handler=_step(leave),
        answers=("text/html", "text/plain"),
    ),
    Public(
        method="POST",
        path="/unsubscribe/{token}/undo",
        name="undoUnsubscription",
        summary="Take an unsubscription back",
        handler=_step(back),
        answers=("text/html",),
    ),
)
