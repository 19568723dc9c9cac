"""Digest policies: how the events of batch keys with a prefix are collected, and how their digests look."""

from typing import Any, Final

from functions.api.call import Call, now_of
from functions.api.campaigns.views import Deleted
from functions.api.declined import accepted
from functions.api.digests.requests import DigestPolicyBody
from functions.api.digests.views import DigestPolicyPage, DigestPolicyView, DigestPreview, preview_of
from shared.domain.accounts import Scope
from shared.domain.digests.policy import DigestPolicy
from shared.domain.digests.samples import preview as sample
from shared.engine.digests.policies import MAX_PREFIX, PolicyDraft
from shared.ports import Idempotency, Mismatch, Replay
from shared.web import cursors
from shared.web.http import Answer
from shared.web.idempotency import earlier, record_of, repeated
from shared.web.inputs import Paging
from shared.web.problems import missing
from shared.web.routing import Nothing, Route, section


def put(call: Call[Nothing, DigestPolicyBody]) -> Answer:
    """Store a policy as a whole."""
    before = earlier(call, 200)
    if before is not None:
        return before
    body = call.body
    draft = PolicyDraft(
        account=call.key.account,
        test=call.key.test,
        prefix=_prefix(call),
        sender=body.from_,
        route=body.route,
        settings=body.settings,
    )

    def record(made: DigestPolicy) -> Idempotency | None:
        return record_of(call, DigestPolicyView.model_validate(made).model_dump_json())

    service = call.services.digests().policy_service
    saved = service.save(draft, by=call.key.id, record=record)
    if isinstance(saved, Replay | Mismatch):
        return repeated(saved, 200)
    return DigestPolicyView.model_validate(accepted(saved)).answer()


def pages(call: Call[Paging, Nothing]) -> Answer:
    """Return a page of policies, by prefix."""
    store = call.services.digests().policies
    found, after = store.page(call.key.namespace, after=cursors.digests(call), limit=call.query.limit)
    items = [DigestPolicyView.model_validate(x) for x in found if not x.deleted]
    return DigestPolicyPage(items=items, next_cursor=cursors.seal(call, after)).answer()


def read(call: Call[Nothing, Nothing]) -> Answer:
    """Return a policy."""
    return DigestPolicyView.model_validate(_owned(call)).answer()


def preview(call: Call[Nothing, Nothing]) -> Answer:
    """Return the message that a policy makes of made-up events."""
    policy = _owned(call)
    return preview_of(sample(policy, now_of(call)), policy.channel).answer()


def delete(call: Call[Nothing, Nothing]) -> Answer:
    """Delete a policy."""
    prefix = _there(call)
    service = call.services.digests().policy_service
    accepted(service.delete(call.key.namespace, prefix, by=call.key.id), absent=missing("digest policy", prefix))
    return Deleted(deleted=True).answer()


def _owned(call: Call[Any, Any]) -> DigestPolicy:
    prefix = _there(call)
    found = call.services.digests().policies.get(call.key.namespace, prefix)
    if found is None or found.deleted:
        raise missing("digest policy", prefix)
    return found


def _there(call: Call[Any, Any]) -> str:
    """Return the prefix that the path names; Problem if it is longer than that of any policy, and than a key may be."""
    prefix = _prefix(call)
    if len(prefix.encode()) > MAX_PREFIX:
        raise missing("digest policy", prefix)
    return prefix


def _prefix(call: Call[Any, Any]) -> str:
    """Return the prefix that the path names; a slash at the path's end is its own."""
    ends = call.request.slash and call.request.segments[-1] != "preview"
    return call.path["prefix"] + ("/" if ends else "")


ROUTES: Final = section(
    "Digest policies",
    Route(
        method="GET",
        path="/digest-policies",
        name="listDigestPolicies",
        summary="Digest policies, sorted by prefix",
        scope=Scope.READ,
        handler=pages,
        answers={200: DigestPolicyPage},
        problems=("bad_cursor",),
    ),
    Route(
        method="GET",
        path="/digest-policies/{prefix}/preview",
        name="previewDigestPolicy",
        summary="The message about five made-up events",
        scope=Scope.READ,
        handler=preview,
        answers={200: DigestPreview},
        problems=("not_found",),
    ),
    Route(
        method="GET",
        path="/digest-policies/{prefix}",
        name="getDigestPolicy",
        summary="A digest policy",
        scope=Scope.READ,
        handler=read,
        answers={200: DigestPolicyView},
        problems=("not_found",),
    ),
    Route(
        method="PUT",
        path="/digest-policies/{prefix}",
        name="putDigestPolicy",
        summary="Create or replace a digest policy",
        description="It replaces the policy as a whole. Open windows keep the version that they were opened with. The "
        "policy of a batch key is the one with the longest prefix of the key, as text. A prefix does not end in "
        "`/preview`.",
        scope=Scope.ADMIN,
        handler=put,
        answers={200: DigestPolicyView},
        problems=(
            *("account_suspended", "channel_not_open", "credential_not_found", "from_not_allowed"),
            *("invalid_template", "no_route"),
        ),
        body_required=True,
        idempotent=True,
    ),
    Route(
        method="DELETE",
        path="/digest-policies/{prefix}",
        name="deleteDigestPolicy",
        summary="Delete a digest policy",
        description="Open windows keep its last version. New events of its batch keys need another policy.",
        scope=Scope.ADMIN,
        handler=delete,
        answers={200: Deleted},
        problems=("not_found",),
    ),
)
