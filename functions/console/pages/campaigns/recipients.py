"""Recipients of a list that was read and is not sent yet: who gets a message, and who does not, with the reason."""

from typing import Final

from functions.console import lists
from functions.console.call import ConsoleCall
from functions.console.listing import Asked, Filters, ListFilter, ListRows, answer
from functions.console.pages.campaigns.view import conflict, current, owned, without_credential
from functions.console.screen import PageRoute
from shared.domain.ids import parse_message_id
from shared.domain.jobs.states import MessageState
from shared.engine.lists.list_jobs import Order, job_of
from shared.engine.reports.message_log import Filter, LogLine
from shared.web.http import Answer

SENT_TO: Final = "will be sent"
"""The filter for those who get a message; others are reasons why one does not."""


def recipients(call: ConsoleCall) -> Answer:
    """Show a page of a list's recipients, in its order."""
    campaign = owned(call)
    view = current(call, campaign)
    if view is None or not view.ready:
        raise conflict("no_list")
    try:
        job = job_of(campaign, view.upload, call.services.settings, call.services.now, Order())
    except KeyError:
        raise conflict("", without_credential(campaign)) from None
    lacked = tuple(gap.column for gap in campaign.gaps(view.upload) or ())
    filters: Filters[LogLine] = (
        ListFilter("shown", "Recipients", (SENT_TO, *view.skipped), "all of them"),
        ListFilter("recipient", "Recipient", kind="search"),
        *([ListFilter("lacks", "Without a value of", lacked, "any or none")] if lacked else []),
    )

    def read(at: Asked) -> ListRows[LogLine]:
        lacks = at["lacks"] if lacked else ""
        states = frozenset({MessageState.QUEUED} if at["shown"] == SENT_TO else ())
        skip = "" if at["shown"] == SENT_TO else at["shown"]
        wanted = Filter(states, recipient=lists.recipient_key(at["recipient"]), skip=skip, lacks=lacks)
        start = parse_message_id(at.place or "0.0")
        if start is None:
            raise lists.BAD_PLACE
        found, after = call.services.logs.lines(job, wanted, start=start, limit=lists.PAGE)
        return ListRows(found, f"{after[0]}.{after[1]}" if after else "", more={"campaign": campaign})

    return answer(call, "campaigns/recipients.html", filters, read)


ROUTES: Final = (PageRoute("GET", "/console/{account}/campaigns/{campaign}/recipients", "recipients", recipients),)
