"""An account leaves: planned in the console, cancelled, and deleted at its time with all that would stay by itself."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import boto3
import pytest

from functions.operate.access import leaving
from functions.operate.access.leaving import LeavingStep
from functions.operate.handler import respond
from shared import contracts
from shared.adapters.dynamo.erasure.leaving import LeavingRows
from shared.domain.audit import Log
from tests.console.console import Console
from tests.console.examples import Example, build_example
from tests.console.test_buttons import KIRA, OLGA, acts
from tests.fakes.clock import FakeClock

ARN = "arn:aws:iam::1:user/erik"
DAY = 86_400
BUCKET = "leaving-bucket"


def call(console: Console, what: str, **body: Any) -> tuple[int, dict[str, Any]]:
    """Call the operators' function as somebody whom IAM lets erase."""
    event = {
        "rawPath": f"/operate/erase/accounts/{what}",
        "headers": {"content-type": "application/json"},
        "requestContext": {"http": {"method": "POST"}, "authorizer": {"iam": {"userArn": ARN}}},
        "body": json.dumps(body),
    }
    found = respond(event, "r", lambda: console.buttons.services)
    return found["statusCode"], json.loads(found["body"])


def deleted(console: Console, account: str) -> list[dict[str, Any]]:
    """Delete an account, request by request."""
    step, after, reports = LeavingStep.CLOSE.value, "", []
    while step:
        status, found = call(console, "run", account=account, step=step, after=after)
        assert status == 200, found
        step, after = found["step"], found["after"]
        reports.append(found)
        assert len(reports) < 200
    return reports


def rows(console: Console) -> Iterator[dict[str, Any]]:
    """Yield all rows of `records`."""
    for page in console.client.get_paginator("scan").paginate(TableName=console.api.tables.records):
        yield from page["Items"]


def of_account(console: Console, account: str) -> set[str]:
    """Return the rows that stay by themselves, of an account."""
    found = set()
    for row in rows(console):
        pk, sk = row["pk"]["S"], row["sk"]["S"]
        owned = row.get("account", {}).get("S", "").startswith(account) and pk[:2] in ("M#", "T#")
        if pk.startswith((f"A#{account}", f"B#{account}")) or owned:
            found.add(f"{pk} {sk}")
    return found


@pytest.fixture
def bucket(console: Console, monkeypatch: pytest.MonkeyPatch) -> Any:
    """S3 with a list of the account, and one of another account whose id only begins alike."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    return _bucket(console)


def _bucket(console: Console) -> Any:
    s3 = boto3.client("s3", region_name="us-east-1")
    s3.create_bucket(Bucket=BUCKET)
    s3.put_object(Bucket=BUCKET, Key=f"uploads/{console.account}/c/u", Body=b"recipient\r\n")
    s3.put_object(Bucket=BUCKET, Key=f"images/{console.account}/a.png", Body=b"x")
    s3.put_object(Bucket=BUCKET, Key="images/acc_000000000000/a.png", Body=b"x")
    s3.put_object(Bucket=BUCKET, Key="uploads/acc_000000000000/c/u", Body=b"recipient\r\n")
    services = console.buttons.services
    services.env = {**services.env, contracts.ENV_BUCKET: BUCKET}
    return s3


def files(s3: Any) -> list[str]:
    return [x["Key"] for x in s3.list_objects_v2(Bucket=BUCKET).get("Contents", ())]


@pytest.mark.slow
def test_a_deletion_is_planned_said_on_every_page_and_cancelled(console: Console, clock: FakeClock) -> None:
    console.sign_in(KIRA)
    account = console.account
    assert "Delete …" in console.shown("/manage")
    for wrong in ("", "0", "367", "x"):
        assert console.post(f"/{account}/leave", days=wrong).status == 422
    assert "Nothing changes at once" in console.shown("/leave")
    assert console.post(f"/{account}/leave", days="7").status == 303
    assert "posthaste account delete" in console.shown("/manage")
    assert "This account is going to be deleted" in console.shown("/jobs")
    assert console.api.call("GET", "/jobs").status == 200, "until then it works as before"
    clock.advance(1)
    assert console.post(f"/{account}/keep").status == 303
    assert "going to be deleted" not in console.shown("/jobs")
    assert [x for x in acts(console, account) if "deletion" in x[0]] == [
        ("account.deletion_planned", "user:Kira"),
        ("account.deletion_cancelled", "user:Kira"),
    ]
    console.cookies.clear()
    console.sign_in(OLGA)
    assert "Delete …" not in console.shown("/manage")
    assert console.post(f"/{account}/leave", days="7").status == 403


def test_nothing_is_deleted_unplanned_or_early_or_after_a_cancellation(console: Console, clock: FakeClock) -> None:
    account, before = console.account, of_account(console, console.account)
    profile = console.services.accounts.get(account)
    now = int(clock.now() * 1000)

    def run(**more: Any) -> int:
        return call(console, "run", account=account, **more)[0]

    assert run() == 422
    for at in (now, now + 400 * DAY * 1000, 0):
        assert call(console, "plan", account=account, at=at)[0] == 422
    assert call(console, "plan", account=account, at=now + DAY * 1000)[0] == 200
    clock.advance(DAY - 1)
    assert run() == 422
    assert call(console, "cancel", account=account) == (200, {"account_id": account, "changed": True})
    clock.advance(2)
    assert run() == 422
    assert call(console, "plan", account=account, at=int(clock.now() * 1000) + DAY * 1000)[0] == 200
    clock.advance(DAY)
    for step, after in (("rows", ""), ("files", ""), ("", ""), ("close", "nonsense")):
        assert run(step=step, after=after) == 400, step
    assert of_account(console, account) == before
    found = console.services.accounts.get(account)
    assert found is not None
    assert replace(found, leaves_at=0) == profile
    assert call(console, "run", account="acc_000000000000")[0] == 404


@pytest.mark.slow
def test_an_account_is_deleted_with_all_that_stays_by_itself_and_no_other(
    moto_dynamo: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    example: Example = build_example(moto_dynamo, days=(3,))
    console, account = example.console, example.account
    clock, s3 = console.api.world.clock, _bucket(console)
    accounts = console.services.accounts
    other = accounts.create_account("Other", ["example.net"])
    console.services.use_cases.suppressions.put(other, "bo@example.org", "bounced")
    _, kept = accounts.create_key(other)
    theirs = of_account(console, other)
    log = len(acts(console, account))
    text, _ = accounts.create_key(account)
    assert len(of_account(console, account)) > 20
    assert call(console, "plan", account=account, at=int(clock.now() * 1000) + DAY * 1000)[0] == 200
    clock.advance(DAY)
    monkeypatch.setattr(leaving, "WORK_SECONDS", 0)
    plain = LeavingRows._scan
    monkeypatch.setattr(LeavingRows, "_scan", lambda self: {**plain(self), "Limit": 40})
    reports = deleted(console, account)
    assert len(reports) > 4, "the table is read in several requests"
    assert sum(x["deleted"] for x in reports) > 20
    left = {x for x in of_account(console, account) if "#AUDIT" not in x and "#WAKE" not in x and "#DOMAINS" not in x}
    assert left == {f"A#{account} CONTROL", f"A#{account} PROFILE"}, "the second, for a rollback, without its name"
    assert of_account(console, other) == theirs
    assert files(s3) == ["images/acc_000000000000/a.png", "uploads/acc_000000000000/c/u"]
    assert [x.id for x in accounts.list_accounts()] == [other]
    assert [x.id for x in accounts.list_keys(other)] == [kept.id]
    found = accounts.get(account)
    assert found is not None
    assert (found.name, found.suspended, bool(found.deleted_at)) == ("", True, True)
    assert (accounts.list_keys(account), accounts.list_senders(account)) == ([], [])
    assert not console.services.people.members(account)
    assert not console.services.people.waiting(account)
    clock.advance(31)
    assert accounts.find_by_key(text) is None
    said: Mapping[str, Any] = {e.kind: e for e in console.services.use_cases.journal.since(account, Log.AUDIT, 0)}
    assert said["account.deleted"].actor.endswith("erik")
    assert len(acts(console, account)) > log, "the audit log stays"
    assert call(console, "run", account=account)[0] == 422, "it is deleted once"


def test_a_deletion_that_has_begun_is_not_cancelled_and_continues(
    console: Console, clock: FakeClock, bucket: Any
) -> None:
    account = console.account
    assert call(console, "plan", account=account, at=int(clock.now() * 1000) + DAY * 1000)[0] == 200
    clock.advance(DAY)
    assert call(console, "run", account=account)[1]["step"] == "rows"
    assert call(console, "cancel", account=account)[0] == 422
    assert call(console, "plan", account=account, at=int(clock.now() * 1000) + DAY * 1000)[0] == 422
    assert console.services.accounts.suspended(account)
    assert deleted(console, account)[-1]["step"] == ""
    assert files(bucket) == ["images/acc_000000000000/a.png", "uploads/acc_000000000000/c/u"]
