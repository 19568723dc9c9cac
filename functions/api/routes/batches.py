"""Batches: one e-mail to many recipients, each of whom gets a message of their own."""

import hashlib
import re
from typing import Any, Final

from functions.api.composing import compose
from functions.api.http import Answer
from functions.api.models import NewBatch, Paging
from functions.api.problems import Problem
from functions.api.routes.jobs import lister, operations
from functions.api.routing import AnyRoute, Call, Nothing, Route
from functions.api.views import AcceptedBatch, JobPage
from shared.domain.accounts import Scope
from shared.ports import Mismatch, Replay

_KEY: Final = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?")


def create(call: Call[Nothing, NewBatch]) -> Answer:
    """Accept a batch. Nothing is stored unless it is accepted."""
    key = idempotency_key(call)
    fingerprint = hashlib.sha256(b"POST /batches\0" + call.request.body).hexdigest()
    try:
        request = compose(call, key, fingerprint)
    except Problem:
        # What was valid when it was accepted may no longer be: a sender taken away, an address suppressed, a time gone
        # by. The first answer stands all the same. Looked up only here, since acceptance looks too.
        earlier = call.services.answers.earlier(call.key.account, key, fingerprint) if key else None
        if earlier is None:
            raise
        return _repeated(earlier)
    accepted = call.services.acceptor.accept(request)
    if isinstance(accepted, Replay | Mismatch):
        return _repeated(accepted)
    return Answer(202, accepted.answer, {"Location": f"/batches/{accepted.job.id}"})


def idempotency_key(call: Call[Any, Any]) -> str:
    """Return the request's Idempotency-Key, or empty; Problem bad_idempotency_key.

    Those of test and live keys are kept apart: what was tried out does not stand in the way of the real thing.
    """
    key = call.request.headers.get("idempotency-key")
    if key is None:
        return ""
    if not _KEY.fullmatch(key):
        raise Problem("bad_idempotency_key")
    return f"{'test' if call.key.test else 'live'}:{key}"


def _repeated(found: Replay | Mismatch) -> Answer:
    if isinstance(found, Mismatch):
        raise Problem("idempotency_mismatch")
    return Answer(202, found.answer, {"Idempotency-Replayed": "true"})


ROUTES: Final[tuple[AnyRoute, ...]] = (
    Route(
        method="POST",
        path="/batches",
        name="createBatch",
        tag="Batches",
        summary="Send one e-mail to many recipients",
        description="Each recipient gets a message of their own and never sees the others. The same normalised address "
        "twice is one message. An invalid or suppressed recipient is a message in state `skipped` and never fails "
        "the call.",
        scope=Scope.SEND,
        handler=create,
        query=Nothing,
        body=NewBatch,
        answers={202: AcceptedBatch},
        problems=(
            "account_suspended",
            "credential_not_found",
            "from_not_allowed",
            "no_valid_recipient",
            "too_many_recipients",
            "cc_needs_one_recipient",
            "no_route",
        ),
        body_required=True,
        idempotent=True,
    ),
    Route(
        method="GET",
        path="/batches",
        name="listBatches",
        tag="Batches",
        summary="Batches, newest first",
        scope=Scope.READ,
        handler=lister(("batch",)),
        query=Paging,
        body=Nothing,
        answers={200: JobPage},
        problems=("bad_cursor",),
    ),
    *operations("/batches/{id}", "Batch", "Batches", "batch"),
)
