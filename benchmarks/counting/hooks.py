"""The cost of webhooks to an account: its changes become deliveries, which are posted to an endpoint with batches."""

import json
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final
from unittest.mock import patch

import boto3

from benchmarks.rig import rows
from benchmarks.rig.mail import recipients
from benchmarks.rig.meter import Tally
from benchmarks.rig.rows import Row, counted, named
from benchmarks.rig.scenarios import BODY, rate_of, warm, words
from benchmarks.rig.world import REGION, Context, World, world
from shared.contracts import HookCall, calls_queue_url, hooks_queue_url, hooks_secret_name
from shared.domain.hooks.endpoint import Endpoint, new_endpoint_id
from shared.domain.hooks.kinds import HookKind
from shared.domain.times import Seconds
from shared.ports import HookAnswer
from tests.fakes.clock import FakePool

MESSAGES: Final = 5_000
CHUNK: Final = 500
POST: Final = 1_000
"""Events of one post of a provider."""
POLL: Final = 10
"""Hints of one invocation."""
WANTED: Final = (HookKind.MESSAGE_DELIVERED.value, HookKind.MESSAGE_FAILED.value)
SCATTERED: Final = 40
"""Words that come one by one, each in another chunk than the one before."""
SCATTERED_UNITS: Final = 10.0
SCATTERED_CALLS: Final = 18.0
TOGETHER: Final = 10
"""Words about messages of as many jobs that are folded at once: ten a second, by the window of the stream."""
ROUNDS: Final = 4
TOGETHER_UNITS: Final = 5.0
TOGETHER_CALLS: Final = 6.0
SINGLY_UNITS: Final = 7.5
SINGLY_CALLS: Final = 7.0
"""Without an endpoint, an event is written with the fold that counts it: a unit and a call less (ADR 269). With one,
it is stored before its fold. So the difference is that much more, and the sum is what it was."""
UNITS: Final = 0.05
CALLS: Final = 0.04


class Receiver:
    """An endpoint that takes everything; counts the events."""

    def __init__(self) -> None:
        self.events = 0
        self.posts = 0

    def post(self, url: str, *, headers: Mapping[str, str], body: bytes, until: Seconds) -> HookAnswer:
        """Take a batch; see `ports.HookClient`."""
        del url, headers, until
        data = json.loads(body)["data"]
        self.events += len(data) if isinstance(data, list) else 1
        self.posts += 1
        return HookAnswer(204, 20)


def measure() -> list[Row]:
    """Return the write units and AWS calls that webhooks add to a message."""
    plain, _ = spent(hooked=False)
    tally, receiver = spent(hooked=True)
    if receiver.events != MESSAGES:
        raise RuntimeError("not every event was delivered once")
    units, calls = tally.wru - plain.wru, tally.aws_calls - plain.aws_calls
    alone, (one, heard) = scattered(hooked=False)[0], scattered(hooked=True)
    if heard.events != SCATTERED:
        raise RuntimeError("not every scattered event was delivered once")
    each = (one.wru - alone.wru) / SCATTERED, (one.aws_calls - alone.aws_calls) / SCATTERED
    unheard, _ = shared(batch=None)
    return [
        counted(named(rows.HOOKS, "write units"), units / MESSAGES, UNITS, "WRU"),
        counted(named(rows.HOOKS, "AWS calls"), calls / MESSAGES, CALLS, "calls"),
        counted(named(rows.HOOKS_SCATTERED, "write units"), each[0], SCATTERED_UNITS, "WRU"),
        counted(named(rows.HOOKS_SCATTERED, "AWS calls"), each[1], SCATTERED_CALLS, "calls"),
        *_together(rows.HOOKS_TOGETHER, unheard, batch=True, goals=(TOGETHER_UNITS, TOGETHER_CALLS)),
        *_together(rows.HOOKS_SINGLY, unheard, batch=False, goals=(SINGLY_UNITS, SINGLY_CALLS)),
    ]


def _together(name: str, unheard: Tally, *, batch: bool, goals: tuple[float, float]) -> list[Row]:
    """Return what each of many words at a time adds, in write units and AWS calls.

    Args:
        unheard: what the words take without an endpoint.
        batch: whether the endpoint takes batches.
        goals: in the same order.
    """
    tally, heard = shared(batch=batch)
    count = ROUNDS * TOGETHER
    if heard.events != count:
        raise RuntimeError("not every event of many was delivered once")
    return [
        counted(named(name, "write units"), (tally.wru - unheard.wru) / count, goals[0], "WRU"),
        counted(named(name, "AWS calls"), (tally.aws_calls - unheard.aws_calls) / count, goals[1], "calls"),
    ]


@contextmanager
def telling(*, hooked: bool, batch: bool = True) -> Iterator[tuple[World, "Hooks"]]:
    """Make a world that has run before, and its functions of webhooks.

    Args:
        hooked: whether the account has an endpoint.
        batch: whether it takes batches.
    """
    with world(rate=rate_of(200)) as w, patch("shared.adapters.hooks.LATER_S", 0):  # moto delays by the real clock
        warm(w)
        hooks = Hooks(w)
        if hooked:
            hooks.endpoint(batch=batch)
        w.clock.advance(60)
        yield w, hooks


def spent(*, hooked: bool) -> tuple[Tally, Receiver]:
    """Send a batch, hear of its delivery and tell an endpoint; return what all that took."""
    with telling(hooked=hooked) as (w, hooks):
        w.take()
        job = w.accept(recipients(MESSAGES), BODY)
        w.finish(together=MESSAGES // CHUNK)
        hooks.run()
        for lane, chunks in _by_lane(w, job).items():
            for start in range(0, len(chunks), POST // CHUNK):
                w.track(lane, [words(job, n, range(CHUNK)) for n in chunks[start : start + POST // CHUNK]])
                w.log(POST // CHUNK)
                hooks.run()
        return w.take(), hooks.receiver


def scattered(*, hooked: bool) -> tuple[Tally, Receiver]:
    """Hear of deliveries one by one, and return what all that took, without the batch itself."""
    with telling(hooked=hooked) as (w, hooks):
        job = w.accept(recipients(4 * CHUNK), BODY)
        w.finish(together=4)
        hooks.run()
        places = [(lane, n) for lane, chunks in _by_lane(w, job).items() for n in chunks]
        for i in range(SCATTERED + 1):
            lane, n = places[i % len(places)]
            w.track(lane, [words(job, n, range(i, i + 1))])
            w.log(1)
            hooks.run()
            if not i:  # the endpoint has been called before
                w.take()
                hooks.receiver.events = 0
        return w.take(), hooks.receiver


def shared(*, batch: bool | None) -> tuple[Tally, Receiver]:
    """Hear of deliveries about messages of jobs of their own, many at a time; return what all that took.

    Args:
        batch: whether the endpoint takes batches; None: the account has none.
    """
    with telling(hooked=batch is not None, batch=bool(batch)) as (w, hooks):
        jobs = [w.accept(recipients(1), BODY) for _ in range((ROUNDS + 1) * TOGETHER)]
        w.finish(together=TOGETHER)
        w.clock.advance(60)
        hooks.run()
        lanes = {job: lane for job in jobs for lane in _by_lane(w, job)}
        for n in range(ROUNDS + 1):
            some = jobs[n * TOGETHER : (n + 1) * TOGETHER]
            for lane in sorted(set(lanes.values())):
                mine = [words(job, 0, range(1)) for job in some if lanes[job] == lane]
                if mine:
                    w.track(lane, mine)
            w.log(TOGETHER)
            hooks.run()
            if not n:  # functions and the endpoint have worked before
                w.take()
                hooks.receiver.events = 0
        return w.take(), hooks.receiver


def _by_lane(w: World, job: str) -> dict[str, list[int]]:
    """Return the chunks of a job by the credential that they went through."""
    out: dict[str, list[int]] = {}
    for ledger in w.deployment.ledgers.read_all(job):
        out.setdefault(ledger.lane, []).append(ledger.chunk)
    return out


class Hooks:
    """The functions of webhooks in a world."""

    def __init__(self, w: World) -> None:
        from shared.engine.hooks.call import CallHooks  # noqa: PLC0415
        from shared.engine.hooks.posting import HookPoster  # noqa: PLC0415
        from shared.engine.hooks.render import HookBodies  # noqa: PLC0415

        self._w = w
        self.receiver = Receiver()
        self._sqs = boto3.Session(region_name=REGION).client("sqs")
        prefix = w.deployment.env["POSTHASTE_LANE_URL_PREFIX"]
        self._queues = [hooks_queue_url(prefix), *(calls_queue_url(prefix, apart=x) for x in (False, True))]
        for url in self._queues:
            self._sqs.create_queue(QueueName=url.rpartition("/")[2])
        secrets = boto3.Session(region_name=REGION).client("secretsmanager")
        secrets.create_secret(Name=hooks_secret_name("bench"), SecretString=json.dumps({"current": "k" * 64}))
        self.hooking = w.deployment.hooking
        self.hooking.gatherer._pool = FakePool  # noqa: SLF001 - the meter wants one thread
        poster = HookPoster(
            client=self.receiver,
            secrets=self.hooking.secrets,
            body=HookBodies(w.deployment.records, w.clock),
            clock=w.clock,
        )
        self._calls = CallHooks(
            endpoints=self.hooking.endpoints,
            queue=self.hooking.queue,
            works=self.hooking.works,
            hints=self.hooking.hints,
            poster=poster,
            clock=w.clock,
            draw=random.Random(1).random,
            pool=FakePool,
        )

    def endpoint(self, *, batch: bool) -> None:
        """Make an endpoint, with batches or without."""
        now = self._w.clock.ms
        made = Endpoint(
            new_endpoint_id(now),
            self._w.account,
            "https://example.com/hook",
            WANTED,
            now,
            batch=batch,
            proven=True,
        )
        self.hooking.endpoints.create(made, None, event=None)

    def run(self) -> None:
        """Serve hints until none waits."""
        changes, *calls = self._queues
        while True:
            self._w.clock.advance(5)
            if self._gather(changes):
                continue
            found = [body for url in calls for body in self._taken(url)]
            if not found:
                return
            for body in found:
                self._calls.work(HookCall.loads(body).endpoint, apart=False, stop_at=self._w.clock.now() + 45)

    def _gather(self, url: str) -> bool:
        from functions.dispatch import gather_hooks, services  # noqa: PLC0415

        records = [{"eventSource": "aws:sqs", "messageId": "m", "body": x} for x in self._taken(url)]
        if records:
            with patch.object(services, "deployment", lambda: self._w.deployment):
                answer = gather_hooks.handler({"Records": records}, Context())
            if answer["batchItemFailures"]:
                raise RuntimeError("not gathered")
        return bool(records)

    def _taken(self, url: str) -> Iterator[str]:
        """Yield the bodies of some messages, and delete these."""
        for message in self._sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=POLL).get("Messages", []):
            self._sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
            yield message["Body"]
