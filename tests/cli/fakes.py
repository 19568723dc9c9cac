"""An API server that answers as scripted and remembers what it was asked, a clock that never waits, dead messages."""

import contextlib
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cli.output import Surroundings
from shared.domain.queues.dead_letters import Letter

API_KEY = "ph_live_" + "Zk9" * 14 + "Q"
NOW = 1_790_000_000.0
STREAM = "arn:aws:dynamodb:us-east-1:123456789012:table/dev-ops/stream/2026-11-21T00:00:00.000"


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Answer:
    """`drop`: read the request, then close the connection without a word."""

    body: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    drop: bool = False
    raw: bytes | None = None


class FakeApi:
    """Answers in the order of `script`; its last answer is repeated."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.given: list[Answer] = []
        """The answer to each of `asked`."""
        self.script: list[Answer] = []
        self.heard = threading.Semaphore(0)
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                fake.asked.append(Asked(self.command, self.path, dict(self.headers), body))
                answer = fake.script.pop(0) if len(fake.script) > 1 else fake.script[0]
                fake.given.append(answer)
                fake.heard.release()
                if answer.drop:
                    self.close_connection = True
                    return
                data = answer.raw if answer.raw is not None else json.dumps(answer.body).encode()
                with contextlib.suppress(ConnectionError):  # a client that gave up
                    self.send_response(answer.status)
                    for name, value in {"Content-Length": str(len(data)), **answer.headers}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(data)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any  # noqa: N815

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def answers(self, *script: Answer) -> None:
        self.script = list(script)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class FakeClock:
    """Time that moves only by sleeping. `on_sleep` is called with the number of the sleep, from 1."""

    def __init__(self) -> None:
        self.time = NOW
        self.slept: list[float] = []
        self.on_sleep: Callable[[int], None] = lambda _n: None

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds
        self.on_sleep(len(self.slept))


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


Run = Callable[..., Done]
"""`run("batch", "send", …, input="…")`."""


def around(clock: FakeClock, *, terminal: bool = False) -> Surroundings:
    return Surroundings(clock, terminal=terminal)


def report(**batch: Any) -> str:
    """What Lambda writes about a batch of a stream that failed to the end."""
    return json.dumps(
        {
            "requestContext": {"requestId": "r", "functionArn": "f", "condition": "RetryAttemptsExhausted"},
            "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
            "version": "1.0",
            "timestamp": "2026-11-21T16:00:00.000Z",
            "DDBStreamBatchInfo": {
                "shardId": "shardId-00000001573689847184-864758bb",
                "startSequenceNumber": "100000000000000000001",
                "endSequenceNumber": "100000000000000000003",
                "batchSize": 3,
                "streamArn": STREAM,
                **batch,
            },
        }
    )


def letter(body: str, name: str = "m") -> Letter:
    """A dead message."""
    return Letter(name, body, "r", "", 0, 0, 6, 0, "", "")


def problem(status: int, code: str, detail: str, **more: Any) -> Answer:
    headers = more.pop("headers", {})
    return Answer({"title": "No", "status": status, "detail": detail, "code": code, **more}, status, headers)
