"""Operators' commands on jobs: they find and stop what others scheduled, and all that a leaked key has."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest

from functions.operate import jobs as operating
from functions.operate import switches
from shared.adapters.dynamo.accounts.accounts import Accounts
from shared.adapters.dynamo.audit import DynamoAcceptances, DynamoJournal
from shared.adapters.dynamo.hooks.endpoints import DynamoEndpoints
from shared.adapters.dynamo.notices.notifiers import DynamoNotifiers
from shared.contracts import (
    ENV_AUDIT_TABLE,
    ENV_IDENTITIES_TABLE,
    ENV_OPS_TABLE,
    ENV_RECORDS_TABLE,
    ENV_SETTINGS,
    Credential,
    Settings,
    calls_queue_name,
)
from shared.domain.audit import Act, Event, Log, audited
from shared.domain.hooks.endpoint import Endpoint
from shared.domain.jobs.job import MAIL, Job
from shared.domain.jobs.states import Cell, Change, JobState
from shared.domain.notices.notifier import Notifier
from shared.engine.jobs import stop
from shared.engine.mails import dropping
from tests.cli.fakes import FakeClock, Run
from tests.cli.operators import OperatorsFunction
from tests.contracts.conftest import Parts, leased
from tests.fakes.clock import FakeClock as StoreClock
from tests.fakes.tables import MotoStores

SETTINGS = Settings("test", (Credential("one", "one", "email", 10), Credential("two", "two", "email", 10)), {})
HOUR_MS = 3_600_000


class Deployed:
    """Tables with an account and its keys."""

    def __init__(self, client: Any, clock: FakeClock) -> None:
        self.at = StoreClock()
        self.stores = MotoStores(client, self.at)
        self.tables = self.stores.tables
        self.accounts = Accounts(client, self.tables.records, clock, homes=self.tables.homes)
        self.owner = self.accounts.create_account("News", ["example.com"])
        self.key = self.accounts.create_key(self.owner)[1].id
        self.other = self.accounts.create_key(self.owner)[1].id

    def store(self, sizes: Sequence[int] = (3,), **changes: Any) -> Job:
        self.at.advance(1)
        fields = {"account": self.owner, "created_by": self.key, "state": JobState.READY, "sender": "news@example.com"}
        parts = Parts(self.at, sizes, **{**fields, "planned_at": 0, "not_before": self.at.ms + HOUR_MS, **changes})
        parts.store(self.stores)
        return parts.job

    def state(self, job: Job) -> tuple[str, str]:
        found = self.stores.records.job(job.id)
        assert found is not None
        return found.state.value, found.stop_reason

    def events(self, job: Job) -> list[Event]:
        return self.entries(job.id)

    def entries(self, name: str) -> list[Event]:
        journal = DynamoJournal(self.stores.dynamo, self.tables.records)
        return [x for x in journal.since(self.owner, Log.AUDIT, 0) if x.id == name]

    def endpoint(self, name: str, by: str, act: Act = Act.HOOK_CREATED) -> str:
        """Store an endpoint that a key has made, or changed."""
        made = Endpoint(f"hook_{name:0>26}", self.owner, f"https://{name}.example.com/", ("*",), self.at.ms)
        event = audited(self.owner, self.at.ms, made.id, act, by)
        self.hooks.create(made, None, event=event)
        return made.id

    @property
    def hooks(self) -> DynamoEndpoints:
        return DynamoEndpoints(self.stores.dynamo, records=self.tables.records)

    @property
    def notifiers(self) -> DynamoNotifiers:
        return DynamoNotifiers(self.stores.dynamo, records=self.tables.records)

    def notifier(self, name: str, by: str) -> str:
        """Store a notifier that a key has made."""
        made = Notifier(name, self.owner, "5d3f6a52-6d2f-4f6e-9a59-1f8d3c9b7a10", "Europe/Berlin", self.at.ms)
        event = audited(self.owner, self.at.ms, name, Act.NOTIFIER_CREATED, by)
        assert self.notifiers.create(made, event=event)
        return name

    def enabled(self) -> list[str]:
        """Return the endpoints and notifiers that are not disabled."""
        notifiers, _ = self.notifiers.page(self.owner, after="", limit=100)
        hooks = [x.id for x in self.hooks.of(self.owner) if not x.disabled_at]
        return sorted([*hooks, *(x.name for x in notifiers if not x.disabled)])


@pytest.fixture
def deployed(aws: None, clock: FakeClock, operators: OperatorsFunction, monkeypatch: pytest.MonkeyPatch) -> Deployed:
    for module in (stop, dropping):
        monkeypatch.setattr(module, "WIDTH", 1)  # moto's tables are not for several threads
    made = Deployed(boto3.client("dynamodb", "us-east-1"), clock)
    homes = made.tables.homes
    operators.variables = {
        ENV_RECORDS_TABLE: made.tables.records,
        ENV_OPS_TABLE: made.tables.ops,
        ENV_IDENTITIES_TABLE: homes.identities,
        ENV_AUDIT_TABLE: homes.audit,
        ENV_SETTINGS: SETTINGS.dumps(),
    }
    for name, value in operators.variables.items():
        monkeypatch.setenv(name, value)
    return made


def listed(run: Run, *options: str) -> list[str]:
    done = run("job", "list", *options, "--json")
    assert done.code == 0, done.err
    return [row["job_id"] for row in done.lines]


@pytest.mark.slow
def test_open_jobs_are_listed_by_account_key_sender_and_state(deployed: Deployed, run: Run) -> None:
    waits = deployed.store()
    runs = deployed.store(state=JobState.SENDING, created_by=deployed.other, sender="shop@example.org")
    taken_over = deployed.store(resumed_by=deployed.other)
    ended = deployed.store(state=JobState.LOGGED)
    deployed.stores.records.change(replace(ended, state=JobState.SENT), Change.LOG, 5)
    foreign = deployed.store(account="acc_000000000009", created_by="")
    assert {waits.id, runs.id, taken_over.id, foreign.id} <= set(listed(run))
    assert set(listed(run, "--key", deployed.other)) == {runs.id, taken_over.id}
    assert listed(run, "--sender", "example.org") == listed(run, "--sender", "Shop@example.org") == [runs.id]
    assert listed(run, "--status", "SENDING") == [runs.id]
    assert listed(run, "--account", "News") == [ended.id, taken_over.id, runs.id, waits.id]
    assert listed(run, "--account", "News", "--status", "LOGGED") == [ended.id]
    shown = run("job", "list", "--account", deployed.owner, "--limit", "1")
    assert (shown.code, len(shown.out.splitlines())) == (0, 2)
    assert "more than 1" in shown.err
    assert run("job", "list", "--status", "LOGGED").code == 2


@pytest.mark.slow
def test_everything_is_paused_and_resumed_after_a_question_with_what_is_left(deployed: Deployed, run: Run) -> None:
    jobs = [deployed.store(), deployed.store(state=JobState.SENDING)]
    deployed.store(state=JobState.SENT, counts={**jobs[0].counts, "queued": 0, "sent": jobs[0].total})
    left = sum(job.counts["queued"] for job in jobs)
    no = run("pause", "--all", terminal=True, input="n\n")
    asked = f"Pause all sending of stage test, AWS us-east-1, with {left} messages of 2 jobs not sent yet? [y/N]:"
    still = "nothing was changed; what is not paused is still being sent"
    assert (no.code, no.err) == (1, f"{asked}{still}\n")
    ended = run("pause", "--all", terminal=True, input="")
    assert (ended.code, ended.err.splitlines()) == (130, [asked, still])
    assert run("audit").out == ""
    assert run("pause", "--all", terminal=True, input="y\n").code == 0
    resumed = run("resume", "--all", terminal=True, input="y\n")
    assert (resumed.code, f"with {left} messages of 2 jobs not sent" in resumed.err) == (0, True)


def test_a_question_counts_some_of_the_jobs_alone(
    deployed: Deployed, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = deployed.store().counts["queued"]
    deployed.store()
    monkeypatch.setattr(stop, "PAGE", 1)
    monkeypatch.setattr(switches, "COUNTED", 1)
    assert f"with at least {left} messages of 1 job not" in run("pause", "--all", terminal=True, input="n\n").err


@pytest.mark.slow
def test_people_read_states_in_words(deployed: Deployed, run: Run) -> None:
    deployed.store()
    deployed.store(state=JobState.SENDING, not_before=0)
    ended = deployed.store(state=JobState.LOGGED)
    deployed.stores.records.change(replace(ended, state=JobState.SENT), Change.LOG, 5)
    shown = run("job", "list", "--account", "News")
    assert shown.code == 0, shown.err
    left = ended.counts["queued"]
    for line, words in zip(shown.out.splitlines()[1:], (f"stopped ({left} left)", "sending", "scheduled"), strict=True):
        assert f"  {words}  " in line


@pytest.mark.slow
def test_jobs_are_stopped_by_id_with_actor_and_reason_in_the_audit_log(deployed: Deployed, run: Run) -> None:
    jobs = [deployed.store(), deployed.store(state=JobState.SENDING)]
    left = deployed.store()
    done = run("job", "stop", *(job.id for job in jobs), "--reason", "abuse")
    assert done.code == 0, done.err
    assert [deployed.state(job) for job in (*jobs, left)] == [("STOPPED", "operator")] * 2 + [("READY", "")]
    for job in jobs:
        (event,) = deployed.events(job)
        assert (event.kind, event.actor.partition(":")[0], dict(event.data)) == (
            "job.stopped",
            "operator",
            {"reason": "abuse"},
        )
    again = run("job", "stop", jobs[0].id, "--json")
    assert again.lines == [{"job_id": jobs[0].id, "state": "STOPPED", "changed": False}]
    assert len(deployed.events(jobs[0])) == 1


def test_a_job_that_is_not_there_is_named_and_the_others_are_stopped(deployed: Deployed, run: Run) -> None:
    job = deployed.store()
    missing = job.id[:-1] + ("a" if job.id[-1] != "a" else "b")
    done = run("job", "stop", missing, job.id)
    assert done.code == 3
    assert missing in done.err
    assert deployed.state(job) == ("STOPPED", "operator")
    assert run("job", "stop", "nonsense", job.id).code == 2
    assert run("job", "stop", job.id, "--reason", "ann@example.com").code == 2


@pytest.mark.slow
@pytest.mark.promise(9)
def test_revoking_a_key_stops_all_it_has_scheduled_or_started(deployed: Deployed, run: Run, clock: FakeClock) -> None:
    mine = [
        deployed.store(),
        deployed.store(state=JobState.SENDING, planned_at=5, not_before=0),
        deployed.store(kind="campaign", campaign="spring", route=("one",), providers=("one",), by={"one": (0,) * 4}),
        deployed.store(created_by=deployed.other, resumed_by=deployed.key),
    ]
    others = [
        deployed.store(created_by=deployed.other),
        deployed.store(resumed_by=deployed.other),
        deployed.store(account="acc_000000000009"),
        deployed.store(created_by=""),
    ]
    begun = clock.now()
    done = run("key", "revoke", "News", deployed.key, "--stop-jobs")
    assert done.code == 0, done.err
    assert all(job.id in done.out for job in mine)
    assert not any(job.id in done.out for job in others)
    assert {deployed.state(job) for job in mine} == {("STOPPED", "operator")}
    assert all(deployed.state(job)[1] == "" for job in others)
    (event,) = deployed.events(mine[0])
    assert dict(event.data) == {"reason": "key revoked", "key": deployed.key}
    assert [k.id for k in deployed.accounts.list_keys(deployed.owner)] == [deployed.other]
    assert clock.now() - begun >= 30, "a process may take the key for 30 seconds more"


@pytest.mark.slow
def test_what_the_key_schedules_before_all_processes_forget_it_is_stopped_too(
    deployed: Deployed, run: Run, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    late: list[Job] = []

    def sleep(_seconds: float) -> None:
        late.append(deployed.store())

    monkeypatch.setattr(clock, "sleep", sleep)
    done = run("key", "revoke", deployed.owner, deployed.key, "--stop-jobs", "--json")
    assert json.loads(done.out)["stopped"] == [late[0].id]
    assert deployed.state(late[0]) == ("STOPPED", "operator")


@pytest.mark.slow
def test_an_interrupted_stop_goes_on_when_it_is_repeated(
    deployed: Deployed, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [deployed.store() for _ in range(5)]

    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("cli.keys.commands.stop_of_key", interrupted)
        assert run("key", "revoke", deployed.owner, deployed.key, "--stop-jobs").code != 0
    assert deployed.state(jobs[0]) == ("READY", "")
    done = run("key", "revoke", deployed.owner, deployed.key, "--stop-jobs", "--json")
    found = json.loads(done.out)
    assert (done.code, found["revoked"], set(found["stopped"])) == (0, False, {job.id for job in jobs})
    assert run("key", "revoke", deployed.owner, deployed.key).code == 3


@pytest.mark.slow
def test_more_jobs_than_a_page_are_all_stopped(deployed: Deployed, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stop, "PAGE", 3)
    jobs = [deployed.store() for _ in range(8)]
    done = run("key", "revoke", deployed.owner, deployed.key, "--stop-jobs", "--json")
    assert set(json.loads(done.out)["stopped"]) == {job.id for job in jobs}
    assert {deployed.state(job) for job in jobs} == {("STOPPED", "operator")}


@pytest.mark.slow
def test_a_long_walk_is_continued_by_further_requests_which_stop_the_rest(
    deployed: Deployed, run: Run, operators: OperatorsFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("READ_SECONDS", "WORK_SECONDS"):
        monkeypatch.setattr(operating, name, 0)
    monkeypatch.setattr(operating, "PAGE", 1)
    monkeypatch.setattr(stop, "PAGE", 1)
    other = deployed.store(created_by=deployed.other)
    mine = [deployed.store(state=state) for state in (JobState.READY, JobState.SENDING) * 2]
    assert set(listed(run, "--key", deployed.key)) == {job.id for job in mine}
    assert listed(run, "--account", "News") == [job.id for job in (*reversed(mine), other)]
    assert len(listed(run, "--limit", "2")) == 2
    operators.asked.clear()
    done = run("key", "revoke", "News", deployed.key, "--stop-jobs", "--json")
    assert sorted(done.json["stopped"]) == sorted(job.id for job in mine)
    assert len(operators.asked) > 2 * len(mine), "each request stopped one, in both looks"
    assert [len(deployed.events(job)) for job in (*mine, other)] == [1] * len(mine) + [0]


@pytest.mark.slow
@pytest.mark.promise(9)
def test_destinations_of_its_mails_that_wait_are_dropped(deployed: Deployed, run: Run) -> None:
    mail = deployed.store((1, 1, 1), kind=MAIL, name="mail-1", state=JobState.ENQUEUED)
    other = deployed.store((1,), kind=MAIL, name="mail-2", state=JobState.ENQUEUED, created_by=deployed.other)
    leased(deployed.stores, deployed.at, mail.id, 1)
    held = deployed.stores.ledgers.read(mail.id, 1)
    assert held is not None
    assert deployed.stores.ledgers.claim(held, (), 1, route=mail.route)
    done = run("key", "revoke", deployed.owner, deployed.key, "--stop-jobs")
    assert (done.code, f"dropped what waits of mail {mail.id}" in done.out, other.id in done.out) == (0, True, False)
    states = [x.cell(0)[0] for x in deployed.stores.ledgers.read_all(mail.id)]
    assert states == [Cell.WITHDRAWN, Cell.CLAIMED, Cell.WITHDRAWN]
    assert [x.cell(0)[0] for x in deployed.stores.ledgers.read_all(other.id)] == [Cell.QUEUED]
    (event,) = deployed.entries("mail-1")
    told = {"reason": "key revoked", "key": deployed.key, "destinations": 2}
    assert (event.kind, dict(event.data)) == (Act.MAIL_DROPPED, told)


@pytest.mark.slow
@pytest.mark.promise(9)
def test_what_a_leaked_key_has_touched_is_disabled_and_the_rest_is_not(deployed: Deployed, run: Run) -> None:
    boto3.client("sqs", "us-east-1").create_queue(QueueName=calls_queue_name("test"))
    mine = [deployed.endpoint("a", deployed.key), deployed.notifier("ward-1", deployed.key)]
    changed = deployed.endpoint("b", deployed.key, Act.HOOK_CHANGED)
    theirs = [deployed.endpoint("c", deployed.other), deployed.notifier("ward-2", deployed.other)]
    every = sorted([*mine, changed, *theirs])
    job = deployed.store()

    shown = run("key", "revoke", deployed.owner, deployed.key, "--dry-run", "--json").json
    assert (shown["jobs"], shown["notifiers"]) == ([job.id], ["ward-1"])
    assert set(shown["endpoints"]) == {mine[0], changed}
    assert shown["actions"]["hook.changed"] == [changed]
    told = run("key", "revoke", deployed.owner, deployed.key, "--dry-run").out
    assert all(x in told for x in (*mine, changed, job.id))
    assert not any(x in told for x in theirs)
    assert deployed.enabled() == every, "it changes nothing"
    assert deployed.key in [k.id for k in deployed.accounts.list_keys(deployed.owner)]

    assert run("key", "revoke", deployed.owner, deployed.key, "--stop-jobs").code == 0
    assert deployed.enabled() == every, "a key that ends as planned leaves what it has made"
    done = run("key", "revoke", deployed.owner, deployed.key, "--leaked")
    assert done.code == 0, done.err
    assert all(f"disabled {kind} {x}" in done.out for kind, x in (("endpoint", changed), ("notifier", "ward-1")))
    assert deployed.enabled() == sorted(theirs)
    (event,) = [x for x in deployed.entries(changed) if x.kind == Act.HOOK_DISABLED]
    assert event.actor.startswith("operator:")
    again = run("key", "revoke", deployed.owner, deployed.key, "--leaked", "--json").json
    assert again["disabled"] == {"endpoints": [], "notifiers": []}


def test_of_a_key_that_has_done_nothing_nothing_is_shown(deployed: Deployed, run: Run) -> None:
    done = run("key", "revoke", deployed.owner, deployed.other, "--dry-run")
    assert (done.code, "no entry of the audit log names it" in done.out) == (0, True)


def test_an_endpoint_that_a_key_has_changed_is_shown(deployed: Deployed, run: Run) -> None:
    boto3.client("sqs", "us-east-1").create_queue(QueueName=calls_queue_name("test"))
    changed = deployed.endpoint("b", deployed.key, Act.HOOK_CHANGED)
    shown = run("key", "revoke", deployed.owner, deployed.key, "--dry-run", "--json").json
    assert shown["endpoints"] == [changed]


@pytest.mark.slow
def test_the_hours_in_which_a_leaked_key_sent_lead_to_its_jobs(deployed: Deployed, run: Run) -> None:
    notes = DynamoAcceptances(deployed.stores.dynamo, deployed.tables.records, deployed.at)
    hours = []
    for _ in range(2):
        deployed.at.advance(HOUR_MS / 1000)
        hours.append(deployed.at.ms - deployed.at.ms % HOUR_MS)
        for key in (deployed.key, deployed.other):
            notes.note(deployed.owner, Act.BATCHES_ACCEPTED, key, key)
    mail = deployed.store(kind=MAIL, state=JobState.LOGGED)
    batch = deployed.store()
    found = run("key", "revoke", deployed.owner, deployed.key, "--dry-run", "--json").json
    newest_first = [datetime.fromtimestamp(x / 1000, UTC).isoformat().replace("+00:00", "Z") for x in hours[::-1]]
    assert found["actions"]["batch.accepted"] == newest_first
    shown = run("audit", deployed.owner, "--actor", deployed.key, "--action", "batch.accepted", "--json").lines
    assert [(x["at"], x["subject"], x["actor"]) for x in shown] == [
        (x, deployed.key, deployed.key) for x in newest_first
    ]
    assert all(x["data"]["first"] > x["at"] for x in shown)
    assert "no entries by 00" in run("audit", deployed.owner, "--actor", "00").err
    assert listed(run, "--account", deployed.owner, "--key", deployed.key) == [batch.id, mail.id]
