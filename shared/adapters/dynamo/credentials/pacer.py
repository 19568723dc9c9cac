"""Time slots of credentials, reserved in DynamoDB so that any number of workers together keep to the rate.

The slot clock (`tat`, Unix microseconds) is the time at which the next slot may start. The same item has the switches
that hold the credential back (`switches`) and the counts of recent calls (`tallies`). Its attributes `own_…` are the
clocks of jobs with a lower rate of their own: when the next window of each may start. Source: docs/protocol.md, "Pace".
"""

import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from math import inf
from typing import Any, Final

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import ConditionFailed, Dynamo, Item
from shared.adapters.dynamo.codec import n, number
from shared.adapters.dynamo.credentials import tallies
from shared.adapters.dynamo.credentials.lease_hints import Notes
from shared.adapters.dynamo.credentials.quotas import Expression, Fullness, room_of, stored_of
from shared.adapters.dynamo.credentials.switches import LOWERED, lowered_of, rate_of, switches
from shared.domain.lanes.lease_hints import LeaseHint
from shared.domain.lanes.pacing import AHEAD, LONGEST, MAX_HOLD, OWN_WAIT, UNNOTED, WRONG, Pace, Slots, own_clock
from shared.domain.lanes.quotas import NONE_UNUSED, UNBOUNDED, Booking, Headroom, Spend, Stored, Unused, book, stale
from shared.domain.lanes.refusals import NO_CALLS, RefusalTally
from shared.domain.lanes.switches import ThrottledRate
from shared.domain.times import Millis, Seconds
from shared.frozen import dataclass
from shared.ports import Clock, Retriable

AttributeValue = dict[str, Any]
_MICRO: Final = 1_000_000
_OWN: Final = "own_"
_NEVER: Final = 1e15
_KNOWN: Final = "(attribute_not_exists(hold_until) OR hold_until <= :known)"
STALE: Final = 60.0
"""Seconds after which a job's clock that has passed is removed: it is no longer needed, and the item stays small."""
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Wish:
    """Slots that are asked for; times and lengths are microseconds.

    Attributes:
        asked: the time, and what the caller needs before the first.
        now: when the first may start.
        horizon: when it has to.
        cost: their length.
        own: the name of the job's own clock, empty if it has none; `turn`: what is added to it.
        hint: the lease that they are for.
        spend: the units that they take of quotas; None: no message is sent in them.
        booking: what that changes of the counters.
    """

    credential: str
    pace: Pace
    asked: int
    now: int
    horizon: int
    cost: int
    own: str
    turn: int
    hint: LeaseHint | None
    ended: RefusalTally
    spend: Spend | None = None
    booking: Booking | None = None

    @property
    def counters(self) -> tuple[str, ...]:
        """The names of the counters of quotas that count it."""
        return self.booking.counters if self.booking is not None else ()

    @property
    def begin(self) -> Seconds:
        """When the first call may begin; no slot is before it."""
        return self.now / _MICRO

    @property
    def end(self) -> Seconds:
        """When the last call may begin, in either branch: the first slot may be as late as the horizon."""
        return (max(self.now, self.horizon) + self.cost) / _MICRO + self.pace.late


class DynamoPacer:
    """`ports.Pacer`: one conditional update for each reservation; the branch that was right last time is tried first.

    A single worker usually finds the credential idle. Several workers usually find each other's slots ahead. A wrong
    guess costs one more write. The same condition checks what holds the credential back, which so costs nothing. If
    that has changed, the write fails and returns the item.

    Args:
        answered: tells when AWS gave an answer, by which this process's clock is judged; None: it is not.
    """

    def __init__(
        self,
        dynamo: Dynamo,
        table: str,
        clock: Clock,
        *,
        answered: Callable[[Mapping[str, Any]], float | None] | None = None,
    ) -> None:
        self._db = dynamo
        self._table = table
        self._clock = clock
        self._answered = answered
        self._behind: dict[str, bool] = {}
        self._rates: dict[str, AttributeValue] = {}
        """Credential → the present rate exactly as DynamoDB returned it; a float may differ slightly."""
        self._notes = Notes(dynamo, table, clock)
        self._stale: dict[str, str] = {}
        """Credential → a job's clock that is no longer needed."""
        self._over: dict[str, list[str]] = {}
        """Credential → counts of calls that are no longer needed."""
        self._fullness = Fullness(dynamo, table)
        self._counters: dict[str, Stored] = {}
        """Credential → the counters of its quotas, as they were last read."""
        self._lock = threading.Lock()
        self._skew = 0.0

    def reserve(
        self,
        credential: str,
        k: int,
        pace: Pace,
        *,
        lead: float,
        until: Seconds = inf,
        job: str = "",
        hint: LeaseHint | None = None,
        ended: RefusalTally = NO_CALLS,
        spend: Spend | None = None,
    ) -> Slots:
        """Reserve slots; waits while the credential is reserved too far ahead. A lost answer wastes slots."""
        idle = not self._behind.get(credential, False)
        begun = self._clock.now()
        while True:
            waited = self._clock.now() - begun
            wish = self._wish(credential, k, pace, lead, waited, job, hint, ended)
            late = (wish.now - wish.horizon) / _MICRO
            if late > 0:  # the provider asked to wait for longer
                if wish.now / _MICRO > until:
                    return Slots(wish.now / _MICRO, pace.spacing, 0)
                if hint is not None and waited + late >= UNNOTED:
                    self._notes.note(credential, hint)
                self._clock.sleep(late)
                continue
            try:
                wish = self._booked(wish, spend)
                first, tally, room = self._start(wish) if idle else self._follow(wish)
            except ConditionFailed as lost:
                self._check_clock(lost.answer)
                missed = self._missed(wish, lost.item or {}, spend, until, waited)
                if isinstance(missed, Slots):
                    return missed
                idle = missed
                continue
            self._behind[credential] = not idle
            return Slots(first / _MICRO, pace.spacing, k, tally=tally, room=room, counters=wish.counters)

    def lower(self, credential: str, lowered: ThrottledRate, past: ThrottledRate) -> ThrottledRate:
        """Store what a provider's refusal has left of the rate, unless a newer value is stored."""
        try:
            self._db.call(
                "update_item",
                TableName=self._table,
                Key=keys.pacer(credential),
                UpdateExpression=(
                    "SET lowered = :rate, hold_until = :until, provider_limit = :limit, refused_share = :share"
                ),
                ConditionExpression=_KNOWN,
                ExpressionAttributeValues={
                    ":rate": n(round(lowered.rate, 4)),
                    ":until": n(lowered.until),
                    ":limit": n(round(lowered.limit, 4)),
                    ":share": n(round(lowered.share, 4)),
                    ":known": n(past.until),
                },
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ConditionFailed as lost:
            return lowered_of(lost.item or {})
        return lowered

    def fill(self, credential: str, until: Millis, step: int) -> None:
        """Store that a lane is full until then, unless a later time is stored."""
        self._fullness.fill(credential, until, step)

    def give_back(self, credential: str, unused: Unused) -> None:
        """Take units off the counters that are still there."""
        self._fullness.give_back(credential, unused, round(self._clock.now() * 1000))

    def room(self, credential: str, spend: Spend) -> Headroom:
        """Return what a lane may send now, as it is stored."""
        now = self._clock.now()
        return room_of(self._fullness.read(credential), spend, now, now)

    def skew(self) -> float:
        """Return the most seconds that slots were too far ahead, or a clock off, since this was last asked."""
        with self._lock:
            told, self._skew = self._skew, 0.0
        return told

    def _wish(
        self,
        credential: str,
        k: int,
        pace: Pace,
        lead: float,
        waited: float,
        job: str,
        hint: LeaseHint | None,
        ended: RefusalTally,
    ) -> _Wish:
        asked = round((self._clock.now() + lead) * _MICRO)
        return _Wish(
            credential,
            pace,
            now=max(asked, pace.lowered.until * 1000),
            asked=asked,
            horizon=asked + round(pace.ahead(waited) * _MICRO),
            cost=round(k * pace.spacing * _MICRO),
            own=_OWN + own_clock(job) if pace.period else "",
            turn=round(pace.turn(k) * _MICRO),
            hint=hint,
            ended=ended,
        )

    def _booked(self, wish: _Wish, spend: Spend | None) -> _Wish:
        """Return a wish with what it changes of the counters.

        Raises:
            ConditionFailed: there is no room, by what was just read.
        """
        if spend is None:
            return wish
        booking = book(spend, wish.begin, wish.end, self._counters.get(wish.credential))
        if booking is None:
            item = self._fullness.read(wish.credential)
            self._counters[wish.credential] = stored_of(item)
            booking = book(spend, wish.begin, wish.end, self._counters[wish.credential])
            if booking is None:
                raise ConditionFailed(item)
        return replace(wish, spend=spend, booking=booking)

    def _full(self, wish: _Wish, item: Item, spend: Spend | None) -> Headroom | None:
        """Return what is left if that is too little for a wish; a lane that is full is stored as full, once."""
        if spend is None:
            return None
        self._counters[wish.credential] = stored_of(item)
        found = room_of(item, spend, wish.begin, wish.end)
        if found.until > wish.begin * 1000:
            if found.until > number(item, "full_until"):
                self._fullness.fill(wish.credential, found.until, 0)
            return found
        return found if found.left is not None and found.left < spend.units else None

    def _missed(self, wish: _Wish, item: Item, spend: Spend | None, until: Seconds, waited: Seconds) -> Slots | bool:
        """Wait for slots, and return whether the credential is idle then; empty slots if none can be had now."""
        if self._pull_back(wish, item):
            return False
        barred = self._barred(wish, item, spend)
        if barred is not None:
            return barred
        tat, own = number(item, "tat"), number(item, wish.own) if wish.own else 0
        turn = (own - wish.now) / _MICRO if own > tat else 0.0
        wait = max((tat - wish.horizon) / _MICRO, turn)
        if wait > 0:
            first = max(tat, own) / _MICRO
            if first > until or turn > OWN_WAIT:
                return Slots(first, wish.pace.spacing, 0)
            if waited + wait >= UNNOTED:
                self._notes.learn(wish.credential, item, wish.hint)
            self._clock.sleep(wait)
        return tat <= wish.now + max(0.0, turn) * _MICRO

    def _barred(self, wish: _Wish, item: Item, spend: Spend | None) -> Slots | None:
        """Return empty slots if switches or quotas do not allow a wish; None if they do."""
        if "rate" in item:
            self._rates[wish.credential] = item["rate"]
        found = switches(item)
        if not wish.pace.agrees(found):
            return Slots(wish.now / _MICRO, wish.pace.spacing, 0, found)
        room = self._full(wish, item, spend)
        return Slots(wish.now / _MICRO, wish.pace.spacing, 0, room=room) if room is not None else None

    def _start(self, wish: _Wish) -> tuple[int, RefusalTally, Headroom]:
        """Reserve slots of an idle credential, from now on.

        Returns:
            The first (Unix microseconds), recent calls, and what is left of quotas.
        """
        values = {":new": n(wish.now + wish.cost), ":now": n(wish.now)}
        own = {":own": n(wish.now + wish.turn)}
        item = self._update(
            wish,
            ["tat = :new", *(["#own = :own"] if wish.own else [])],
            "(attribute_not_exists(tat) OR tat <= :now)"
            + (" AND (attribute_not_exists(#own) OR #own <= :now)" if wish.own else ""),
            values | own if wish.own else values,
        )
        return wish.now, tallies.of_late(item, wish.pace, self._clock.now()), self._left(wish, item)

    def _follow(self, wish: _Wish) -> tuple[int, RefusalTally, Headroom]:
        """Reserve slots behind those that are still to come; return as `_start`."""
        values = {":cost": n(wish.cost), ":now": n(wish.now), ":horizon": n(wish.horizon)}
        item = self._update(
            wish,
            ["tat = tat + :cost", *(["#own = tat + :turn"] if wish.own else [])],
            "tat > :now AND tat <= :horizon" + (" AND (attribute_not_exists(#own) OR #own <= tat)" if wish.own else ""),
            values | {":turn": n(wish.turn)} if wish.own else values,
        )
        first = number(item, "tat") - wish.cost
        return first, tallies.of_late(item, wish.pace, self._clock.now()), self._left(wish, item)

    def _left(self, wish: _Wish, item: Item) -> Headroom:
        if wish.spend is None:
            return UNBOUNDED
        return room_of(item, replace(wish.spend, unused=NONE_UNUSED), wish.begin, wish.end)

    def _update(self, wish: _Wish, sets: list[str], condition: str, values: Item) -> Item:
        """Write, if nothing is paused and the rate is still the one that the slots were computed with."""
        removed: list[str] = []
        names = {"#rate": "rate"} | ({"#own": wish.own} if wish.own else {})
        values = {**values, ":known": n(wish.pace.lowered.until)}
        asked = self._at_rate(wish, values)
        bounded = wish.spend is not None and bool(wish.spend.quotas)
        if wish.hint is not None:
            noted, left = self._notes.beside(wish.credential, wish.hint, names, values, bounded=bounded)
            sets, removed = [*sets, *noted], [*removed, *left]
        if wish.pace.recovered(wish.now / _MICRO):
            removed += LOWERED
        counted, over = self._count(wish, names, values)
        removed += over
        stale = self._stale.pop(wish.credential, "")
        if stale and stale != wish.own:
            removed.append("#stale")
            names["#stale"] = stale
            values[":stale"] = n(wish.now - round(STALE * _MICRO))
            condition += " AND (attribute_not_exists(#stale) OR #stale < :stale)"
        written = Expression(list(sets), counted, removed, names=names, values=values)
        written.conditions += ["attribute_not_exists(paused)", asked, _KNOWN, condition]
        self._count_units(wish, written)
        answer = self._db.call(
            "update_item",
            TableName=self._table,
            Key=keys.pacer(wish.credential),
            UpdateExpression=written.update,
            ConditionExpression=" AND ".join(written.conditions),
            ExpressionAttributeNames=names,
            ExpressionAttributeValues=values,
            ReturnValues="ALL_NEW",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
        self._check_clock(answer)
        attributes: Item = answer["Attributes"]
        if bounded:
            self._counters[wish.credential] = stored_of(attributes)
        self._notes.learn(wish.credential, attributes, wish.hint)
        self._note_stale(wish, attributes)
        self._over[wish.credential] = tallies.stale(attributes, wish.pace, self._clock.now())
        return attributes

    def _at_rate(self, wish: _Wish, values: Item) -> str:
        """Return the condition that the rate is still the one of a wish; fills values."""
        present, asked = wish.pace.present, "attribute_not_exists(#rate)"
        if present:
            asked = "#rate = :rate"
            known = self._rates.get(wish.credential, {})
            values[":rate"] = known if rate_of(known) == present else n(present)
        return asked

    def _count_units(self, wish: _Wish, written: Expression) -> None:
        """Have a write count units of quotas, and demand that the lane is not full; counters that are over go."""
        if wish.spend is None or wish.booking is None:
            return
        known = self._counters.get(wish.credential, {})
        wish.booking.removes += stale(wish.spend.quotas, known, wish.begin)
        written.count(wish.booking, opened=wish.now // 1000)

    def _count(self, wish: _Wish, names: dict[str, str], values: Item) -> tuple[list[str], list[str]]:
        """Return the part of an update that counts calls that have ended, and what it removes; fills names and values.

        Args:
            wish: with the calls.
        """
        stretches = wish.pace.stretches(self._clock.now())
        over = [x for x in self._over.get(wish.credential, []) if not x.endswith(stretches)]
        names |= {f"#over{i}": name for i, name in enumerate(over)}
        removed = [f"#over{i}" for i in range(len(over))]
        if not wish.ended.calls:
            return [], removed
        names |= {"#calls": tallies.CALLS + stretches[0], "#refused": tallies.REFUSED + stretches[0]}
        values |= {":calls": n(wish.ended.calls), ":refused": n(wish.ended.refused)}
        counted = ["#calls :calls", "#refused :refused"]
        if wish.ended.failed:
            names["#failed"], values[":failed"] = tallies.FAILED + stretches[0], n(wish.ended.failed)
            counted.append("#failed :failed")
        return counted, removed

    def _note_stale(self, wish: _Wish, attributes: Item) -> None:
        """Note a job's clock that has long passed: the next write removes it."""
        past = wish.now - round(STALE * _MICRO)
        old = next((x for x in attributes if x.startswith(_OWN) and number(attributes, x) < past), "")
        if old:
            self._stale[wish.credential] = old

    # Clocks

    def _check_clock(self, answer: Mapping[str, Any]) -> None:
        """Compare this process's clock with that of AWS.

        Raises:
            Retriable: it is wrong; the slots that it reserved are lost, and others pull the slot clock back.
        """
        at = self._answered(answer) if self._answered is not None else None
        off = self._clock.now() - at if at is not None else 0.0
        if abs(off) > WRONG:
            self._note(abs(off))
            raise Retriable(f"the clock of this process is {off:.0f} s off")

    def _pull_back(self, wish: _Wish, item: Item) -> bool:
        """Pull back clocks that are further ahead than the rules allow: a worker's time was wrong. False if none is.

        All slots that this worker may still use are over before the first slot that is reserved again.
        """
        now = wish.asked
        # Whatever was written by hand and is no time is wrong, too: no reservation would ever agree with it.
        hold = round((rate_of(item["hold_until"]) or _NEVER) * 1000) if "hold_until" in item else 0
        ahead = _ahead(wish, item, hold)
        names, values = {}, {":new": n(now + round(wish.pace.guard * _MICRO))}
        sets, removes, conditions = [], "", []
        for i, (name, seen) in enumerate(ahead.items()):
            names[f"#x{i}"], values[f":x{i}"] = name, n(seen)
            sets.append(f"#x{i} = :new")
            conditions.append(f"#x{i} = :x{i}")
        if hold > now + round((MAX_HOLD + AHEAD) * _MICRO):
            ahead["hold_until"], values[":hold"] = hold, item["hold_until"]
            removes = f" REMOVE {', '.join(LOWERED)}"
            conditions.append("hold_until = :hold")
        if not ahead:
            return False
        if not sets:
            values.pop(":new")
        self._note((max(ahead.values()) - now) / _MICRO)
        _LOG.warning("slots pulled back", extra={"credential": wish.credential, "ahead": sorted(ahead)})
        with suppress(ConditionFailed):  # another was faster
            self._db.call(
                "update_item",
                TableName=self._table,
                Key=keys.pacer(wish.credential),
                UpdateExpression=(f"SET {', '.join(sets)}" if sets else "") + removes,
                ConditionExpression=" AND ".join(conditions),
                **({"ExpressionAttributeNames": names} if names else {}),
                ExpressionAttributeValues=values,
            )
        return True

    def _note(self, seconds: float) -> None:
        with self._lock:
            self._skew = max(self._skew, seconds)


def _ahead(wish: _Wish, item: Item, hold: int) -> dict[str, int]:
    """Return by attribute the slots that are further ahead than the rules allow. `hold`: Unix microseconds, or 0."""
    pace, now = wish.pace, wish.asked
    if not pace.agrees(switches(item)):
        return {}  # at a slower rate than is known here they may be further ahead
    latest = max(now, min(hold, now + round(MAX_HOLD * _MICRO))) + round(pace.furthest * _MICRO)
    bounds = {"tat": latest}
    if wish.own:
        bounds[wish.own] = latest + round(pace.turn(LONGEST) * _MICRO)
    return {x: number(item, x) for x, most in bounds.items() if number(item, x) > most}
