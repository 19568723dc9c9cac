"""The function of exports."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from functions.dispatch import export, services
from shared.domain.exports import ExportState
from tests.engine.test_export import NAME, Bench, people


class Context:
    def get_remaining_time_in_millis(self) -> int:
        return 900_000


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    bench = Bench()
    parts = SimpleNamespace(exporter=bench.exporter, clock=bench.world.clock)
    monkeypatch.setattr(services, "deployment", lambda: parts)
    return bench


def event(*bodies: str) -> dict[str, Any]:
    return {"Records": [{"messageId": str(n), "body": body} for n, body in enumerate(bodies)]}


@pytest.mark.promise(7)
def test_its_event_twice_makes_one_file(bench: Bench) -> None:
    job = bench.world.accept(people(3))
    bench.ask(job)
    (message,) = bench.queue.waiting
    kept = []
    for _ in range(2):
        assert export.handler(event(message.body), Context()) == {"batchItemFailures": []}
        kept.append((bench.exports.items[NAME], dict(bench.files.items)))
    assert kept[0] == kept[1]
    assert kept[0][0].state is ExportState.READY
    assert len(bench.files.items) == 1


@pytest.mark.promise(6)
@pytest.mark.parametrize("body", ["", "[]", "{}", '{"export":7}'])
def test_poison_goes_to_the_dead_letters(bench: Bench, body: str) -> None:
    there = json.dumps({"export": "0" * 26})
    assert export.handler(event(body, there), Context()) == {"batchItemFailures": [{"itemIdentifier": "0"}]}


def test_a_fault_is_delivered_again(bench: Bench) -> None:
    job = bench.world.accept(people(3))
    bench.ask(job)
    bench.tap.arm_at("multipart.put", error=RuntimeError)
    failed = {"batchItemFailures": [{"itemIdentifier": "0"}]}
    assert export.handler(event(json.dumps({"export": NAME})), Context()) == failed
