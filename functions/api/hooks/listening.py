"""Endpoints without a URL: a client on a developer's machine fetches their deliveries."""

from typing import Any, Final

from functions.api.call import Call, now_of
from functions.api.declined import accepted
from functions.api.hooks.routes import owned
from shared.domain.accounts import Scope
from shared.domain.hooks.delivery import HookAttempt
from shared.domain.hooks.draft import HookDraft
from shared.domain.hooks.endpoint import Endpoint
from shared.web.hooks.requests import NewListener, PendingQuery, Received
from shared.web.hooks.views import (
    HookDeliveryView,
    HookSecret,
    OutgoingList,
    OutgoingView,
    delivery_view,
    secret_view,
)
from shared.web.http import Answer
from shared.web.problems import missing
from shared.web.routing import Nothing, Route, section


def listen(call: Call[Nothing, NewListener]) -> Answer:
    """Create an endpoint whose events are fetched."""
    draft = HookDraft(events=tuple(call.body.events))
    made = accepted(call.services.hooks().service.listen(call.key.namespace, draft, by=call.key.id))
    where = {"Location": f"/hooks/{made.endpoint.id}"}
    return secret_view(made.endpoint, made.secret, now_of(call)).answer(201, where)


def pending(call: Call[PendingQuery, Nothing]) -> Answer:
    """Return deliveries that are due."""
    found = call.services.hooks().listeners.pending(_listening(call), call.query.limit)
    return OutgoingList(
        items=[
            OutgoingView(id=x.delivery.name, type=x.delivery.kind, headers=dict(x.headers), body=x.body.decode())
            for x in found
        ]
    ).answer()


def done(call: Call[Nothing, Received]) -> Answer:
    """Note the outcome of a delivery that was fetched."""
    endpoint, body = _listening(call), call.body
    delivery = call.services.hooks().service.delivery(endpoint, call.path["delivery_id"])
    if delivery is None:
        raise missing("delivery", call.path["delivery_id"])
    attempt = HookAttempt(now_of(call), body.status, body.ms, body.answer, "" if body.status else "not_forwarded")
    return delivery_view(call.services.hooks().listeners.done(delivery, attempt)).answer()


def _listening(call: Call[Any, Any]) -> Endpoint:
    found = owned(call)
    if not found.listening:
        raise missing("endpoint that is listened to,", call.path["hook_id"])
    return found


ROUTES: Final = section(
    "Hooks",
    Route(
        method="POST",
        path="/hooks/listen",
        name="createHookListener",
        summary="Create an endpoint whose events are fetched",
        description="For a developer's machine, which nothing can be posted to. It is deleted 10 minutes after the "
        "last call of `GET /hooks/{hook_id}/pending`.",
        scope=Scope.SEND,
        handler=listen,
        answers={201: HookSecret},
        problems=("too_many_hooks",),
    ),
    Route(
        method="GET",
        path="/hooks/{hook_id}/pending",
        name="getPendingDeliveries",
        summary="Deliveries to fetch, with headers and bodies",
        description="They are returned again until their outcome is posted.",
        scope=Scope.READ,
        handler=pending,
        answers={200: OutgoingList},
        problems=("not_found",),
    ),
    Route(
        method="POST",
        path="/hooks/{hook_id}/pending/{delivery_id}/done",
        name="endPendingDelivery",
        summary="Post the outcome of a fetched delivery",
        description="It is not fetched again. A retry makes it pending again.",
        scope=Scope.SEND,
        handler=done,
        answers={200: HookDeliveryView},
        problems=("not_found",),
        while_suspended=True,
    ),
)
