"""Every operation of the OpenAPI document, by a test key at what is live, and by a live key at what is a test key's.

Then: a test key read suppressions, templates, stats and the audit log of live keys, and changed the first two. An
operation that is not in the table fails until it is decided what the two kinds of key see of each other there.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

import pytest

from functions.api.openapi import FILE
from shared.domain.accounts import ALL_SCOPES
from shared.domain.namespaces import TEAM, TEST
from tests.api.conftest import Api, build_api
from tests.api.team import team_key
from tests.api.test_apart import BODIES
from tests.fakes.clock import FakeClock
from tests.fakes.image_files import png

DOCUMENT: Final = json.loads(FILE.read_text(encoding="utf-8"))
OPERATIONS: Final = {
    operation["operationId"]: (method.upper(), path, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}


class Kind(Enum):
    """What an operation has to do with the two kinds of key."""

    OPEN = auto()
    """It needs no key."""
    NOTIFIER = auto()
    """It takes a notifier's password and no key."""
    ACCOUNT = auto()
    """It is about the account as a whole: test keys get nothing of it, team keys read it."""
    SHARED = auto()
    """It shows what the deployment offers, the same to both."""
    OWN = auto()
    """It reads or changes a list of which each kind has its own, or makes something of the caller's kind."""
    NAMED = auto()
    """It names something: of the other kind that does not exist."""
    JOBS = auto()
    """It lists jobs: a live key sees those of both kinds."""
    JOB = auto()
    """It names a job: a live key sees those of both kinds."""


TABLE: Final[Mapping[str, Kind]] = {
    **dict.fromkeys(
        ("getHealth", "getOpenapi", "getDocs", "getErrors", "postProviderEvents", "createAccessToken"), Kind.OPEN
    ),
    **dict.fromkeys(("showUnsubscription", "unsubscribe", "undoUnsubscription"), Kind.OPEN),
    **dict.fromkeys(("listMessageUpdates", "getMessage", "putMessages"), Kind.NOTIFIER),
    "listCredentials": Kind.SHARED,
    **dict.fromkeys(("createNotifier", "listNotifiers"), Kind.OWN),
    **dict.fromkeys(
        ("getNotifier", "changeNotifier", "rotateNotifier", "deleteNotifier", "getNotifierStats"), Kind.NAMED
    ),
    **dict.fromkeys(("createProgram", "listPrograms"), Kind.OWN),
    **dict.fromkeys(("getProgram", "putProgram", "deleteProgram"), Kind.NAMED),
    **dict.fromkeys(("postEvents", "listDigests", "listDigestPolicies"), Kind.OWN),
    **dict.fromkeys(("getDigest", "closeDigest", "cancelDigest"), Kind.NAMED),
    **dict.fromkeys(("getDigestPolicy", "previewDigestPolicy", "putDigestPolicy", "deleteDigestPolicy"), Kind.OWN),
    **dict.fromkeys(("createHook", "listHooks", "createHookListener"), Kind.OWN),
    **dict.fromkeys(("getHook", "changeHook", "rotateHook", "testHook", "deleteHook"), Kind.NAMED),
    **dict.fromkeys(("listHookDeliveries", "getHookDelivery", "retryHookDelivery", "replayHook"), Kind.NAMED),
    **dict.fromkeys(("getPendingDeliveries", "endPendingDelivery"), Kind.NAMED),
    **dict.fromkeys(("postMail", "createMail", "listMails"), Kind.OWN),
    **dict.fromkeys(("getMail", "commitMail", "dropDestination", "rescheduleDestination"), Kind.NAMED),
    **dict.fromkeys(("createBatch", "createCampaign", "createTemplate", "sendMailAsSendGrid"), Kind.OWN),
    **dict.fromkeys(("listCampaigns", "listTemplates", "getStats", "getQuota", "listAudit"), Kind.OWN),
    **dict.fromkeys(("listSuppressions", "getSuppression", "putSuppression", "deleteSuppression"), Kind.OWN),
    **dict.fromkeys(("sendEmailAsPostmark", "sendBatchAsPostmark", "sendEmailAsResend", "sendBatchAsResend"), Kind.OWN),
    **dict.fromkeys(("listBouncesAsSendGrid", "deleteBounceAsSendGrid"), Kind.OWN),
    **dict.fromkeys(("listUnsubscribesAsSendGrid", "deleteUnsubscribeAsSendGrid"), Kind.OWN),
    "listTexts": Kind.OWN,
    **dict.fromkeys(("listGuests", "getGuest", "putGuest", "deleteGuest"), Kind.ACCOUNT),
    **dict.fromkeys(("listSenders", "createSender", "getSender", "verifySender", "deleteSender"), Kind.ACCOUNT),
    **dict.fromkeys(("listBatches", "listJobs", "listSchedules", "listMessages"), Kind.JOBS),
    **dict.fromkeys(("getBatch", "stopBatch", "retryBatch", "resumeBatch", "exportBatch"), Kind.JOB),
    **dict.fromkeys(("rescheduleBatch", "rescheduleJob"), Kind.JOB),
    **dict.fromkeys(("listBatchLogs", "getBatchLog", "deleteSchedule", "overrideBatchBounceGuard"), Kind.JOB),
    **dict.fromkeys(("getJob", "stopJob", "retryJob", "resumeJob", "exportJob", "listJobLogs", "getJobLog"), Kind.JOB),
    **dict.fromkeys(("getCampaign", "changeCampaign", "deleteCampaign", "putCampaignTemplate"), Kind.NAMED),
    **dict.fromkeys(("createUpload", "completeUpload", "getUpload", "deleteUpload"), Kind.NAMED),
    **dict.fromkeys(("putRecipients", "useList"), Kind.NAMED),
    **dict.fromkeys(("previewCampaign", "testCampaign", "sendCampaign", "getCampaignStats"), Kind.NAMED),
    **dict.fromkeys(("listCampaignMessages", "exportCampaign", "overrideBounceGuard"), Kind.NAMED),
    **dict.fromkeys(("stopCampaign", "retryCampaign", "resumeCampaign", "rescheduleCampaign"), Kind.NAMED),
    **dict.fromkeys(("approveCampaign", "refuseCampaign"), Kind.NAMED),
    "listApprovals": Kind.OWN,
    **dict.fromkeys(("getApprovalLimit", "putApprovalLimit"), Kind.ACCOUNT),
    **dict.fromkeys(("approveApprovalLimit", "refuseApprovalLimit"), Kind.ACCOUNT),
    **dict.fromkeys(("createImage", "listImages"), Kind.OWN),
    "deleteImage": Kind.NAMED,
    **dict.fromkeys(("getTemplate", "listTemplateVersions", "putTemplate", "deleteTemplate"), Kind.NAMED),
}
REFUSED: Final = {"createNotifier": 409, "createProgram": 422}
"""Operations that the other kind's things may refuse: a notifier's name is taken, a program's template is not there."""
KEYED: Final = [name for name, kind in TABLE.items() if kind not in (Kind.OPEN, Kind.NOTIFIER, Kind.ACCOUNT)]
OF_NOTIFIERS: Final = [name for name, kind in TABLE.items() if kind is Kind.NOTIFIER]
APART: Final = [name for name in KEYED if TABLE[name] in (Kind.SHARED, Kind.OWN, Kind.NAMED)]


@dataclass(frozen=True)
class Things:
    """What the keys of one kind have.

    Attributes:
        names: ids by the first part of the paths that name them.
        upload: a list of the first campaign.
        address: suppressed, unsubscribed and a recipient.
        notifier: its name.
        window: of events.
        mail: to `address`.
        hook: an endpoint without a URL.
    """

    names: Mapping[str, tuple[str, ...]]
    upload: str
    address: str
    notifier: str
    window: str
    mail: str
    hook: str

    def urls(self, path: str) -> list[str]:
        """Return a path of the document with each of the things that it may name."""
        path = path.replace("{message}", "0.0").replace("{address}", self.address).replace("{upload_id}", self.upload)
        path = path.replace("{prefix}", "acme").replace("{window_id}", self.window)
        path = path.replace("{mail_id}", self.mail).replace("{hook_id}", self.hook)
        path = path.replace("{name}", self.notifier).replace("{program}", self.notifier)
        return [path.replace("{id}", x) for x in self.names[path.split("/")[1]]] if "{id}" in path else [path]

    def in_text(self, text: str) -> set[str]:
        """Return the ids that stand in a text."""
        return {
            x
            for x in (
                *(x for of in self.names.values() for x in of),
                self.upload,
                self.notifier,
                self.window,
                self.mail,
                self.hook,
            )
            if x in text
        }


@dataclass(frozen=True)
class Both:
    """An API, keys of all kinds with every scope, and what they have."""

    api: Api
    tester: str
    member: str
    live: Things
    tests: Things
    team: Things

    def of(self, things: Things) -> dict[str, str]:
        """Return the stored items of a kind as text, by their keys; the live ones are those of no other kind."""
        items = {f"{x['pk']} {x['sk']}": str(x) for x in self.api.stored()}
        tests = {place: x for place, x in items.items() if TEST in x or self.tests.in_text(x)}
        team = {place: x for place, x in items.items() if TEAM in x or self.team.in_text(x)}
        if things is self.live:
            return {k: x for k, x in items.items() if k not in tests and k not in team}
        return tests if things is self.tests else team


def made(api: Api, key: str, address: str) -> Things:
    """Make one of everything."""
    person = {"recipient": address, "name": "Ann"}
    job = api.batch([address], key=key).json["job_id"]
    waiting = api.batch(key=key, scheduled_at="2026-09-22T00:00:00Z").json["job_id"]
    template = api.call("POST", "/templates", BODIES["POST", "/templates"], key=key).json["template_id"]
    campaign, sent = api.campaign(key=key), api.campaign(key=key)
    upload = api.listed(campaign, person, key=key)
    api.listed(sent, person, key=key)
    of_list = api.sent(sent, key=key)
    posted = api.call("POST", "/mails", {**BODIES["POST", "/mails"], "destinations": [{"address": address}]}, key=key)
    mail = posted.json["mail_id"]
    for scope in ("all", "campaigns"):
        assert api.call("PUT", f"/suppressions/{address}", query={"scope": scope}, key=key).status == 200
    notifier = f"clinic-of-{address.partition('@')[0]}"
    made = api.call("POST", "/notifiers", {"name": notifier, "timezone": "UTC"}, key=key)
    assert made.status == 201
    assert api.call("PUT", "/digest-policies/acme", BODIES["PUT", "/digest-policies/{prefix}"], key=key).status == 200
    body = BODIES["POST", "/events"]
    window = api.call("POST", "/events", {**body, "recipients": [address]}, key=key).json["items"][0]["window_id"]
    hook = api.call("POST", "/hooks/listen", {}, key=key).json["id"]
    names = {"batches": (job, waiting), "jobs": (job, of_list), "schedules": (waiting,)}
    picture = {"data": base64.b64encode(png(2, sum(address.encode()))).decode()}
    image = api.call("POST", "/images", picture, key=key).json["id"]
    names |= {"campaigns": (campaign, sent), "templates": (template,), "images": (image,)}
    return Things(names, upload, address, notifier, window, mail, hook)


@pytest.fixture(scope="module")
def both(moto_dynamo: Any) -> Both:
    """Return both kinds with what they have."""
    api = build_api(moto_dynamo, FakeClock())
    tester, _ = api.services.accounts.create_key(api.account, test=True, scopes=ALL_SCOPES)
    member = team_key(api, "tim@example.org", "a@example.org")
    live, tests = made(api, api.key, "ann@example.org"), made(api, tester, "tess@example.org")
    return Both(api, tester, member, live, tests, made(api, member, "tim@example.org"))


def test_the_table_has_every_operation() -> None:
    assert set(TABLE) == set(OPERATIONS)
    assert {name for name, (_, _, x) in OPERATIONS.items() if x.get("security") == []} == {
        name for name, kind in TABLE.items() if kind is Kind.OPEN
    }


@pytest.mark.promise(9)
@pytest.mark.parametrize("name", OF_NOTIFIERS)
def test_no_key_does_what_only_notifiers_may(both: Both, name: str) -> None:
    method, path, _ = OPERATIONS[name]
    before = both.api.stored()
    for key in (both.api.key, both.tester):
        body: list[object] | None = [] if method == "PUT" else None
        assert both.api.call(method, path, body, key=key).status == 401
    assert both.api.stored() == before


@pytest.mark.promise(9)
@pytest.mark.parametrize("name", KEYED)
def test_a_test_key_neither_sees_nor_changes_what_is_live(both: Both, name: str) -> None:
    at(both, name, both.tester, both.live, named=(Kind.NAMED, Kind.JOB))


@pytest.mark.promise(13)
@pytest.mark.parametrize("name", KEYED)
def test_a_team_key_neither_sees_nor_changes_what_is_live(both: Both, name: str) -> None:
    at(both, name, both.member, both.live, named=(Kind.NAMED, Kind.JOB))


@pytest.mark.slow
@pytest.mark.promise(13)
@pytest.mark.parametrize("name", KEYED)
@pytest.mark.parametrize("kind", ["live", "test"])
def test_no_other_key_sees_or_changes_what_is_a_team_key_s(both: Both, name: str, kind: str) -> None:
    key = both.api.key if kind == "live" else both.tester
    at(both, name, key, both.team, named=(Kind.NAMED, Kind.JOB))


@pytest.mark.promise(13)
@pytest.mark.parametrize("name", [name for name, kind in TABLE.items() if kind is Kind.ACCOUNT])
def test_what_is_the_account_s_is_changed_by_live_keys_alone(both: Both, name: str) -> None:
    method, path, _ = OPERATIONS[name]
    url, body = path.replace("{address}", "tim@example.org"), BODIES.get((method, path))
    url = url.replace("{domain}", "example.com")
    both.api.call(method, url, body, key=both.member)  # the audit log has a read once for this hour
    before = both.api.stored()
    both.api.world.clock.advance(1)
    assert both.api.call(method, url, body, key=both.tester).code == "live_key_needed"
    got = both.api.call(method, url, body, key=both.member)
    assert got.status == 200 if method == "GET" else got.code == "live_key_needed"
    assert both.api.stored() == before


@pytest.mark.promise(9)
@pytest.mark.parametrize("name", APART)
def test_a_live_key_sees_only_jobs_of_test_keys(both: Both, name: str) -> None:
    at(both, name, both.api.key, both.tests, named=(Kind.NAMED,))


def at(both: Both, name: str, key: str, others: Things, *, named: tuple[Kind, ...]) -> None:
    """Call an operation at what others have, of which nothing may be seen or changed; of kinds in `named` it is 404."""
    method, path, _ = OPERATIONS[name]
    if "{prefix}" in path:  # each test that deletes takes the caller's own
        put = "PUT", "/digest-policies/{prefix}"
        assert both.api.call("PUT", "/digest-policies/acme", BODIES[put], key=key).status == 200
    both.api.world.clock.advance(0.5)  # for the buckets of requests
    before = both.of(others)
    for url in others.urls(path):
        got = both.api.call(method, url, BODIES.get((method, path)), key=key)
        if TABLE[name] in named or (method == "GET" and "{address}" in path):
            assert (got.status, got.code) == (404, "not_found")
        else:
            assert got.status in (200, 201, 202, 204, REFUSED.get(name)), got.text
        asked = others.in_text(url) if got.status == 404 else set()  # a 404 repeats the id that it was asked for
        assert others.in_text(got.text) <= asked
        assert "{address}" in path or others.address not in got.text
    after = both.of(others)
    assert {place: after.get(place) for place in before} == before


@pytest.mark.promise(9)
def test_a_test_key_s_stats_are_empty_and_no_live_template_is_in_its_campaigns(both: Both) -> None:
    call, tester = both.api.call, both.tester
    assert call("GET", "/stats").json["items"] != []
    assert call("GET", "/stats", key=tester).json["items"] == []
    for key, others in ((tester, both.live), (both.api.key, both.tests)):
        (strange,) = others.names["templates"]
        body = {"name": "x", "channel": "email", "template_id": strange}
        assert call("POST", "/campaigns", body, key=key).code == "not_found"
        own = both.api.campaign(key=key)
        assert call("PUT", f"/campaigns/{own}/template", {"template_id": strange}, key=key).code == "not_found"


def test_a_live_key_sees_the_jobs_of_test_keys(both: Both) -> None:
    for path in ("/batches/{id}", "/jobs/{id}"):
        for url in both.tests.urls(path):
            assert both.api.call("GET", url).json["test"]
