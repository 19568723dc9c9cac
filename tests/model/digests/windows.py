"""One batch key: its numbered windows, their parts and their digests (rules D1 to D9 of docs/protocol.md).

A part is stored first and alone; one conditional write puts it into a window. Adders remember a window that may have
closed long ago. Any write's answer may be lost. Clients repeat what was not answered, with the same event id. Closers,
makers and cleaners run at any time, two at once, and die anywhere. `tests.engine.digests.test_agreement` compares the
code with it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from tests.model.state import Broken
from tests.model.world import Step, put

WINDOW, NEAR, EXTEND, MAX_AGE = 2, 1, 1, 4
OPEN, CLOSED, DONE, GONE = "open", "closed", "processed", "removed"
"""States of a window. DONE is processed or cancelled."""
IDLE, ADD, NEXT = "idle", "add", "open the next"
"""What an adder does."""

Part = tuple[int, int]
"""An event, and the copy that its client has posted."""


class Win(NamedTuple):
    """A window. `mail`: the events of its digest."""

    state: str = OPEN
    parts: tuple[Part, ...] = ()
    opened: int = 0
    closes: int = 0
    mail: tuple[int, ...] = ()


class Adder(NamedTuple):
    """An adder. `win`, `closes`: the window that it remembers, and its end; -1: none."""

    at: str = IDLE
    part: Part = (-1, 0)
    win: int = -1
    closes: int = 0

    @property
    def event(self) -> int:
        """The event that it adds, -1: none."""
        return self.part[0]


Maker = tuple[int, tuple[int, ...]] | None
"""A maker has read a window, and has the events of its digest; None: it does nothing."""


class State(NamedTuple):
    """Everything. `answered`: events whose client has an answer; `copies`: how often each was posted."""

    clock: int
    wins: tuple[Win, ...]
    adders: tuple[Adder, ...]
    makers: tuple[Maker, ...]
    answered: tuple[bool, ...]
    copies: tuple[int, ...]
    crash: int
    lost: int
    cancel: int


_NOTHING: Final = {"at": IDLE, "part": (-1, 0)}


@dataclass(frozen=True)
class Digests:
    """A configuration.

    Attributes:
        events: each is posted once, and again if it is not answered.
        adders: and `makers` at once.
        room: parts that fill a window.
        end: when the clock stops.
        crash: processes that may die; `lost`: answers of adders' writes that may be lost.
        cancel: windows that their owner may cancel.
    """

    events: int = 3
    adders: int = 2
    room: int = 2
    makers: int = 2
    end: int = 5
    crash: int = 1
    lost: int = 1
    cancel: int = 0
    without: frozenset[str] = frozenset()

    def start(self) -> State:
        """Return the first state."""
        return State(
            clock=0,
            wins=(),
            adders=(Adder(),) * self.adders,
            makers=(None,) * self.makers,
            answered=(False,) * self.events,
            copies=(0,) * self.events,
            crash=self.crash,
            lost=self.lost,
            cancel=self.cancel,
        )

    # Rules

    def _fits(self, w: Win, now: int) -> bool:
        return w.state == OPEN and now < w.closes and len(w.parts) < self.room

    def _join(self, w: Win, a: Adder, now: int) -> Win | None:
        """Return a window after the one write that adds: part, moved end, and the closing if it is full.

        None: the end has moved since it was read.
        """
        near = now >= a.closes - NEAR and a.closes < w.opened + MAX_AGE
        if near and a.closes != w.closes and "an_end_moves_as_read" not in self.without:
            return None
        closes = min(a.closes + EXTEND, w.opened + MAX_AGE) if near else w.closes
        full = len(w.parts) + 1 == self.room
        return w._replace(parts=(*w.parts, a.part), closes=closes, state=CLOSED if full else OPEN)

    def _mail(self, wins: tuple[Win, ...], k: int) -> tuple[int, ...]:
        """Return the events of a window's digest: each id once, none that is in an earlier window."""
        ids = tuple(dict.fromkeys(event for event, _ in wins[k].parts))
        if "repeats_are_looked_for_in_earlier_windows" in self.without:
            return ids
        before = {event for w in wins[:k] if w.state != GONE for event, _ in w.parts}
        return tuple(x for x in ids if x not in before)

    # Steps

    def steps(self, s: State) -> Iterator[Step[State]]:
        """Yield all that can happen next."""
        if s.clock < self.end:
            yield Step(True, f"clock {s.clock + 1}", s._replace(clock=s.clock + 1))
        for n, a in enumerate(s.adders):
            yield from self._post(s, n, a) if a.at == IDLE else self._adder(s, n, a)
        for k, w in enumerate(s.wins):
            yield from self._window(s, k, w)
        for n, maker in enumerate(s.makers):
            if maker is not None:
                yield from self._maker(s, n, *maker)

    def _post(self, s: State, n: int, a: Adder) -> Iterator[Step[State]]:
        """Let a client post an event to an idle adder, and the adder store its part."""
        if a in s.adders[:n]:
            return  # another adder that remembers the same does the same
        for event in range(self.events):
            copy = s.copies[event]
            if not s.answered[event] and copy < 2 and all(x.event != event for x in s.adders):
                after = s._replace(copies=put(s.copies, event, copy + 1))
                yield Step(
                    True, f"adder {n} stores event {event}, copy {copy}", _me(after, n, at=ADD, part=(event, copy))
                )

    def _adder(self, s: State, n: int, a: Adder) -> Iterator[Step[State]]:
        if s.crash:
            dead = s._replace(crash=s.crash - 1, adders=put(s.adders, n, Adder()))
            yield Step(False, f"adder {n} dies: {a.at}", dead)
        if a.at == NEXT:
            yield from self._open_next(s, n, a)
        elif a.win < 0 and s.wins:
            last = len(s.wins) - 1
            yield Step(True, f"adder {n} reads window {last}", _me(s, n, win=last, closes=s.wins[last].closes))
        elif a.win < 0:
            yield Step(True, f"adder {n} finds no window", _me(s, n, at=NEXT))
        else:
            yield from self._add(s, n, a)

    def _add(self, s: State, n: int, a: Adder) -> Iterator[Step[State]]:
        k, w, last = a.win, s.wins[a.win], len(s.wins) - 1
        if a.part in w.parts and "ones_own_part_is_known" not in self.without:
            yield Step(True, f"adder {n} sees that its part is in {k}", self._answered(s, n, a, k))
        elif self._fits(w, s.clock):
            grown = self._join(w, a, s.clock)
            if grown is None:
                yield Step(True, f"adder {n} reads {k} again", _me(s, n, closes=w.closes))
            else:
                after = s._replace(wins=put(s.wins, k, grown))
                yield from self._written(after, n, a, k, _me(after, n), f"adder {n} adds {a.part} to {k}")
        elif w.state == OPEN:
            yield Step(True, f"adder {n} closes {k}", _win(s, k, state=CLOSED))
        elif k < last:
            yield Step(True, f"adder {n} reads window {last}", _me(s, n, win=last, closes=s.wins[last].closes))
        else:
            yield Step(True, f"adder {n} finds {k} closed", _me(s, n, at=NEXT))

    def _open_next(self, s: State, n: int, a: Adder) -> Iterator[Step[State]]:
        last = len(s.wins) - 1
        if last > a.win and "a_number_is_used_once" not in self.without:
            yield Step(True, f"adder {n} finds {last} open", _me(s, n, at=ADD, win=last, closes=s.wins[last].closes))
            return
        state = CLOSED if self.room == 1 else OPEN
        w = Win(state, (a.part,), s.clock, s.clock + WINDOW)
        after = s._replace(wins=(*s.wins, w))
        again = _me(after, n, at=ADD, win=last + 1, closes=w.closes)
        if "a_doubtful_window_is_asked_again" in self.without:
            again = _me(after, n)
        yield from self._written(after, n, a, last + 1, again, f"adder {n} opens {last + 1}")

    def _written(self, s: State, n: int, a: Adder, k: int, again: State, label: str) -> Iterator[Step[State]]:
        """Yield a write with its answer, and with an answer that is lost, after which the adder is as in `again`."""
        yield Step(True, label, self._answered(s, n, a, k))
        if s.lost:
            yield Step(False, f"{label}, answer lost", again._replace(lost=s.lost - 1))

    def _answered(self, s: State, n: int, a: Adder, k: int) -> State:
        after = s._replace(answered=put(s.answered, a.event, True))
        return _me(after, n, **_NOTHING, win=k, closes=s.wins[k].closes)

    def _window(self, s: State, k: int, w: Win) -> Iterator[Step[State]]:
        if w.state == OPEN and (s.clock >= w.closes or s.clock == self.end):
            yield Step(True, f"closer closes {k}", _win(s, k, state=CLOSED))
        if w.state == OPEN and s.cancel:
            yield Step(False, f"owner cancels {k}", _win(s, k, state=DONE)._replace(cancel=s.cancel - 1))
        early = w.state == OPEN and "only_closed_windows_are_made" in self.without and s.clock + 1 >= w.closes
        free = s.makers.index(None) if None in s.makers else -1
        if free >= 0 and (w.state == CLOSED or early):
            made = s._replace(makers=put(s.makers, free, (k, self._mail(s.wins, k))))
            yield Step(True, f"maker {free} reads {k}", made)
        if self._removable(s, k, w):
            yield Step(False, f"cleaner removes {k}", _win(s, k, state=GONE))

    def _removable(self, s: State, k: int, w: Win) -> bool:
        """Tell whether a window may be removed: days later, when no client repeats its events."""
        if any((not s.answered[x] and s.copies[x] < 2) or any(a.event == x for a in s.adders) for x, _ in w.parts):
            return False
        later = s.wins[k + 1 :]
        if "every_later_window_counts" in self.without:
            later = later[:1]
        waits = any(x.state in (OPEN, CLOSED) for x in later) and "later_windows_look_back" not in self.without
        aged = w.state == CLOSED and "only_processed_windows_are_removed" in self.without
        return (w.state == DONE or aged) and not waits

    def _maker(self, s: State, n: int, k: int, mail: tuple[int, ...]) -> Iterator[Step[State]]:
        free = s._replace(makers=put(s.makers, n, None))
        state, sent = s.wins[k].state, s.wins[k].mail
        if s.crash:
            yield Step(False, f"maker {n} dies", free._replace(crash=s.crash - 1))
        early = state == OPEN and "only_closed_windows_are_made" in self.without
        if state == CLOSED or early:
            done = _win(free, k, state=DONE, mail=mail)
            yield Step(True, f"maker {n} accepts the job of {k}: {mail}", done)
        elif state == DONE and "job_and_window_change_together" in self.without:
            yield Step(True, f"maker {n} accepts another job of {k}", _win(free, k, mail=sent + mail))
        else:
            yield Step(True, f"maker {n} is late", free)

    # Promises

    def check(self, s: State) -> None:
        """Raise what does not hold in a state."""
        if sum(w.state == OPEN for w in s.wins) > 1:
            raise Broken("two windows are open at once")
        for k, w in enumerate(s.wins):
            if w.closes > w.opened + MAX_AGE:
                raise Broken(f"window {k} may stay open too long")
            if len(w.parts) > self.room:
                raise Broken(f"window {k} holds too much")
        self._check_events(s)
        for a in s.adders:
            if 0 <= a.win < len(s.wins) and a.closes > s.wins[a.win].closes:
                raise Broken(f"the end of window {a.win} moved back")

    def _check_events(self, s: State) -> None:
        parts = [p for w in s.wins for p in w.parts]
        if len(parts) > len(set(parts)):
            raise Broken("a part is in two windows, or twice in one")
        mailed = [event for w in s.wins for event in w.mail]
        if len(mailed) > len(set(mailed)):
            raise Broken(f"an event is in two digests: {mailed}")
        if s.cancel == self.cancel and all(w.state in (DONE, GONE) for w in s.wins):
            lost = [event for event in range(self.events) if s.answered[event] and event not in mailed]
            if lost:
                raise Broken(f"events were accepted and are in no digest: {lost}")

    def is_goal(self, s: State) -> bool:
        """Tell whether every event is answered or given up, and every window is processed."""
        return (
            all(a.at == IDLE for a in s.adders)
            and not any(s.makers)
            and all(w.state in (DONE, GONE) for w in s.wins)
            and all(done or copies == 2 for done, copies in zip(s.answered, s.copies, strict=True))
        )


def _me(s: State, n: int, **changes: Any) -> State:
    """Return a state after a step of an adder."""
    return s._replace(adders=put(s.adders, n, s.adders[n]._replace(**changes)))


def _win(s: State, k: int, **changes: Any) -> State:
    """Return a state with a window changed."""
    return s._replace(wins=put(s.wins, k, s.wins[k]._replace(**changes)))
