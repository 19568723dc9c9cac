"""The pages of a recipient's unsubscription link: a page to ask, one click to be off, and a way back.

Sources: RFC 8058 (one click: a POST without cookies, redirects or questions), RFC 2369. A GET never unsubscribes: mail
servers, scanners and clients fetch links before a person clicks them.
"""

import hashlib
import math
from collections.abc import Callable
from html import escape
from typing import Final
from urllib.parse import parse_qs

from functions.api.call import PublicRequest
from shared.domain.content.unsubscribe import ONE_CLICK, PAGE, Unsubscription
from shared.domain.recipients.suppressions import Suppression, left
from shared.ports import Retriable
from shared.web.http import Answer
from shared.web.pages import BUTTON, FIELD, button, page, quoted
from shared.web.routing import Public

SHORT: Final = 2000
"""Bytes of a body that are read: the page's form and RFC 8058's have less than 200."""
TEST: Final = "This link is from a test: nothing was changed, and nothing will be."
LATE: Final = "To get them again, please ask the sender."
Step = Callable[[PublicRequest, Unsubscription], Answer]


def visit_name(account_id: str, digest: str, method: str) -> str:
    """Return the name of a link's bucket for one method.

    Args:
        digest: the sha256 of the link's token, hex.
    """
    return f"{account_id}#{digest[:32]}#{method}"


def _step(step: Step) -> Callable[[PublicRequest], Answer]:
    """Return a handler that lets a step only see a link that was signed here, and each only so often.

    Each link has a count for each method. So repeats of one link do not stop another. Nor does a link's page stop a
    mailbox provider's click on the same link.
    """

    def answer(visit: PublicRequest) -> Answer:
        try:
            wanted = visit.services.links.read(visit.path["token"])
            if wanted is None:
                return page("This link does not work", "Please use the link as it stands in the e-mail.", status=404)
            digest = hashlib.sha256(visit.path["token"].encode()).hexdigest()
            wait = visit.services.visits.take(visit_name(wanted.account, digest, visit.request.method))
            if wait is not None:
                seconds = max(1, math.ceil(wait))
                return _later(429, f"Please try again in {seconds} seconds.", seconds)
            return step(visit, wanted)
        except Retriable:
            return _later(503, "This did not work just now. Please try again in a moment.", 1)

    return answer


def _later(status: int, text: str, seconds: int) -> Answer:
    return page("Please try again", text, status=status, more={"Retry-After": str(seconds)})


def ask(visit: PublicRequest, wanted: Unsubscription) -> Answer:
    """Show whose mail it is about and a button; change nothing."""
    who, what = quoted(wanted.address), _mail(wanted)
    if wanted.test:
        return page("Unsubscribe", f"{what[:1].upper()}{what[1:]} to {who}.", TEST, form=button("Unsubscribe"))
    found = visit.services.suppressions.get(wanted.account, wanted.address, reach=left(wanted.policy))
    if found is not None:
        return _done(visit, wanted, found)
    return page(
        "Unsubscribe",
        f"Stop this sender's {what} to {who}?",
        form=button("Unsubscribe"),
    )


def leave(visit: PublicRequest, wanted: Unsubscription) -> Answer:
    """Unsubscribe, from the page's button or by a mailbox provider's one click; repeating it changes nothing."""
    by_button = parse_qs(visit.request.body[:SHORT].decode("latin-1")).get(FIELD) == [BUTTON]
    if not wanted.test:
        now = int(visit.services.clock.now() * 1000)
        reason = PAGE if by_button else ONE_CLICK
        records = visit.services.records
        records.suppress(wanted.account, wanted.address, reason, now, reach=left(wanted.policy), job=wanted.job)
    if not by_button:
        return Answer(200, "Unsubscribed.\n", content_type="text/plain; charset=utf-8")
    store = visit.services.suppressions
    found = None if wanted.test else store.get(wanted.account, wanted.address, reach=left(wanted.policy))
    return _done(visit, wanted, found)


def back(visit: PublicRequest, wanted: Unsubscription) -> Answer:
    """Take back an unsubscription that this link made within a day; repeating it changes nothing."""
    store = visit.services.suppressions
    if not wanted.test and not store.undo(wanted):
        found = store.get(wanted.account, wanted.address, reach=left(wanted.policy))
        if found is not None:
            return page("You are unsubscribed", _told(wanted), LATE, status=409)
    told = TEST if wanted.test else f"{quoted(wanted.address)} gets {_mail(wanted)} from this sender again."
    form = button("Unsubscribe", f"../{visit.path['token']}")
    return page("You are subscribed", told, form=form)


def _done(visit: PublicRequest, wanted: Unsubscription, found: Suppression | None) -> Answer:
    """Return the page of somebody who gets no more. `found`: the entry; an undo is offered if this link made it."""
    if not wanted.test and (found is None or not visit.services.suppressions.undoable(wanted, found)):
        return page("You are unsubscribed", _told(wanted), LATE)
    undo = button("Undo", f"{visit.path['token']}/undo")
    return page("You are unsubscribed", _told(wanted), "Was this a mistake?", form=undo)


def _told(wanted: Unsubscription) -> str:
    return TEST if wanted.test else f"{quoted(wanted.address)} gets no more {_mail(wanted)} from this sender."


def _mail(wanted: Unsubscription) -> str:
    """Return what a link is about, as HTML."""
    return f"digests of <b>{escape(wanted.policy)}</b>" if wanted.policy else "newsletters"


ROUTES: Final = (
    Public(
        method="GET",
        path="/unsubscribe/{token}",
        name="showUnsubscription",
        summary="A page that asks whether to unsubscribe",
        description="It changes nothing, because programs also follow links.",
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
        description="Within 24 hours, and only one that this very link made.",
        conflict="It cannot be taken back by this link. The page says that the sender has to be asked.",
        handler=_step(back),
        answers=("text/html",),
    ),
)
