"""Operators see what is dead in which queue and why, and have it worked on again: all of it, once, and noted."""

import json
from typing import Any

import boto3
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cli.operating.door import OperatorClient
from functions.operate.queues import routes
from functions.operate.queues.subjects import Reader
from functions.operate.services import OperateServices
from shared import contracts
from shared.adapters.dynamo.audit import DynamoJournal
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.jobs.ledger_writes import JobTables
from shared.adapters.dynamo.jobs.ledgers import DynamoLedgers
from shared.adapters.dynamo.jobs.records import DynamoRecords
from shared.adapters.queues import dead_letters, redrive
from shared.adapters.queues.dead_letters import receive
from shared.contracts import Credential, ProviderEvent, Settings, dump_feedback, pointer
from shared.domain.audit import EVERYONE, Event, Log
from shared.domain.jobs.states import JobState
from shared.domain.queues.dead_letters import places
from tests.cli.conftest import table
from tests.cli.fakes import NOW, FakeClock, Run, letter, report
from tests.cli.operators import OperatorsFunction
from tests.contracts.conftest import CONTENT, Parts
from tests.fakes.clock import FakeClock as EngineClock
from tests.fakes.tables import FakeBlobs
from tests.tiers import examples

REGION = "us-east-1"
LANE = "lane-sendgrid-main"

pytestmark = pytest.mark.promise(8)
stacked = pytest.mark.usefixtures("stack")


@pytest.fixture
def stack(aws: None, operators: OperatorsFunction, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stage blue: its queues, and the two tables."""
    monkeypatch.setenv("POSTHASTE_STAGE", "blue")
    monkeypatch.setattr(dead_letters, "WAIT_SECONDS", 0)
    operators.settings = Settings("blue", (Credential("sendgrid-main", "sendgrid", "email", 10),), {})
    sqs = boto3.client("sqs", REGION)
    for place in places("https://sqs/posthaste-blue-lane-", ("sendgrid-main", "test")):
        for url in filter(None, (place.url, place.dead)):
            sqs.create_queue(QueueName=url.rpartition("/")[2])
    for name in ("records", "ops"):
        boto3.client("dynamodb", REGION).create_table(**{**table("blue"), "TableName": f"blue-{name}"})


def url(name: str) -> str:
    found: str = boto3.client("sqs", REGION).get_queue_url(QueueName=f"posthaste-blue-{name}")["QueueUrl"]
    return found


def put(name: str, *bodies: str, group: str = "") -> None:
    more = {"MessageGroupId": group} if group else {}
    for start in range(0, len(bodies), 10):
        entries: list[Any] = [
            {"Id": str(n), "MessageBody": x, **more} for n, x in enumerate(bodies[start : start + 10])
        ]
        boto3.client("sqs", REGION).send_message_batch(QueueUrl=url(name), Entries=entries)


def lying(name: str) -> list[str]:
    """The bodies in a queue, all of them visible to anybody."""
    sqs = boto3.client("sqs", REGION)
    found: list[str] = []
    while some := receive(sqs, url(name), hold=60):
        found += [x.body for x in some]
    return found


def stored(state: JobState = JobState.SENDING) -> str:
    dynamo = Dynamo(boto3.client("dynamodb", REGION))
    parts = Parts(EngineClock(), state=state)
    records = DynamoRecords(dynamo, records="blue-records", ops="blue-ops", blobs=FakeBlobs())
    records.accept(parts.job, parts.chunks, parts.ledgers, CONTENT, None)
    assert DynamoLedgers(dynamo, JobTables("blue-records", "blue-ops")).read(parts.job.id, 0) is not None
    return parts.job.id


def noted() -> list[Event]:
    journal = DynamoJournal(Dynamo(boto3.client("dynamodb", REGION)), "blue-records")
    return list(journal.since(EVERYONE, Log.AUDIT, 0))


@pytest.mark.slow
@stacked
def test_the_list_names_every_queue_and_what_is_dead(run: Run) -> None:
    put("feedback", "1", "2")
    put("log-dlq", "3")
    done = run("queue", "list", "--json")
    rows = {x["queue"]: x for x in done.lines}
    shown = {name: (x["waiting"], x["dead"]) for name, x in rows.items()}
    expected: dict[str, Any] = {
        **dict.fromkeys(contracts.WORK_QUEUES, (0, 0)),
        **dict.fromkeys(contracts.REPORT_QUEUES, (None, 0)),
    }
    expected |= {f"lane-{x}": (0, 0) for x in ("sendgrid-main", "test")}
    expected |= {f"lane-{x}_express": (0, None) for x in ("sendgrid-main", "test")}
    assert shown == {**expected, "feedback": (2, 0), "log": (None, 1)}
    assert list(rows) == sorted(rows)
    assert rows["log"]["dead_oldest"] >= 0
    text = run("queue", "list")
    assert "posthaste redrive log --dry-run" in text.err
    assert text.out.count("\n") == len(rows) + 1
    assert lying("log-dlq") == ["3"]  # and still to be seen


@pytest.mark.slow
@stacked
def test_a_dry_run_shows_findings_and_changes_nothing(run: Run) -> None:
    job = stored()
    put(f"{LANE}-dlq", pointer(job, 0), pointer("0" * 26, 7), "{}")
    done = run("redrive", LANE, "--dry-run", "--json")
    assert done.code == 0
    rows = {row["what"]: row for row in done.json["items"]}
    assert done.json["dead"] == len(rows) == 3
    assert rows[f"job {job} chunk 0"]["state"] == "job SENDING; chunk IDLE in lane one, 3 to send"
    assert rows["job 00000000000000000000000000 chunk 7"]["state"] == "job gone"
    assert rows[None]["state"] == "cannot be read"
    assert all(row["error"] == routes.NO_ERROR and row["since"] for row in rows.values())
    assert len(lying(f"{LANE}-dlq")) == 3
    assert (lying(LANE), noted()) == ([], [])


@pytest.mark.slow
@stacked
def test_a_limit_says_how_many_it_left_out(run: Run) -> None:
    put(f"{LANE}-dlq", *[pointer("0" * 26, n) for n in range(3)], group="0" * 26)
    assert (
        f"{LANE}: 1 redriven, 0 left; --limit 1 left out the other 2\n"
        in run("redrive", LANE, "--limit", "1", "--yes").out
    )
    assert f"{LANE}: 2 redriven, 0 left\n" in run("redrive", LANE, "--limit", "2", "--yes").out


@pytest.mark.slow
@stacked
def test_all_that_can_be_read_is_moved_once_in_its_group_and_noted(run: Run) -> None:
    bodies = [pointer("0" * 26, n) for n in range(23)]
    put(f"{LANE}-dlq", *bodies, group="0" * 26)
    put(f"{LANE}-dlq", "nonsense")
    done = run("redrive", f"posthaste-blue-{LANE}-dlq", "--yes")  # as an alarm names it
    assert done.code == 1
    assert f"{LANE}: 23 redriven, 1 left" in done.out
    assert "not a message of this queue" in done.out
    assert lying(f"{LANE}-dlq") == ["nonsense"]
    moved = receive(boto3.client("sqs", REGION), url(LANE), hold=0)
    assert {(x.group, x.redrives) for x in moved} == {("0" * 26, 1)}
    assert sorted(lying(LANE)) == sorted(bodies)
    began, ended = noted()
    assert (began.kind, began.id, began.at) == ("queue.redrive_begun", LANE, int(NOW * 1000))
    assert (ended.kind, ended.data["moved"], ended.data["left"]) == ("queue.redrive_ended", 23, 1)
    assert ended.actor.startswith("operator:123456789012:")


@pytest.mark.slow
@stacked
def test_what_cannot_be_read_goes_only_when_that_is_asked_for(run: Run) -> None:
    put("feedback-dlq", "nonsense", dump_feedback("sendgrid-main", [ProviderEvent("x-0-0-1", "delivered", 1)]))
    assert run("redrive", "feedback", "--json", "--yes").json["left"][0]["why"] == "not a message of this queue"
    done = run("redrive", "feedback", "--json", "--discard", "--yes")
    assert (done.code, done.json["discarded"], done.json["left"]) == (0, 1, [])
    assert (lying("feedback-dlq"), len(lying("feedback"))) == ([], 1)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The function fails between the third call's sends and its deletes, and each time from then on."""
    calls = 0
    real = redrive.Redrive._delete

    def delete(self: Any, letters: Any) -> None:
        nonlocal calls
        calls += 1
        if calls >= 3:
            raise ZeroDivisionError
        real(self, letters)

    monkeypatch.setattr(redrive.Redrive, "_delete", delete)


@pytest.mark.slow
@stacked
@pytest.mark.usefixtures("failing")
def test_a_fault_loses_nothing_and_leaves_nothing_hidden(run: Run) -> None:
    bodies = [pointer("0" * 26, n) for n in range(25)]
    put(f"{LANE}-dlq", *bodies)
    done = run("redrive", LANE, "--yes")
    assert (done.code, "the server failed" in done.err) == (1, True)
    dead, sent = lying(f"{LANE}-dlq"), lying(LANE)
    assert len(dead) == 5
    assert set(dead) | set(sent) == set(bodies)
    assert max(x.data["moved"] for x in noted() if x.kind == "queue.redrive_ended") == 20


@pytest.mark.slow
@stacked
def test_ctrl_c_between_two_requests_leaves_the_rest_where_it_is(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "WORK_SECONDS", 0)
    real, calls = OperatorClient.send, 0

    def send(self: Any, *asked: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        return real(self, *asked)

    monkeypatch.setattr(OperatorClient, "send", send)
    put(f"{LANE}-dlq", *(pointer("0" * 26, n) for n in range(25)))
    assert run("redrive", LANE, "--yes").code == 130
    assert (len(lying(f"{LANE}-dlq")), len(lying(LANE))) == (5, 20)


@pytest.mark.slow
@stacked
def test_a_long_redrive_takes_several_requests_of_one_run(
    run: Run, clock: FakeClock, operators: OperatorsFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "WORK_SECONDS", 0)
    real = OperatorClient.send

    def send(self: Any, *asked: Any) -> Any:
        clock.time += 1
        return real(self, *asked)

    monkeypatch.setattr(OperatorClient, "send", send)
    put(f"{LANE}-dlq", "nonsense", *(pointer("0" * 26, n) for n in range(25)), "more nonsense")
    done = run("redrive", LANE, "--json", "--yes")
    assert (done.code, done.json["moved"], len(done.json["left"])) == (1, 25, 2)
    assert len([x for x in operators.asked if x[0] == "POST"]) > 2
    assert len({x.data["run"] for x in noted()}) == 1
    assert sum(int(x.data["moved"]) for x in noted() if x.kind == "queue.redrive_ended") == 25


@pytest.mark.slow
@stacked
def test_what_fails_again_while_it_is_redriven_is_not_redriven_for_ever(run: Run) -> None:
    poison = redrive.Redriver.__call__

    def at_once(self: Any, letters: Any) -> Any:
        """Everything sent is dead again before the next receive."""
        return poison(redrive.Redriver(self.sqs, url(f"{LANE}-dlq"), self.run), letters)

    put(f"{LANE}-dlq", *(pointer("0" * 26, n) for n in range(3)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redrive.Redriver, "__call__", at_once)
        done = run("redrive", LANE, "--json", "--yes")
    assert (done.code, done.json["moved"], len(done.json["left"])) == (1, 3, 3)
    assert {x["why"] for x in done.json["left"]} == {"was redriven in this run, and failed again"}


@pytest.mark.slow
@stacked
def test_a_declined_confirmation_moves_nothing(run: Run) -> None:
    put("feedback-dlq", dump_feedback("sendgrid-main", []))
    assert run("redrive", "feedback", input="n\n", terminal=True).code == 1
    assert (len(lying("feedback-dlq")), lying("feedback"), noted()) == (1, [], [])


@stacked
def test_an_empty_queue_is_shown_to_programs_and_people_without_audit(run: Run) -> None:
    done = run("redrive", LANE, "--json", "--yes")
    assert (done.code, done.json) == (0, {"queue": LANE, "moved": 0, "discarded": 0, "left": []})
    assert run("redrive", LANE, "--dry-run", "--json").json == {"dead": 0, "items": []}
    assert "this queue has no dead messages" in run("redrive", LANE, "--yes").err
    assert noted() == []


@stacked
def test_what_is_in_another_s_hand_is_not_called_nothing(run: Run) -> None:
    put("feedback-dlq", dump_feedback("sendgrid-main", []))
    assert len(receive(boto3.client("sqs", REGION), url("feedback-dlq"), hold=300)) == 1
    assert run("redrive", "feedback", "--dry-run", "--json").json == {"dead": 1, "items": []}
    done = run("redrive", "feedback", "--yes")
    assert (done.code, "nothing" in done.err, "about 1 more are held by another redrive" in done.err) == (
        1,
        False,
        True,
    )


@stacked
def test_an_unknown_queue_is_refused_with_the_known_names(run: Run) -> None:
    done = run("redrive", "nowhere", "--yes")
    assert done.code == 3
    assert "there are call_hooks, calls, calls-slow, digest, due, export, feedback, gather_hooks" in done.err


@stacked
def test_bodies_of_every_queue_are_read_and_others_are_not(operators: OperatorsFunction) -> None:
    job = stored(JobState.LOGGED)
    reader = Reader.of(OperateServices(operators.environment()))
    asked = contracts.question(job, 0)
    minute = contracts.DueMinute(contracts.DueKind.DIGESTS, 1_790_000_040).dumps()
    good = {
        "lane": [pointer(job, 0), asked],
        "due": [contracts.due(job), contracts.LOOK, contracts.ResumeTask(credential="a").dumps(), minute],
        "ingest": [contracts.ingest("c", "u")],
        "export": [contracts.export("x")],
        "inbox": [contracts.inbox("clinic")],
        "digest": [contracts.digest_hint("0" * 32 + "-1"), report(), minute],
        "feedback": [dump_feedback("sendgrid-main", [ProviderEvent(f"{job}-0-0-1", "delivered", 1)])],
        "log": [report()],
    }
    for kind, bodies in good.items():
        assert all(reader.about(kind, body) for body in bodies), kind
        for other in ("", "[]", "1", '"x"', "{}", '{"job": 1, "chunk": 0}'):
            assert reader.about(kind, other) is None, (kind, other)
    assert reader.about("lane", '{"job": "x", "chunk": true}') is None
    foreign = dump_feedback("sendgrid-main", [ProviderEvent("not ours", "delivered", 1)])
    assert getattr(reader.about("feedback", foreign), "state", "") == "nothing to join"  # it is read all the same
    due = reader.about("due", minute), reader.about("due", contracts.DueMinute(contracts.DueKind.DIGESTS).dumps())
    assert [getattr(x, "what", "") for x in due] == ["digests at 2026-09-21 14:14", "digests, overdue"]
    assert "asks about doubts" in getattr(reader.about("lane", asked), "what", "")


KINDS = ("lane", "feedback", "due", "ingest", "export", "inbox", "digest", "log")
NAMES = (
    "job",
    "chunk",
    "resolve",
    "wake",
    "minute",
    "kind",
    "at",
    "account",
    "campaign",
    "upload",
    "export",
    "inbox",
    "window",
    "words",
)
REPORTED = ("requestContext", "condition", "DDBStreamBatchInfo", "responsePayload", "Type", "Message")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from((*NAMES, *REPORTED)), inner, max_size=5)
    ),
    max_leaves=12,
)


@settings(max_examples=examples(60))
@given(kind=st.sampled_from(KINDS), body=JSON.map(json.dumps) | st.text())
@example(kind="lane", body="[" * 100_000)
@example(kind="lane", body=json.dumps({"job": "x" * 5000, "chunk": 0}))
@example(kind="lane", body=json.dumps({"job": "x", "chunk": 10**30}))
def test_no_body_whatever_ends_a_redrive(kind: str, body: str) -> None:
    def known(*names: str | int) -> None:
        assert all(len(str(name)) <= 64 for name in names)

    reader = Reader(job=known, ledger=known, upload=known, export=known)
    found = reader.about(kind, body)
    assert found is None or (found.what and found.state)


def test_a_call_carries_no_more_than_sqs_takes() -> None:
    some = [letter("x" * size, str(n)) for n, size in enumerate([200_000, 62_000, 10, 300_000, 10, 10])]
    assert [[x.id for x in part] for part in redrive.parts(some)] == [["0"], ["1", "2"], ["3"], ["4", "5"]]
