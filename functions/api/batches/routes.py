"""Batches: one e-mail to many recipients, each of whom gets a message of their own."""

from collections.abc import Iterator
from typing import Any, Final

from functions.api.batches.labels import BatchRecipient, Recipients
from functions.api.call import Call
from functions.api.campaigns.rules import by_name, owned_template
from functions.api.declined import accepted
from functions.api.jobs.hours import hours_of
from functions.api.jobs.routes import NARROWED, lister, operations, owned, reader
from functions.api.requests import NewBatch
from functions.api.views import AcceptedBatch, JobPage, JobView
from shared.contracts import Routing
from shared.domain.accounts import Scope
from shared.domain.campaigns.campaign import StoredTemplate
from shared.domain.channels.lookup import channel_of
from shared.domain.content.content import Attachment
from shared.domain.jobs.job import BATCH, OnAmbiguous, Policy
from shared.domain.jobs.labels import Labels
from shared.engine.intake.request import OwnPart, SendRequest, Source
from shared.ports import Mismatch, Replay
from shared.web.http import Answer
from shared.web.idempotency import fingerprint_of, idempotency_key, repeat_or_raise, repeated
from shared.web.problems import Problem, invalid
from shared.web.routing import Nothing, Route, section


def create(call: Call[Nothing, NewBatch]) -> Answer:
    """Accept a batch. Nothing is stored unless it is accepted."""
    if call.body.urgent and Scope.URGENT not in call.key.scopes:
        raise Problem("missing_scope", f"`urgent` needs an API key with the scope `{Scope.URGENT.value}`.")
    key = idempotency_key(call)
    fingerprint = fingerprint_of(call)
    try:
        request = accepted(call.services.intake.batch(asked(call, key, fingerprint)))
        found = call.services.acceptor.accept(request)
        if isinstance(found, Replay | Mismatch):
            return repeated(found, 202)
        stored = accepted(found)
    except Problem as problem:
        # What was valid when it was accepted may no longer be: a sender taken away, an address suppressed, a time gone
        # by. The first answer stands all the same. Looked up only here, since acceptance looks too.
        return repeat_or_raise(call, 202, problem)
    return Answer(202, stored.answer, {"Location": f"/batches/{stored.job.id}"})


def asked(call: Call[Nothing, NewBatch], key: str, fingerprint: str) -> SendRequest:
    """Return the send request that a batch makes.

    Args:
        key: the request's Idempotency-Key; empty if there is none.
        fingerprint: the hash of the request's body, compared when the key is repeated.
    """
    body = call.body
    attachments = (Attachment(a.filename, a.content_type, a.data, a.content_id) for a in body.attachments or ())
    return SendRequest(
        source=Source.BATCH,
        account=call.key.account,
        test=call.key.test,
        by=call.key.id,
        sender=body.from_ or "",
        to=_addresses(body.to),
        own=dict(_owned(body.to)),
        template=_template(call),
        params=_params("params", body.params),
        labels=_labels(body),
        subject=body.subject or "",
        policy=_policy(body),
        html=body.body or "",
        text=_text(body),
        reply_to=body.reply_to,
        cc=body.cc,
        bcc=body.bcc,
        headers=body.headers or {},
        attachments=tuple(attachments),
        unsubscribe=body.unsubscribe,
        route=body.route,
        routing=Routing(body.routing) if body.routing else None,
        scheduled_at=body.scheduled_at,
        name=body.name or "",
        idempotency_key=key,
        fingerprint=fingerprint,
        channel=body.channel,
        speech=body.voice.speech() if body.voice else None,
        region=_region(call),
        hours=hours_of(body.hours),
        urgent=body.urgent,
    )


def _addresses(to: Recipients) -> str | list[str]:
    return to if isinstance(to, str) else [one.address if isinstance(one, BatchRecipient) else one for one in to]


def _owned(to: Recipients) -> Iterator[tuple[int, OwnPart]]:
    """Yield what is a recipient's own, with its place in the list."""
    for place, one in enumerate(to if isinstance(to, list) else ()):
        if isinstance(one, BatchRecipient):
            yield place, OwnPart(_params(f"to.{place}.params", one.params), one.metadata or {})


def _params(field: str, given: dict[str, str] | None) -> dict[str, str]:
    return by_name(field, given) if given else {}


def _template(call: Call[Nothing, NewBatch]) -> StoredTemplate | None:
    """Return the stored template that a batch names; None if it names none."""
    body = call.body
    if body.template_id is None:
        if body.template_version is not None:
            raise invalid("template_version", "Give it with `template_id`.")
        return None
    try:
        return owned_template(call, body.template_id, body.template_version)
    except Problem as problem:
        if problem.code != "not_found":
            raise
        raise invalid("template_id", "This account has no such template, or not this version of it.") from None


def _labels(body: NewBatch) -> Labels:
    return Labels(body.reference or "", tuple(body.tags or ()), body.metadata or {})


def _text(body: NewBatch) -> str:
    if body.voice is None:
        return body.text or ""
    if body.text is not None:
        raise Problem("validation_failed", errors=[("text", "Give either `text` or `voice`.")])
    return body.voice.say


def _region(call: Call[Nothing, NewBatch]) -> str:
    """Return the country of numbers without a country code: the account's, empty if it has none or for e-mail."""
    account = call.services.accounts.get(call.key.account) if channel_of(call.body.channel).numbers else None
    return account.region if account else ""


def override(call: Call[Nothing, Nothing]) -> Answer:
    """Let a batch be sent from now on, however many messages bounce."""
    call.services.control.override_guard(owned(call, BATCH)[0], by=call.key.id)
    return _read(call)


def _policy(body: NewBatch) -> Policy:
    given: dict[str, Any] = {}
    if body.retry_on is not None:
        given["retry_on"] = tuple(body.retry_on)
    if body.deferred_after is not None:
        given["deferred_after"] = body.deferred_after
    return Policy(max_attempts=body.max_attempts, on_ambiguous=OnAmbiguous(body.on_ambiguous), **given)


_read: Final = reader(BATCH)

ROUTES: Final = section(
    "Batches",
    Route(
        method="POST",
        path="/batches",
        name="createBatch",
        summary="Send one message to many recipients",
        description="Each recipient gets a message of their own and never sees the others. The same normalised address "
        "twice is one message. An invalid or suppressed recipient is a message in state `skipped` and never fails "
        "the call.",
        scope=Scope.SEND,
        handler=create,
        answers={202: AcceptedBatch},
        problems=(
            "account_suspended",
            "channel_not_open",
            "credential_not_found",
            "from_not_allowed",
            "no_valid_recipient",
            "too_many_recipients",
            "cc_needs_one_recipient",
            "too_many_in_message",
            "no_route",
            "country_not_allowed",
            "quota_exceeded",
            "too_many_schedules",
        ),
        idempotent=True,
        while_suspended=True,  # it asks with the sender's right
    ),
    Route(
        method="GET",
        path="/batches",
        name="listBatches",
        summary="Batches, newest first",
        description=NARROWED,
        scope=Scope.READ,
        handler=lister(("batch",)),
        answers={200: JobPage},
        problems=("bad_cursor",),
    ),
    *operations("/batches/{id}", "Batch", "batch"),
    Route(
        method="POST",
        path="/batches/{id}/override-bounce-guard",
        name="overrideBatchBounceGuard",
        summary="Turn off the bounce guard",
        description="Permanent. If the guard stopped the batch, it stays stopped until you resume it.",
        scope=Scope.SEND,
        handler=override,
        answers={200: JobView},
        problems=("not_found",),
    ),
)
