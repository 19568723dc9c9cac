"""Hints about webhooks on SQS, and the key behind the secrets of endpoints."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from shared.adapters.hooks import SqsHookHints, StoredHookSecrets
from shared.adapters.secrets import Secrets
from shared.bootstrap import Deployment
from shared.bootstrap.hooking import Hooking
from shared.contracts import (
    ENV_LANE_URL_PREFIX,
    ENV_LOOPBACK,
    ENV_RECORDS_TABLE,
    ENV_SETTINGS,
    MAX_HINTED,
    HookCall,
    HookChanges,
    Settings,
    calls_queue_name,
    hooks_queue_name,
    hooks_secret_name,
    lane_queue_name,
)
from shared.domain.hooks.kinds import LATER_S, HookPace
from shared.domain.hooks.work import HookWork
from shared.ports import MalformedSecret
from tests.fakes.clock import FakeClock

KEY = "k" * 32


@pytest.fixture
def aws() -> Iterator[None]:
    with mock_aws():
        yield


@pytest.fixture
def sqs(aws: None) -> Any:
    return boto3.client("sqs", region_name="us-east-1")


@pytest.fixture
def urls(sqs: Any) -> dict[str, str]:
    """The queues of a deployment, by their names, and the prefix of lanes."""
    names = (hooks_queue_name("dev"), calls_queue_name("dev"), calls_queue_name("dev", apart=True))
    found = {name: sqs.create_queue(QueueName=name)["QueueUrl"] for name in names}
    lane = sqs.create_queue(QueueName=lane_queue_name("dev", "test"))["QueueUrl"]
    return {**found, "lanes": lane.removesuffix("test")}


def bodies(sqs: Any, url: str) -> list[str]:
    found = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
    return [x["Body"] for x in found]


def test_an_endpoint_that_fails_is_called_by_others(sqs: Any, urls: dict[str, str]) -> None:
    hints = SqsHookHints(sqs, urls["lanes"], FakeClock())
    hints.call("hook_a", "acc_1")
    hints.call("hook_b", "acc_1", apart=True)
    for apart, name in ((False, "hook_a"), (True, "hook_b")):
        (body,) = bodies(sqs, urls[calls_queue_name("dev", apart=apart)])
        assert HookCall.loads(body) == HookCall(name)
    hints.call("hook_a", "acc_1", delay=900)
    assert bodies(sqs, urls[calls_queue_name("dev")]) == []


def test_each_account_has_its_share_of_the_workers(sqs: Any, urls: dict[str, str]) -> None:
    hints, calls = SqsHookHints(sqs, urls["lanes"], FakeClock()), []
    sqs.meta.events.register("before-parameter-build.sqs", lambda params, **_: calls.append(params))
    hints.call("hook_a", "acc_1")
    hints.gather("acc_2", {"job": [1]}, HookPace.NOW)
    assert [x.get("MessageGroupId") for x in calls] == ["acc_1", "acc_2"]


def test_endpoints_are_woken_in_tens_those_that_fail_apart(sqs: Any, urls: dict[str, str]) -> None:
    hints, calls = SqsHookHints(sqs, urls["lanes"], FakeClock()), []
    sqs.meta.events.register("before-parameter-build.sqs", lambda params, **_: calls.append(params["Entries"]))
    works = [HookWork(f"hook_{n}", fails=n % 2, namespace="acc_1" if n else "") for n in range(24)]
    hints.wake(works)
    assert [len(x) for x in calls] == [10, 2, 10, 2]
    named = [[HookCall.loads(x["MessageBody"]).endpoint for part in calls[i : i + 2] for x in part] for i in (0, 2)]
    assert named == [[f"hook_{n}" for n in range(first, 24, 2)] for first in (0, 1)]
    assert [x["MessageGroupId"] for x in calls[0][:2]] == ["hook_0", "acc_1"]


def test_changes_are_gathered_at_once_or_in_some_seconds(sqs: Any, urls: dict[str, str]) -> None:
    hints, url = SqsHookHints(sqs, urls["lanes"], FakeClock()), urls[hooks_queue_name("dev")]
    delays: list[int] = []
    sqs.meta.events.register(
        "before-parameter-build.sqs.SendMessage", lambda params, **_: delays.append(params["DelaySeconds"])
    )
    hints.gather("acc_1", {"job": [1, 2]}, HookPace.LATER)
    assert delays == [LATER_S], "no sooner, since until then it spares others"
    assert bodies(sqs, url) == []
    hints.gather("acc_1", {"job": range(MAX_HINTED + 1)}, HookPace.NOW)
    found = [HookChanges.loads(x) for x in bodies(sqs, url)]
    assert {(x.namespace, x.pace) for x in found} == {("acc_1", "now")}
    assert sorted(n for x in found for n in x.places["job"]) == list(range(MAX_HINTED + 1))


@pytest.mark.parametrize("body", ["", "[]", "{}", '{"endpoint": 1}', '{"hooks": {}}'])
def test_a_body_that_is_no_call_is_refused(body: str) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        HookCall.loads(body)


class Manager:
    """Secrets Manager with one secret."""

    def __init__(self, secret: dict[str, str] | None) -> None:
        self.secret = secret

    def get_secret_value(self, SecretId: str) -> Any:  # noqa: N803 - boto3's name
        assert SecretId == hooks_secret_name("dev")
        return {"SecretString": json.dumps(self.secret) if self.secret is not None else ""}


def test_the_key_is_read(aws: None) -> None:
    manager: Any = Manager({"current": KEY})
    assert StoredHookSecrets(Secrets(manager, "dev", FakeClock())).master() == KEY


@pytest.mark.parametrize("secret", [None, {}, {"current": ""}, {"current": KEY[1:]}])
def test_a_key_that_is_missing_or_short_is_refused(secret: dict[str, str] | None) -> None:
    manager: Any = Manager(secret)
    with pytest.raises(MalformedSecret):
        StoredHookSecrets(Secrets(manager, "dev", FakeClock())).master()


@pytest.mark.parametrize("local", [False, True])
def test_only_the_local_cloud_posts_to_its_own_machine(
    aws: None, monkeypatch: pytest.MonkeyPatch, *, local: bool
) -> None:
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    settings = Settings("dev", (), {})
    env = {ENV_SETTINGS: settings.dumps(), ENV_RECORDS_TABLE: "t", ENV_LANE_URL_PREFIX: "https://x/posthaste-dev-lane-"}
    hooking = Hooking(Deployment({**env, **({ENV_LOOPBACK: "1"} if local else {})}, FakeClock()))
    assert hooking.local is local
    assert hooking.service is hooking.service
