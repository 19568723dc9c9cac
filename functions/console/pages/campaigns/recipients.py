"""Recipients of a list that was read and is not sent yet: who gets a message, and who does not, with the reason."""

from typing import Final

from functions.console import lists
from functions.console.call import Look
from functions.console.pages.campaigns.view import conflict, current, owned, without_credential
from functions.console.screen import PageRoute
from shared.domain.ids import parse_message_id
from shared.domain.jobs.states import MessageState
from shared.engine.lists.list_jobs import Order, job_of
from shared.engine.reports.message_log import Filter
from shared.web.http import Answer

SENT_TO: Final = "will be sent"
"""The filter for those who get a message; others are reasons why one does not."""


def recipients(look: Look) -> Answer:
    """Show a page of a list's recipients, in its order."""
    campaign = owned(look)
    view = current(look, campaign)
    if view is None or not view.ready:
        raise conflict("no_list")
    shown = lists.chosen(look, "shown", (SENT_TO, *view.skipped))
    wanted = Filter(states=frozenset({MessageState.QUEUED})) if shown == SENT_TO else Filter(skip=shown)
    try:
        job = job_of(campaign, view.upload, look.services.settings, look.services.now, Order())
    except KeyError:
        raise conflict("", without_credential(campaign)) from None
    start = parse_message_id(lists.place(look) or "0.0")
    if start is None:
        raise lists.BAD_PLACE
    found, after = look.services.logs.lines(job, wanted, start=start, limit=lists.PAGE)
    context = {
        "campaign": campaign,
        "lines": found,
        "shown": shown,
        "choices": (SENT_TO, *view.skipped),
        "paging": lists.paging(look, f"{after[0]}.{after[1]}" if after else "", shown=shown),
    }
    return look.services.pages.page(look, "campaigns/recipients.html", context)


ROUTES: Final = (PageRoute("GET", "/console/{account}/campaigns/{campaign}/recipients", "recipients", recipients),)
