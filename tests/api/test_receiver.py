"""The example receiver, in a process of its own, takes what is signed and nothing else."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
import urllib3
from standardwebhooks import Webhook

from infra.local.processes import wait_for
from infra.settings import ROOT
from shared.domain.hooks.bodies import HookEvent, batch, single
from shared.domain.hooks.signature import secret_of, signed_headers

RECEIVER = ROOT / "examples" / "hooks" / "receiver.py"
SECRET = secret_of("m" * 32, "hook_x", 1)
OTHER = secret_of("m" * 32, "hook_x", 2)
AT = 1_790_000_000_000


class Process:
    """The receiver and what it printed."""

    def __init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self._child = subprocess.Popen(
            [sys.executable, str(RECEIVER), str(self.port)],
            env={**os.environ, "POSTHASTE_HOOK_SECRET": SECRET},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        assert wait_for(self._answers, 20, pause=0.05)

    def _read(self) -> None:
        assert self._child.stdout is not None
        with self._child.stdout as lines:
            for line in lines:
                self.lines.append(line.strip())

    def _answers(self) -> bool:
        try:
            return self.post(b"{}", {}) == 401
        except urllib3.exceptions.HTTPError:
            return False

    def post(self, body: bytes, headers: Mapping[str, str]) -> int:
        url = f"http://127.0.0.1:{self.port}/"
        return urllib3.request("POST", url, body=body, headers=dict(headers), retries=False, timeout=5).status

    def end(self) -> None:
        """End the process."""
        self._child.terminate()
        self._child.wait(10)
        self._reader.join(10)


@pytest.fixture
def receiver() -> Iterator[Process]:
    process = Process()
    yield process
    process.end()


def signed(body: bytes, *secrets: str, name: str = "evt_1", age: int = 0) -> dict[str, str]:
    return signed_headers(name, int(time.time()) - age, body, secrets or [SECRET])


@pytest.mark.promise(12)
def test_an_event_is_taken_once(receiver: Process) -> None:
    body = single("job.logged", AT, {"job_id": "j", "name": "Ärger"})
    assert [receiver.post(body, signed(body)) for _ in range(2)] == [204, 204]
    events = [HookEvent("evt_1", {"job_id": "j"}), HookEvent("evt_2", {"job_id": "k"})]
    several = batch("job.logged", AT, events)
    assert receiver.post(several, signed(several, name="evt_b")) == 204
    assert wait_for(lambda: len(receiver.lines) == 2, 10, pause=0.02)
    assert [json.loads(x.removeprefix("job.logged ")) for x in receiver.lines] == [
        {"job_id": "j", "name": "Ärger"},
        {"job_id": "k"},
    ]


@pytest.mark.slow
def test_events_that_arrive_together_are_printed_line_by_line(receiver: Process) -> None:
    events = [f"evt_{n}" for n in range(60)] * 2
    body = single("job.logged", AT, {"text": "x" * 5_000})
    with ThreadPoolExecutor(20) as pool:
        answers = set(pool.map(lambda name: receiver.post(body, signed(body, name=name)), events))
    assert answers == {204}
    assert wait_for(lambda: len(receiver.lines) >= 60, 10, pause=0.02)
    assert set(receiver.lines) == {'job.logged {"text": "' + "x" * 5_000 + '"}'}
    assert len(receiver.lines) == 60


def test_the_reference_library_s_signature_is_taken(receiver: Process) -> None:
    body, now = single("test", AT, {}), datetime.now(UTC)
    signature = Webhook(SECRET).sign("evt_1", now, body.decode())
    headers = {"webhook-id": "evt_1", "webhook-timestamp": str(int(now.timestamp())), "webhook-signature": signature}
    assert receiver.post(body, headers) == 204


def test_both_signatures_of_a_rotation_are_taken(receiver: Process) -> None:
    body = single("test", AT, {})
    assert receiver.post(body, signed(body, OTHER, SECRET)) == 204
    assert receiver.post(body, signed(body, SECRET, OTHER)) == 204


@pytest.mark.parametrize(
    "changes",
    [
        {"webhook-signature": ""},
        {"webhook-signature": "v1,x"},
        {"webhook-signature": "v2,xx"},
        {"webhook-id": "evt_2"},
        {"webhook-timestamp": "1"},
        {"webhook-timestamp": "now"},
        {"webhook-timestamp": "9" * 400},
        {"webhook-timestamp": "9" * 5_000},
    ],
)
def test_what_is_not_signed_is_refused(receiver: Process, changes: Any) -> None:
    body = single("test", AT, {})
    assert receiver.post(body, {**signed(body), **changes}) == 401
    assert receiver.post(body + b" ", signed(body)) == 401
    assert receiver.post(body, signed(body, OTHER)) == 401
    assert receiver.post(body, signed(body, age=600)) == 401
    assert receiver.lines == []


def test_the_receiver_is_short() -> None:
    assert len(RECEIVER.read_text("utf-8").splitlines()) <= 40
