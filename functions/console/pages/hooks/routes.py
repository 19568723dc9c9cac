"""Webhooks: endpoints and how they do, and what was posted to them."""

from typing import Final

from functions.console import lists
from functions.console.call import Look
from functions.console.pages.hooks.view import CONDITIONS, every_hook, named_delivery, named_hook
from functions.console.screen import PageRoute
from shared.domain.hooks.delivery import DeliveryState
from shared.domain.hooks.endpoint import MAX_ENDPOINTS, HookFormat
from shared.domain.hooks.kinds import ACCOUNT_KINDS
from shared.web.http import Answer

STATES: Final = tuple(state.value for state in DeliveryState)
KINDS: Final = tuple(sorted(ACCOUNT_KINDS))


def hooks(look: Look) -> Answer:
    """Show the endpoints of a kind of keys: there are few of them, so on one page."""
    every, state = every_hook(look, lists.space(look)), lists.chosen(look, "state", CONDITIONS)
    context = {
        "rows": [x for x in every if state in ("", x.condition)],
        "room": len(every) < MAX_ENDPOINTS,
        "state": state,
        "states": CONDITIONS,
        "keys": lists.kind_of_keys(look),
        "kinds": lists.KEYS,
        "events": KINDS,
        "formats": [x.value for x in HookFormat],
        "most": MAX_ENDPOINTS,
    }
    return look.services.pages.page(look, "hooks/hooks.html", context)


def hook(look: Look) -> Answer:
    """Show an endpoint with a page of its deliveries."""
    row, state = named_hook(look), lists.chosen(look, "state", STATES)
    desk, wanted = look.services.desks.hooks(), DeliveryState(state) if state else None
    found, after = desk.deliveries(row.endpoint, wanted, after=lists.place(look), limit=lists.PAGE)
    context = {
        "row": row,
        "deliveries": found,
        "state": state,
        "states": STATES,
        "paging": lists.paging(look, after, state=state),
    }
    return look.services.pages.page(look, "hooks/hook.html", context)


def delivery(look: Look) -> Answer:
    """Show a delivery with its attempts."""
    row = named_hook(look)
    return look.services.pages.page(look, "hooks/delivery.html", {"row": row, "delivery": named_delivery(look, row)})


_PATH: Final = "/console/{account}/hooks"
ROUTES: Final = (
    PageRoute("GET", _PATH, "webhooks", hooks),
    PageRoute("GET", f"{_PATH}/{{hook}}", "webhook", hook),
    PageRoute("GET", f"{_PATH}/{{hook}}/deliveries/{{delivery}}", "delivery", delivery),
)
