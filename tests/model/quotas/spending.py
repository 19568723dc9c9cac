"""One credential's counters: workers reserve, call or do not, give back, and die (rules Q.1 to Q.8).

What a reservation changes is what the code computes (`book`, `given_back`). A write is one step, as on the store. Time
goes from one moment to the next; the moments lie around the end of a period. Each worker's clock is off. A call may
begin as late as its slot allows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from shared.contracts import CredentialQuota, Per
from shared.domain.lanes.periods import label
from shared.domain.lanes.quotas import USED, Booking, Spend, Unused, book, given_back, room
from tests.model.state import Broken
from tests.model.world import Step, put

LATE: Final = 2.0
"""Seconds by which a call may follow its slot."""
DAY: Final = 86_400.0
IDLE, RESERVED, CALLED, UNUSED = "idle", "reserved", "called", "unused"

Kept = tuple[tuple[str, int | str], ...]
"""Counters, as a state holds them."""


class Spender(NamedTuple):
    """A worker. `known`: counters as it last read them; `slot`: by its own clock; `counters`: those of its unit."""

    at: str = IDLE
    known: Kept | None = None
    slot: float = 0.0
    counters: tuple[str, ...] = ()


class SpendState(NamedTuple):
    """Everything. `calls`: how many were made at each moment."""

    moment: int
    stored: Kept
    workers: tuple[Spender, ...]
    calls: tuple[int, ...]
    crash: int
    spared: int


@dataclass(frozen=True)
class Spending:
    """A configuration.

    Attributes:
        moments: Unix seconds, each later than the last.
        clocks: by worker, the seconds by which its clock is off.
        messages: to be sent.
        crash: workers that may die.
        spared: reservations whose call is not made.
    """

    quota: CredentialQuota
    moments: tuple[float, ...]
    clocks: tuple[float, ...] = (-2.0, 2.0)
    messages: int = 4
    crash: int = 1
    spared: int = 1
    without: frozenset[str] = frozenset()

    def start(self) -> SpendState:
        """Return the first state."""
        nothing = (0,) * len(self.moments)
        return SpendState(0, (), (Spender(),) * len(self.clocks), nothing, self.crash, self.spared)

    def steps(self, s: SpendState) -> Iterator[Step[SpendState]]:
        """Yield all that can happen next."""
        if s.moment + 1 < len(self.moments):
            yield Step(True, f"it is {self.moments[s.moment + 1]:.0f}", s._replace(moment=s.moment + 1))
        for n, w in enumerate(s.workers):
            if w.at == IDLE:
                yield from self._reserve(s, n, w)
            elif w.at == RESERVED:
                yield from self._call(s, n, w)
            elif w.at == CALLED:
                yield Step(True, f"worker {n} notes its call", _me(s, n, Spender(known=w.known)))
            else:
                yield self._give_back(s, n, w)
            if s.crash and w.at != IDLE:
                yield self._die(s, n, w)

    def _reserve(self, s: SpendState, n: int, w: Spender) -> Iterator[Step[SpendState]]:
        under_way = sum(x.at in (RESERVED, UNUSED) for x in s.workers)
        if sum(s.calls) + under_way >= self.messages:
            return
        own, stored = self.moments[s.moment] + self.clocks[n], dict(s.stored)
        booking = book(Spend((self.quota,), 1), own, own + LATE, None if w.known is None else dict(w.known))
        if booking is None:
            if w.known != s.stored:
                yield Step(True, f"worker {n} reads what is stored", _me(s, n, w._replace(known=s.stored)))
            return
        self._sabotage(booking, own)
        unread = "a_reservation_checks_as_it_counts" in self.without and w.known is not None
        if booking.agrees(dict(w.known or ()) if unread else stored):
            after = _kept(booking.applied(stored))
            reserved = Spender(RESERVED, after, own, booking.counters)
            yield Step(True, f"worker {n} counts a unit in {booking.counters}", _me(s, n, reserved, stored=after))
        elif w.known != s.stored:
            yield Step(True, f"worker {n} loses and learns", _me(s, n, w._replace(known=s.stored)))

    def _sabotage(self, booking: Booking, own: float) -> None:
        """Leave out what a rule demands of a reservation."""
        if "units_beside_an_end_count_in_both" in self.without:
            name = f"{USED}{self.quota.per}_{label(self.quota.per, self.quota.zone, own)}"
            booking.adds, booking.most = {name: booking.adds[name]}, {name: booking.most[name]}
        if "a_sum_is_of_what_is_stored" in self.without and booking.sets:
            booking.same, booking.absent = {}, []
        if "a_later_sum_is_never_passed_by" in self.without and not booking.sets:
            booking.absent = []

    def _call(self, s: SpendState, n: int, w: Spender) -> Iterator[Step[SpendState]]:
        late = self.moments[s.moment] + self.clocks[n] > w.slot + LATE
        if not late or "a_late_call_is_not_begun" in self.without:
            calls = put(s.calls, s.moment, s.calls[s.moment] + 1)
            yield Step(True, f"worker {n} calls", _me(s, n, w._replace(at=CALLED), calls=calls))
        if late:
            yield Step(True, f"worker {n} is late", _me(s, n, w._replace(at=UNUSED)))
        elif s.spared:
            yield Step(False, f"worker {n} may not call", _me(s, n, w._replace(at=UNUSED), spared=s.spared - 1))

    def _give_back(self, s: SpendState, n: int, w: Spender) -> Step[SpendState]:
        stored = dict(s.stored)
        off = given_back(Unused(1, w.counters), stored)
        if "what_a_later_sum_holds_is_kept" in self.without:
            latest = max((x for x in stored if x.startswith(f"{USED}24h_")), default="")
            off = {x: 1 for x in {*w.counters, latest} if int(stored.get(x, 0)) > 0}
        for name, units in off.items():
            stored[name] = int(stored[name]) - units
        return Step(True, f"worker {n} gives back", _me(s, n, Spender(known=w.known), stored=_kept(stored)))

    def _die(self, s: SpendState, n: int, w: Spender) -> Step[SpendState]:
        stored = dict(s.stored)
        keeps = "a_crash_keeps_what_was_counted" not in self.without
        for name in () if keeps else given_back(Unused(1, w.counters), stored):
            stored[name] = int(stored[name]) - 1
        return Step(False, f"worker {n} dies: {w.at}", _me(s, n, Spender(), stored=_kept(stored), crash=s.crash - 1))

    def check(self, s: SpendState) -> None:
        """Raise what does not hold in a state."""
        if self.quota.per is Per.SLIDING:
            worst = max(
                sum(calls for at, calls in zip(self.moments, s.calls, strict=True) if end - DAY <= at <= end)
                for end in self.moments
            )
        else:
            counted: dict[str, int] = {}
            for at, calls in zip(self.moments, s.calls, strict=True):
                name = label(self.quota.per, self.quota.zone, at)
                counted[name] = counted.get(name, 0) + calls
            worst = max(counted.values())
        if worst > self.quota.messages:
            raise Broken(f"{worst} calls in a period of {self.quota.messages}")

    def is_goal(self, s: SpendState) -> bool:
        """Tell whether all is sent, or no time is left to wait for room."""
        end = self.moments[-1]
        left = room(Spend((self.quota,), 1), end, end, dict(s.stored)).left
        return sum(s.calls) >= self.messages or (s.moment + 1 == len(self.moments) and not left)


def _kept(stored: dict[str, int | str]) -> Kept:
    return tuple(sorted(stored.items()))


def _me(
    s: SpendState,
    n: int,
    w: Spender,
    *,
    stored: Kept | None = None,
    calls: tuple[int, ...] | None = None,
    crash: int | None = None,
    spared: int | None = None,
) -> SpendState:
    return s._replace(
        workers=put(s.workers, n, w),
        stored=s.stored if stored is None else stored,
        calls=s.calls if calls is None else calls,
        crash=s.crash if crash is None else crash,
        spared=s.spared if spared is None else spared,
    )
