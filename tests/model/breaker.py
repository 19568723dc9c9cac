"""The breakers of a route (B), and the work that waits for them: once all is well, all is sent and all is CLOSED.

Safety has no part in it: a breaker that is open too long or too short sends nothing twice. So the states here are those
of a breaker's item, of providers that are well or not, and of leases that send or probe. Time is a step: the moment
comes at which a breaker is to be probed, or at which the probes of a lease that says nothing are another's.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from tests.model.world import Step, put

CLOSED, OPEN, HALF_OPEN = "closed", "open", "half open"
ENOUGH: Final = 2
"""Score of the probes that closes a breaker; below zero it opens again."""
PROBES: Final = 3
"""Calls that a lease may make to probe."""
NOBODY: Final = -1


class Item(NamedTuple):
    """A breaker's item; `due`: `probe_at` has come; `score`: successes less failures of the probes of all leases.

    `late`: no message has failed for so long that one probes whatever the question says.
    """

    state: str = CLOSED
    due: bool = False
    prober: int = NOBODY
    score: int = 0
    late: bool = False


class Lease(NamedTuple):
    """A worker: the chunk that it holds, NOBODY's if none, and the probes that it may make, with its own score.

    `tripped`: the lane whose breaker it could not write as open.
    """

    chunk: int = NOBODY
    lane: int = 0
    probes: int = 0
    score: int = 0
    tripped: int = NOBODY


class Chunk(NamedTuple):
    """Messages that wait in a lane; none: there is room for others."""

    left: int = 0
    lane: int = 0


class Harm(NamedTuple):
    """What the adversary may still do: providers that fail, workers that die, writes that the store does not take.

    `mute`: providers that answer no question any more, though they take messages.
    """

    down: int = 1
    crash: int = 1
    lost: int = 1
    mute: int = 0


class State(NamedTuple):
    """Everything; `well`: whether each provider works; `mute`: whether it answers no question even so."""

    items: tuple[Item, ...]
    well: tuple[bool, ...]
    mute: tuple[bool, ...]
    chunks: tuple[Chunk, ...]
    leases: tuple[Lease, ...]
    left: Harm


Steps = Iterator[Step[State]]


@dataclass(frozen=True)
class Circuit:
    """A configuration: `messages` of each chunk. Chunks that are done make room for new ones, as long as it takes."""

    credentials: int = 1
    chunks: int = 2
    messages: int = 1
    workers: int = 2
    harm: Harm = field(default_factory=Harm)
    without: frozenset[str] = frozenset()

    def start(self) -> State:
        """Return the first state: all is well, and nothing waits."""
        return State(
            (Item(),) * self.credentials,
            (True,) * self.credentials,
            (False,) * self.credentials,
            (Chunk(),) * self.chunks,
            (Lease(),) * self.workers,
            self.harm,
        )

    def check(self, s: State) -> None:
        """Nothing can break here but liveness."""

    def is_goal(self, s: State) -> bool:
        """Tell whether all is sent, and every credential is used as before."""
        return (
            all(s.well)
            and all(x == Item() for x in s.items)
            and not any(c.left for c in s.chunks)
            and all(w.chunk == NOBODY and w.tripped == NOBODY for w in s.leases)
        )

    def steps(self, s: State) -> Steps:
        """Yield all that can happen next."""
        for lane, item in enumerate(s.items):
            yield from self._time(s, lane, item)
            yield from self._provider(s, lane)
        for c, chunk in enumerate(s.chunks):
            if not chunk.left:
                yield from self._accept(s, c)
        for n, lease in enumerate(s.leases):
            if lease.chunk == NOBODY:
                yield from self._begin(s, n, lease)
                continue
            yield from self._call(s, n, lease)
            if s.left.crash:
                died = self._harmed(self._ended(s, n)._replace(leases=put(s.leases, n, Lease())), "crash")
                yield Step(False, f"w{n} dies", died)

    # Outside

    def _time(self, s: State, lane: int, item: Item) -> Steps:
        forgotten = item.state == HALF_OPEN and "a_silent_prober_loses_its_probes" in self.without
        if item.state != CLOSED and not item.due and not forgotten:
            yield Step(True, f"breaker {lane} is to be probed", self._wrote(s, lane, item._replace(due=True)))
        if item.state != CLOSED and not item.late and "a_message_probes_in_the_end" not in self.without:
            yield Step(
                True, f"no message has failed at {lane} for long", self._wrote(s, lane, item._replace(late=True))
            )

    def _provider(self, s: State, lane: int) -> Steps:
        if not s.well[lane]:
            yield Step(True, f"provider {lane} is well", s._replace(well=put(s.well, lane, True)))
        elif s.left.down:
            down = s._replace(well=put(s.well, lane, False))
            yield Step(False, f"provider {lane} fails", self._harmed(down, "down"))
        if s.left.mute and not s.mute[lane]:
            mute = s._replace(mute=put(s.mute, lane, True))
            yield Step(False, f"provider {lane} answers no question any more", self._harmed(mute, "mute"))

    def _usable(self, s: State) -> list[int]:
        due = "a_breaker_that_is_due_gets_work" not in self.without
        return [lane for lane, x in enumerate(s.items) if x.state == CLOSED or (x.due and due)]

    def _accept(self, s: State, c: int) -> Steps:
        """Store a chunk in the lane of any usable credential, of any if none is."""
        for lane in self._usable(s) or range(self.credentials):
            filled = s._replace(chunks=put(s.chunks, c, Chunk(self.messages, lane)))
            yield Step(True, f"chunk {c} is accepted in lane {lane}", filled)

    # Leases

    def _begin(self, s: State, n: int, lease: Lease) -> Steps:
        """Take a chunk, and the probes if they are due; else move it to a usable lane."""
        held = {w.chunk for w in s.leases}
        for c, chunk in enumerate(s.chunks):
            if not chunk.left or c in held:
                continue
            lane, item = chunk.lane, s.items[chunk.lane]
            if item.state == CLOSED and lease.tripped == lane:
                yield from self._write(s, n, lane, Item(OPEN), f"w{n} opens breaker {lane}, late")
            elif item.state == CLOSED:
                yield Step(True, f"w{n} leases chunk {c}", self._took(s, n, Lease(c, lane)))
            elif item.due:
                yield from self._probe(s, n, c)
            else:
                for other in self._usable(s):
                    moved = s._replace(chunks=put(s.chunks, c, chunk._replace(lane=other)))
                    yield Step(True, f"chunk {c} leaves lane {lane} for {other}", moved)

    def _probe(self, s: State, n: int, c: int) -> Steps:
        """Take the probes, and ask the provider first. One that takes no messages may still answer, or not."""
        lane = s.chunks[c].lane
        item = s.items[lane]
        score = 0 if "successes_are_the_breakers" in self.without else item.score
        probing = self._wrote(s, lane, Item(HALF_OPEN, False, n, score, item.late))
        asks = item.score <= 0 and not item.late
        if asks and (s.mute[lane] or not s.well[lane]):
            left = Item(OPEN, late=item.late)
            yield from self._write(probing, n, lane, left, f"w{n} asks {lane} in vain for chunk {c}")
        if not (asks and s.mute[lane]):
            taken = self._took(probing, n, Lease(c, lane, PROBES, score))
            yield Step(True, f"w{n} leases chunk {c} to probe {lane}", taken)

    def _call(self, s: State, n: int, lease: Lease) -> Steps:
        """Make one call; a provider that is well takes it."""
        lane, well = lease.lane, s.well[lease.lane]
        chunk = s.chunks[lease.chunk]
        item = s.items[lane]
        sent = s._replace(chunks=put(s.chunks, lease.chunk, chunk._replace(left=chunk.left - well)))
        label = f"w{n} calls {lane}: {'accepted' if well else 'failed'}"
        if lease.probes:
            yield from self._probed(sent, n, lease, label, well=well)
        elif well:
            over = chunk.left == 1 or item.state != CLOSED
            yield Step(True, label, self._ended(sent, n) if over else sent)
        else:
            yield Step(True, label, self._ended(sent, n))
            if item.state == CLOSED:
                yield from self._write(self._ended(sent, n), n, lane, Item(OPEN), f"{label}, and opens the breaker")

    def _probed(self, s: State, n: int, lease: Lease, label: str, *, well: bool) -> Steps:
        """Count a probe: its lease alone decides, as long as the probes are its own."""
        lane, item = lease.lane, s.items[lease.lane]
        score = lease.score + (1 if well else -1)
        ended = self._ended(s, n)
        if item.state != HALF_OPEN or item.prober != n:
            yield Step(True, f"{label}, which is no news", ended)
        elif score >= ENOUGH:
            yield from self._write(ended, n, lane, Item(), f"{label}, and closes the breaker")
        elif score < 0:
            yield from self._write(ended, n, lane, Item(OPEN), f"{label}, and opens the breaker again")
        elif lease.probes > 1 and s.chunks[lease.chunk].left:
            on = lease._replace(probes=lease.probes - 1, score=score)
            yield Step(True, label, s._replace(leases=put(s.leases, n, on)))
        elif "successes_are_the_breakers" in self.without:
            yield Step(True, label, ended)
        else:
            yield from self._write(
                ended, n, lane, Item(HALF_OPEN, True, NOBODY, score, item.late), f"{label}, and hands on"
            )

    # Writes

    def _write(self, s: State, n: int, lane: int, item: Item, label: str) -> Steps:
        """Write a breaker; what could not be written as open is, by that worker's next lease."""
        done = self._wrote(s, lane, item)
        yield Step(True, label, done._replace(leases=put(done.leases, n, done.leases[n]._replace(tripped=NOBODY))))
        if s.left.lost:
            opens = item.state == OPEN and s.items[lane].state == CLOSED
            trips = s._replace(leases=put(s.leases, n, s.leases[n]._replace(tripped=lane))) if opens else s
            yield Step(False, f"{label}, which is not written", self._harmed(trips, "lost"))

    def _wrote(self, s: State, lane: int, item: Item) -> State:
        return s._replace(items=put(s.items, lane, item))

    def _took(self, s: State, n: int, lease: Lease) -> State:
        return s._replace(leases=put(s.leases, n, lease._replace(tripped=s.leases[n].tripped)))

    def _ended(self, s: State, n: int) -> State:
        return s._replace(leases=put(s.leases, n, Lease(tripped=s.leases[n].tripped)))

    def _harmed(self, s: State, what: str) -> State:
        return s._replace(left=s.left._replace(**{what: getattr(s.left, what) - 1}))


CIRCUITS: Final = {
    "one credential, messages alone": Circuit(harm=Harm(down=2, mute=1)),
    "one credential, chunks of two": Circuit(messages=2, harm=Harm(down=2)),
    "one credential, chunks of four, three workers": Circuit(messages=4, workers=3),
    "two credentials, messages alone": Circuit(credentials=2, harm=Harm(down=2)),
    "two credentials, chunks of two": Circuit(credentials=2, messages=2, harm=Harm(down=2, lost=0)),
}
"""Name to configuration: from every state of each all can be sent, and every breaker close."""

ALONE: Final = Circuit(chunks=1, workers=1, harm=Harm(crash=0, lost=0))
"""One outage of one provider, and messages that come one by one."""
BROKEN: Final = {
    "successes_are_the_breakers": ALONE,
    "a_silent_prober_loses_its_probes": Circuit(chunks=1, workers=1, harm=Harm(lost=0)),
    "a_message_probes_in_the_end": replace(ALONE, harm=Harm(crash=0, lost=0, mute=1)),
    "a_breaker_that_is_due_gets_work": Circuit(credentials=2, chunks=1, workers=1, harm=Harm(crash=0, lost=0)),
}
"""A rule to the configuration that gets stuck without it."""
