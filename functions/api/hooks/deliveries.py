"""Deliveries to an endpoint: they are listed, tried again and replayed."""

from typing import Any, Final

from functions.api.call import Call, now_of
from functions.api.declined import accepted
from functions.api.hooks.routes import owned
from shared.domain.accounts import Scope
from shared.domain.hooks.delivery import DeliveryState, HookDelivery
from shared.domain.hooks.endpoint import Endpoint
from shared.web import cursors
from shared.web.hooks.requests import DeliveriesQuery, NewReplay
from shared.web.hooks.views import HookDeliveryPage, HookDeliveryView, ReplayView, delivery_view
from shared.web.http import Answer
from shared.web.problems import missing
from shared.web.routing import Nothing, Route, section


def pages(call: Call[DeliveriesQuery, Nothing]) -> Answer:
    """Return a page of deliveries."""
    query, service = call.query, call.services.hooks().service
    found, after = service.deliveries(owned(call), query.state, after=cursors.hooks(call), limit=query.limit)
    return HookDeliveryPage(items=[delivery_view(x) for x in found], next_cursor=cursors.seal(call, after)).answer()


def read(call: Call[Nothing, Nothing]) -> Answer:
    """Return a delivery."""
    return delivery_view(_named(call, owned(call))).answer()


def retry(call: Call[Nothing, Nothing]) -> Answer:
    """Have a delivery tried now."""
    endpoint = owned(call)
    delivery = _named(call, endpoint)
    return delivery_view(accepted(call.services.hooks().service.retry(endpoint, delivery, by=call.key.id))).answer(202)


def replay(call: Call[Nothing, NewReplay]) -> Answer:
    """Have deliveries of a time made again."""
    body, endpoint = call.body, owned(call)
    since = int(body.since.timestamp() * 1000)
    until = int(body.until.timestamp() * 1000) if body.until is not None else now_of(call)
    state = DeliveryState(body.state) if body.state is not None else None
    order = accepted(call.services.hooks().service.replay(endpoint, since, until, state, by=call.key.id))
    return ReplayView.model_validate(order).answer(202)


def _named(call: Call[Any, Any], endpoint: Endpoint) -> HookDelivery:
    found = call.services.hooks().service.delivery(endpoint, call.path["delivery_id"])
    if found is None:
        raise missing("delivery", call.path["delivery_id"])
    return found


ROUTES: Final = section(
    "Hooks",
    Route(
        method="GET",
        path="/hooks/{hook_id}/deliveries",
        name="listHookDeliveries",
        summary="Deliveries of an endpoint",
        description="Those that wait come first, soonest first. Those that ended in the last 7 days follow, newest "
        "first.",
        scope=Scope.READ,
        handler=pages,
        answers={200: HookDeliveryPage},
        problems=("not_found", "bad_cursor"),
    ),
    Route(
        method="GET",
        path="/hooks/{hook_id}/deliveries/{delivery_id}",
        name="getHookDelivery",
        summary="A delivery with its attempts",
        scope=Scope.READ,
        handler=read,
        answers={200: HookDeliveryView},
        problems=("not_found",),
    ),
    Route(
        method="POST",
        path="/hooks/{hook_id}/deliveries/{delivery_id}/retry",
        name="retryHookDelivery",
        summary="Try a delivery now",
        description="It keeps its `webhook-id` and its body, also if it had been delivered already.",
        scope=Scope.SEND,
        handler=retry,
        answers={202: HookDeliveryView},
        problems=("not_found", "hook_disabled"),
    ),
    Route(
        method="POST",
        path="/hooks/{hook_id}/replay",
        name="replayHook",
        summary="Make the deliveries of a time again",
        description="Each keeps its `webhook-id` and its body. The answer does not wait for it: `GET /hooks/{hook_id}` "
        "shows `replay` until it is done.",
        scope=Scope.SEND,
        handler=replay,
        answers={202: ReplayView},
        problems=("not_found", "hook_disabled", "hook_listens", "replay_running"),
    ),
)
