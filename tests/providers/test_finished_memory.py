"""The largest finished messages leave in blocks: two at once take a few megabytes of memory."""

import json
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from benchmarks import starts
from benchmarks.forgetful import HttpEnd, SmtpEnd, message, serving
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
MOST = 24 * 1024 * 1024
"""Bytes for two messages, of 40 MB each."""
MOST_MB = 256
"""Of a sender's whole process meanwhile."""
ROOT = Path(__file__).resolve().parents[2]


class EndlessFiles(FakeFiles):
    """Files that are made while they are read."""

    size = 0

    def read(self, name: str, *, etag: str, start: int) -> Iterator[bytes]:
        yield from message(self.size)


@contextmanager
def smtp() -> Iterator[FinishedSender]:
    with serving(SmtpEnd) as port:
        client = SmtpClient(CLOCK)
        yield SmtpRelay(client, f"smtp+plain://127.0.0.1:{port}", {"auth": "none"}, CLOCK)
        client.close()


@contextmanager
def mailgun() -> Iterator[FinishedSender]:
    with serving(HttpEnd) as port:
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


@pytest.mark.slow
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
        with messages.open(finished) as opened:
            return by.send_finished(content, opened, target(n), deadline=time.time() + 60)

    with provider() as by, ThreadPoolExecutor(2) as pool:
        tracemalloc.start()
        try:
            outcomes = list(pool.map(send, range(2)))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert all(isinstance(outcome, Accepted) for outcome in outcomes), outcomes
    assert peak < MOST


@pytest.mark.slow
@pytest.mark.parametrize("name", ["smtp", "mailgun", "ses"])
def test_a_sender_with_two_of_the_largest_messages_stays_below_its_memory(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.largest", name],
        cwd=ROOT,
        env=starts.environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    found = json.loads(done.stdout)
    assert found["bytes"] == 2 * needs_of(name).finished_bytes
    assert found["before_mb"] < found["rss_mb"] < MOST_MB
