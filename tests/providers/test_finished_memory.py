"""The largest finished messages leave in blocks: two at once take a few megabytes of memory."""

import socketserver
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager

import pytest

from shared.adapters.clock import SystemClock
from shared.adapters.http.transport import HttpClient
from shared.adapters.s3.spooled import SpooledMessages
from shared.adapters.smtp.transport import SmtpClient
from shared.domain.content.content import Content, Finished, Mailbox
from shared.domain.content.streams import Body
from shared.domain.jobs.outcomes import Accepted, Outcome
from shared.ports import FinishedSender, Response
from shared.providers.mailgun.send import Mailgun
from shared.providers.needs import needs_of
from shared.providers.smtp.send import SmtpRelay
from tests.fakes.files import FakeFiles
from tests.providers.contract import target
from tests.providers.fakes import FakeHttp
from tests.providers.ses_calls import TAKEN, ses

CLOCK = SystemClock()
HEADER = b"From: ann@sender.example\r\n\r\n"
LINES = b".234567890123456789012345678901234567890123456789012345678901234567890123456\r\n" * 12_800
MOST = 24 * 1024 * 1024
"""Bytes for two messages, of 40 MB each."""


class EndlessFiles(FakeFiles):
    """Files that are made while they are read."""

    size = 0

    def read(self, name: str, *, etag: str, start: int) -> Iterator[bytes]:
        yield HEADER
        left = self.size - len(HEADER)
        while left:
            yield LINES[:left]
            left -= min(left, len(LINES))


class _Smtp(socketserver.StreamRequestHandler):
    """A relay that forgets."""

    def handle(self) -> None:
        self.wfile.write(b"220 relay.example\r\n")
        for line in self.rfile:
            if line.startswith(b"EHLO"):
                self.wfile.write(b"250-relay.example\r\n250 8BITMIME\r\n")
            elif line == b"DATA\r\n":
                self.wfile.write(b"354 go on\r\n")
                while self.rfile.readline() != b".\r\n":
                    pass
                self.wfile.write(b"250 2.0.0 Ok: queued as 4F1\r\n")
            else:
                self.wfile.write(b"250 2.0.0 Ok\r\n")


class _Http(socketserver.StreamRequestHandler):
    """An API that forgets."""

    def handle(self) -> None:
        length = 0
        while (line := self.rfile.readline().lower()) != b"\r\n":
            if line.startswith(b"content-length:"):
                length = int(line.split()[1])
        while length:
            length -= len(self.rfile.read(min(length, 65_536)))
        self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{"id":"m1"}')


@contextmanager
def serving(handler: type[socketserver.StreamRequestHandler]) -> Iterator[int]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join(10)


@contextmanager
def smtp() -> Iterator[FinishedSender]:
    with serving(_Smtp) as port:
        client = SmtpClient(CLOCK)
        yield SmtpRelay(client, f"smtp+plain://127.0.0.1:{port}", {"auth": "none"}, CLOCK)
        client.close()


@contextmanager
def mailgun() -> Iterator[FinishedSender]:
    with serving(_Http) as port:
        client = HttpClient(CLOCK)
        yield Mailgun(client, f"http://127.0.0.1:{port}", {"api_key": "k", "domain": "mg.sender.example"}, CLOCK)
        client.close()


@contextmanager
def amazon() -> Iterator[FinishedSender]:
    yield ses(WalkingHttp(TAKEN))


class WalkingHttp(FakeHttp):
    """A transport that walks a body and keeps nothing of it."""

    def request(self, method: str, url: str, *, headers: Mapping[str, str], body: Body, deadline: float) -> Response:
        assert not isinstance(body, bytes | tuple)
        assert sum(map(len, body)) == body.size
        assert isinstance(self.answer, Response)
        return self.answer


@pytest.mark.parametrize(("name", "provider"), [("smtp", smtp), ("mailgun", mailgun), ("ses", amazon)])
def test_two_of_the_largest_messages_take_little_memory(
    name: str, provider: Callable[[], AbstractContextManager[FinishedSender]]
) -> None:
    files = EndlessFiles()
    files.size = needs_of(name).finished_bytes
    messages = SpooledMessages(files)

    def send(n: int) -> Outcome:
        finished = Finished("ann@sender.example", f"contents/{n}", "etag", files.size)
        content = Content(Mailbox("ann@sender.example"), "", finished=finished)
        with messages.open(finished) as message:
            return by.send_finished(content, message, target(n), deadline=time.time() + 60)

    with provider() as by, ThreadPoolExecutor(2) as pool:
        tracemalloc.start()
        try:
            outcomes = list(pool.map(send, range(2)))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert all(isinstance(outcome, Accepted) for outcome in outcomes), outcomes
    assert peak < MOST
