"""Webhooks: endpoints and how they do, and what was posted to them."""

from typing import Final

from functions.console import lists
from functions.console.call import ConsoleCall
from functions.console.listing import KEYS, Asked, Filters, ListRows, listed, shown, states
from functions.console.pages.hooks.view import CONDITIONS, HookRow, every_hook, named_delivery, named_hook
from functions.console.screen import PageRoute
from shared.domain.hooks.delivery import DeliveryState, HookDelivery
from shared.domain.hooks.endpoint import MAX_ENDPOINTS, HookFormat
from shared.domain.hooks.kinds import ACCOUNT_KINDS
from shared.web.http import Answer

HOOKS: Final[Filters[HookRow]] = (states(CONDITIONS, lambda x: x.condition), KEYS)
DELIVERIES: Final[Filters[HookDelivery]] = (states(tuple(DeliveryState)),)


def _hooks(at: Asked) -> ListRows[HookRow]:
    """Return the endpoints of a kind of keys: there are few of them, so on one page."""
    every = every_hook(at.call, at.space)
    more = {
        "room": len(every) < MAX_ENDPOINTS,
        "events": sorted(ACCOUNT_KINDS),
        "formats": tuple(HookFormat),
        "most": MAX_ENDPOINTS,
        "kinds": lists.KEYS,
    }
    return ListRows(every, whole=True, more=more)


def hook(call: ConsoleCall) -> Answer:
    """Show an endpoint with a page of its deliveries."""
    row = named_hook(call)
    context = shown(call, DELIVERIES, lambda at: _deliveries(at, row))
    return call.services.pages.page(call, "hooks/hook.html", {"row": row, **context})


def _deliveries(at: Asked, row: HookRow) -> ListRows[HookDelivery]:
    service, wanted = at.call.services.use_cases.hooks(), DeliveryState(at["state"]) if at["state"] else None
    return ListRows(*service.deliveries(row.endpoint, wanted, after=at.place, limit=lists.PAGE))


def delivery(call: ConsoleCall) -> Answer:
    """Show a delivery with its attempts."""
    row = named_hook(call)
    return call.services.pages.page(call, "hooks/delivery.html", {"row": row, "delivery": named_delivery(call, row)})


_PATH: Final = "/console/{account}/hooks"
ROUTES: Final = (
    listed(_PATH, "webhooks", "hooks/hooks.html", HOOKS, _hooks),
    PageRoute("GET", f"{_PATH}/{{hook}}", "webhook", hook),
    PageRoute("GET", f"{_PATH}/{{hook}}/deliveries/{{delivery}}", "delivery", delivery),
)
