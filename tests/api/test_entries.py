"""Every operation that changes something leaves exactly one entry in the audit log: by which key, of what, and where.

A new operation of the OpenAPI document fails until it is in `DEEDS`, or in `NO_ENTRY` with its reason.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from functions.api.openapi import FILE
from shared.domain.audit import EVERYONE, Act, Event, Log
from shared.domain.namespaces import namespaces_of
from shared.domain.recipients.address_names import person
from shared.domain.recipients.addresses import address_hash
from shared.domain.recipients.suppressions import Reach
from tests.api.approving import desk
from tests.api.conftest import SENDER, Api
from tests.api.senders import claimed
from tests.api.test_apart import BODIES
from tests.api.test_programs import template

CHANGING: Final = {
    operation["operationId"]: (method.upper(), path)
    for path, methods in json.loads(FILE.read_text(encoding="utf-8"))["paths"].items()
    for method, operation in methods.items()
    if method != "get"
}
MESSAGES: Final = "it takes messages, which are traffic; their job names the key, and each hour has one entry"
RECIPIENTS: Final = "it is for recipients, who have no key; what they undo has an entry of its own"
NO_ENTRY: Final = {
    **dict.fromkeys(("createBatch", "sendMailAsSendGrid", "postMail", "createMail", "commitMail"), MESSAGES),
    **dict.fromkeys(("sendEmailAsPostmark", "sendBatchAsPostmark", "sendEmailAsResend", "sendBatchAsResend"), MESSAGES),
    "postEvents": "it takes events, which are traffic: each hour has one entry",
    "putMessages": "it takes records of a notifier, which are traffic: each hour has one entry",
    "postProviderEvents": "it takes reports of providers, which are traffic",
    "endPendingDelivery": "it answers one delivery of a command that listens, which is traffic",
    "createUpload": "it gives a place for a file; the list has its entry when its file is there",
    "createAccessToken": "it gives a sealed text and stores nothing; the key's last use is noted",
    **dict.fromkeys(("unsubscribe", "undoUnsubscription"), RECIPIENTS),
}
"""Operations without an entry of a key → why."""
ADDRESS: Final = "ann@example.org"
SAID: Final = {"from": SENDER, "subject": "Another", "body": "<p>Another</p>"}
LATER: Final = {"scheduled_at": "2026-09-23T00:00:00Z"}
TRIAL: Final = {"recipient": ADDRESS, "params": {"name": "Ann"}}


@dataclass(frozen=True)
class Deed:
    """What an operation is done to.

    Attributes:
        act: the kind of the entry.
        subject: of the entry; empty: the new id in the answer.
        names: parameters of the path.
        body: of the request; None: that of the examples.
        beside: kinds of entries of what follows from it.
    """

    act: Act
    subject: str = ""
    names: Mapping[str, str] | None = None
    body: Any = None
    beside: tuple[Act, ...] = ()


Prepared = Callable[[Api], Deed]


def _new(act: Act, subject: str = "", body: Any = None) -> Prepared:
    """Return a deed that makes something."""
    return lambda _: Deed(act, subject, body=body)


def _draft(act: Act, body: Any = None) -> Prepared:
    def deed(api: Api) -> Deed:
        name = api.campaign()
        return Deed(act, name, {"id": name}, body)

    return deed


def _kept(api: Api) -> Deed:
    name, other = api.campaign(), api.campaign()
    api.listed(other, {"recipient": "ann@example.org", "name": "Ann"})
    return Deed(Act.LIST_ADDED, name, {"id": name}, {"list_of": other})


def _completed(api: Api) -> Deed:
    name = api.campaign()
    upload = api.call("POST", f"/campaigns/{name}/uploads", {}).json["upload_id"]
    api.lists.files.put(f"uploads/{api.account}/{name}/{upload}", b"recipient,name\r\nann@example.org,Ann\r\n")
    return Deed(Act.LIST_ADDED, name, {"id": name, "upload_id": upload}, {})


def _withdrawn(api: Api) -> Deed:
    name = api.campaign()
    return Deed(Act.LIST_WITHDRAWN, name, {"id": name, "upload_id": api.listed(name)})


def _ready(api: Api) -> Deed:
    name = api.campaign()
    return Deed(Act.JOB_CREATED, api.listed(name), {"id": name}, {})


def _campaign(act: Act, *, stopped: bool = True) -> Prepared:
    """Return a deed at a campaign whose only list was sent."""

    def deed(api: Api) -> Deed:
        name = api.campaign()
        api.listed(name)
        job = api.sent(name)
        if stopped:
            assert api.call("POST", f"/campaigns/{name}/stop").status == 200
            api.world.settle()
        return Deed(act, job, {"id": name}, {})

    return deed


def _job(act: Act, *, stopped: bool = True) -> Prepared:
    def deed(api: Api) -> Deed:
        job = api.accepted()
        if stopped:
            assert api.call("POST", f"/jobs/{job}/stop").status == 200
            api.world.settle()
        return Deed(act, job, {"id": job}, {})

    return deed


def _scheduled(api: Api) -> Deed:
    job = api.accepted(scheduled_at="2026-09-22T00:00:00Z")
    return Deed(Act.JOB_STOPPED, job, {"id": job})


def _later(api: Api) -> Deed:
    job = api.accepted(scheduled_at="2026-09-22T00:00:00Z")
    return Deed(Act.JOB_RESCHEDULED, job, {"id": job}, LATER)


def _later_campaign(api: Api) -> Deed:
    name = api.campaign()
    api.listed(name)
    job = api.sent(name, scheduled_at="2026-09-22T00:00:00Z")
    return Deed(Act.JOB_RESCHEDULED, job, {"id": name}, LATER)


def _template(act: Act) -> Prepared:
    def deed(api: Api) -> Deed:
        name = api.call("POST", "/templates", BODIES["POST", "/templates"]).json["template_id"]
        return Deed(act, name, {"id": name}, SAID)

    return deed


def _image(api: Api) -> Deed:
    name = api.call("POST", "/images", BODIES["POST", "/images"]).json["id"]
    return Deed(Act.IMAGE_DELETED, name, {"id": name})


def _window(act: Act) -> Prepared:
    def deed(api: Api) -> Deed:
        _policy(act)(api)
        name = api.call("POST", "/events", BODIES["POST", "/events"]).json["items"][0]["window_id"]
        return Deed(act, name, {"window_id": name})

    return deed


def _policy(act: Act) -> Prepared:
    def deed(api: Api) -> Deed:
        assert api.call("PUT", "/digest-policies/acme/", {"from": SENDER}).status == 200
        return Deed(act, "acme/", {"prefix": "acme/"}, {"from": SENDER, "max_events": 5})

    return deed


def _mail(act: Act) -> Prepared:
    def deed(api: Api) -> Deed:
        body = {**BODIES["POST", "/mails"], "destinations": [{"address": ADDRESS}]}
        name = api.call("POST", "/mails", body).json["mail_id"]
        later = datetime.fromtimestamp(api.world.clock.now(), UTC) + timedelta(minutes=10)
        return Deed(act, name, {"mail_id": name, "address": ADDRESS}, {"at": later.isoformat()})

    return deed


def _hook(act: Act, body: Any = None) -> Prepared:
    """Return a deed at an endpoint that is proven."""

    def deed(api: Api) -> Deed:
        name = api.call("POST", "/hooks", BODIES["POST", "/hooks"]).json["id"]
        api.hooks.prove(name)
        return Deed(act, name, {"hook_id": name, "delivery_id": api.hooks.over(name).name}, body)

    return deed


def _notifier(act: Act, body: Any = None) -> Prepared:
    def deed(api: Api) -> Deed:
        api.notifier()
        return Deed(act, "clinic", {"name": "clinic"}, body)

    return deed


def _program(act: Act, *, there: bool = True) -> Prepared:
    def deed(api: Api) -> Deed:
        steps = [{"template_id": template(api), "offset_days": 1}]
        if there:
            assert api.call("POST", "/programs", {"name": "course", "steps": steps}).status == 201
        other = [{"template_id": template(api), "offset_days": 2}]
        return Deed(act, "course", {"program": "course"}, {"steps": other} | ({} if there else {"name": "course"}))

    return deed


def _suppressed(reach: Reach) -> Prepared:
    """Return a deed at an address that a message has led into a list."""

    def deed(api: Api) -> Deed:
        api.world.records.suppress(api.account, ADDRESS, "bounced", api.world.clock.ms, reach=reach, job="j")
        return Deed(Act.SUPPRESSION_REMOVED, person(address_hash(ADDRESS)), {"address": ADDRESS})

    return deed


def _person(act: Act, path: str = "") -> Prepared:
    """Return a deed at an address. `path`: where it is put before."""

    def deed(api: Api) -> Deed:
        if path:
            assert api.call("PUT", f"{path}/{ADDRESS}").status == 200
        return Deed(act, person(address_hash(ADDRESS)), {"address": ADDRESS})

    return deed


def _domain(act: Act) -> Prepared:
    def deed(api: Api) -> Deed:
        (domain,) = claimed(api)
        return Deed(act, domain, {"domain": domain})

    return deed


def _asked(act: Act) -> Prepared:
    """Return a decision about a campaign that another key has asked for."""

    def deed(api: Api) -> Deed:
        other = desk(api)
        body = {"approval_id": other.waiting()}
        return Deed(act, other.campaign, {"id": other.campaign}, body, beside=(Act.JOB_CREATED,))

    return deed


def _proposed(act: Act) -> Prepared:
    """Return a decision about a looser limit that another key has proposed."""

    def deed(api: Api) -> Deed:
        found = api.call("PUT", "/approval-limit", {"above": 10}, key=desk(api).asks)
        return Deed(act, api.account, {}, {"approval_id": found.json["proposal"]["approval_id"]})

    return deed


def _limit(api: Api) -> Deed:
    return Deed(Act.LIMIT_SET, api.account, {}, {"above": 100})


DEEDS: Final[Mapping[str, Prepared]] = {
    "createCampaign": _new(Act.CAMPAIGN_CREATED),
    "changeCampaign": _draft(Act.CAMPAIGN_CHANGED, {"name": "Another"}),
    "deleteCampaign": _draft(Act.CAMPAIGN_DELETED),
    "putCampaignTemplate": _draft(Act.CAMPAIGN_CHANGED, SAID),
    "completeUpload": _completed,
    "deleteUpload": _withdrawn,
    "putRecipients": _draft(Act.LIST_ADDED),
    "useList": _kept,
    "testCampaign": _draft(Act.CAMPAIGN_TESTED, TRIAL),
    "sendCampaign": _ready,
    "stopCampaign": _campaign(Act.JOB_STOPPED, stopped=False),
    "retryCampaign": _campaign(Act.JOB_RETRIED),
    "resumeCampaign": _campaign(Act.JOB_RESUMED),
    "overrideBounceGuard": _draft(Act.GUARD_OVERRIDDEN),
    "createTemplate": _new(Act.TEMPLATE_CREATED),
    "putTemplate": _template(Act.TEMPLATE_CHANGED),
    "deleteTemplate": _template(Act.TEMPLATE_DELETED),
    "createImage": _new(Act.IMAGE_ADDED),
    "deleteImage": _image,
    "overrideBatchBounceGuard": _job(Act.BATCH_GUARD_OVERRIDDEN),
    **dict.fromkeys(("stopJob", "stopBatch"), _job(Act.JOB_STOPPED, stopped=False)),
    **dict.fromkeys(("retryJob", "retryBatch"), _job(Act.JOB_RETRIED)),
    **dict.fromkeys(("resumeJob", "resumeBatch"), _job(Act.JOB_RESUMED)),
    "deleteSchedule": _scheduled,
    **dict.fromkeys(("rescheduleJob", "rescheduleBatch"), _later),
    "rescheduleCampaign": _later_campaign,
    "closeDigest": _window(Act.WINDOW_CLOSED),
    "cancelDigest": _window(Act.WINDOW_CANCELLED),
    "putDigestPolicy": _policy(Act.DIGEST_POLICY_CHANGED),
    "deleteDigestPolicy": _policy(Act.DIGEST_POLICY_DELETED),
    "dropDestination": _mail(Act.MAIL_DROPPED),
    "rescheduleDestination": _mail(Act.MAIL_HURRIED),
    "createHook": _new(Act.HOOK_CREATED),
    "createHookListener": _new(Act.HOOK_CREATED, body={}),
    "changeHook": _hook(Act.HOOK_CHANGED),
    "rotateHook": _hook(Act.HOOK_ROTATED),
    "deleteHook": _hook(Act.HOOK_DELETED),
    "testHook": _hook(Act.HOOK_TESTED),
    "retryHookDelivery": _hook(Act.HOOK_RETRIED),
    "replayHook": _hook(Act.HOOK_REPLAYED, {"since": "2026-09-01T00:00:00Z"}),
    "createNotifier": _new(Act.NOTIFIER_CREATED, "theirs"),
    "changeNotifier": _notifier(Act.NOTIFIER_DISABLED),
    "rotateNotifier": _notifier(Act.NOTIFIER_ROTATED),
    "deleteNotifier": _notifier(Act.NOTIFIER_DELETED),
    "createProgram": _program(Act.PROGRAM_CREATED, there=False),
    "putProgram": _program(Act.PROGRAM_CHANGED),
    "deleteProgram": _program(Act.PROGRAM_DELETED),
    "putSuppression": _person(Act.SUPPRESSION_ADDED),
    "deleteSuppression": _person(Act.SUPPRESSION_REMOVED, "/suppressions"),
    "deleteBounceAsSendGrid": _suppressed(Reach.ALL),
    "deleteUnsubscribeAsSendGrid": _suppressed(Reach.CAMPAIGNS),
    "putGuest": _person(Act.GUEST_ADDED),
    "deleteGuest": _person(Act.GUEST_REMOVED, "/guests"),
    "createSender": _new(Act.SENDER_CLAIMED, "theirs.example.net"),
    "verifySender": _domain(Act.SENDER_PROVEN),
    "deleteSender": _domain(Act.SENDER_GIVEN_UP),
    "approveCampaign": _asked(Act.APPROVED),
    "refuseCampaign": _asked(Act.APPROVAL_REFUSED),
    "putApprovalLimit": _limit,
    "approveApprovalLimit": _proposed(Act.LIMIT_SET),
    "refuseApprovalLimit": _proposed(Act.LIMIT_REFUSED),
}
"""Operations → what makes ready what one of them is to be done to."""


def entries(api: Api) -> list[Event]:
    """Return all entries of the account's logs and of the deployment's."""
    owners = (*namespaces_of(api.account), EVERYONE)
    return [x for owner in owners for x in api.services.journal.since(owner, Log.AUDIT, 0)]


def test_each_operation_is_decided_on() -> None:
    assert set(CHANGING) == {*DEEDS, *NO_ENTRY}
    assert not set(DEEDS) & set(NO_ENTRY)


@pytest.mark.promise(7)
@pytest.mark.parametrize("name", DEEDS)
def test_a_change_leaves_one_entry(api: Api, name: str) -> None:
    method, path = CHANGING[name]
    deed = DEEDS[name](api)
    api.world.clock.advance(1)
    before = entries(api)
    body = BODIES.get((method, path)) if deed.body is None else deed.body
    got = api.call(method, path.format(**(deed.names or {})), None if method == "DELETE" else body)
    assert got.status in (200, 201, 202, 204), got.text
    (entry,) = [x for x in entries(api) if x not in before and x.kind not in deed.beside]
    key = api.services.accounts.find_by_key(api.key)
    assert key is not None
    shown = got.json if got.text else {}
    new = next((shown[x] for x in ("campaign_id", "template_id", "id") if x in shown), "")
    assert (entry.kind, entry.actor, entry.id, entry.account) == (deed.act, key.id, deed.subject or new, api.account)
    assert entry.actor not in ("", "system")
