"""A key leaks and reads: suppressions, logs, an export with a million addresses. Which of it, and when?

Then: the audit log named only what a key had changed or sent.
"""

from typing import Any

import pytest

from functions.api.operations import ROUTES
from functions.api.personal import EXPORTS, PERSONAL
from functions.console.pages import personal as pages
from functions.console.screens import ROUTES as PAGES
from shared.domain.accounts import Scope
from shared.domain.audit import HOUR_MS, Act, Event, Log
from shared.domain.namespaces import namespace
from shared.ports import Retriable
from shared.web.routing import Route
from tests.api.conftest import Api
from tests.console.console import build_console
from tests.fakes.clock import FakeClock

PLAIN = frozenset(
    {
        *("listBatches", "getBatch", "listCampaigns", "getCampaign", "getCampaignStats", "listJobs", "getJob"),
        *("listApprovals", "getApprovalLimit", "listTemplates", "getTemplate", "listTemplateVersions", "listSchedules"),
        *("listDigests", "getDigest", "listDigestPolicies", "previewDigestPolicy", "getDigestPolicy", "listHooks"),
        *("getHook", "listNotifiers", "getNotifier", "getNotifierStats", "listPrograms", "getProgram", "getStats"),
        *("getQuota", "listImages"),
        *("listSenders", "getSender", "listCredentials", "listAudit"),
    }
)
"""Operations without data of recipients: figures, settings, names of things."""
OF_NOTIFIERS = frozenset({"getMessage", "listMessageUpdates"})
"""Operations by which a notifier reads its own notices."""
READS = {Act.READ, Act.EXPORTED, Act.KEY_REFUSED}


def log(api: Api, account: str = "") -> list[Event]:
    return [x for x in api.services.journal.since(account or api.account, Log.AUDIT, 0) if x.kind in READS]


def test_each_operation_that_reads_is_decided_on() -> None:
    reading = {x.name for x in ROUTES if isinstance(x, Route) and x.method == "GET"}
    assert reading == {*PERSONAL, *EXPORTS, *PLAIN, *OF_NOTIFIERS}
    assert not PERSONAL & PLAIN
    assert {x.name for x in PAGES} >= pages.PERSONAL


@pytest.mark.promise(9)
def test_each_hour_in_which_a_key_reads_personal_data_has_one_entry(api: Api) -> None:
    secret, key = api.services.accounts.create_key(api.account)
    _, other = made = api.services.accounts.create_key(api.account)
    first = api.world.clock.ms
    begins = first - first % HOUR_MS
    for hours in (0, 0, 1):
        api.world.clock.advance(hours * HOUR_MS / 1000)
        for text in (secret, made[0]):
            assert api.call("GET", "/suppressions", key=text).status == 200
    assert api.call("GET", "/jobs", key=secret).status == 200
    found = [(x.kind, x.id, x.at, x.actor) for x in log(api)]
    wanted = [(Act.READ, "listSuppressions", at, who.id) for at in (begins, begins + HOUR_MS) for who in (key, other)]
    assert sorted(found) == sorted(wanted)


@pytest.mark.promise(9)
def test_an_export_names_its_job_and_who_asked(api: Api) -> None:
    job, other = api.logged(), api.logged()
    for name in (job, other, job):
        assert api.call("GET", f"/jobs/{name}/export").status in (200, 202)
    found = log(api)
    assert sorted((x.kind, x.id) for x in found) == sorted((Act.EXPORTED, name) for name in (job, other))


@pytest.mark.promise(9)
def test_nothing_is_read_whose_entry_cannot_be_written(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise Retriable("throttled")

    monkeypatch.setattr(api.services.acceptances, "note", fail)
    assert api.call("GET", "/suppressions").status == 503
    assert api.call("GET", "/jobs").status == 200


@pytest.mark.promise(9)
def test_reads_of_test_keys_are_in_their_own_log(api: Api) -> None:
    key = api.services.accounts.create_key(api.account, test=True, scopes=frozenset(Scope))[0]
    assert api.call("GET", "/suppressions", key=key).status == 200
    assert log(api) == []
    assert [x.id for x in log(api, namespace(api.account, test=True))] == ["listSuppressions"]


@pytest.mark.promise(9)
def test_a_key_that_is_refused_is_noted_with_the_reason(api: Api) -> None:
    reader, key = api.services.accounts.create_key(api.account, scopes={Scope.READ})
    ended, expired = api.services.accounts.create_key(api.account, expires=api.world.clock.ms + 1000)
    api.world.clock.advance(2)
    for _ in range(3):
        assert api.call("PUT", "/suppressions/a@example.org", key=reader).code == "missing_scope"
        assert api.call("GET", "/suppressions", key=ended).code == "key_expired"
    assert api.call("GET", "/suppressions", key="ph_live_" + "x" * 43).code == "unauthorized"
    found = {(x.kind, x.id, x.actor): x.data["why"] for x in log(api)}
    assert found == {
        (Act.KEY_REFUSED, key.id, key.id): "missing_scope",
        (Act.KEY_REFUSED, expired.id, expired.id): "expired",
    }
    assert len(log(api)) == 2


@pytest.mark.promise(9)
def test_a_page_with_personal_data_is_noted_with_its_visitor(moto_dynamo: Any, clock: FakeClock) -> None:
    console = build_console(moto_dynamo, clock)
    console.member()
    for _ in range(2):
        console.shown("/suppressions")
        console.shown("/jobs")
    found = [(x.kind, x.id, x.actor) for x in log(console.api)]
    assert found == [(Act.READ, "suppressions", "user:Ann")]
