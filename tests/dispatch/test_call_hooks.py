"""The function that posts to endpoints: hints of both queues, and the run of every minute."""

from types import SimpleNamespace
from typing import Any

import pytest

from functions.dispatch import call_hooks, services
from shared.contracts import HookCall
from shared.engine.hooks.turn import HookRun
from shared.metrics import Metric
from shared.ports import Retriable

ARN = "arn:aws:sqs:eu-central-1:1:posthaste-dev-calls"
NOW = 1_790_000_000.0
CONTEXT = SimpleNamespace(aws_request_id="r", get_remaining_time_in_millis=lambda: 60_000)


class FakeCalls:
    """Notes what it is asked for; an endpoint whose id ends in `x` cannot be worked on."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, bool, float]] = []

    def work(self, endpoint: str, *, apart: bool, stop_at: float) -> HookRun:
        self.asked.append((endpoint, apart, stop_at))
        if endpoint.endswith("x"):
            raise Retriable("no answer")
        return HookRun(delivered=3, refused=2, dropped=1)

    def wake(self, *, stop_at: float) -> int:
        assert stop_at == NOW + 45
        return 7


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> dict[Metric, float]:
    """What is told to CloudWatch."""
    figures: dict[Metric, float] = {}
    monkeypatch.setattr("shared.adapters.metrics.tell", lambda stage, service, values: figures.update(values))
    return figures


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, told: dict[Metric, float]) -> FakeCalls:
    made = FakeCalls()
    parts = SimpleNamespace(
        clock=SimpleNamespace(now=lambda: NOW),
        settings=SimpleNamespace(stage="dev"),
        hooking=SimpleNamespace(calls=made),
    )
    monkeypatch.setattr(services, "deployment", lambda: parts)
    return made


def message(body: str, n: int, arn: str = ARN) -> dict[str, Any]:
    return {"messageId": str(n), "body": body, "eventSourceARN": arn}


def test_each_endpoint_is_worked_on_until_some_seconds_before_the_end(
    calls: FakeCalls, told: dict[Metric, float]
) -> None:
    records = [message(HookCall("hook_1").dumps(), 1), message(HookCall("hook_2").dumps(), 2, f"{ARN}-slow")]
    assert call_hooks.handler({"Records": records}, CONTEXT) == {"batchItemFailures": []}
    assert calls.asked == [("hook_1", False, NOW + 45), ("hook_2", True, NOW + 45)]
    assert told == {Metric.HOOKS_DELIVERED: 6, Metric.HOOKS_REFUSED: 4}


@pytest.mark.parametrize("body", [HookCall("hook_x").dumps(), "{}", "no JSON", '{"endpoint": 1}'])
def test_what_fails_is_delivered_again_and_the_others_are_worked_on(calls: FakeCalls, body: str) -> None:
    records = [message(body, 1), message(HookCall("hook_2").dumps(), 2)]
    answer = call_hooks.handler({"Records": records}, CONTEXT)
    assert answer == {"batchItemFailures": [{"itemIdentifier": "1"}]}
    assert calls.asked[-1][0] == "hook_2"


def test_every_minute_endpoints_with_work_are_woken(calls: FakeCalls, told: dict[Metric, float]) -> None:
    assert call_hooks.handler({"source": "aws.events"}, CONTEXT) == {"woken": 7}
    assert calls.asked == []
    assert told == {Metric.HOOKS_WOKEN: 1}
