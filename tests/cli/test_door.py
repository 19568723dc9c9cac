"""The operators' door: who is let in, what is refused and how the command says it."""

import json
import re
from fnmatch import fnmatchcase
from typing import Any

import boto3
import pytest

from functions.operate.handler import respond
from functions.operate.operations import ROUTES
from functions.operate.services import OperateServices
from infra.functions.operators import POLICIES, RESTORER
from infra.local.paths import ROOT
from shared.adapters.dynamo.audit import DynamoJournal
from shared.adapters.dynamo.client import Dynamo
from shared.domain.audit import EVERYONE, audited
from tests.cli.conftest import TABLE, deploy
from tests.cli.fakes import NOW, Answer, FakeApi, FakeClock, Run
from tests.cli.operators import OperatorsFunction


def never() -> OperateServices:
    raise AssertionError("a stranger's request reached the tables")


def note(seconds: int, name: str, kind: str = "credential.rate_set") -> None:
    journal = DynamoJournal(Dynamo(boto3.client("dynamodb", region_name="us-east-1")), TABLE)
    journal.write(audited(EVERYONE, int(NOW + seconds) * 1000, name, kind, "operator:1:x"))


@pytest.mark.parametrize("authorizer", [None, {}, {"iam": None}, {"iam": {}}, {"lambda": {"userArn": "arn:x"}}])
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_nothing_is_answered_to_a_caller_whom_iam_has_not_identified(route: Any, authorizer: Any) -> None:
    """Whatever the request itself says of its caller."""
    headers = {"x-amzn-iam-user-arn": "arn:aws:iam::1:root", "authorization": "AWS4-HMAC-SHA256 Credential=x"}
    context = {"http": {"method": route.method}, "authorizer": authorizer}
    event = {"rawPath": route.path, "requestContext": context, "headers": headers}
    found = respond(event, "r", never)
    assert (found["statusCode"], json.loads(found["body"])["code"]) == (401, "unauthorized")


@pytest.mark.usefixtures("aws")
def test_each_request_is_signed_and_the_log_names_who_signed(run: Run, operators: OperatorsFunction) -> None:
    operators.arn = "arn:aws:sts::123456789012:assumed-role/Ops/ann@example.com"
    assert run("audit").code == 0
    assert operators.asked == [("GET", "/operate/audit")]


@pytest.mark.usefixtures("aws")
def test_an_identity_without_the_right_is_told_which_policies_there_are(
    run: Run, operators: OperatorsFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.cli.operators.signed", lambda *_: False)
    done = run("audit")
    assert (done.code, done.err.count("\n"), "describe-stacks" in done.err) == (4, 1, True)
    assert len(operators.asked) == 1


def test_a_stack_of_an_earlier_version_has_no_door(run: Run, monkeypatch: pytest.MonkeyPatch, api: FakeApi) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("POSTHASTE_OPERATE_URL", api.url)
    api.answers(Answer({"message": "Not Found"}, 404))
    done = run("audit")
    assert (done.code, "deploy this version" in done.err) == (3, True)
    monkeypatch.setenv("POSTHASTE_OPERATE_URL", "http://api.example.com")
    assert (run("audit").code, len(api.asked)) == (2, 1)  # no signed request leaves unencrypted


def test_without_aws_credentials_nothing_is_asked(run: Run, monkeypatch: pytest.MonkeyPatch, api: FakeApi) -> None:
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("POSTHASTE_OPERATE_URL", api.url)
    done = run("audit")
    assert (done.code, "no valid AWS credentials" in done.err, api.asked) == (4, True, [])


@pytest.mark.usefixtures("aws")
def test_the_stack_says_where_the_api_is(
    run: Run, operators: OperatorsFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy("prod", api=operators.url)
    monkeypatch.delenv("POSTHASTE_OPERATE_URL")
    monkeypatch.setenv("POSTHASTE_STAGE", "prod")
    assert run("audit").code == 0
    assert run("audit", "--stage", "dev").code == 3


@pytest.mark.usefixtures("aws")
def test_pages_of_a_log_part_no_moment_and_repeat_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.operating.audit.PAGE", 2)
    for n, second in enumerate((1, 2, 2, 2, 3, 4)):
        note(second, f"n{n}")
    found = [x["subject"] for x in run("audit", "--json").lines]
    assert (found[:2], set(found[2:5]), found[5:]) == (["n5", "n4"], {"n1", "n2", "n3"}, ["n0"])
    assert len(run("audit", "--json", "--limit", "3").lines) == 3


@pytest.mark.usefixtures("aws")
def test_a_long_search_is_continued_by_further_calls(
    run: Run, clock: FakeClock, operators: OperatorsFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("functions.operate.audit.READ_SECONDS", 0)
    monkeypatch.setattr("shared.adapters.dynamo.audit.PAGES", 1)
    monkeypatch.setattr("shared.adapters.dynamo.audit.EXAMINED", 2)
    for second in range(7):
        note(second, f"n{second}", "credential.paused" if second in (0, 3) else "credential.rate_set")
    found = run("audit", "--json", "--action", "credential.paused").lines
    assert [x["subject"] for x in found] == ["n3", "n0"]
    assert len(operators.asked) > 2


def test_each_route_is_granted_by_a_policy_and_a_get_by_the_viewers() -> None:
    for route in ROUTES:
        granting = {
            name
            for name, routes in POLICIES.items()
            if any(fnmatchcase(f"{route.method}{route.path}", x) for x in routes)
        }
        assert granting, route.path
        assert ("Viewer" in granting) == (route.method == "GET"), route.path


def test_the_page_for_operators_has_each_route_and_each_policy() -> None:
    page = (ROOT / "docs" / "operations.md").read_text("utf-8")
    named = set(re.findall(r"`((?:GET|POST|PUT|DELETE) /operate/[\w/{}-]+)`", page))
    assert named == {f"{route.method} {route.path}" for route in ROUTES}
    assert set(re.findall(r"`(\w+)Policy`", page)) == {*POLICIES, RESTORER}
