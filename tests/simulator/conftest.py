"""A simulator in a thread, a real HTTP client, and a webhook target that remembers and can refuse."""

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import pytest

from simulator import Simulator

KEY = "SG.simulator"
PROVIDER, CREDENTIAL = "sendgrid", "main"
STANDARD = {"Accept": "application/json", "User-Agent": "test"}


@pytest.fixture(scope="module")
def running() -> Iterator[Simulator]:
    with Simulator(seed="tests") as sim:
        yield sim


@pytest.fixture
def sim(running: Simulator) -> Iterator[Simulator]:
    """The module's simulator, without faults, log or webhooks of other tests."""
    running.control.reset()
    running.control.webhooks(
        PROVIDER, CREDENTIAL, url="", duplicate=0, reorder=0, loss=0, mix={}, delay={"ms": 1}, batch_ms=0, parallel=1
    )
    yield running
    running.control.reset()


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def mail(*recipients: str, **changes: Any) -> dict[str, Any]:
    """A mail with one personalization for each recipient."""
    people = [{"to": [{"email": r}], "custom_args": {"ref": f"job-1-{i}-1"}} for i, r in enumerate(recipients)]
    return {
        "personalizations": people,
        "from": {"email": "news@sender.example", "name": "News"},
        "subject": "Hello",
        "content": [{"type": "text/plain", "value": "Hi"}, {"type": "text/html", "value": "<p>Hi</p>"}],
        **changes,
    }


def post(base_url: str, body: Any, timeout: float = 10, **headers: str) -> Answer:
    """POST a mail (an object, or raw bytes) the way a plain client does; errors of the connection are raised."""
    parts = urlsplit(base_url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=timeout)
    sent = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json", **STANDARD}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        data = body if isinstance(body, bytes) else json.dumps(body)
        connection.request("POST", f"{parts.path}/v3/mail/send", data, {k: v for k, v in sent.items() if v})
        response = connection.getresponse()
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
    finally:
        connection.close()


Send = Callable[..., Answer]


@pytest.fixture
def send(sim: Simulator) -> Send:
    """Send an object as a mail through the shared port."""
    return lambda body, **options: post(sim.base_url(PROVIDER, CREDENTIAL), body, **options)


@dataclass
class Post:
    headers: dict[str, str]
    body: bytes
    path: str = ""

    def events(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.body)
        return found


@dataclass
class Target:
    """A webhook target; answers with the next of `statuses`, then 200."""

    url: str = ""
    posts: list[Post] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)

    def events(self) -> list[dict[str, Any]]:
        return [e for p in self.posts for e in p.events()]

    def words(self) -> list[tuple[str, str]]:
        return [(e["email"], e["event"]) for e in self.events()]


@contextmanager
def listening() -> Iterator[Target]:
    """A webhook target on loopback, for as long as the context lasts."""
    found = Target()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            status = found.statuses.pop(0) if found.statuses else 200
            if status == 200:
                found.posts.append(Post({k.lower(): v for k, v in self.headers.items()}, body, self.path))
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    found.url = f"http://127.0.0.1:{server.server_address[1]}/hook"
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def target() -> Iterator[Target]:
    with listening() as found:
        yield found
