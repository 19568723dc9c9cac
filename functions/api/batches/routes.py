"""Batches: one e-mail to many recipients, each of whom gets a message of their own."""

from typing import Final

from functions.api.batches.rules import compose
from functions.api.call import Call
from functions.api.jobs.routes import SEEN, lister, operations
from functions.api.requests import NewBatch, Paging
from functions.api.views import AcceptedBatch, JobPage
from shared.domain.accounts import Scope
from shared.ports import Mismatch, Replay
from shared.web.http import Answer
from shared.web.idempotency import fingerprint_of, idempotency_key, repeat_or_raise, repeated
from shared.web.problems import Problem
from shared.web.routing import AnyRoute, Nothing, Route


def create(call: Call[Nothing, NewBatch]) -> Answer:
    """Accept a batch. Nothing is stored unless it is accepted."""
    key = idempotency_key(call)
    fingerprint = fingerprint_of(call)
    try:
        request = compose(call, key, fingerprint)
    except Problem as problem:
        # What was valid when it was accepted may no longer be: a sender taken away, an address suppressed, a time gone
        # by. The first answer stands all the same. Looked up only here, since acceptance looks too.
        return repeat_or_raise(call, 202, problem)
    accepted = call.services.acceptor.accept(request)
    if isinstance(accepted, Replay | Mismatch):
        return repeated(accepted, 202)
    return Answer(202, accepted.answer, {"Location": f"/batches/{accepted.job.id}"})


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
        description=SEEN,
        scope=Scope.READ,
        handler=lister(("batch",)),
        query=Paging,
        body=Nothing,
        answers={200: JobPage},
        problems=("bad_cursor",),
    ),
    *operations("/batches/{id}", "Batch", "Batches", "batch"),
)
