"""Requests of other services' clients that hold several messages: each becomes a job of its own, side by side.

There is no transaction over them. A message has an idempotency key made of the request's and its place. So a request
that is repeated sends what was not taken before, and nothing twice.
"""

import json
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from pydantic import ValidationError

from functions.api.call import Call
from functions.api.declined import accepted
from functions.api.doors.reading import posting_of, refusal_of, request_of
from shared.domain.content.posting import Posting
from shared.domain.ids import new_id
from shared.engine.intake.accept import BatchRequest
from shared.frozen import dataclass
from shared.ports import Mismatch, Replay, Retriable
from shared.providers.doors import Door, DoorRefusal, DoorTaken, Several
from shared.web.http import Answer
from shared.web.idempotency import fingerprint_of, idempotency_key, record_of
from shared.web.problems import Problem, invalid, of_validation
from shared.web.routing import Nothing

AT_ONCE: Final = 16
"""Messages that are read, or stored, at once: a message waits for DynamoDB most of its time."""
BESIDE: Final = "\n"
"""Between a request's key and a message's place: no client's key has it."""
_OF_ALL: Final = frozenset({"account_suspended", "no_route"})
"""Codes of problems that each message of an account has."""


@dataclass(frozen=True, slots=True)
class _Ready:
    """A message that may be stored."""

    posting: Posting
    request: BatchRequest


@dataclass(frozen=True, slots=True)
class _Kept:
    """A message that a request with the same key has had taken already. `job`: its id."""

    posting: Posting
    job: str


def post_all(door: Door, several: Several, call: Call[Nothing, Any]) -> Answer:
    """Accept each message of a request that may be sent, and return the result of each.

    Args:
        call: the request: a list of any values.
    """
    items, key = _items(several, call), idempotency_key(call)
    together = several.together(call.request.headers)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        read = list(pool.map(lambda n: _read(door, several, call, items[n], _key(key, n)), range(len(items))))
        _raise_first(read, None if together else _OF_ALL)
        if any(isinstance(x, _Ready) for x in read):
            _claim(call)
        found = list(pool.map(lambda x: _stored(call, x), read))
    if together:
        _raise_rest(found)
    said = door.answer([_result(call, x) for x in found])
    again = {"Idempotency-Replayed": "true"} if all(isinstance(x, _Kept) for x in found) else {}
    return Answer(said.status, said.body, {**said.headers, **again})


def _items(several: Several, call: Call[Nothing, Any]) -> Sequence[Any]:
    """Return the messages of a request; Problem for none or too many."""
    items: Sequence[Any] = call.body.root
    if not items:
        raise invalid("", "Send at least one message.")
    if len(items) > several.most:
        text = f"A request has at most {several.most} messages."
        raise Problem("too_many_recipients", text, errors=[("", text)])
    return items


def _result(call: Call[Nothing, Any], found: "DoorTaken | _Kept | Problem") -> DoorTaken | DoorRefusal:
    if isinstance(found, Problem):
        return refusal_of(found, call.request.id)
    return DoorTaken(found.posting, found.job)


def _key(key: str, place: int) -> str:
    return f"{key}{BESIDE}{place}" if key else ""


def _claim(call: Call[Nothing, Any]) -> None:
    """Note that the key is this request's, before anything is stored: another one with it changes nothing."""
    record = record_of(call, "{}")
    if record is not None and isinstance(call.services.answers.keep(record, new_id(record.expires)), Mismatch):
        raise Problem("idempotency_mismatch")


def _read(door: Door, several: Several, call: Call[Nothing, Any], item: Any, key: str) -> _Ready | _Kept | Problem:
    """Return a message as a job to be stored, or what is wrong with it."""
    try:
        body = several.item.model_validate(item)
    except ValidationError as error:
        return of_validation(error, several.item)
    try:
        posting = posting_of(door, body)
    except Problem as found:
        return found
    try:
        return _Ready(posting, request_of(call, posting, key))
    except Problem as found:
        # What was valid when it was taken may no longer be: its first answer is given all the same.
        before = call.services.answers.earlier(call.key.account, key, fingerprint_of(call)) if key else None
        return _Kept(posting, _job(before.answer)) if isinstance(before, Replay) else found


def _stored(call: Call[Nothing, Any], found: _Ready | _Kept | Problem) -> "DoorTaken | _Kept | Problem":
    """Store a message, or return why it is not taken."""
    if not isinstance(found, _Ready):
        return found
    try:
        stored = call.services.acceptor.accept(found.request)
        made = stored if isinstance(stored, Replay | Mismatch) else accepted(stored)
    except Problem as refused:
        return refused
    except Retriable:
        return Problem("try_again")
    if isinstance(made, Mismatch):
        return Problem("idempotency_mismatch")
    if isinstance(made, Replay):
        return _Kept(found.posting, _job(made.answer))
    return DoorTaken(found.posting, made.job.id)


def _job(answer: str) -> str:
    return str(json.loads(answer)["job_id"])


def _raise_first(read: Sequence[object], codes: Collection[str] | None) -> None:
    """Raise the first problem, with its message's place. `codes`: of those that are raised; None: all."""
    for n, found in enumerate(read):
        if isinstance(found, Problem) and (codes is None or found.code in codes):
            errors = [(f"{n}.{e.field}".rstrip("."), e.message) for e in found.field_errors]
            raise Problem(found.code, found.detail, errors, found.headers, found.facts)


def _raise_rest(found: Sequence[object]) -> None:
    """Raise the first problem of messages that had to be taken together, and say which were taken before it."""
    refused = next((x for x in found if isinstance(x, Problem)), None)
    if refused is None:
        return
    taken = ", ".join(str(n) for n, x in enumerate(found) if not isinstance(x, Problem))
    rest = f" These were taken, by place: {taken}. Repeat the request with its Idempotency-Key." if taken else ""
    said = f"{refused.sentence}{rest}"
    raise Problem(refused.code, said, [("", said)], headers=refused.headers, facts=refused.facts)
