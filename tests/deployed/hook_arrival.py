"""How long webhooks of a quiet local cloud take from a change to its arrival, measured from outside.

An account has seven endpoints. Two answer. The others refuse connections, answer 500, hang, answer after five seconds,
and close connections. Messages are sent, a few a second, each by a job of its own. The provider's words about them are
held for some seconds, and then posted. The time of a word begins before its post, and ends when a receiver in a process
of its own has the event. The first ones are not timed: they start the functions.
"""

import http.client
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from infra.local.processes import wait_for
from simulator.client import ControlClient
from tests.deployed.drill import Drill, Report, Running, percentile
from tests.deployed.receiver import Mode, Received, ReceiverProcess
from tests.simulator.conftest import Post, listening

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


@contextmanager
def held(control: ControlClient, tag: str) -> Iterator[tuple[Callable[[], list[Post]], str]]:
    """Have the provider post its words here, one a post.

    Args:
        control: of the simulator.
        tag: is in the addresses of the messages that count.

    Yields:
        What returns the posts so far that say that such a message was delivered, and where the provider posts
        otherwise.
    """
    before = control.webhooks(PROVIDER, LANE)
    with listening() as office:
        control.webhooks(PROVIDER, LANE, url=office.url, batch_events=1)
        try:
            yield lambda: [x for x in office.posts if tag in _to(x) and _says(x) == "delivered"], before["url"]
        finally:
            control.webhooks(PROVIDER, LANE, **{name: before[name] for name in ("url", "batch_events")})


def _to(post: Post) -> str:
    """Return whose message a word is about."""
    return str(post.events()[0]["email"])


def _says(post: Post) -> str:
    """Return what became of it."""
    return str(post.events()[0]["event"])


class ArrivalDrill(Drill):
    """Endpoints, a job, and the words about it.

    Args:
        running: the cloud.
        seed: of nothing: all is timed alike.
        words: how many are posted and timed.
        receiver: answers.
    """

    def __init__(self, running: Running, seed: int, *, words: int, receiver: ReceiverProcess) -> None:
        super().__init__(running, seed)
        self._words = words
        self._receiver = receiver
        self._jobs: set[str] = set()
        self._posted: dict[str, float] = {}
        """Recipient → when the word was posted."""
        self._timed: set[str] = set()
        self._answered: list[float] = []
        """Seconds of a post itself."""

    def run(self, *, rate: float, within: float) -> None:
        """Prove endpoints, break them, send, post the words, wait for their arrival, and judge the times.

        Args:
            rate: words a second.
            within: the most seconds of the 95th percentile.
        """
        with ExitStack() as made:
            with ReceiverProcess() as refuses:
                hooks = [self._create(self._receiver.url(path), made) for path in (*GOOD, *BAD)]
                hooks.append(self._create(refuses.url(REFUSES), made))
                what = "an endpoint was not enabled by its answer to `test`"
                if not self.until(lambda: all(map(self._proven, hooks)), PATIENCE, what, pause=PAUSE):
                    return
            for path, (mode, seconds) in BAD.items():
                self._receiver.switch(path, mode, seconds)
            posts, target = made.enter_context(held(self.control, self.tag))
            self._send(posts, target, rate)
            self.until(self._arrived, PATIENCE, "not everything arrived in time", pause=PAUSE)
            self._judge(within)

    def _send(self, posts: Callable[[], Sequence[Post]], target: str, rate: float) -> None:
        """Send messages, and post the words about them on.

        Args:
            posts: returns those that are held.
            target: where they go.
            rate: words a second.
        """
        total = STARTING + self._words
        began = time.monotonic()
        for n in range(total + HELD):
            wait_for(partial(_is_past, began + n / rate), PATIENCE, pause=TICK)
            if n < total:
                self._jobs.add(self.api.post([f"p{n}.{self.tag}@example.com"], LANE))
            word = n - HELD
            if word >= 0 and self._heard(posts, word):
                self._post(posts()[word], target, timed=word >= STARTING)

    def _heard(self, posts: Callable[[], Sequence[Post]], word: int) -> bool:
        """Wait for a word of the provider's; return whether it came."""
        what = f"the provider has not said {word + 1} words"
        return self.until(lambda: len(posts()) > word, PATIENCE, what, pause=TICK)

    def _create(self, url: str, made: ExitStack) -> str:
        answer = self.api.call("POST", "/hooks", {"url": url, "events": ["*"]})
        assert answer.status == 201, answer
        hook: str = answer.body["id"]
        made.callback(self.api.call, "DELETE", f"/hooks/{hook}")
        return hook

    def _proven(self, hook: str) -> bool:
        return bool(self.api.get(f"/hooks/{hook}")["state"] == "enabled")

    def _post(self, post: Post, target: str, *, timed: bool) -> None:
        """Post a word on.

        Args:
            post: has it.
            target: where to.
            timed: whether its time counts.
        """
        began = self._posted[_to(post)] = time.time()
        parts = urlsplit(target)
        connection = http.client.HTTPConnection(parts.netloc, timeout=PATIENCE)
        try:
            connection.request("POST", parts.path, post.body, dict(post.headers))
            status = connection.getresponse().status
        finally:
            connection.close()
        if status != http.HTTPStatus.OK:
            self.report.wrong.append(f"a word was answered by {status}")
        if timed:
            self._timed.add(_to(post))
            self._answered.append(time.time() - began)

    def _arrived(self) -> bool:
        return all(self._first(path).keys() >= self._posted.keys() for path in GOOD)

    def _first(self, path: str) -> dict[str, Received]:
        """Return recipient → the first request about the delivery of their message at an endpoint."""
        found: dict[str, Received] = {}
        for x in self._receiver.received(path):
            event = json.loads(x.body)
            if event["type"] == KIND and event["data"]["job_id"] in self._jobs:
                found.setdefault(event["data"]["recipient"], x)
        return found

    def _judge(self, within: float) -> None:
        """Note from post to arrival, and judge, the times of all words at the endpoints that answer."""
        waits: list[float] = []
        heard: list[float] = []
        for path in GOOD:
            first = self._first(path)
            for recipient in self._timed & first.keys():
                noticed = datetime.fromisoformat(json.loads(first[recipient].body)["timestamp"]).timestamp()
                waits.append(first[recipient].at - self._posted[recipient])
                heard.append(noticed - self._posted[recipient])
            ids = [x.delivery for x in self._receiver.received(path)]
            self.report.add("events that came again", len(ids) - len(set(ids)))
        self.report.check(f"only {len(waits)} arrivals", holds=len(waits) == len(GOOD) * self._words)
        p95 = percentile(waits, 95)
        self.report.check(f"the p95 is {p95:.2f} s: over {within:g} s", holds=p95 <= within)
        rest = [whole - part for whole, part in zip(waits, heard, strict=True)]
        self.report.figures = {
            "s from the word's post to the arrival, as p50, p95, most": _parts(waits),
            "s to the answer of the post": _parts(self._answered),
            "s to the delivery": _parts(heard),
            "s from there": _parts(rest),
            "load": Path("/proc/loadavg").read_text("ascii").split()[0],
            **self.report.figures,
        }


def _parts(some: Sequence[float]) -> str:
    """Return median, 95th percentile and the most."""
    return ", ".join(f"{percentile(some, share):.2f}" for share in (50, 95, 100))


def _is_past(due: float) -> bool:
    return time.monotonic() >= due


def run(running: Running, seed: int, *, words: int, rate: float, within: float) -> Report:
    """Time so many words, so many a second, until they arrive at the endpoints that answer."""
    with ReceiverProcess() as receiver:
        drill = ArrivalDrill(running, seed, words=words, receiver=receiver)
        drill.run(rate=rate, within=within)
    return drill.report
