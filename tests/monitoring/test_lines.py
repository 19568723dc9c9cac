"""Log lines: each has the id that leads from one function to the next; what the engine logs has it, too."""

import io
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from functions.dispatch import due, export, ingest, log, plan, send, sweep, track
from functions.webhooks import receive
from infra.settings import ROOT
from shared import contracts
from shared.adapters import logs
from tests.monitoring.conftest import Context, Functions

Line = dict[str, Any]
Lines = Callable[[], list[Line]]
HERE = Context.aws_request_id
MODULES = (due, export, ingest, log, plan, send, sweep, track, receive)


@pytest.fixture
def lines(functions: Functions) -> Iterator[Lines]:
    """What the handlers over its world have logged since it was last asked for, as CloudWatch gets it."""
    stream = io.StringIO()
    handlers = {module.logger.registered_handler for module in MODULES}
    former = {h: h.setStream(stream) for h in handlers if isinstance(h, logging.StreamHandler)}

    def read() -> list[Line]:
        found = [json.loads(line) for line in stream.getvalue().splitlines()]
        stream.seek(stream.truncate(0))
        return found

    yield read
    for handler, before in former.items():
        handler.setStream(before)


def test_a_batch_leaves_a_trail_from_function_to_function(functions: Functions, lines: Lines) -> None:
    world = functions.world
    job = world.accept(3, route=("acme-one",)).id
    functions.send()
    (sent,) = lines()
    assert (sent["message"], sent["did"], sent["correlation_id"]) == ("sent", {f"{job}-0": "sent"}, HERE)
    functions.log()
    (folded,) = lines()
    assert (folded["jobs"], folded["correlation_id"]) == ({job: "LOGGED"}, HERE)
    functions.track("acme-one", [world.word(job, 0, "delivered")])
    functions.sweep()
    functions.webhook()
    assert [(x["message"], x["correlation_id"]) for x in lines()] == [
        ("tracked", HERE),
        ("swept", HERE),
        ("feedback", "request-1"),
    ]


def test_a_fault_names_its_job(functions: Functions, lines: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    world = functions.world
    waiting = world.accept(1, route=("acme-one",), not_before=world.clock.ms + 60_000).id
    job = world.accept(3, route=("acme-one",)).id

    def fails(*_: Any, **__: Any) -> Any:
        raise RuntimeError("the store is away")

    monkeypatch.setattr(type(world.senders["acme-one"]), "work", fails)
    monkeypatch.setattr(type(world.planner), "react", fails)
    functions.send()
    failed, sent = lines()
    assert (failed["message"], failed["correlation_id"]) == ("pointer failed", job)
    assert failed["exception_name"] == "RuntimeError"
    assert (sent["did"], sent["failed"], sent["correlation_id"]) == ({}, 1, HERE)
    assert functions.put_off == [5]
    with pytest.raises(RuntimeError):
        functions.plan(waiting)
    assert [(x["message"], x["correlation_id"]) for x in lines()] == [("not planned", waiting)]
    functions.ingest()
    assert [(x["message"], x["correlation_id"]) for x in lines()] == [("not ingested", "upload")]


def test_a_fault_while_folding_names_its_job(
    functions: Functions, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = functions.world.accept(3, route=("acme-one",)).id
    functions.send()
    lines()

    def fails(*_ledgers: Any, **_more: Any) -> None:
        raise RuntimeError("the store is away")

    monkeypatch.setattr(functions.world.records, "fold", fails)
    with pytest.raises(RuntimeError):
        functions.log()
    assert [(x["message"], x["correlation_id"]) for x in lines()] == [("not folded", job)]


def test_in_lambda_the_engine_s_lines_are_the_function_s(
    lines: Lines, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = logging.getLogger(logs.ENGINE)
    monkeypatch.setattr(engine, "handlers", [])
    monkeypatch.setattr(engine, "propagate", True)
    monkeypatch.setattr(logging.root, "handlers", [logging.StreamHandler()])  # as Lambda's own
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "send")
    logger = logs.lines()
    logs.begin(logger, "job-1")
    logging.getLogger("shared.engine.lane.calls").error("provider fault", extra={"ref": "job-1-0-3-1"})
    (line,) = lines()
    assert (line["message"], line["correlation_id"], line["ref"]) == ("provider fault", "job-1", "job-1-0-3-1")
    assert line["service"] == logger.service
    assert capsys.readouterr().err == "", "written twice"


@pytest.mark.promise(9)
def test_every_logger_is_of_this_kind() -> None:
    found = [f for f in (ROOT / "functions").rglob("*.py") if "aws_lambda_powertools" in f.read_text("utf-8")]
    assert found == []
    for name in contracts.HANDLERS.values():
        module = ROOT / (name.rpartition(".")[0].replace(".", "/") + ".py")
        text = module.read_text("utf-8")
        assert "logger = logs.lines(" in text, module.name
        assert "logs.begin(" in text, module.name
