"""Hooks on the deployed stack: an endpoint is made by the API, proves itself, and hears of what is sent."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from infra.local import accounts
from infra.local.cloud import Cloud
from infra.local.paths import ROOT
from infra.local.processes import wait_for
from simulator.client import ControlClient
from tests.deployed.api import Api
from tests.deployed.inside import Inside

pytestmark = pytest.mark.deployed

SOON: Final = 60
AGAIN: Final = 150
"""Seconds until a provider that has failed sends again."""
LANE: Final = "sendgrid-main"
TROUBLED: Final = "troubled"
"""A credential that no other test breaks: after a former outage its breaker would wait for longer."""
RECEIVER: Final = ROOT / "examples" / "hooks" / "receiver.py"
POSTHASTE: Final = (sys.executable, "-c", "from cli.main import main; main()")


@dataclass
class Printing:
    """A process, and the lines that it printed."""

    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self.lines.append(line.rstrip())

    def events(self, kind: str) -> list[Any]:
        """Return what the receiver printed of a kind."""
        return [json.loads(x.removeprefix(f"{kind} ")) for x in self.lines if x.startswith(f"{kind} ")]

    def end(self) -> None:
        """End the process, as Ctrl-C does."""
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(30)
        self._reader.join(30)


Start = Callable[..., Printing]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts processes that end with the test."""
    started: list[Printing] = []

    def begin(*words: str, **environment: str) -> Printing:
        child = subprocess.Popen(
            words, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        started.append(Printing(child))
        return started[-1]

    yield begin
    for one in started:
        one.end()


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        found: int = free.getsockname()[1]
    return found


def received(start: Start, secret: str, port: int) -> Printing:
    """Start the example receiver."""
    return start(sys.executable, str(RECEIVER), str(port), POSTHASTE_HOOK_SECRET=secret)


def state_of(api: Api, hook: str) -> str:
    return str(api.get(f"/hooks/{hook}")["state"])


@pytest.mark.promise(12)
def test_an_endpoint_proves_itself_and_hears_of_each_message(api: Api, start: Start, port: int, tag: str) -> None:
    body = {"url": f"http://127.0.0.1:{port}/", "events": ["message.sent", "message.delivered", "job.logged"]}
    made = api.call("POST", "/hooks", body)
    assert made.status == 201, made.body
    hook, secret = made.body["id"], made.body["secret"]
    try:
        assert made.body["state"] == "proving"
        receiver = received(start, secret, port)
        api.call("POST", f"/hooks/{hook}/test")
        assert wait_for(lambda: state_of(api, hook) == "enabled", SOON, pause=0.2), api.get(f"/hooks/{hook}")
        job = api.post([f"ann+{tag}@example.org", f"ben+{tag}@example.org"], LANE)

        def logged() -> bool:
            return any(x["job_id"] == job for x in receiver.events("job.logged"))

        assert wait_for(logged, SOON, pause=0.2), receiver.lines

        def heard() -> set[str]:
            events = [*receiver.events("message.sent"), *receiver.events("message.delivered")]
            return {x["message"] for x in events if x["job_id"] == job}

        assert wait_for(lambda: heard() == {"0.0", "0.1"}, SOON, pause=0.2), receiver.lines
        done = api.get(f"/hooks/{hook}/deliveries?state=delivered")["items"]
        assert {x["attempts"][-1]["status"] for x in done} == {204}
        again = api.call("POST", f"/hooks/{hook}/deliveries/{done[0]['id']}/retry")
        assert again.status == 202, again.body
        order = api.call("POST", f"/hooks/{hook}/replay", {"since": made.body["created_at"]})
        assert order.status == 202, order.body
        assert wait_for(lambda: api.get(f"/hooks/{hook}")["replay"] is None, SOON, pause=0.2)
        rotated = api.call("POST", f"/hooks/{hook}/rotate")
        assert rotated.body["secret"] != secret
        count = len(receiver.events("test"))
        api.call("POST", f"/hooks/{hook}/test")
        assert wait_for(lambda: len(receiver.events("test")) > count, SOON, pause=0.2), "both secrets sign"
    finally:
        assert api.call("DELETE", f"/hooks/{hook}").status == 200


@pytest.fixture
def operator(inside: Inside, mend: Callable[[str, str], None]) -> Iterator[Callable[..., Any]]:
    """Runs operators' commands; what they did to the credential in trouble is undone at the end."""

    def run(*words: str) -> Any:
        return accounts.posthaste(inside.deployment, inside.port, *words)

    yield run
    run("resume", "--credential", TROUBLED)
    mend("sendgrid", TROUBLED)


@pytest.mark.promise(12)
@pytest.mark.timeout(600)
def test_events_that_an_incident_delays_arrive_when_it_ends(
    api: Api, control: ControlClient, operator: Callable[..., Any], start: Start, port: int, tag: str
) -> None:
    kinds = ["message.delivered", "message.unknown", "job.logged"]
    made = api.call("POST", "/hooks", {"url": f"http://127.0.0.1:{port}/", "events": kinds}).body
    receiver = received(start, made["secret"], port)
    jobs: list[str] = []
    began = time.time()

    def post() -> None:
        to = [f"{name}+{tag}.{len(jobs)}@example.org" for name in ("ann", "ben")]
        jobs.append(api.post(to, TROUBLED))

    def ended() -> bool:
        return all(api.get(f"/jobs/{job}")["counts"]["delivered"] == 2 for job in jobs)

    def missing() -> set[tuple[str, str]]:
        """Return what was not heard of: deliveries of messages, and ends of jobs."""
        heard = {(x["job_id"], x["message"]) for x in receiver.events("message.delivered")}
        heard |= {(x["job_id"], "") for x in receiver.events("job.logged")}
        return {(job, about) for job in jobs for about in ("0.0", "0.1", "")} - heard

    try:
        assert wait_for(lambda: state_of(api, made["id"]) == "enabled", SOON, pause=0.2), receiver.lines
        operator("pause", "--credential", TROUBLED, "--reason", "drill")
        post()
        control.faults("sendgrid", TROUBLED, mode="503")
        operator("resume", "--credential", TROUBLED)
        post()
        assert wait_for(lambda: len(control.calls(credential=TROUBLED, since=began)) >= 2, SOON, pause=0.5)
        control.faults("sendgrid", TROUBLED, mode="accept_and_drop", recipients="*")
        post()
        assert wait_for(ended, AGAIN, pause=0.5), [api.get(f"/jobs/{job}")["counts"] for job in jobs]
        assert wait_for(lambda: not missing(), SOON, pause=0.1), (missing(), receiver.lines)
    finally:
        assert api.call("DELETE", f"/hooks/{made['id']}").status == 200


def test_a_command_brings_events_to_a_program(cloud: Cloud, start: Start, port: int) -> None:
    key = cloud.env["POSTHASTE_TEST_KEY"]
    api = Api(cloud.api, key)
    keys = {"POSTHASTE_URL": cloud.api, "POSTHASTE_API_KEY": key, "PYTHONUNBUFFERED": "1"}
    words = ("hook", "listen", "--forward-to", f"http://127.0.0.1:{port}", "--event", "job.logged")
    listener = start(*POSTHASTE, *words, **keys)

    def secrets() -> list[str]:
        return [x.removeprefix("secret: ") for x in listener.lines if x.startswith("secret: ")]

    assert wait_for(lambda: bool(secrets()), SOON, pause=0.1), listener.lines
    receiver = received(start, secrets()[0], port)
    assert wait_for(lambda: any(x.startswith("ready") for x in listener.lines), SOON, pause=0.1), listener.lines
    body = {"from": "news@example.com", "to": ["delivered@test.posthaste"], "subject": "Hello", "text": "Hello!"}
    job = api.call("POST", "/batches", body).body["job_id"]
    assert wait_for(lambda: any(x["job_id"] == job for x in receiver.events("job.logged")), SOON, pause=0.2), (
        listener.lines
    )
    assert wait_for(lambda: any(job in x for x in listener.lines), SOON, pause=0.2), "it prints what it has forwarded"
