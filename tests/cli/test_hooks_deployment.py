"""`posthaste hook … --deployment`: operators' endpoints, by the operators' function."""

import io
import json
from typing import Any

import boto3
import pytest

from functions.operate.handler import logger
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.hooks.endpoints import DynamoEndpoints
from shared.adapters.dynamo.hooks.queue import DynamoHookQueue
from shared.contracts import calls_queue_name, hooks_secret_name
from shared.domain.hooks.delivery import DeliveryState, HookAttempt, attempted, ended
from shared.domain.hooks.endpoint import DEPLOYMENT
from shared.domain.hooks.signature import secret_of
from tests.cli.conftest import TABLE
from tests.cli.fakes import Run

MASTER = "m" * 40
SLACK = "https://hooks.slack.com/services/T0/B0/secret"
REGION = "us-east-1"


@pytest.fixture(autouse=True)
def deployed(aws: None) -> None:
    """The queue and the secret of a deployment."""
    boto3.client("sqs", REGION).create_queue(QueueName=calls_queue_name("dev"))
    boto3.client("secretsmanager", REGION).create_secret(
        Name=hooks_secret_name("dev"), SecretString=json.dumps({"current": MASTER})
    )


@pytest.fixture
def made(run: Run) -> Any:
    words = ("--deployment", "--format", "slack", "--event", "breaker.opened", "--event", "campaign.halted", "--json")
    done = run("hook", "create", SLACK, *words)
    assert done.code == 0, done.err
    return done.json


def dynamo() -> Dynamo:
    return Dynamo(boto3.client("dynamodb", region_name=REGION))


def hints() -> int:
    sqs = boto3.client("sqs", REGION)
    url = sqs.get_queue_url(QueueName=calls_queue_name("dev"))["QueueUrl"]
    shown = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    return int(shown["ApproximateNumberOfMessages"]) + int(shown["ApproximateNumberOfMessagesDelayed"])


def test_an_endpoint_is_created_without_the_api(run: Run, made: Any) -> None:
    assert made["secret"] == secret_of(MASTER, made["id"], 1)
    assert (made["state"], made["format"], made["url"]) == ("proving", "slack", "https://hooks.slack.com/…")
    stored = DynamoEndpoints(dynamo(), records=TABLE).get(made["id"])
    assert stored is not None
    assert (stored.namespace, stored.url) == (DEPLOYMENT, SLACK)
    assert hints() == 1
    listed = run("hook", "list", "--deployment", "--json")
    assert [x["id"] for x in listed.lines] == [made["id"]]
    assert made["secret"] not in listed.out


@pytest.mark.slow
@pytest.mark.promise(9)
def test_no_line_of_the_log_has_a_secret(run: Run, made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    logged = io.StringIO()
    monkeypatch.setattr(logger.registered_handler, "stream", logged)
    second = run("hook", "rotate", made["id"], "--deployment").out.strip()
    assert run("hook", "show", made["id"], "--deployment").code == 0
    assert '"operation":"rotate_hook"' in logged.getvalue()
    assert not any(text in logged.getvalue() for text in (second, SLACK, MASTER))


@pytest.mark.slow
def test_kinds_of_accounts_are_not_the_deployment_s(run: Run) -> None:
    refused = run("hook", "create", SLACK, "--deployment", "--event", "message.sent")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "breaker.opened" in refused.err
    assert run("hook", "create", "http://10.0.0.1/", "--deployment").code == 2
    assert run("hook", "create", SLACK, "--deployment", "--format", "xml").code == 2
    assert run("hook", "list", "--deployment", "--json").lines == []


@pytest.mark.slow
def test_an_endpoint_is_changed_rotated_and_deleted(run: Run, made: Any) -> None:
    name, there = made["id"], "--deployment"
    assert "disabled" in run("hook", "update", name, "--disable", there).out
    assert run("hook", "test", name, there).code == 1
    assert "proving" in run("hook", "update", name, "--enable", "--batch", there).out
    assert run("hook", "show", name, there, "--json").json["batch"] is True
    assert run("hook", "rotate", name, there).out.strip() == secret_of(MASTER, name, 2)
    assert run("hook", "delete", name, there).code == 0
    assert run("hook", "show", name, there).code == 3
    assert run("hook", "delete", "hook_x", there).code == 3


@pytest.mark.slow
def test_deliveries_are_listed_retried_and_replayed(run: Run, made: Any) -> None:
    name, there = made["id"], "--deployment"
    (proof,) = run("hook", "deliveries", name, there, "--json").lines
    queue = DynamoHookQueue(dynamo(), records=TABLE)
    waiting = queue.get(name, proof["id"])
    assert waiting is not None
    done = ended(attempted(waiting, HookAttempt(waiting.due, 500)), DeliveryState.FAILED, waiting.due)
    queue.settle([(waiting, done)])
    assert "500 in 0 ms" in run("hook", "deliveries", name, there, "--state", "failed").out
    assert run("hook", "retry", name, proof["id"], there).code == 0
    assert run("hook", "retry", name, "1.evt_x", there).code == 3
    assert run("hook", "deliveries", name, there, "--state", "pending", "--json").lines[0]["id"] == proof["id"]
    assert run("hook", "replay", name, "--since", "1d", there).code == 0
    assert run("hook", "replay", name, "--since", "2d", there).code == 1
    assert run("hook", "replay", name, "--since", "yesterday", there).code == 2
