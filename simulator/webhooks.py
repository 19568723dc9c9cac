"""Delivery of a credential's events to its webhook target: batched, signed, late, twice, out of order, or never.

A message's events are planned at acceptance. Every chance is a function of seed, credential, ref and address, so the
seed replays a run, independent of the timing. Anything but a 2xx is retried with growing, bounded delays, as SendGrid
does for 24 hours; here `attempts` bounds it.
"""

import asyncio
import http.client
from collections import deque
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from heapq import heappop, heappush
from math import log
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

from simulator.dice import Dice, token
from simulator.faults import Probability
from simulator.model import Clock, Message, Provider

Milliseconds = Annotated[float, Field(ge=0, le=3_600_000)]
TICK: Final = 0.005
"""Timers are at least this many seconds apart, so that thousands of events a second do not mean as many wake-ups."""


class Delay(BaseModel):
    """Time before each event of a message, counted from the one before it.

    fixed: `ms`. uniform: `ms` ± `spread_ms`. exponential: mean `ms`, at most ten times that.
    """

    model_config = ConfigDict(extra="forbid")

    kind: Literal["fixed", "uniform", "exponential"] = "fixed"
    ms: Milliseconds = 20
    spread_ms: Milliseconds = 0

    def seconds(self, dice: Dice) -> float:
        """Draw one delay in seconds."""
        if self.kind == "fixed":
            return self.ms / 1000
        if self.kind == "uniform":
            return max(0.0, self.ms + (2 * dice.roll() - 1) * self.spread_ms) / 1000
        return min(10.0, -log(1 - dice.roll())) * self.ms / 1000


class Webhooks(BaseModel):
    """A credential's webhook settings.

    Attributes:
        url: target; empty: events are counted as discarded.
        paused: events wait.
        batch_events, batch_ms: a post leaves with so many events, or so long after its first was due.
        parallel: posts in flight.
        duplicate, loss: probabilities per event.
        reorder: probability per message that its first and last event swap times.
        duplicate_new_id: a duplicate carries an event id of its own, as the vendor's retries may.
        attempts: posts of a batch.
        retry_ms: the first delay between them; it doubles.
        retry_cap_ms: its bound.
        behaviours: local part (up to a `+`) or whole phone number → behaviour, for example `{"bounce": "bounce"}`.
        mix: behaviour → probability for all other recipients; the rest is delivered.
    """

    model_config = ConfigDict(extra="forbid")

    url: str = ""
    paused: bool = False
    batch_events: int = Field(default=500, ge=1, le=5_000)
    batch_ms: Milliseconds = 50
    parallel: int = Field(default=4, ge=1, le=16)
    delay: Delay = Delay()
    duplicate: Probability = 0.0
    duplicate_new_id: bool = False
    reorder: Probability = 0.0
    loss: Probability = 0.0
    attempts: int = Field(default=8, ge=1, le=50)
    retry_ms: Milliseconds = 100
    retry_cap_ms: Milliseconds = 5_000
    timeout_s: float = Field(default=10, gt=0, le=60)
    behaviours: dict[str, str] = {
        "bounce": "bounce",
        "blocked": "blocked",
        "drop": "drop",
        "defer": "defer",
        "expire": "expire",
        "spam": "spam",
        "silent": "silent",
    }
    mix: dict[str, Probability] = {}

    @field_validator("url")
    @classmethod
    def _http(cls, value: str) -> str:
        parts = urlsplit(value)
        if value and (parts.scheme not in ("http", "https") or not parts.hostname):
            msg = "an http or https URL, or empty"
            raise ValueError(msg)
        return value


@dataclass(slots=True)
class Counters:
    """Events, except posts and retries. `failed`: given up after all attempts; `discarded`: there was no target."""

    planned: int = 0
    delivered: int = 0
    duplicates: int = 0
    reordered: int = 0
    lost: int = 0
    failed: int = 0
    discarded: int = 0
    posts: int = 0
    retries: int = 0


@dataclass(frozen=True, slots=True)
class Event:
    """One event on its way. `at`: when it happened, Unix seconds; `copy`: 0, or 1 for a duplicate."""

    message: Message
    word: str
    at: float
    copy: int


@dataclass(slots=True)
class Batch:
    """Events of one post, and how often it was tried."""

    url: str
    events: list[Event]
    tries: int = 0


class Courier:
    """Delivers one credential's events. Used by the event loop's thread; only `_post` runs in the pool's threads."""

    def __init__(
        self,
        *,
        provider: Provider,
        credential: str,
        seed: str,
        clock: Clock,
        pool: ThreadPoolExecutor,
        settings: Webhooks,
    ) -> None:
        self.settings = settings
        self.counters = Counters()
        self.pending = 0
        self._provider, self._credential, self._seed, self._clock, self._pool = provider, credential, seed, clock, pool
        self._loop = asyncio.get_running_loop()
        self._due: list[tuple[float, int, Event]] = []
        self._planned = 0
        self._ready: deque[Event] = deque()
        self._ready_since = 0.0
        self._outbox: deque[Batch] = deque()
        self._waiting: dict[asyncio.TimerHandle, Batch] = {}
        self._flying: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._idle: list[asyncio.Future[None]] = []
        self._hurry = False

    def configure(self, settings: Webhooks) -> None:
        """Take new settings; events already planned keep their times."""
        self.settings = settings
        self._wake()

    def behaviour(self, message: Message, dice: Dice) -> str:
        """Return the behaviour of a message."""
        local = message.to.partition("@")[0].partition("+")[0].lower()
        for name in (message.to, local):
            if name in self.settings.behaviours:
                return self.settings.behaviours[name]
        if self.settings.mix:
            roll = dice.roll()
            for behaviour, share in self.settings.mix.items():
                roll -= share
                if roll < 0:
                    return behaviour
        return "deliver"

    def take(self, messages: list[Message]) -> None:
        """Plan the events of accepted messages."""
        settings, now = self.settings, self._clock.now()
        for message in messages:
            dice = Dice(self._seed, self._credential, "events", message.ref, message.to)
            message.behaviour = self.behaviour(message, dice)
            words = self._provider.words(message.family + message.behaviour)
            if not (message.callback or settings.url):
                self.counters.discarded += len(words)
                continue
            times, at = [], now
            for _ in words:
                at += settings.delay.seconds(dice)
                times.append(at)
            due = list(times)
            if settings.reorder and len(words) > 1 and dice.roll() < settings.reorder:
                due[0], due[-1] = due[-1], due[0]
                self.counters.reordered += 1
            for word, happened, when in zip(words, times, due, strict=True):
                self._plan(Event(message, word, happened, 0), when, dice)
        self._wake()

    def report(self, message: Message, word: str) -> None:
        """Report, now, one event of a message that no call has sent."""
        if not self.settings.url:
            self.counters.discarded += 1
            return
        now = self._clock.now()
        self._push(now, Event(message, word, now, 0))
        self._wake()

    def _plan(self, event: Event, when: float, dice: Dice) -> None:
        settings = self.settings
        if settings.loss and dice.roll() < settings.loss:
            self.counters.lost += 1
            return
        self._push(when, event)
        if settings.duplicate and dice.roll() < settings.duplicate:
            self.counters.duplicates += 1
            self._push(when + settings.delay.seconds(dice), Event(event.message, event.word, event.at, 1))

    def _push(self, when: float, event: Event) -> None:
        self._planned += 1
        self.counters.planned += 1
        self.pending += 1
        heappush(self._due, (when, self._planned, event))

    def _collect(self, now: float) -> None:
        """Take the events that are due."""
        while self._due and (self._hurry or self._due[0][0] <= now):
            if not self._ready:
                self._ready_since = now
            self._ready.append(heappop(self._due)[2])

    def _wake(self) -> None:
        """Move what is due to the outbox, start posts, and set the timer for what comes next."""
        settings, now = self.settings, self._clock.now()
        if settings.paused:
            return
        self._collect(now)
        size = min(settings.batch_events, self._provider.per_post)
        patience = settings.batch_ms / 1000
        while self._ready and (self._hurry or len(self._ready) >= size or now - self._ready_since >= patience):
            self._pack(min(size, len(self._ready)))
        while self._outbox and len(self._flying) < settings.parallel:
            task = self._loop.create_task(self._fly(self._outbox.popleft()))
            self._flying.add(task)
            task.add_done_callback(self._landed)
        self._set_timer(now, patience)

    def _pack(self, size: int) -> None:
        """Move the next events into batches, one for each target."""
        batches: dict[str, Batch] = {}
        for _ in range(size):
            event = self._ready.popleft()
            url = event.message.callbacks.get(event.word) or event.message.callback or self.settings.url
            batches.setdefault(url, Batch(url, [])).events.append(event)
        self._outbox.extend(batches.values())

    def _set_timer(self, now: float, patience: float) -> None:
        """Make sure that `_wake` runs when the next event is due or the next batch has waited long enough."""
        times = [self._due[0][0]] if self._due else []
        if self._ready:
            times.append(self._ready_since + patience)
        if not times or (self._timer is not None and self._timer_at <= min(times)):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = max(now + TICK, min(times))
        self._timer = self._loop.call_later(self._timer_at - now, self._ring)

    def _ring(self) -> None:
        self._timer = None
        self._wake()

    def _landed(self, task: asyncio.Task[None]) -> None:
        self._flying.discard(task)
        if not task.cancelled():
            task.result()
            self._wake()

    async def _fly(self, batch: Batch) -> None:
        batch.tries += 1
        self.counters.posts += 1
        self.counters.retries += batch.tries > 1
        status = await self._loop.run_in_executor(self._pool, self._post, batch)
        if 200 <= status < 300:  # noqa: PLR2004 - the class of HTTP successes
            self.counters.delivered += len(batch.events)
            for event in batch.events:
                event.message.acknowledged.append(event.word)
            self._settle(len(batch.events))
        elif batch.tries >= self.settings.attempts:
            self.counters.failed += len(batch.events)
            self._settle(len(batch.events))
        else:
            delay = min(self.settings.retry_ms * 2 ** (batch.tries - 1), self.settings.retry_cap_ms) / 1000
            self._wait(batch, TICK if self._hurry else delay)

    def _wait(self, batch: Batch, delay: float) -> None:
        def again() -> None:
            self._waiting.pop(handle, None)
            self._outbox.append(batch)
            self._wake()

        handle = self._loop.call_later(delay, again)
        self._waiting[handle] = batch

    def _post(self, batch: Batch) -> int:
        """Build, sign and send one batch; return the status, 0 if there was none. Runs in a pool thread."""
        events = [
            self._provider.event(
                e.message, e.word, e.at, token(self._seed, e.message.id, e.message.seq, e.word, self._copy_key(e))
            )
            for e in batch.events
        ]
        headers, body = self._provider.post(events, batch.url, self._clock.now())
        return _send(batch.url, headers, body, self.settings.timeout_s)

    def _copy_key(self, event: Event) -> int:
        return event.copy if self.settings.duplicate_new_id else 0

    def _settle(self, events: int) -> None:
        self.pending -= events
        if not self.pending:
            self._hurry = False
            for waiter in self._idle:
                if not waiter.done():
                    waiter.set_result(None)
            self._idle.clear()

    async def flush(self, *, now: bool) -> None:
        """Wait until no event is pending; `now`: without waiting for delays of events and of retries."""
        if not self.pending:
            return
        waiter = self._loop.create_future()
        self._idle.append(waiter)
        if now:
            self._hurry = True
            for handle, batch in list(self._waiting.items()):
                handle.cancel()
                self._outbox.append(batch)
            self._waiting.clear()
        self._wake()
        await waiter

    def drop(self) -> None:
        """Forget all events that are not in flight."""
        gone = len(self._due) + len(self._ready) + sum(len(b.events) for b in [*self._outbox, *self._waiting.values()])
        for handle in self._waiting:
            handle.cancel()
        self._due.clear()
        self._ready.clear()
        self._outbox.clear()
        self._waiting.clear()
        self._settle(gone)

    async def close(self) -> None:
        """Stop timers and wait for the posts in flight."""
        self.settings = self.settings.model_copy(update={"paused": True, "attempts": 1})
        if self._timer is not None:
            self._timer.cancel()
        self.drop()
        await asyncio.gather(*self._flying)


def _send(url: str, headers: Mapping[str, str], body: bytes, timeout: float) -> int:
    """POST without keep-alive or redirects; return the status, or 0 if there was no answer."""
    parts = urlsplit(url)
    kind: Any = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection: http.client.HTTPConnection = kind(parts.hostname, parts.port, timeout=timeout)
    try:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("POST", target, body, {**headers, "Connection": "close"})
        response = connection.getresponse()
        response.read()
    except (OSError, http.client.HTTPException):
        return 0
    else:
        return response.status
    finally:
        connection.close()
