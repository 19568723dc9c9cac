"""Endpoints of webhooks as people read them."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from functions.console.call import ConsoleCall
from functions.console.screen import absent
from shared.domain.hooks.delivery import DeliveryState, HookDelivery
from shared.domain.hooks.endpoint import DisabledReason, Endpoint, EndpointState, HookFormat
from shared.domain.hooks.work import HookWork
from shared.domain.namespaces import kind_of, namespaces_of
from shared.domain.times import Millis
from shared.frozen import dataclass

REASONS: Final = {
    DisabledReason.OWNER: "by hand",
    DisabledReason.GONE: "it answered 410",
    DisabledReason.FAILING: "it only failed for days",
}
AVOIDED: Final = "avoided"
"""Condition of an endpoint whose breaker lets nothing through."""
CONDITIONS: Final = (*(state.value for state in EndpointState), AVOIDED)
COUNTED: Final = 1_000
"""Deliveries, as far as they are counted."""
_TURN: Final = 200


@dataclass(frozen=True, slots=True)
class HookRow:
    """An endpoint, and how it does. Times are Unix milliseconds; 0: none.

    Attributes:
        condition: in a word or two, which is also its badge.
        reason: why it is disabled.
        paused_until: its breaker lets nothing through until then.
        keys: the kind of keys whose events it gets.
    """

    endpoint: Endpoint
    work: HookWork
    condition: str
    reason: str
    paused_until: Millis
    keys: str

    @property
    def where(self) -> str:
        """Where events are posted, without what may be a secret; empty: they are fetched."""
        found = self.endpoint
        return found.url if found.format is HookFormat.STANDARD else str(urlsplit(found.url).hostname or "")


def hook_row(endpoint: Endpoint, work: HookWork, now: Millis) -> HookRow:
    """Return an endpoint as people read it."""
    paused = work.open_until if work.open_until > now else 0
    condition = AVOIDED if paused and not endpoint.disabled_at else endpoint.state_at(now).value
    reason = REASONS[DisabledReason(endpoint.reason)] if endpoint.reason else ""
    account, test = endpoint.namespace.partition("#")[0], "#" in endpoint.namespace
    return HookRow(endpoint, work, condition, reason, paused, kind_of(account, test=test).value)


def every_hook(call: ConsoleCall, space: str) -> Sequence[HookRow]:
    """Return the endpoints of a namespace, oldest first."""
    service = call.services.use_cases.hooks()
    found = service.every(space)
    return [hook_row(x, work, call.services.now) for x, work in zip(found, service.works(found), strict=True)]


def named_hook(call: ConsoleCall) -> HookRow:
    """Return the endpoint that the path names.

    Raises:
        Denial: there is none, or it is another account's.
    """
    service, name = call.services.use_cases.hooks(), call.path["hook"]
    found = (service.find(space, name) for space in namespaces_of(call.account))
    endpoint = next((x for x in found if x is not None), None)
    if endpoint is None:
        raise absent("endpoint")
    return hook_row(endpoint, service.work(endpoint), call.services.now)


def named_delivery(call: ConsoleCall, row: HookRow) -> HookDelivery:
    """Return the delivery that the path names.

    Raises:
        Denial: the endpoint has none of this name, or no longer.
    """
    found = call.services.use_cases.hooks().delivery(row.endpoint, call.path["delivery"])
    if found is None:
        raise absent("delivery")
    return found


def counted(call: ConsoleCall, row: HookRow, state: DeliveryState | None, since: Millis = 0) -> int:
    """Return how many deliveries an endpoint has, at most about COUNTED.

    Args:
        state: only those; None: those that ended.
        since: only those that were created from then on, Unix milliseconds.
    """
    service = call.services.use_cases.hooks()
    states = (state,) if state else (DeliveryState.DELIVERED, DeliveryState.FAILED)
    count = 0
    for wanted in states:
        after, more = "", True
        while more and count < COUNTED:
            found, after = service.deliveries(row.endpoint, wanted, after=after, limit=_TURN)
            count += sum(x.created_at >= since for x in found)
            more = bool(after)
    return count
