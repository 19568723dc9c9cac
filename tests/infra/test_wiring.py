"""What is declared is used, and what is named exists."""

import ast
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from functions.operate import jobs, logs
from functions.operate.personal import erasing
from functions.operate.queues.routes import WORK_SECONDS
from infra.functions.api import SECONDS
from infra.settings import ROOT
from shared import contracts
from shared.adapters.queues.redrive import PATIENCE
from tests.infra.template import Template, target

CONSTRUCTS = [f for f in sorted((ROOT / "infra").rglob("*.py")) if not f.is_relative_to(ROOT / "infra" / "local")]


def test_every_queue_is_consumed_or_is_a_dead_letter_queue(template: Template) -> None:
    consumed = {arn for _, arn, _ in template.sources()}
    dead = {
        target(q["RedrivePolicy"]["deadLetterTargetArn"])
        for q in template.of("SQS::Queue").values()
        if "RedrivePolicy" in q
    }
    for _, _, source in template.sources():
        if "DestinationConfig" in source:
            dead.add(target(source["DestinationConfig"]["OnFailure"]["Destination"]))
    for rule in template.of("Events::Rule").values():
        dead |= {target(t["DeadLetterConfig"]["Arn"]) for t in rule["Targets"]}
    for invoked in template.of("Lambda::EventInvokeConfig").values():
        dead.add(target(invoked["DestinationConfig"]["OnFailure"]["Destination"]))
    for schedule in template.of("Scheduler::Schedule").values():
        dead.add(target(schedule["Target"]["DeadLetterConfig"]["Arn"]))
    queues = set(template.of("SQS::Queue"))
    assert {q for q in queues if q in consumed} == queues - dead
    assert not consumed & dead


def test_every_function_is_started_by_something(template: Template) -> None:
    started = {service for service, _, _ in template.sources()}
    for permission in template.of("Lambda::Permission").values():
        started.add(template.service(permission["FunctionName"]))
    started |= {template.service(x["Target"]["Arn"]) for x in template.of("Scheduler::Schedule").values()}
    woken = template.functions()["due"]["Environment"]["Variables"][contracts.ENV_NOTICES_FUNCTION]
    started.add(template.service(woken))
    assert started == set(template.functions())


def test_what_consumes_a_queue_may_send_itself_more_than_lambda_allows_by_default(template: Template) -> None:
    consumers = {service for service, source, _ in template.sources() if source in template.of("SQS::Queue")}
    assert {"track", "due"} < consumers
    assert any(service.startswith("send-") for service in consumers)
    for service, function in template.functions().items():
        allowed = service in consumers or service == "notices"  # what it announces wakes it, by a queue
        assert (function.get("RecursiveLoop") == "Allow") == allowed, service


def test_streams_are_filtered_by_what_aws_documents(template: Template) -> None:
    for service, source, row in template.sources():
        if source in template.of("DynamoDB::Table"):
            patterns = [json.loads(x["Pattern"]) for x in row["FilterCriteria"]["Filters"]]
            assert patterns, service
            assert all(set(pattern) == {"dynamodb"} for pattern in patterns)


def test_the_api_s_log_group_needs_no_place_in_the_resource_policy(template: Template) -> None:
    (stage,) = template.of("ApiGatewayV2::Stage").values()
    group = template.of("Logs::LogGroup")[target(stage["AccessLogSettings"]["DestinationArn"])]
    assert group["LogGroupName"].startswith("/aws/vendedlogs/posthaste-")


def test_every_handler_of_the_contract_is_a_function(template: Template, hooks: Template) -> None:
    handlers = {s: f["Handler"] for s, f in hooks.functions().items()}
    handlers |= {s: f["Handler"] for s, f in template.functions().items() if not s.startswith("send-")}
    senders = {f["Handler"] for s, f in template.functions().items() if s.startswith("send-")}
    assert senders == {contracts.HANDLERS["send"]}
    # by settings: test_console.py, test_pictures.py
    asked = {x: contracts.HANDLERS[x] for x in ("console", "join", "buttons", "pictures")}
    assert {"send": contracts.HANDLERS["send"], **asked, **handlers} == contracts.HANDLERS


def test_a_request_of_operators_answers_before_its_time_is_over() -> None:
    """What was begun within this time, such as a page of the table, has as long again to end."""
    longest = max(
        *(erasing.LOOK_SECONDS, erasing.WORK_SECONDS),
        *(jobs.READ_SECONDS, jobs.WORK_SECONDS),
        logs.READ_SECONDS,
    )
    assert 2 * longest < SECONDS


def test_a_redrive_answers_before_its_time_is_over() -> None:
    """A stream has two event sources, whose functions do a batch again one after the other."""
    assert WORK_SECONDS + 2 * PATIENCE < SECONDS


@pytest.mark.parametrize("name", contracts.HANDLERS)
def test_every_handler_resolves(name: str) -> None:
    module, _, attribute = contracts.HANDLERS[name].rpartition(".")
    assert callable(getattr(importlib.import_module(module), attribute))


DECLARED = ("shared.contracts", "shared.metrics", "shared.domain.channels", "shared.providers.needs")
"""Names shared with functions, and what channels and providers declare of themselves."""


@pytest.mark.slow
def test_infra_knows_of_the_rest_only_names_and_declarations() -> None:
    for file in CONSTRUCTS:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            match node:
                case ast.ImportFrom(module=str(module), names=names) if module.split(".")[0] == "shared":
                    found = {module} if module != "shared" else {f"shared.{n.name}" for n in names}
                case ast.ImportFrom(module=str(module)):
                    found = {module}
                case ast.Import(names=names):
                    found = {n.name for n in names}
                case _:
                    continue
            ours = {m for m in found if m.split(".")[0] in {"shared", "functions", "cli", "simulator"}}
            assert all(m in DECLARED or m.startswith(tuple(f"{d}." for d in DECLARED)) for m in ours), file.name


def test_only_the_grants_and_the_stack_grant_rights() -> None:
    for file in CONSTRUCTS:
        if file.name in {"grants.py", "stack.py", "function.py"}:
            continue
        calls = [n for n in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(n, ast.Call)]
        names = {c.func.attr for c in calls if isinstance(c.func, ast.Attribute)}
        assert not {n for n in names if n.startswith(("grant", "allow", "add_to_role_policy"))}, file.name


def test_the_command_line_tool_is_the_pinned_one_and_the_lock_names_no_host() -> None:
    lock = (ROOT / "package-lock.json").read_text("utf-8")
    assert '"aws-cdk": "2.1148.1"' in (ROOT / "package.json").read_text("utf-8")
    assert '"integrity": "sha512-' in lock
    assert "://" not in lock
    assert "resolved" not in lock


@pytest.mark.slow
def test_infra_brings_its_own_node(tmp_path: Path) -> None:
    """The machine's node may be absent or past its end of life; jsii warns on standard error of one that is."""
    program = "from infra.settings import read; from aws_cdk import App; print(len(App(outdir='.').node.children))"
    clean = {k: v for k, v in os.environ.items() if k != "JSII_NODE"}
    environment = {**clean, "PATH": "/nonexistent", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
