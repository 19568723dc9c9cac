"""How long webhooks of a quiet local cloud take from a change to its arrival, measured from outside.

An account has seven endpoints. Two answer. The others refuse connections, answer 500, hang, answer after five seconds,
and close connections. Messages are sent, a few a second, each by a job of its own. The provider's words about them are
held for some seconds, and then posted. The time of a word begins before its post, and ends when a receiver in a process
of its own has the event. The first ones are not timed: they start the functions.

`python -m tests.deployed.hook_arrival` is the long form.
"""

import argparse
import http.client
import json
import statistics
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from infra.local.processes import LOOPBACK, wait_for
from simulator.client import ControlClient
from tests.deployed.api import Api
from tests.deployed.drill import judged
from tests.deployed.inside import running
from tests.deployed.receiver import Mode, Received, ReceiverProcess

PROVIDER, LANE = "sendgrid", "sendgrid-main"
KIND: Final = "message.delivered"
GOOD: Final = ("/one", "/other")
REFUSES: Final = "/refuses"
BAD: Final = {
    "/error": (Mode.ERROR, 0.0),
    "/hangs": (Mode.HANG, 0.0),
    "/slow": (Mode.OK, 5.0),
    "/closes": (Mode.CLOSE, 0.0),
}
STARTING: Final = 10
"""Words before those that are timed."""
HELD: Final = 4
"""Jobs that are sent before a word about one is posted: its acceptance is handed on by then."""
PATIENCE: Final = 120.0
PAUSE: Final = 0.5
TICK: Final = 0.01


@dataclass(frozen=True, slots=True)
class Post:
    """A provider's post with one word, as it is to be posted on."""

    headers: Mapping[str, str]
    body: bytes

    @property
    def recipient(self) -> str:
        """Whose message the word is about."""
        return str(json.loads(self.body)[0]["email"])

    @property
    def word(self) -> str:
        """What became of it."""
        return str(json.loads(self.body)[0]["event"])


@dataclass(slots=True)
class HookArrivals:
    """What was measured; `wrong` is empty if everything arrived.

    Attributes:
        words: that were posted and timed.
        waits: seconds from a word's post to the event at an endpoint that answers.
        heard: seconds of these until the change was noticed: the event's own time.
        answered: seconds of a post itself.
        repeats: events that arrived at such an endpoint more than once.
    """

    words: int
    waits: list[float] = field(default_factory=list)
    heard: list[float] = field(default_factory=list)
    answered: list[float] = field(default_factory=list)
    repeats: int = 0
    wrong: list[str] = field(default_factory=list)

    @property
    def p95(self) -> float:
        """The 95th percentile of the waits, in seconds."""
        return _parts(self.waits)[1]

    def text(self) -> str:
        """Return the figures."""
        rest = [whole - part for whole, part in zip(self.waits, self.heard, strict=True)]
        load = Path("/proc/loadavg").read_text("ascii").split()[0]
        return (
            f"{self.words} words, {len(self.waits)} arrivals at {len(GOOD)} of {len(GOOD) + len(BAD) + 1} endpoints, "
            f"{self.repeats} repeated, load {load}; seconds as p50, p95, most: from the word's post to the arrival "
            f"{_figures(self.waits)}; to its answer {_figures(self.answered)}; to the delivery {_figures(self.heard)}; "
            f"from there {_figures(rest)}; {len(self.wrong)} faults"
        )


def _parts(some: Sequence[float]) -> tuple[float, float, float]:
    """Return median, 95th percentile and the most."""
    if len(some) < 2:
        return 0.0, 0.0, 0.0
    return statistics.median(some), statistics.quantiles(some, n=20)[-1], max(some)


def _figures(some: Sequence[float]) -> str:
    return ", ".join(f"{x:.2f}" for x in _parts(some))


@contextmanager
def held(control: ControlClient, tag: str) -> Iterator[tuple[list[Post], str]]:
    """Have the provider post its words here, one a post.

    Args:
        control: of the simulator.
        tag: is in the addresses of the messages that count.

    Yields:
        The posts that say that such a message was delivered, as they come, and where the provider posts otherwise.
    """
    posts: list[Post] = []

    class Office(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            post = Post(dict(self.headers.items()), body)
            if tag in post.recipient and post.word == "delivered":
                posts.append(post)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    before = control.webhooks(PROVIDER, LANE)
    with ThreadingHTTPServer((LOOPBACK, 0), Office) as office:
        thread = threading.Thread(target=office.serve_forever, kwargs={"poll_interval": PAUSE})
        thread.start()
        try:
            here = f"http://{LOOPBACK}:{office.server_port}/"
            control.webhooks(PROVIDER, LANE, url=here, batch_events=1)
            yield posts, before["url"]
        finally:
            office.shutdown()
            thread.join()
            control.webhooks(PROVIDER, LANE, **{name: before[name] for name in ("url", "batch_events")})


class ArrivalDrill:
    """Endpoints, a job, and the words about it.

    Args:
        api: the cloud's API.
        control: the simulator.
        report: is filled in.
        receiver: answers.
        rate: words a second.
    """

    def __init__(
        self, api: Api, control: ControlClient, report: HookArrivals, receiver: ReceiverProcess, rate: float
    ) -> None:
        self._api = api
        self._control = control
        self._report = report
        self._receiver = receiver
        self._rate = rate
        self._tag = uuid.uuid4().hex[:10]
        self._jobs: set[str] = set()
        self._began: dict[str, float] = {}
        self._timed: set[str] = set()

    def run(self) -> None:
        """Prove endpoints, break them, send, post the words, and wait for their arrival."""
        with ExitStack() as made:
            with ReceiverProcess() as refuses:
                hooks = [self._create(self._receiver.url(path), made) for path in (*GOOD, *BAD)]
                hooks.append(self._create(refuses.url(REFUSES), made))
                if not wait_for(lambda: all(map(self._proven, hooks)), PATIENCE, pause=PAUSE):
                    self._report.wrong.append("an endpoint was not enabled by its answer to `test`")
                    return
            for path, (mode, seconds) in BAD.items():
                self._receiver.switch(path, mode, seconds)
            posts, target = made.enter_context(held(self._control, self._tag))
            self._send(posts, target)
            if not wait_for(self._arrived, PATIENCE, pause=PAUSE):
                self._report.wrong.append("not everything arrived in time")
            for path in GOOD:
                self._judge(path)

    def _send(self, posts: Sequence[Post], target: str) -> None:
        """Send messages, and post the words about them on, at the rate.

        Args:
            posts: those that are held.
            target: where they go.
        """
        total = STARTING + self._report.words
        began = time.monotonic()
        for n in range(total + HELD):
            wait_for(partial(_is_past, began + n / self._rate), PATIENCE, pause=TICK)
            if n < total:
                self._jobs.add(self._api.post([f"p{n}.{self._tag}@example.com"], LANE))
            word = n - HELD
            if word >= 0 and self._heard(posts, word):
                self._post(posts[word], target, timed=word >= STARTING)

    def _heard(self, posts: Sequence[Post], word: int) -> bool:
        """Wait for a word of the provider's; return whether it came."""
        came = wait_for(lambda: len(posts) > word, PATIENCE, pause=TICK)
        if not came:
            self._report.wrong.append(f"the provider has said only {len(posts)} words")
        return came

    def _create(self, url: str, made: ExitStack) -> str:
        answer = self._api.call("POST", "/hooks", {"url": url, "events": ["*"]})
        assert answer.status == 201, answer
        hook: str = answer.body["id"]
        made.callback(self._api.call, "DELETE", f"/hooks/{hook}")
        return hook

    def _proven(self, hook: str) -> bool:
        return bool(self._api.get(f"/hooks/{hook}")["state"] == "enabled")

    def _post(self, post: Post, target: str, *, timed: bool) -> None:
        """Post a word on.

        Args:
            post: has it.
            target: where to.
            timed: whether its time counts.
        """
        began = self._began[post.recipient] = time.time()
        parts = urlsplit(target)
        connection = http.client.HTTPConnection(parts.netloc, timeout=PATIENCE)
        try:
            connection.request("POST", parts.path, post.body, dict(post.headers))
            status = connection.getresponse().status
        finally:
            connection.close()
        if status != http.HTTPStatus.OK:
            self._report.wrong.append(f"a word was answered by {status}")
        if timed:
            self._timed.add(post.recipient)
            self._report.answered.append(time.time() - began)

    def _arrived(self) -> bool:
        return all(self._first(path).keys() >= self._began.keys() for path in GOOD)

    def _first(self, path: str) -> dict[str, Received]:
        """Return recipient → the first request about the delivery of their message at an endpoint."""
        found: dict[str, Received] = {}
        for x in self._receiver.received(path):
            event = json.loads(x.body)
            if event["type"] == KIND and event["data"]["job_id"] in self._jobs:
                found.setdefault(event["data"]["recipient"], x)
        return found

    def _judge(self, path: str) -> None:
        first = self._first(path)
        for recipient in self._timed & first.keys():
            noticed = datetime.fromisoformat(json.loads(first[recipient].body)["timestamp"]).timestamp()
            self._report.waits.append(first[recipient].at - self._began[recipient])
            self._report.heard.append(noticed - self._began[recipient])
        ids = [x.delivery for x in self._receiver.received(path)]
        self._report.repeats += len(ids) - len(set(ids))


def _is_past(due: float) -> bool:
    return time.monotonic() >= due


def run(api: Api, control: ControlClient, *, words: int, rate: float) -> HookArrivals:
    """Measure on a cloud that is up.

    Args:
        api: its API.
        control: its simulator.
        words: how many are timed.
        rate: words a second.
    """
    report = HookArrivals(words)
    with ReceiverProcess() as receiver:
        ArrivalDrill(api, control, report, receiver, rate).run()
    return report


def main() -> int:
    """Measure on the local cloud that is up; return the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--words", type=int, default=120)
    parser.add_argument("--rate", type=float, default=4.0, help="words a second")
    parser.add_argument("--within", type=float, default=2.0, help="the most seconds of the p95")
    options = parser.parse_args()

    def drill() -> HookArrivals:
        _, api, control = running()
        report = run(api, control, words=options.words, rate=options.rate)
        if report.p95 > options.within:
            report.wrong.append(f"the p95 is {report.p95:.2f} s: over {options.within:g} s")
        return report

    return judged(drill)


if __name__ == "__main__":
    sys.exit(main())
