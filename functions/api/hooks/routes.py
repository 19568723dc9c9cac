"""Endpoints of webhooks: created, listed, changed, rotated, deleted."""

import json
from typing import Any, Final

from functions.api.call import Call, now_of
from functions.api.campaigns.views import Deleted
from functions.api.declined import accepted
from shared.domain.accounts import Scope
from shared.domain.hooks.endpoint import Endpoint
from shared.ports import Idempotency, Mismatch, Replay
from shared.web.hooks.requests import HookChange, NewHook
from shared.web.hooks.views import (
    HookDeliveryView,
    HookDetails,
    HookList,
    HookSecret,
    HookView,
    delivery_view,
    details_view,
    hook_view,
    secret_view,
)
from shared.web.http import Answer
from shared.web.idempotency import earlier, record_of, repeated
from shared.web.problems import missing
from shared.web.routing import Nothing, Route, section


def create(call: Call[Nothing, NewHook]) -> Answer:
    """Create an endpoint. Its secret is not stored with the request's key: a repeat derives it anew."""
    before = earlier(call, 201)
    if before is not None:
        return _again(call, before)
    now = now_of(call)

    def record(made: Endpoint) -> Idempotency | None:
        return record_of(call, hook_view(made, now).model_dump_json())

    found = call.services.hooks().service.create_once(
        call.key.namespace, call.body.draft, by=call.key.id, record=record
    )
    if isinstance(found, Replay | Mismatch):
        return _again(call, repeated(found, 201))
    made = accepted(found)
    where = {"Location": f"/hooks/{made.endpoint.id}"}
    return secret_view(made.endpoint, made.secret, now).answer(201, where)


def _again(call: Call[Any, Any], before: Answer) -> Answer:
    """Return the answer of the request that created an endpoint once more, with its secret."""
    said = json.loads(before.body)
    secret = call.services.hooks().service.repeat(said["id"])
    headers = {**before.headers, "Location": f"/hooks/{said['id']}"}
    return HookSecret(**said, secret=secret).answer(201, headers)


def every(call: Call[Nothing, Nothing]) -> Answer:
    """Return the endpoints, oldest first."""
    found, now = call.services.hooks().service.every(call.key.namespace), now_of(call)
    return HookList(items=[hook_view(x, now) for x in found], next_cursor=None).answer()


def read(call: Call[Nothing, Nothing]) -> Answer:
    """Return an endpoint, and how it does."""
    found = owned(call)
    return details_view(found, call.services.hooks().service.work(found), now_of(call)).answer()


def change(call: Call[Nothing, HookChange]) -> Answer:
    """Change an endpoint, or disable or enable it."""
    changed = accepted(call.services.hooks().service.change(owned(call), call.body.draft, by=call.key.id))
    return hook_view(changed, now_of(call)).answer()


def rotate(call: Call[Nothing, Nothing]) -> Answer:
    """Give an endpoint a second secret, and the present one an end."""
    made = accepted(call.services.hooks().service.rotate(owned(call), by=call.key.id))
    return secret_view(made.endpoint, made.secret, now_of(call)).answer()


def test(call: Call[Nothing, Nothing]) -> Answer:
    """Have a `test` event posted."""
    return delivery_view(accepted(call.services.hooks().service.test(owned(call), by=call.key.id))).answer(202)


def delete(call: Call[Nothing, Nothing]) -> Answer:
    """Delete an endpoint with what waits for it."""
    call.services.hooks().service.delete(owned(call), by=call.key.id)
    return Deleted(deleted=True).answer()


def owned(call: Call[Any, Any]) -> Endpoint:
    """Return the endpoint that the path names; Problem not_found unless it is the caller's, of its kind of key."""
    found = call.services.hooks().service.find(call.key.namespace, call.path["hook_id"])
    if found is None:
        raise missing("endpoint", call.path["hook_id"])
    return found


ROUTES: Final = section(
    "Hooks",
    Route(
        method="POST",
        path="/hooks",
        name="createHook",
        summary="Create an endpoint and its secret",
        description="Events are posted as Standard Webhooks, signed with the secret, which is shown once. A `test` "
        "event is posted first. The endpoint gets others when it has answered that with 2xx.",
        scope=Scope.ADMIN,
        handler=create,
        answers={201: HookSecret},
        problems=("url_not_allowed", "too_many_hooks"),
        idempotent=True,
    ),
    Route(
        method="GET",
        path="/hooks",
        name="listHooks",
        summary="Endpoints, oldest first",
        scope=Scope.READ,
        handler=every,
        answers={200: HookList},
    ),
    Route(
        method="GET",
        path="/hooks/{hook_id}",
        name="getHook",
        summary="An endpoint, and how it does",
        scope=Scope.READ,
        handler=read,
        answers={200: HookDetails},
        problems=("not_found",),
    ),
    Route(
        method="PATCH",
        path="/hooks/{hook_id}",
        name="changeHook",
        summary="Change an endpoint, or disable or enable it",
        description="Events that wait are posted to the endpoint as it is now.",
        scope=Scope.ADMIN,
        handler=change,
        answers={200: HookView},
        problems=("not_found", "url_not_allowed"),
        body_required=True,
    ),
    Route(
        method="POST",
        path="/hooks/{hook_id}/rotate",
        name="rotateHook",
        summary="Give an endpoint a second secret",
        description="For 24 hours deliveries are signed with both secrets. The answer holds the new one, which is "
        "shown once.",
        scope=Scope.ADMIN,
        handler=rotate,
        answers={200: HookSecret},
        problems=("not_found",),
    ),
    Route(
        method="POST",
        path="/hooks/{hook_id}/test",
        name="testHook",
        summary="Post a `test` event",
        description="The answer does not wait for it. `GET /hooks/{hook_id}/deliveries/{delivery_id}` shows the "
        "outcome.",
        scope=Scope.SEND,
        handler=test,
        answers={202: HookDeliveryView},
        problems=("not_found", "hook_disabled"),
    ),
    Route(
        method="DELETE",
        path="/hooks/{hook_id}",
        name="deleteHook",
        summary="Delete an endpoint with what waits for it",
        scope=Scope.ADMIN,
        handler=delete,
        answers={200: Deleted},
        problems=("not_found",),
    ),
)
