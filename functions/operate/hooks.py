"""The deployment's own endpoints of webhooks, by the API's rules and documents.

An endpoint's secret is in the answer that makes it, and nowhere else.
"""

from typing import Any, Final

from pydantic import Field

from functions.operate.call import Call, OperateQuery, OperateView, route
from functions.operate.declined import accepted
from shared.domain.hooks.delivery import DeliveryState, HookDelivery
from shared.domain.hooks.endpoint import DEPLOYMENT, Endpoint
from shared.engine.hooks.service import HookService
from shared.web.hooks.requests import HookChange, NewHook, NewReplay
from shared.web.hooks.views import (
    HookDeliveryView,
    HookDetails,
    HookList,
    HookSecret,
    HookView,
    ReplayView,
    delivery_view,
    details_view,
    hook_view,
    secret_view,
)
from shared.web.http import Answer
from shared.web.problems import Problem
from shared.web.routing import Nothing


class SomeDeliveries(OperateQuery):
    """Which deliveries. `after`: of the page before."""

    state: DeliveryState | None = None
    limit: int = Field(100, ge=1, le=1000)
    after: str = Field("", max_length=400)


class HookDeliveries(OperateView):
    """A page of deliveries. `after`: the next page's place; empty: this is the last."""

    items: list[HookDeliveryView]
    after: str


class HookDeleted(OperateView):
    """An endpoint that is deleted with the deliveries that waited for it."""

    deleted: bool


def create_hook(call: Call[Nothing, NewHook]) -> Answer:
    """Create an endpoint. A repeat creates another one."""
    made = accepted(_service(call).create(DEPLOYMENT, call.body.draft, by=call.key.id))
    return secret_view(made.endpoint, made.secret, _now(call)).answer()


def list_hooks(call: Call[Nothing, Nothing]) -> Answer:
    """Return the endpoints, oldest first."""
    now = _now(call)
    return HookList(items=[hook_view(x, now) for x in _service(call).every(DEPLOYMENT)], next_cursor=None).answer()


def read_hook(call: Call[Nothing, Nothing]) -> Answer:
    """Return an endpoint, and how it does."""
    found = _found(call)
    return details_view(found, _service(call).work(found), _now(call)).answer()


def change_hook(call: Call[Nothing, HookChange]) -> Answer:
    """Change an endpoint, or disable or enable it."""
    changed = accepted(_service(call).change(_found(call), call.body.draft, by=call.key.id))
    return hook_view(changed, _now(call)).answer()


def rotate_hook(call: Call[Nothing, Nothing]) -> Answer:
    """Give an endpoint a second secret. A repeat would end the present one."""
    made = accepted(_service(call).rotate(_found(call), by=call.key.id))
    return secret_view(made.endpoint, made.secret, _now(call)).answer()


def delete_hook(call: Call[Nothing, Nothing]) -> Answer:
    """Delete an endpoint."""
    _service(call).delete(_found(call), by=call.key.id)
    return HookDeleted(deleted=True).answer()


def test_hook(call: Call[Nothing, Nothing]) -> Answer:
    """Have a `test` event posted, and return its delivery."""
    return delivery_view(accepted(_service(call).test(_found(call), by=call.key.id))).answer()


def hook_deliveries(call: Call[SomeDeliveries, Nothing]) -> Answer:
    """Return a page of deliveries."""
    query = call.query
    found, after = _service(call).deliveries(_found(call), query.state, after=query.after, limit=query.limit)
    return HookDeliveries(items=[delivery_view(x) for x in found], after=after).answer()


def hook_delivery(call: Call[Nothing, Nothing]) -> Answer:
    """Return a delivery with its attempts."""
    return delivery_view(_delivery(call, _found(call))).answer()


def retry_delivery(call: Call[Nothing, Nothing]) -> Answer:
    """Have a delivery tried now."""
    endpoint = _found(call)
    return delivery_view(accepted(_service(call).retry(endpoint, _delivery(call, endpoint), by=call.key.id))).answer()


def replay_hook(call: Call[Nothing, NewReplay]) -> Answer:
    """Have deliveries of a time made again."""
    body = call.body
    since = int(body.since.timestamp() * 1000)
    until = int(body.until.timestamp() * 1000) if body.until is not None else _now(call)
    state = DeliveryState(body.state) if body.state is not None else None
    order = accepted(_service(call).replay(_found(call), since, until, state, by=call.key.id))
    return ReplayView.model_validate(order).answer()


def _service(call: Call[Any, Any]) -> HookService:
    return call.services.hooking.service


def _found(call: Call[Any, Any]) -> Endpoint:
    name = call.path["hook"]
    found = _service(call).find(DEPLOYMENT, name)
    if found is None:
        said = f"No endpoint {name} of the deployment: see `posthaste hook list --deployment`."
        raise Problem("not_found", said)
    return found


def _delivery(call: Call[Any, Any], endpoint: Endpoint) -> HookDelivery:
    found: HookDelivery | None = _service(call).delivery(endpoint, call.path["delivery"])
    if found is None:
        raise Problem("not_found", "No such delivery: see `posthaste hook deliveries --deployment`.")
    return found


def _now(call: Call[Any, Any]) -> int:
    return int(call.services.clock.now() * 1000)


ROUTES: Final = (
    route("GET", "/hooks", "Endpoints of the deployment", list_hooks, HookList),
    route("POST", "/hooks/create", "Create an endpoint", create_hook, HookSecret),
    route("GET", "/hooks/{hook}", "An endpoint", read_hook, HookDetails, "not_found"),
    route("POST", "/hooks/{hook}/change", "Change an endpoint", change_hook, HookView, "not_found"),
    route("POST", "/hooks/{hook}/rotate", "Give it a second secret", rotate_hook, HookSecret, "not_found"),
    route("POST", "/hooks/{hook}/delete", "Delete an endpoint", delete_hook, HookDeleted, "not_found"),
    route("POST", "/hooks/{hook}/test", "Post a `test` event", test_hook, HookDeliveryView, "not_found"),
    route("GET", "/hooks/{hook}/deliveries", "Its deliveries", hook_deliveries, HookDeliveries, "not_found"),
    route("GET", "/hooks/{hook}/deliveries/{delivery}", "A delivery", hook_delivery, HookDeliveryView, "not_found"),
    route(
        "POST",
        "/hooks/{hook}/deliveries/{delivery}/retry",
        "Try a delivery now",
        retry_delivery,
        HookDeliveryView,
        "not_found",
    ),
    route("POST", "/hooks/{hook}/replay", "Make deliveries again", replay_hook, ReplayView, "not_found"),
)
