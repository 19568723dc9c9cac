"""How fast a credential may send: slots, calls and windows. Source: docs/protocol.md, "Pace"."""

import math
from dataclasses import replace
from typing import Final

from shared.contracts import MIN_RATE
from shared.domain.lanes.quotas import UNBOUNDED, Headroom
from shared.domain.lanes.refusals import EFFECT, NO_CALLS, RefusalTally, left
from shared.domain.lanes.switches import NOT_LOWERED, Switches, ThrottledRate
from shared.domain.times import Seconds
from shared.frozen import dataclass

# change: how many messages a sender claims at once
WINDOW: Final = 200
"""The most recipients claimed together: bounds what a crash leaves unknown."""
FEW: Final = 10
"""So many are claimed together where a quarter of a second holds fewer: each window costs a claim and a detail."""
QUARTERS: Final = 4
"""A window is this part of a second's slots: after a crash, claimed messages that were not called are also unknown."""
HEADROOM: Final = 0.97
"""The most of the rate that is used: absorbs lateness and clock skew where calls carry one recipient."""
SHARE: Final = 25
"""A call carries at most this fraction of a second's recipients: what leaves in one instant has to be kept free."""
HORIZON: Final = 2.0
"""Seconds that slots may be reserved ahead."""
NEAR: Final = 0.5
"""Seconds, for a lease that yields. A single mail waits for all slots that are reserved ahead, for any lease."""
PATIENCE: Final = 2.0
"""Seconds that a lease yields; then it is served like all others, since small jobs may never end."""
LATE: Final = 0.010
"""Seconds after which a missed slot is burned: a tardy worker adds that share of a second's slots to a second."""
SKEW: Final = 0.010
"""Seconds by which two workers' clocks may differ."""
_STRETCH: Final = 1 + LATE + SKEW + 0.001
"""A second on a provider's clock holds the slots of so many seconds, if the first call is late and the last clock is
ahead. One millisecond is for rounding."""
OWN_WAIT: Final = 4.0
"""Seconds that a lease waits for the turn of a job with a rate of its own; for a later one it leaves the lease."""
UNNOTED: Final = 1.0
"""Seconds that a lease waits for its first slots before its note is written apart: only slots note it otherwise."""
CHUNK: Final = 500
"""Recipients of a large job's chunk."""
SMALL: Final = 20
"""The least window of a job with a rate of its own, if there are several windows a second. In smaller ones a message
that counts as more would not fit beside the windows before it."""
THRIFTY: Final = 0.97
"""The share of its rate that a job may use by the sizes of its windows and chunks, where that can be had."""
JUDGED: Final = 5.0
"""Seconds of calls that a share of refusals is judged by, at least; twice as many at the most."""
SAMPLE: Final = 100
"""Messages that it is judged by, at the declared rate."""
MAX_HOLD: Final = 900.0
"""Seconds: the longest wait that a provider's answer is believed to ask for."""
LEAST: Final = 1 / 64
"""The share of the declared rate below which refusals do not lower it: from there it is back in 12 minutes."""
AHEAD: Final = 60.0
"""Seconds by which slots may be further ahead than any reservation makes them, before they count as a wrong clock's."""
WRONG: Final = 30.0
"""Seconds by which a process's clock is off when it may reserve nothing. AWS refuses what is five minutes off."""
LONGEST: Final = 50
"""Slots of the longest reservation except a window: a short message of 24 segments, and the pause before it."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The send rate of a credential as slots.

    Attributes:
        rate: messages per second in force.
        per_call: the most recipients in one provider call; they leave in one instant.
        slots: slots per second actually given out (R').
        window: the most recipients claimed together: the larger of 10 and a quarter of a second's slots. It is at most
            200, and at most a second's slots.
        room: the most slots that messages which count as several may take in a window: a second's, at most 200. Before
            each such window some slots stay empty.
        late: seconds after which a missed slot is burned.
        present: the present rate set by operators, as known when it was made; 0: none.
        yields: whether slots are for a large job, so that those of small jobs come first.
        lowered: the rate that the provider's refusals had left, as known when it was made.
        declared: the credential's rate as declared; `fastest`: the slots per second at that.
        period: seconds from a window of a job with a lower rate of its own to the next; 0: it has none.
    """

    rate: float
    per_call: int
    slots: float
    window: int
    room: int
    late: float = LATE
    present: float = 0.0
    yields: bool = False
    lowered: ThrottledRate = NOT_LOWERED
    declared: float = 0.0
    fastest: float = 0.0
    period: float = 0.0

    def ahead(self, waited: float) -> float:
        """Return the seconds that slots may be reserved ahead by a lease that has waited so long for them."""
        return NEAR if self.yields and waited < PATIENCE else HORIZON

    @property
    def spacing(self) -> float:
        """Seconds between two slots."""
        return 1 / self.slots

    def lull(self, weight: int) -> int:
        """Return the slots that stay empty before a message that counts as several, so that no second exceeds the rate.

        It leaves in one instant, and its own slots follow it. Without the pause, the second that ends with it would
        exceed the rate by the message's weight, less one. A message that is heavier than the whole rate has its second
        to itself. The same holds for the credential's rate, where a job has a lower one: others' slots come faster than
        its own.
        """
        if weight <= 1:
            return 0
        full = HEADROOM * self.rate
        own = min(weight - 1, math.floor(_STRETCH * self.slots))
        others = min(weight - 1, math.floor(_STRETCH * full))
        return max(own, math.ceil(others * self.slots / full))

    def turn(self, k: int) -> float:
        """Return the seconds from k slots of a job with a rate of its own to its next ones.

        A window costs as much as a full one. So any second holds, slot by slot, parts of at most as many windows as fit
        the rate. If a slower credential stretches it, the next one, at full speed, must not run into its end.
        """
        stretched = (min(k, self.window) - 1) * max(0.0, self.spacing - 1 / (self.fastest or self.slots))
        return self.period * max(1.0, k / self.window) + stretched if self.period else 0.0

    def agrees(self, found: Switches) -> bool:
        """Tell whether slots may be reserved at this pace, as things are stored.

        A lowered rate that is known here and stored no more, or not yet, is none that forbids anything.
        """
        return not found.paused and found.rate == self.present and found.lowered.until <= self.lowered.until

    def recovered(self, now: Seconds) -> bool:
        """Tell whether a rate that was lowered has risen to the declared one, and a minute has shown nothing else."""
        over = now - self.lowered.until / 1000 >= EFFECT
        return over and self.lowered.rate > 0 and self.lowered.within(self.declared, now) >= self.declared

    @property
    def judged(self) -> float:
        """Seconds of calls, at least, by which the share of refusals is judged."""
        return max(JUDGED, SAMPLE / self.declared)

    def stretches(self, now: Seconds) -> tuple[str, str]:
        """Return the names of the stretches of time that count calls of this pace: the present, and the one before.

        The name contains the hold that the pace is after, so that no call of before it counts. `now`: Unix seconds.
        """
        until = self.lowered.until
        passed = int((now - until / 1000) // self.judged)
        return f"{until}_{passed}", f"{until}_{passed - 1}"

    def refused(self, now: Seconds, wait: float, tally: RefusalTally) -> ThrottledRate | None:
        """Return what is left of the rate after the provider refused a call at this pace; None: all of it.

        Args:
            wait: seconds that the provider asked to wait.
            tally: the calls of this pace of late, this one among them.
        """
        since = now - self.lowered.until / 1000
        found = left(self.rate, self.declared, self.lowered, tally, since=since, stretch=self.judged)
        if found is None:
            return None
        rate = min(self.declared, max(MIN_RATE, LEAST * self.declared, found.rate))
        until = max(round((now + min(wait, MAX_HOLD)) * 1000), self.lowered.until + 1)
        return replace(found, rate=rate, until=until)

    @property
    def guard(self) -> float:
        """Seconds after which all reserved slots are used, by any worker and on any clock."""
        return HORIZON + max(self.window, 1) * self.spacing

    @property
    def furthest(self) -> float:
        """Seconds that slots can be ahead by the rules; those further ahead are by a wrong clock."""
        return AHEAD + HORIZON + max(self.window, LONGEST) * self.spacing

    @property
    def burns(self) -> bool:
        """Tell whether a tardy worker loses its slots, so that it has to reserve them early enough."""
        return self.late < HORIZON


def pace(
    rate: float,
    provider_limit: int,
    per_call: int = 0,
    job_rate: float | None = None,
    leases: int = 0,
    *,
    present: float = 0.0,
    lowered: ThrottledRate = NOT_LOWERED,
    now: Seconds = 0.0,
) -> Pace:
    """Return the pace of a credential of `rate` messages per second.

    Args:
        rate: messages per second as declared, above 0.
        provider_limit: the most recipients the provider takes in one call.
        per_call: a lower bound set by the operator; 0 for none.
        job_rate: the job's own rate if it is lower; its windows then take turns.
        leases: the most leases that work at once, 0 if not known. If the headroom holds all their windows together, no
            lateness can exceed the rate. Then no slot needs to be burned: at 40,000 a second and two workers, for
            example.
        present: the present rate as operators have set it, 0 for none; if it exceeds the declared rate, that one is
            used.
        lowered: the rate that the provider's refusals have left.
        now: Unix seconds, by which that has risen again.

    Returns:
        At most ⌊rate/25⌋ recipients a call (at least 1), and 0.97 of the rate, or less to leave room for the largest
        call. The operator's bound makes calls smaller and not faster: workers that have read different bounds share
        the slots. Why and how much: docs/adr/0030.
    """
    declared, fastest = rate, _slots(rate, min(_share(rate), provider_limit))
    rate = lowered.within(Switches(rate=present).within(rate), now)
    most = min(_share(rate), provider_limit)
    slots = _slots(rate, most)
    c = min(most, per_call or most)
    harmless = 0 < leases * _room(slots) <= rate - most - slots * (1 + SKEW)
    window, room, period = _window(slots), _room(slots), 0.0
    if job_rate is not None and job_rate < rate:
        turns = _turns(job_rate, room)
        window = room = max(1, min(room, math.floor(job_rate / turns)))
        period = max(_STRETCH / turns, window / (HEADROOM * job_rate))
        c = min(c, _share(job_rate))
        harmless = False  # lateness would exceed the job's own rate
    return Pace(
        rate=rate,
        per_call=c,
        slots=slots,
        window=window,
        room=room,
        late=HORIZON if harmless else LATE,
        present=present,
        lowered=lowered,
        declared=declared,
        fastest=fastest,
        period=period,
    )


def _share(rate: float) -> int:
    return max(1, math.floor(rate / SHARE))


def _slots(rate: float, most: int) -> float:
    """Return the slots per second of which any second holds at most `rate`, in calls of up to `most` recipients."""
    return min(HEADROOM * rate, (rate + 1 - most) / _STRETCH) if most > 1 else HEADROOM * rate


def _turns(rate: float, room: int) -> int:
    """Return how many windows a second a job takes at a rate of its own: as few as waste little of that rate.

    A window takes its turn whole, be it the last and smallest of its chunk. `room`: the most slots of one.
    """

    def used(turns: int) -> float:
        window = max(1, math.floor(rate / turns))
        return turns * window / rate * CHUNK / (window * math.ceil(CHUNK / window))

    fewest = max(1, math.ceil(rate / min(room, max(2 * SMALL, rate / QUARTERS))))
    most = max(fewest, math.floor(rate / SMALL))
    choice = range(fewest, min(most, fewest + 11) + 1)
    return next((n for n in choice if used(n) >= THRIFTY), max(choice, key=used))


def _window(slots: float) -> int:
    return min(_room(slots), max(FEW, math.floor(slots) // QUARTERS))


def _room(slots: float) -> int:
    return max(1, min(WINDOW, math.floor(slots)))


@dataclass(frozen=True, slots=True)
class Slots:
    """`count` consecutive slots, the first at `first` (Unix seconds), `spacing` seconds apart.

    `switches`: why there are no slots: the credential is paused, or the pace was made with another rate than is set
    now.
    `tally`: the recent calls of all workers at this pace, as reported with their reservations.
    `room`: what the lane may still send; that is why there are no slots if it is too little.
    `counters`: those of quotas that have counted what is called in these slots.
    """

    first: float
    spacing: float
    count: int
    switches: Switches | None = None
    tally: RefusalTally = NO_CALLS
    room: Headroom = UNBOUNDED
    counters: tuple[str, ...] = ()

    def at(self, position: int) -> float:
        """Return the time of a slot."""
        return self.first + position * self.spacing


def own_clock(job: str) -> str:
    """Return what a job's own clock is called on its credential.

    Two jobs of one name would share it and be slower, which no pair among thousands is.
    """
    return job[-6:]
