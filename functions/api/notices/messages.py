"""Messages of notifiers: records are stored at once, and each is checked and carried out afterwards."""

import json
from typing import Final

from functions.api.call import Call
from functions.api.notices.requests import NoticePayload
from functions.api.notices.routes import caller
from functions.api.notices.views import ReceivedPayload
from shared.domain.accounts import Scope
from shared.domain.notices.inbox import MAX_RECORDS
from shared.domain.notices.records import unfit
from shared.web.http import Answer
from shared.web.problems import Problem
from shared.web.routing import Nothing, Route, Scheme, section

_LONGEST: Final = 18
"""Digits of the largest integer of a record; a longer one is kept as a text."""


def receive(call: Call[Nothing, NoticePayload]) -> Answer:
    """Store a payload."""
    notifier = caller(call)
    records = json.loads(call.request.body, parse_int=_integer)
    fault = unfit(records, limit=MAX_RECORDS)
    if fault:
        raise Problem("invalid_payload", fault)
    if records:
        call.services.notices().intake.receive(notifier, records)
    return Answer(200, ReceivedPayload(received=len(records)).model_dump_json())


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= _LONGEST else digits


ROUTES: Final = section(
    "Notices",
    Route(
        method="PUT",
        path="/messages",
        name="putMessages",
        summary="Upload records: new messages, updates, cancellations",
        description="The payload is stored as a whole, or not at all. Payloads are processed in the order of their "
        "answers, and records in the order of the array. Send one payload at a time. After a lost answer, a 401, a 429 "
        "or a 5xx, send it again: a repeated record changes nothing. Each record has a check of its own: a fault "
        "shows in the updates, and holds up no other record.",
        scope=Scope.SEND,
        handler=receive,
        answers={200: ReceivedPayload},
        problems=("invalid_payload",),
        schemes=(Scheme.BASIC,),
        refusal="invalid_payload",
    ),
)
