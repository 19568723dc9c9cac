"""`posthaste logs`: lines of every function in order, by job, request, function, level and field, and as they come."""

import json
import re
import shlex
import time
from pathlib import Path
from typing import Any, Final

import boto3
import pytest

from shared.adapters.aws import Aws
from shared.adapters.stacks import function_logs
from tests.cli.fakes import FakeClock, Run
from tests.cli.operators import OperatorsFunction
from tests.cli.tree import root

REGION: Final = "us-east-1"
JOB: Final = "01jd3vabcdefghjkmnpqrstvwx"
SEND, API = "/posthaste/send", "/aws/vendedlogs/api"
ROOT: Final = Path(__file__).resolve().parents[2]
DOCS: Final = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"])


NOW: Final = time.time()
"""Lines of other times than the present are refused, as AWS does."""


def stack(name: str, *groups: str) -> None:
    """Deploy a stack with log groups."""
    resources = {
        f"Logs{n}": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": x}} for n, x in enumerate(groups)
    }
    template = json.dumps({"Resources": resources or {"Topic": {"Type": "AWS::SNS::Topic"}}})
    boto3.client("cloudformation", REGION).create_stack(StackName=name, TemplateBody=template)


@pytest.fixture(autouse=True)
def groups(aws: None, clock: FakeClock) -> None:
    clock.time = NOW
    stack("posthaste-dev", SEND, API)
    client = boto3.client("logs", REGION)
    for name in (SEND, API):
        client.create_log_stream(logGroupName=name, logStreamName="x")


def write(group: str, seconds: float, line: str = "", **fields: Any) -> None:
    text = line or json.dumps(fields)
    event: Any = {"timestamp": int((NOW + seconds) * 1000), "message": text}
    boto3.client("logs", REGION).put_log_events(logGroupName=group, logStreamName="x", logEvents=[event])


def written() -> None:
    write(SEND, -60, service="send-a", level="INFO", message="sent", correlation_id=JOB, failed=0)
    write(API, -50, service="api", level="ERROR", message="POST /batches", status=500, request_id="r-1")
    write(SEND, -40, service="send-b", level="WARNING", message="breaker", credential="b", state="OPEN")
    write(SEND, -30, type="platform.report", record={"status": "timeout", "requestId": "r-2"})
    write(SEND, -20, line="Traceback: not JSON")
    write(SEND, -7200, service="send-a", level="INFO", message="long ago")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), ["sent", "POST /batches", "breaker", "platform.report", "Traceback: not JSON"]),
        (("--job", JOB), ["sent"]),
        (("--request", "r-1"), ["POST /batches"]),
        (("--service", "send-*"), ["sent", "breaker"]),
        (("--service", "api"), ["POST /batches"]),
        (("--service", "api", "--service", "send-b"), ["POST /batches", "breaker"]),
        (("--level", "warning"), ["POST /batches", "breaker", "platform.report"]),
        (("--match", "breaker"), ["breaker"]),
        (("--where", "status>=500"), ["POST /batches"]),
        (("--where", "status<500"), []),
        (("--where", "type=platform.report", "--where", "record.status!=success"), ["platform.report"]),
        (("--where", "@log=*send*", "--where", "failed=0"), ["sent"]),
        (("--since", "3h", "--service", "send-a"), ["long ago", "sent"]),
        (("--limit", "2"), ["platform.report", "Traceback: not JSON"]),
    ],
)
def test_lines_are_found_oldest_first(run: Run, options: tuple[str, ...], expected: list[str]) -> None:
    written()
    done = run("logs", *options, "--json")
    assert done.code == 0
    assert [x.get("message") or x.get("type") for x in done.lines] == expected
    shown = run("logs", *options).out.splitlines()
    assert len(shown) == len(expected)
    assert all(word in line for word, line in zip(expected, shown, strict=True))


def test_lines_without_an_id_are_found_each_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Emulators leave `eventId` out."""
    written()
    make = Aws.client

    def client(aws: Aws, service: str) -> Any:
        made = make(aws, service)

        def anonymous(http_response: Any, parsed: Any, **_: Any) -> None:
            for event in parsed.get("events", ()):
                event.pop("eventId", None)

        made.meta.events.register("after-call.cloudwatch-logs.FilterLogEvents", anonymous)
        return made

    monkeypatch.setattr(Aws, "client", client)
    done = run("logs", "--json")
    assert done.code == 0, done.err
    assert len(done.lines) == 5


@pytest.mark.slow
def test_lines_that_one_request_does_not_bring_come_with_further_ones_group_by_group(
    run: Run, operators: OperatorsFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cli.operating.logs.WORKERS", 1)  # moto is not for several threads
    monkeypatch.setattr(function_logs, "WORKERS", 1)
    monkeypatch.setattr(function_logs, "MAX_BYTES", 1)
    for n in range(12):
        write(SEND, n - 60, service="send-a", message=f"{n}")
        write(API, n - 60, service="api", message=f"{n}")
    make = Aws.client

    def client(aws: Aws, service: str) -> Any:
        made = make(aws, service)
        made.meta.events.register(
            "provide-client-params.cloudwatch-logs.FilterLogEvents", lambda params, **_: {**params, "limit": 5}
        )
        return made

    monkeypatch.setattr(Aws, "client", client)
    found = run("logs", "--json").lines
    assert sorted((x["service"], int(x["message"])) for x in found) == [
        (service, n) for service in ("api", "send-a") for n in range(12)
    ]
    assert operators.asked == [("GET", "/operate/logs")] * 6, "all groups, and then the other pages of each"


def test_a_stack_without_log_groups_says_so(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    stack("posthaste-bare")
    monkeypatch.setenv("POSTHASTE_STAGE", "bare")
    done = run("logs")
    assert (done.code, "has no log groups" in done.err) == (3, True)


@pytest.mark.slow
def test_a_line_for_people_has_time_function_level_message_and_fields(run: Run) -> None:
    written()
    (line,) = run("logs", "--match", "breaker").out.splitlines()
    assert re.fullmatch(r"\d\d:\d\d:\d\d send-b +WARNING breaker credential=b state=OPEN", line)
    assert run("logs", "--match", "nothing like it").err == "no such lines within 30m\n"


@pytest.mark.slow
def test_lines_are_followed_each_once_also_late_ones(run: Run, clock: FakeClock) -> None:
    written()

    def later(n: int) -> None:
        if n == 1:
            write(SEND, 1, message="new")
        elif n == 2:
            write(API, -5, message="late")
        elif n == 4:
            raise KeyboardInterrupt

    clock.on_sleep = later
    done = run("logs", "--follow", "--limit", "1", "--json")
    assert done.code == 130
    assert [x["message"] for x in done.lines] == ["Traceback: not JSON", "new", "late"]


@pytest.mark.parametrize(
    "options",
    [("--level", "LOUD"), ("--since", "soon"), ("--where", "status"), ("--where", "status>=x"), ("--match", 'a"b')],
)
def test_what_makes_no_sense_is_refused(run: Run, options: tuple[str, ...]) -> None:
    done = run("logs", *options)
    assert (done.code, done.out) == (2, "")


def in_docs(start: str) -> list[tuple[str, str]]:
    """Return every command of the docs that starts so: file and command."""
    found = []
    for file in DOCS:
        for block in re.findall(r"```sh\n(.*?)```", file.read_text(encoding="utf-8"), re.DOTALL):
            found += [(file.name, x.strip()) for x in block.splitlines() if x.strip().startswith(start)]
        text = file.read_text(encoding="utf-8")
        found += [(file.name, x) for x in re.findall(r"`([^`\n]+)`", text) if x.startswith(start)]
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("_file", "command"), in_docs("posthaste logs "))
def test_every_look_at_logs_in_the_docs_is_understood(run: Run, _file: str, command: str) -> None:
    words = shlex.split(command, comments=True)[1:]
    if "-f" in words or "--follow" in words:
        assert root().make_context("posthaste", words, resilient_parsing=False)
        return
    done = run(*words)
    assert done.code == 0, done.err


def test_the_runbooks_look_at_logs() -> None:
    assert len(in_docs("posthaste logs ")) > 20
    assert in_docs("logs ") == []
