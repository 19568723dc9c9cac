"""The example client sends once: through lost answers, a busy server and repeats by who was killed in between."""

import json
import re
import sys
import threading
from collections.abc import Iterator
from http.client import RemoteDisconnected
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import pytest

from examples.client import PAUSES, Posthaste, Refused
from infra.settings import ROOT
from tests.api.conftest import SENDER, Api

BATCH = {"from": SENDER, "to": ["a@example.org"], "subject": "Hello", "text": "Hello!"}


class Line:
    """HTTP in front of the API: what stands in `faults` happens to the next requests, whose answers are lost then."""

    def __init__(self, api: Api) -> None:
        self.faults: list[str] = []
        self.answers: list[tuple[int, Any]] = []
        line = self

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                fault = line.faults.pop(0) if line.faults else ""
                if fault == "busy":
                    return self.answer(429, '{"code": "too_many_requests"}', {"Retry-After": "7"})
                if fault == "down":
                    return self.answer(503, "<html>", {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"})
                path = urlsplit(self.path).path.removeprefix("/stage")
                got = api.call(self.command, path, body or None, key="", headers=dict(self.headers))
                line.answers.append((got.status, got.headers.get("idempotency-replayed")))
                if fault == "lost":
                    self.close_connection = True
                    return None
                status, text = (502, "<html>") if fault == "gateway" else (got.status, got.text)
                return self.answer(status, text, {})

            def answer(self, status: int, text: str, headers: dict[str, str]) -> None:
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(text.encode()))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text.encode())

            do_GET = do_POST = handle_any  # noqa: N815 - the names are the library's

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the same
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/stage"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def line(api: Api) -> Iterator[Line]:
    found = Line(api)
    yield found
    found.close()


@pytest.mark.slow
@pytest.mark.promise(7)
def test_a_batch_is_made_once_when_answers_are_lost_and_requests_repeated(api: Api, line: Line) -> None:
    slept: list[float] = []
    line.faults = ["lost", "busy", "gateway"]
    first = Posthaste(line.url, api.key, slept.append).send("invoice-2026-0042", BATCH)
    assert slept == [PAUSES[0], 7.0, PAUSES[2]]
    assert line.answers == [(202, None), (202, "true"), (202, "true")]
    restarted = Posthaste(line.url, api.key, slept.append)
    assert restarted.send("invoice-2026-0042", BATCH) == first
    assert restarted.send("invoice-2026-0043", BATCH) != first
    made = json.loads(api.call("GET", "/jobs").text)["items"]
    assert len(made) == 2


@pytest.mark.slow
def test_the_end_is_waited_for(api: Api, line: Line) -> None:
    def settle(_seconds: float) -> None:
        api.world.jobs.append(job)
        api.world.settle()

    posthaste = Posthaste(line.url, api.key, settle)
    job = posthaste.send("invoice-2026-0042", BATCH)["job_id"]
    assert posthaste.finished(job)["counts"]["sent"] == 1


def test_what_the_api_refuses_is_not_asked_again(api: Api, line: Line) -> None:
    posthaste = Posthaste(line.url, api.key, lambda _: pytest.fail("asked again"))
    with pytest.raises(Refused, match="from_not_allowed"):
        posthaste.send("a", {**BATCH, "from": "someone@elsewhere.example"})
    posthaste.send("a", BATCH)
    with pytest.raises(Refused, match="idempotency_mismatch"):
        posthaste.send("a", {**BATCH, "subject": "Another"})
    with pytest.raises(Refused, match="bad_idempotency_key"):
        posthaste.send("", BATCH)


@pytest.mark.slow
def test_it_gives_up_in_the_end(api: Api, line: Line) -> None:
    slept: list[float] = []
    line.faults = ["lost"] * 10
    with pytest.raises(RemoteDisconnected):
        Posthaste(line.url, api.key, slept.append).send("a", BATCH)
    assert slept == list(PAUSES)


def test_a_proxys_answer_is_not_mistaken_for_the_api(api: Api, line: Line) -> None:
    slept: list[float] = []
    line.faults = ["down"] * 10
    with pytest.raises(Refused, match=r"503, '<html>'"):
        Posthaste(line.url, api.key, slept.append).send("a", BATCH)
    assert slept == list(PAUSES)


def test_it_fits_a_page_and_needs_nothing_but_python() -> None:
    text = (ROOT / "examples" / "client.py").read_text("utf-8")
    assert len(text.splitlines()) <= 60
    imports = re.findall(r"^(?:import|from) (\w+)", text, re.MULTILINE)
    assert set(imports) <= sys.stdlib_module_names
