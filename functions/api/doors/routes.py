"""Doors that providers declare: each takes a vendor's own request, and answers as that vendor does."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from functions.api.call import Call
from functions.api.declined import accepted
from functions.api.doors.lists import routes_of
from functions.api.doors.reading import posting_of, refusal_of, request_of
from functions.api.doors.several import post_all
from shared.domain.accounts import Scope
from shared.domain.content.posting import Posting
from shared.ports import Mismatch, Replay
from shared.providers.doors import TAG, Door, DoorTaken, Voice, doors, lists
from shared.web.http import Answer
from shared.web.idempotency import earlier, idempotency_key
from shared.web.problems import CODES, Problem
from shared.web.routing import Form, Nothing, Route, matches


def post(door: Door, call: Call[Nothing, Any]) -> Answer:
    """Accept a request as one job, or refuse it; nothing is stored unless it is accepted.

    Args:
        call: the request, valid in the vendor's terms.
    """
    posting = posting_of(door, call.body)
    acting = replace(call, key=replace(call.key, test=True)) if posting.rehearsed else call
    try:
        request = request_of(acting, posting, idempotency_key(acting))
        found = call.services.acceptor.accept(request)
        stored = found if isinstance(found, Replay | Mismatch) else accepted(found)
    except Problem:
        # What was valid when it was accepted may no longer be; the first answer is given all the same.
        before = earlier(acting, 202)
        if before is None:
            raise
        return _taken(door, posting, before.body, replayed=True)
    if isinstance(stored, Mismatch):
        raise Problem("idempotency_mismatch")
    return _taken(door, posting, stored.answer, replayed=isinstance(stored, Replay))


def _taken(door: Door, posting: Posting, answer: str, *, replayed: bool) -> Answer:
    job = str(json.loads(answer)["job_id"])
    said = door.answer([DoorTaken(posting, job)])
    again = {"Idempotency-Replayed": "true"} if replayed else {"Location": f"/batches/{job}"}
    return Answer(said.status, said.body, {**said.headers, **again})


def _refused(voice: Voice, found: Problem, request_id: str) -> Answer:
    """Return a problem in a vendor's form. Its header leads to our own page about it."""
    refusal = refusal_of(found, request_id)
    status = voice.status(found.code, found.status)
    return Answer(status, voice.refused(refusal), {**found.headers, "Link": f'<{refusal.help}>; rel="help"'})


def _form(voice: Voice) -> Form:
    return Form(voice.refusal, lambda code: voice.status(code, CODES[code][0]), partial(_refused, voice))


def _route(door: Door) -> Route:
    def handler(call: Call[Nothing, Any]) -> Answer:
        return post_all(door, door.several, call) if door.several else post(door, call)

    return Route(
        method="POST",
        path=door.path,
        name=door.name,
        summary=door.summary,
        description=door.description,
        scope=Scope.SEND,
        handler=handler,
        body=door.body,
        answers=dict.fromkeys(door.statuses, Nothing),
        problems=(
            *("account_suspended", "from_not_allowed", "no_valid_recipient", "too_many_in_message", "no_route"),
            *("quota_exceeded", "too_many_schedules"),
        ),
        idempotent=True,
        form=_form(door.voice),
        headers=door.headers,
        tag=TAG,
        while_suspended=True,  # it asks with the sender's right
        key_header=door.key_header,
        brief=door.brief,
    )


_POSTS: Final[tuple[Route, ...]] = tuple(_route(door) for door in doors())
_LISTS: Final[tuple[Route, ...]] = tuple(route for x in lists() for route in routes_of(x, _form(x.voice)))
ROUTES: Final[tuple[Route, ...]] = (*_POSTS, *_LISTS)
_FORMS: Final[Mapping[str, Form]] = {route.path: route.form for route in ROUTES if route.form is not None}


def form_of(segments: Sequence[str]) -> Form | None:
    """Return the form of a path's problems, also of those that are found before the route is; None: this API's own.

    Args:
        segments: of the path, without slashes at its ends.
    """
    return next((form for path, form in _FORMS.items() if matches(path, segments)), None)
