"""Kill switches on the command line: what operators may switch, what they are told, and what the audit log says."""

import json
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from cli.doctor import doctor
from shared.adapters.dynamo.audit import DynamoJournal
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.credentials.breakers import DynamoBreakers
from shared.adapters.dynamo.credentials.pacer import DynamoPacer
from shared.adapters.dynamo.jobs.records import DynamoRecords
from shared.contracts import ENV_SETTINGS, Credential, Settings
from shared.domain.audit import EVERYONE, Log
from shared.domain.lanes import breaker as rules
from shared.domain.lanes.breaker import Breaker, BreakerState
from shared.domain.lanes.pacing import pace
from shared.domain.lanes.switches import Switches
from shared.ports import OpenJob, Retriable
from tests.cli.conftest import table
from tests.cli.fakes import FakeClock, Run
from tests.cli.operators import OperatorsFunction

REGION = "us-east-1"
SETTINGS = Settings(
    "blue",
    (Credential("mail", "sendgrid", "email", 100), Credential("texts", "twilio", "sms", 0.5)),
    {"email": ("mail",), "sms": ("texts",)},
)
LONG = "x" * 101

pytestmark = pytest.mark.usefixtures("stack")


@pytest.fixture
def stack(aws: None, operators: OperatorsFunction, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stage blue: two tables, and a function that has the settings."""
    operators.settings = SETTINGS
    monkeypatch.delenv("POSTHASTE_RECORDS_TABLE")
    monkeypatch.setenv("POSTHASTE_STAGE", "blue")
    trust = {"Version": "2012-10-17", "Statement": []}
    role = boto3.client("iam", REGION).create_role(RoleName="f", AssumeRolePolicyDocument=json.dumps(trust))["Role"]
    resources: dict[str, Any] = {
        name: {"Type": "AWS::DynamoDB::Table", "Properties": {**table("blue"), "TableName": f"blue-{name.lower()}"}}
        for name in ("Records", "Ops")
    }
    for name, variables in (("Helper", {}), ("Serve", {ENV_SETTINGS: SETTINGS.dumps()})):
        resources[name] = {
            "Type": "AWS::Lambda::Function",
            "Properties": {
                "Code": {"ZipFile": "def handler(event, context): pass"},
                "Handler": "index.handler",
                "Runtime": "python3.13",
                "Role": role["Arn"],
                "Environment": {"Variables": variables},
            },
        }
    outputs = {f"{name}Table": {"Value": {"Ref": name}} for name in ("Records", "Ops")}
    template = json.dumps({"Resources": resources, "Outputs": outputs})
    boto3.client("cloudformation", REGION).create_stack(StackName="posthaste-blue", TemplateBody=template)


def dynamo() -> Dynamo:
    return Dynamo(boto3.client("dynamodb", REGION))


def told(account: str = EVERYONE) -> list[tuple[str, str, dict[str, str | int]]]:
    """Return an audit log: kind, id and data of each entry."""
    log = DynamoJournal(dynamo(), "blue-records").since(account, Log.AUDIT, 0)
    return [(x.kind, x.id, dict(x.data)) for x in log if x.kind != "account.created"]


def senders_learn(clock: FakeClock, present: float = 0.0) -> Switches | None:
    """Return what a sender is told that reckons with a present rate."""
    at = pace(100, 1, present=present)
    return DynamoPacer(dynamo(), "blue-ops", clock).reserve("mail", 1, at, lead=0).switches


@pytest.mark.slow
def test_a_credential_is_paused_and_resumed(run: Run, clock: FakeClock) -> None:
    done = run("pause", "--credential", "mail", "--reason", "blocklisted")
    assert done.code == 0
    assert "within 3 seconds, the rest waits" in done.out
    assert "posthaste resume --credential mail" in done.out
    assert senders_learn(clock) == Switches(paused=True)
    again = run("pause", "--credential", "mail", "--reason", "another", "--json")
    assert again.json == {"credential_id": "mail", "paused": True, "changed": False, "reason": "blocklisted"}
    assert "since 2026-09-21T14:13:20Z: blocklisted" in run("pause", "--credential", "mail").out
    done = run("resume", "--credential", "mail", "--json")
    assert done.json == {"credential_id": "mail", "paused": False, "changed": True}
    assert senders_learn(clock) is None
    assert "is not paused" in run("resume", "--credential", "mail").out
    assert told() == [
        ("credential.paused", "mail", {"reason": "blocklisted"}),
        ("credential.resumed", "mail", {"reason": "operator"}),
    ]


@pytest.mark.slow
def test_an_account_is_paused_by_name_and_its_log_shows_it(run: Run) -> None:
    account = run("account", "create", "Ann", "--json").json["account_id"]
    assert run("pause", "--account", "Ann", "--json").json["account_id"] == account
    (listed,) = run("account", "list", "--json").lines
    assert (listed["paused"], listed["suspended"]) == (True, False)
    assert run("resume", "--account", account).code == 0
    assert [(kind, name) for kind, name, _ in told(account)] == [
        ("account.paused", account),
        ("account.resumed", account),
    ]
    assert told() == []


@pytest.mark.slow
def test_everything_is_paused_even_where_the_api_is_down_and_the_command_says_how(
    run: Run, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTHASTE_OPERATE_URL", "http://127.0.0.1:1")
    done = run("pause", "--all", terminal=True, input="y\n")
    assert (done.code, "everything is paused" in done.out) == (0, True)
    assert "with an unknown number of messages not sent yet?" in done.err
    assert "cannot reach http://127.0.0.1:1" in done.err
    assert "this command writes the switch itself, with your right on the table" in done.err
    assert clock.slept == [], "nothing is waited for"
    for words in (("pause", "--credential", "mail"), ("resume", "--all", "--yes"), ("rate", "list")):
        assert run(*words).code == 5, words
    assert [kind for kind, _, _ in told()] == ["deployment.paused"]


@pytest.mark.slow
def test_everything_is_paused_even_where_the_function_fails_or_is_not_there(
    run: Run, operators: OperatorsFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    for status, text in ((500, b"{}"), (503, b""), (404, b'{"message": "Not Found"}')):
        monkeypatch.setattr(operators, "answer", lambda *_, found=(status, {}, text): found)
        done = run("pause", "--all", "--yes", "--json")
        assert (done.code, done.json["paused"], "writes the switch itself" in done.err) == (0, True, True), status
    monkeypatch.setattr(operators, "answer", lambda *_: (403, {}, b'{"message": "Forbidden"}'))
    assert run("pause", "--all", "--yes").code == 4, "who may not does not get round it"


@pytest.mark.slow
def test_everything_is_paused_even_where_no_job_can_be_read(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    faults: list[Exception] = [
        Retriable("dynamodb"),
        ClientError({"Error": {"Code": "AccessDeniedException"}}, "Query"),
        EndpointConnectionError(endpoint_url="https://dynamodb"),
    ]

    def refuse(*_: object, **__: object) -> list[OpenJob]:
        raise faults.pop()

    monkeypatch.setattr(DynamoRecords, "open_jobs", refuse)
    while faults:
        done = run("pause", "--all", terminal=True, input="y\n")
        assert (done.code, "with an unknown number of messages not sent yet?" in done.err) == (0, True)
    assert [kind for kind, _, _ in told()] == ["deployment.paused"]


@pytest.mark.slow
def test_the_doctor_names_every_pause_there_is(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    account = run("account", "create", "Ann", "--json").json["account_id"]
    run("pause", "--account", account, "--reason", "spam wave")
    run("pause", "--credential", "mail", "--reason", "blocklisted")
    run("rate", "set", "texts", "0.1")
    monkeypatch.setattr(doctor, "CHECKS", [x for x in doctor.CHECKS if x.name == "switches"])
    done = run("doctor", "--json")
    assert (done.code, [x["says"] for x in done.json["items"]]) == (
        0,
        [
            "mail is paused (blocklisted)",
            "texts is slowed to 0.1 of 0.5 messages a second",
            f"{account} is paused (spam wave)",
        ],
    )


@pytest.mark.slow
def test_resuming_a_part_while_everything_is_paused_shows_a_reminder(run: Run) -> None:
    assert run("pause", "--all", "--yes", "--reason", "incident 7", "--json").json["all"] is True
    resumed = run("resume", "--credential", "mail")
    assert "everything is paused since" in resumed.err
    assert "incident 7" in run("rate", "list").err
    resumed = run("resume", "--all", "--yes")
    assert (resumed.code, resumed.err) == (0, "")
    assert [kind for kind, _, _ in told()] == ["deployment.paused", "deployment.resumed"]


@pytest.mark.slow
def test_a_rate_is_set_listed_and_reset(run: Run, clock: FakeClock) -> None:
    done = run("rate", "set", "mail", "12.5", "--reason", "warming up", "--json")
    assert done.json == {"credential_id": "mail", "rate": 12.5, "declared": 100, "changed": True}
    assert told() == [("credential.rate_set", "mail", {"rate": "12.5", "ceiling": "100", "reason": "warming up"})]
    assert senders_learn(clock) == Switches(rate=12.5)
    assert senders_learn(clock, present=12.5) is None
    run("pause", "--credential", "texts", "--reason", "quiet hours")
    listed = run("rate", "list", "--json").lines
    mail = {"credential_id": "mail", "channel": "email", "declared": 100, "rate": 12.5}
    texts = {"credential_id": "texts", "channel": "sms", "declared": 0.5, "rate": 0.5}
    above = {"all_paused_since": None, "all_reason": None}
    assert listed == [
        {**mail, "paused": False, "paused_since": None, "reason": None, **above},
        {**texts, "paused": True, "paused_since": "2026-09-21T14:13:20Z", "reason": "quiet hours", **above},
    ]
    assert "already" in run("rate", "set", "mail", "12.5").out
    assert "sends 100 of 100 messages per second, within 3 seconds" in run("rate", "reset", "mail").out
    assert senders_learn(clock) is None


WRONG = (
    (("pause",), 2),
    (("pause", "--all", "--yes", "--credential", "mail"), 2),
    (("resume",), 2),
    (("pause", "--credential", "nobody"), 3),
    (("pause", "--account", "acc_000000000000"), 3),
    (("pause", "--all", "--yes", "--reason", "ann@example.com asked"), 2),
    (("pause", "--all", "--yes", "--reason", "asked by +12025550123"), 2),
    (("pause", "--all", "--yes", "--reason", LONG), 2),
    (("pause", "--all", "--yes", "--reason", " "), 2),
    (("rate", "set", "mail", "100.5"), 2),
    (("rate", "set", "mail", "0.01"), 2),
    (("rate", "set", "mail", "0"), 2),
    (("rate", "set", "mail", "nan"), 2),
    (("rate", "set", "mail", "fast"), 2),
    (("rate", "set", "nobody", "5"), 3),
)


@pytest.mark.slow
def test_what_cannot_be_switched_changes_nothing(run: Run) -> None:
    for words, code in WRONG:
        done = run(*words)
        assert (done.code, done.out, done.err.count("\n")) == (code, "", 1), words
    assert told() == []


@pytest.mark.slow
def test_a_breaker_is_closed_by_hand_and_audited(run: Run, clock: FakeClock) -> None:
    assert "is not open" in run("credential", "close-breaker", "mail").out
    breakers = DynamoBreakers(dynamo(), "blue-ops")
    now = int(clock.now() * 1000)
    opened = rules.opened(Breaker("mail"), reason="http_503", failures=5, now=now, jitter=0.0)
    assert opened is not None
    breakers.swap(Breaker("mail"), opened)
    done = run("credential", "close-breaker", "mail", "--reason", "they say it is mended", "--json")
    assert done.json == {"credential_id": "mail", "breaker": "closed", "changed": True}
    stored = breakers.read(["mail"])["mail"]
    assert (stored.state, stored.version, stored.reason, stored.delay) == (BreakerState.CLOSED, 2, "http_503", 0)
    assert told() == [("credential.breaker_closed", "mail", {"reason": "they say it is mended"})]
    assert "is not open" in run("credential", "close-breaker", "mail").out
    assert run("credential", "close-breaker", "nobody").code == 3
    assert run("credential", "close-breaker", "mail", "--reason", "ask ann@example.com").code == 2
    assert len(told()) == 1
