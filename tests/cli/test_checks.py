"""What the doctor makes of AWS's answers: for each finding one that brings it, and one that does not."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest

from cli.checks import Finding, Level, account, first, secrets, stack
from infra.settings import MAX_RESERVED, providers
from shared.contracts import Credential, CredentialQuota, Per, Settings, Warmup
from shared.domain.lanes.breaker import Breaker, BreakerState
from shared.domain.lanes.switches import Switches
from shared.providers.checks import judge_secret, own_keys
from shared.providers.registry import secret_fields
from shared.providers.ses import checks as ses
from simulator.registry import providers as simulated
from tests.cli.fakes import FakeClock
from tests.providers.contract import CHANNELS

OK, WARNING, ERROR = Level.OK, Level.WARNING, Level.ERROR
ONE = Credential("one", "ses", "email", 10)
TWO = Credential("two", "ses", "email", 5)
TOPIC, QUEUE = "arn:aws:sns:us-east-1:1:topic", "arn:aws:sqs:us-east-1:1:queue"


def levels(found: Finding | list[Finding]) -> list[Level]:
    some = found if isinstance(found, list) else [found]
    assert all(x.says and (x.do or x.level in (OK, Level.SKIPPED)) for x in some), some
    return [x.level for x in some]


@pytest.mark.parametrize(("off", "level"), [(0, OK), (-4, OK), (5, WARNING), (-299, WARNING), (300, ERROR)])
def test_the_clock(off: float, level: Level) -> None:
    at = 1_790_000_000
    assert levels(account.clock("Mon, 21 Sep 2026 14:13:20 GMT", at + off)) == [level]


@pytest.mark.parametrize(("value", "level"), [(None, ERROR), ("5", ERROR), ("x", ERROR), ("6", OK), ("30", OK)])
def test_the_bootstrap_stack(value: str | None, level: Level) -> None:
    found = account.bootstrap({"Parameter": {"Value": value}} if value else None, "123456789012", "eu-west-1")
    assert levels(found) == [level]
    assert level is OK or found.do == ".venv/bin/npx cdk bootstrap aws://123456789012/eu-west-1"


@pytest.mark.parametrize(
    ("limit", "unreserved", "here", "reserved", "level"),
    [
        (10, 10, 0, True, ERROR),  # a fresh account
        (1000, 1000, 0, True, OK),
        (120, 120, 0, True, OK),
        (119, 119, 0, True, ERROR),
        (1000, 119, 0, True, ERROR),  # others have it
        (1000, 100, 20, True, OK),  # our own deploy has it
        (10, 10, 0, False, WARNING),
        (70, 70, 0, False, OK),
    ],
)
def test_lambda_concurrency(limit: int, unreserved: int, here: int, reserved: bool, level: Level) -> None:  # noqa: FBT001 - a row
    answer = {"AccountLimit": {"ConcurrentExecutions": limit, "UnreservedConcurrentExecutions": unreserved}}
    found = account.concurrency(answer, here, 20, reserved=reserved)
    assert levels(found) == [level]
    assert level is OK or "--quota-code L-B99A9384" in found.do


def test_the_tables_throughput() -> None:
    settings = Settings("dev", (ONE, Credential("fast", "sendgrid", "email", 90_000)), {})
    assert levels(account.writes({"Quota": {"Value": 40_000.0}}, settings)) == [ERROR]
    assert levels(account.writes({"Quota": {"Value": 80_000.0}}, settings)) == [WARNING]
    assert levels(account.writes({"Quota": {"Value": 1_600_000.0}}, settings)) == [OK]


@pytest.mark.parametrize(("most", "level"), [(1000, ERROR), (4000, WARNING), (200_000, OK)])
def test_a_table_with_a_capacity_of_its_own_takes_no_more(most: int, level: Level) -> None:
    settings = Settings("dev", (Credential("fast", "sendgrid", "email", 5000),), {}, writes_most=most)
    found = account.writes({"Quota": {"Value": 400_000.0}}, settings)
    assert levels(found) == [level]
    assert f"the table records grows to {most:,} write units a second" in found.says
    assert "quota" not in found.do


def test_five_thousand_single_messages_a_second_are_too_many_for_a_table() -> None:
    five = Settings("dev", (Credential("fast", "sendgrid", "email", 5000),), {})
    found = account.writes({"Quota": {"Value": 40_000.0}}, five)
    assert levels(found) == [WARNING]
    assert "2,500 in batches and campaigns, and 65,000 as single messages" in found.says
    assert "3,077 of those a second, a new one 308" in found.says
    assert "--desired-value 65000" in found.do


def test_rates_above_what_express_workers_send_are_a_warning_with_the_workers_that_would() -> None:
    enough = Credential("enough", "ses", "email", 2 * account.SINGLES_PER_WORKER)
    gone = Credential("gone", "ses", "email", 5000, retired=True)
    assert levels(account.singles(Settings("dev", (enough, gone), {}))) == [OK]
    ses, huge = Credential("ses", "ses", "email", 500, workers=3), Credential("huge", "ses", "email", 18_040)
    found = account.singles(Settings("dev", (enough, ses, huge), {}))
    assert levels(found) == [WARNING, WARNING]
    assert "ses may send 500 messages a second, and its 3 express workers send about 120 single ones" in found[0].says
    assert found[0].do == 'if you post so many single messages: set "workers": 13 (docs/settings.md)'
    assert '"workers"' not in found[1].do, "more than a deployment has"


def test_a_warmup_says_its_day_and_its_end() -> None:
    quota = CredentialQuota(50_000, Per.DAY, "UTC", Warmup(date(2026, 12, 1), (200, 1500)))
    warm = Settings("dev", (Credential("new", "ses", "email", 9, quotas=(quota,)), ONE), {})

    def said(day: int, hour: int = 12) -> list[str]:
        return [x.says for x in account.warmups(warm, datetime(2026, 12, day, hour, tzinfo=UTC).timestamp())]

    assert said(2) == [
        "new: day 2 of 2 of its warm-up, with 1,500 messages; the full quota of 50,000 a day begins on 2026-12-03"
    ]
    assert said(3, 0) == []
    before = account.warmups(warm, datetime(2026, 11, 30, tzinfo=UTC).timestamp())
    assert levels(before) == [OK]
    assert before[0].says.startswith("new sends nothing before 2026-12-01, the first day of its warm-up")


def test_no_more_workers_are_named_than_all_lanes_have_together() -> None:
    """Each reserves two, beside the lane of test keys and the webhooks to accounts."""
    assert 2 * account.MOST_WORKERS <= MAX_RESERVED


def test_settings_that_differ_are_named() -> None:
    mine = Settings("dev", (ONE, Credential("two", "ses", "email", 6)), {})
    assert levels(account.declared(mine, None)) == levels(account.declared(mine, mine)) == [OK]
    found = account.declared(mine, Settings("dev", (TWO, Credential("three", "ses", "email", 1)), {}))
    assert (found.level, found.says.partition(": ")[2]) == (WARNING, "+one, -three, ~two")
    assert "others than" in account.declared(mine, Settings("dev", mine.credentials, {"email": ("one",)})).says


def test_a_credential_that_goes_must_be_retired_and_its_lane_empty() -> None:
    """The doctor's exit code refuses what would fail messages."""
    retired = Credential("three", "ses", "email", 1, retired=True)
    active = Credential("two", "ses", "email", 5)
    mine, deployed = Settings("dev", (ONE,), {}), Settings("dev", (ONE, active, retired), {})
    early, held = account.leaving(mine, deployed, {"three": 4})
    assert (early.level, held.level) == (ERROR, ERROR)
    assert early.says.startswith("two is missing from cdk.json but still takes messages")
    assert '"retired": true' in early.do
    assert held.says == "three is missing from cdk.json, and its lane still holds 4 chunks"
    assert account.leaving(Settings("dev", (ONE, active), {}), deployed, {"three": 0}) == []


GOOD: dict[str, Any] = {
    "ProductionAccessEnabled": True,
    "SendingEnabled": True,
    "EnforcementStatus": "HEALTHY",
    "SendQuota": {"Max24HourSend": 50_000.0, "MaxSendRate": 15.0, "SentLast24Hours": 40_000.0},
}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, [OK]),
        ({"ProductionAccessEnabled": False}, [ERROR]),
        ({"SendingEnabled": False}, [ERROR]),
        ({"EnforcementStatus": "PROBATION"}, [WARNING]),
        ({"EnforcementStatus": "SHUTDOWN"}, [ERROR]),
        ({"SendQuota": {**GOOD["SendQuota"], "MaxSendRate": 14.0}}, [ERROR]),  # the two share it
        ({"SendQuota": {**GOOD["SendQuota"], "SentLast24Hours": 40_001.0}}, [WARNING]),
        ({"SendQuota": {**GOOD["SendQuota"], "Max24HourSend": -1.0}}, [OK]),
    ],
)
def test_the_account_of_ses(change: dict[str, Any], expected: list[Level]) -> None:
    assert levels(ses.account({**GOOD, **change}, [ONE, TWO], "us-east-1")) == expected


@pytest.mark.parametrize(
    ("quotas", "allowed", "expected"),
    [
        ((20_000, 20_000), 50_000.0, [OK]),
        ((30_000, 30_000), 50_000.0, [ERROR]),
        ((5_000, 5_000), 50_000.0, [WARNING]),
        ((5_000, 0), 50_000.0, [OK]),  # the other sends the rest
        ((60_000, 0), 50_000.0, [ERROR]),
        ((60_000, 60_000), -1.0, [OK]),
    ],
)
def test_quotas_are_compared_with_those_of_ses(quotas: tuple[int, int], allowed: float, expected: list[Level]) -> None:
    some = [
        replace(c, quotas=(CredentialQuota(n, Per.SLIDING),) if n else ())
        for c, n in zip([ONE, TWO], quotas, strict=True)
    ]
    answer = {**GOOD, "SendQuota": {"Max24HourSend": allowed, "MaxSendRate": 15.0, "SentLast24Hours": 0.0}}
    assert levels(ses.account(answer, some, "us-east-1")) == expected


def test_senders_need_a_verified_identity_with_dkim() -> None:
    known = [
        {"IdentityName": "example.com", "SendingEnabled": True},
        {"IdentityName": "new.example.org", "SendingEnabled": False},
        {"IdentityName": "ann@example.net", "SendingEnabled": True},
    ]
    good = {"DkimAttributes": {"SigningEnabled": True, "Status": "SUCCESS"}}

    def of(*senders: str, **details: Any) -> list[Finding]:
        return ses.identities(known, details, senders, "us-east-1")

    assert levels(of()) == levels(of("example.com", "news.example.com", "x@example.com", "ann@example.net")) == [OK]
    (pending, unknown) = of("x@new.example.org", "bob@example.net")
    assert (pending.level, unknown.level) == (ERROR, ERROR)
    assert {"bob@example.net is not verified:", "x@new.example.org is not verified yet:"} == {
        x.says.partition(" SES")[0] for x in (pending, unknown)
    }
    details = {"example.com": {"DkimAttributes": {"SigningEnabled": True, "Status": "PENDING"}}}
    assert levels(ses.identities(known, details, ["example.com"], "us-east-1")) == [WARNING]
    assert levels(ses.identities(known, {"example.com": good}, ["example.com"], "us-east-1")) == [OK]
    assert ses.cover("a@b.example.com", ["com", "example.com", "b.example.com"]) == ["b.example.com", "example.com"]


def test_events_of_ses_must_reach_the_feedback_queue() -> None:
    kinds = ["SEND", "BOUNCE", "COMPLAINT", "DELIVERY", "REJECT"]
    whole = {"Enabled": True, "MatchingEventTypes": kinds, "SnsDestination": {"TopicArn": TOPIC}}
    subscription = {"Protocol": "sqs", "Endpoint": QUEUE, "SubscriptionArn": f"{TOPIC}:1"}

    def of(destination: dict[str, Any] | None, *subscriptions: dict[str, Any]) -> list[Level]:
        answer = None if destination is None else {"EventDestinations": [destination]}
        return levels(ses.events({"one": answer}, TOPIC, subscriptions, QUEUE))

    assert of(whole, subscription) == [OK]
    assert of(None, subscription) == [ERROR]
    for broken in ({"Enabled": False}, {"MatchingEventTypes": kinds[:2]}, {"SnsDestination": {"TopicArn": "other"}}):
        assert of({**whole, **broken}, subscription) == [ERROR]
    assert of(whole) == [ERROR]
    assert of(whole, {**subscription, "Endpoint": "other"}) == [ERROR]
    for word in ("PendingConfirmation", "Deleted"):
        assert of(whole, {**subscription, "SubscriptionArn": word}) == [ERROR]


COMPLETE = {
    "ses": {},
    "smtp": {"username": "u", "password": "p"},
    "twilio": {"account_sid": "AC" + "0" * 32, "auth_token": "t", "from": "+12025550123"},
}
"""Secrets of which no field may be missing, of providers that do not declare it by `required`."""


def complete(provider: str) -> dict[str, str]:
    """Return a secret with all fields that are required, as the simulated vendor has them."""
    far = simulated()[provider](None)
    said = {"api_key": far.default_key, **far.describe()}
    return {field.name: said[field.name] for field in secret_fields(provider) if field.required}


def test_every_provider_says_itself_what_its_secret_lacks() -> None:
    for provider in providers():
        fields = COMPLETE[provider] if provider in COMPLETE else complete(provider)
        channel = CHANNELS.get(provider, "email")
        base = "smtp://relay.example.com:587" if provider == "smtp" else ""
        credential = Credential("one", provider, channel, 1, base_url=base)

        def of(some: dict[str, str], credential: Credential = credential) -> list[Finding]:
            return judge_secret(credential, json.dumps(some), "https://mail.example.com", FakeClock())

        assert levels(of(fields)) == [OK], provider
        for name in fields:
            assert ERROR in levels(of({k: v for k, v in fields.items() if k != name})), (provider, name)
        if "webhook_signing_key" in fields:
            (found,) = of({**fields, "webhook_signing_key": ""})
            assert "https://mail.example.com/webhooks/mailgun/one" in found.do
    assert (
        "no_key"
        in judge_secret(
            Credential("one", "sendgrid", "email", 1),
            json.dumps({"api_key": "x", "webhook_public_key": "x"}),
            "",
            FakeClock(),
        )[0].says
    )


@pytest.mark.parametrize(
    "text", ["", "  ", "hush", '"hush"', '["hush"]', '{"api_key": 1}', '{"api_key": {"x": "hush"}}']
)
def test_a_malformed_secret_is_an_error_and_never_shown(text: str) -> None:
    found = judge_secret(Credential("one", "sendgrid", "email", 1), text, "", FakeClock())
    assert levels(found) == [ERROR]
    assert "hush" not in str(found)


def test_what_signs_links() -> None:
    key = "k" * 32
    assert levels(secrets.links(json.dumps({"current": key}))) == [OK]
    for text in ("", "{}", '{"current": "short"}', json.dumps({"current": key, "previous": "short"}), "[]", "x"):
        assert levels(secrets.links(text)) == [ERROR]


@pytest.mark.parametrize(
    ("status", "level"),
    [
        ("CREATE_COMPLETE", OK),
        ("UPDATE_COMPLETE", OK),
        ("UPDATE_ROLLBACK_COMPLETE", WARNING),
        ("UPDATE_IN_PROGRESS", WARNING),
        ("UPDATE_ROLLBACK_FAILED", ERROR),
        ("ROLLBACK_COMPLETE", ERROR),
        ("DELETE_FAILED", ERROR),
        ("REVIEW_IN_PROGRESS", WARNING),
    ],
)
def test_the_stack(status: str, level: Level) -> None:
    assert levels(stack.stack({"StackName": "posthaste-dev", "StackStatus": status})) == [level]


def test_a_first_deploy_that_failed_is_repeated_by_three_commands() -> None:
    """CDK deletes a stack in ROLLBACK_COMPLETE by itself, unless it is protected."""
    answer = {"StackName": "posthaste-prod", "StackStatus": "ROLLBACK_COMPLETE", "EnableTerminationProtection": True}
    do = stack.stack(answer).do
    steps = ("describe-stack-events", "update-termination-protection --no-enable", "cdk deploy -c protect=off")
    assert [do.find(x) > 0 for x in steps] == [True] * 3
    assert sorted(steps, key=do.find) == list(steps)
    assert "termination-protection" not in stack.stack(answer | {"EnableTerminationProtection": False}).do
    left = stack.stack(answer | {"StackStatus": "DELETE_FAILED"})
    assert "delete-stack --stack-name posthaste-prod" in left.do
    assert first.PAGE in left.do


def test_a_running_stack_of_production_has_to_be_protected() -> None:
    assert first.protection({"StackName": "posthaste-prod", "EnableTerminationProtection": True}) == []
    assert levels(*first.protection({"StackName": "posthaste-prod"})) == [WARNING]


def test_names_that_an_earlier_deployment_has_left() -> None:
    """Another stage's names are not ours, though they begin alike."""
    theirs = ["posthaste-prod-eu-feedback", "posthaste-prod-eu-lane-a", "posthaste-production-due", "other"]
    mine = ["posthaste-prod-lane-a_express", "posthaste-prod-lane-a-dlq", "posthaste-prod-plan-dlq"]
    assert levels(first.names("prod", theirs, ["posthaste-prod-eu/unsubscribe", "posthaste-prod/webhook/one"])) == [OK]
    found = first.names("prod", [*theirs, *mine], ["posthaste-prod/unsubscribe"])
    assert found.level is ERROR
    assert all(x in found.says for x in (*mine, "posthaste-prod/unsubscribe")), "an operator deletes no other names"
    assert not [x for x in theirs if x in found.says]


def test_the_address() -> None:
    assert levels(stack.address("https://x", 200, b'{"status":"ok"}')) == [OK]
    for status, body in ((404, b"{}"), (200, b"<html>"), (503, b'{"status":"ok"}')):
        assert levels(stack.address("https://x", status, body)) == [ERROR]
    assert "MaxRetryError" in stack.address("https://x", 0, b"", why="MaxRetryError").says


def test_dead_letters_and_breakers() -> None:
    assert levels(stack.queues([{"queue": "feedback", "dead": 0}])) == [OK]
    (found,) = stack.queues([{"queue": "feedback", "dead": 3}, {"queue": "due", "dead": 0}])
    assert (found.level, found.do.partition(" (")[0]) == (WARNING, "posthaste redrive feedback --dry-run")
    opened = Breaker("one", state=BreakerState.OPEN, reason="http_503")
    assert levels(stack.breakers({"one": Breaker("one")})) == [OK]
    assert levels(stack.breakers({"one": opened, "two": Breaker("two")})) == [WARNING]


def test_doctor_reports_pauses_and_lowered_rates() -> None:
    quiet = {"one": (Switches(), ""), "two": (Switches(rate=9.0), "")}  # above what is declared: in force is that
    assert levels(stack.switches((False, ""), [ONE, TWO], quiet, {})) == [OK]
    assert levels(stack.switches((True, "fire"), [ONE, TWO], quiet, {})) == [WARNING]
    held = {"one": (Switches(paused=True), "bounces"), "two": (Switches(rate=1.0), "")}
    paused, slowed, account = stack.switches((False, ""), [ONE, TWO], held, {"acc_a": "spam"})
    assert (paused.says, paused.do) == ("one is paused (bounces)", "posthaste resume --credential one")
    assert slowed.says == "two is slowed to 1 of 5 messages a second"
    assert (account.says, account.do) == ("acc_a is paused (spam)", "posthaste resume --account acc_a")


def test_keys_of_ones_own_are_seen_and_half_of_them_is_an_error() -> None:
    pair = {"access_key_id": "AKIA", "secret_access_key": "hush"}
    assert own_keys(json.dumps(pair))
    assert not any(own_keys(text) for text in ("", "{}", "[]", "x", '{"access_key_id": "AKIA"}'))
    assert levels(judge_secret(ONE, json.dumps(pair), "https://mail.example.com", FakeClock())) == [OK]
    for name in pair:
        half = judge_secret(ONE, json.dumps({**pair, name: " "}), "https://mail.example.com", FakeClock())
        assert (levels(half), "role signs" in half[0].says, "hush" in str(half)) == ([ERROR], True, False)


def test_alarms_must_reach_somebody() -> None:
    alarm = {"AlarmName": "a", "ActionsEnabled": True, "AlarmActions": [TOPIC], "StateValue": "OK"}
    someone = {"Protocol": "email", "SubscriptionArn": f"{TOPIC}:1"}

    def of(alarm: dict[str, Any] | None, *subscriptions: dict[str, Any]) -> list[Level]:
        return levels(stack.alarms([alarm] if alarm else [], TOPIC, subscriptions))

    assert of(alarm, someone) == [OK]
    assert of(None, someone) == [ERROR]
    assert of(alarm) == [ERROR]
    for word in ("PendingConfirmation", "Deleted"):
        assert of(alarm, {**someone, "SubscriptionArn": word}) == [ERROR]
        assert of(alarm, {**someone, "SubscriptionArn": word}, someone) == [OK]
    assert of({**alarm, "ActionsEnabled": False}, someone) == of({**alarm, "AlarmActions": []}, someone) == [ERROR]
    assert of({**alarm, "StateValue": "ALARM", "StateReason": "too many"}, someone) == [WARNING]


def test_accounts_that_are_older_than_their_mark_are_a_warning_with_some_of_their_ids() -> None:
    assert levels(secrets.first_accounts([], whole=True)) == [OK]
    assert levels(secrets.first_accounts([], whole=False)) == [Level.SKIPPED]
    told = secrets.first_accounts([f"acc_{n}" for n in range(7)], whole=False)
    assert (told.level, told.says.startswith("7 that people made"), told.says.endswith("acc_3, acc_4")) == (
        *(WARNING, True, True),
    )
