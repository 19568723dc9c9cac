"""Request allowances on DynamoDB: those of an account and of all its keys and notifiers are one item.

A call must not cost a write of its own: the budget of a batch of one counts write units. So each process holds tokens
of an account. One conditional update draws the next BLOCK of them: one write per 50 requests of all its keys. A process
starts with GRACE tokens without asking, so that a quiet account never writes at all. Hence each process may exceed the
rate once, by at most GRACE + 2 * BLOCK requests: a bound on overload, not a bill. Tokens that were drawn for calls that
send serve only such calls.

Each allowance is a clock (Unix microseconds; "generic cell rate algorithm"). Each token moves it by one interval, and
it may be at most the burst's intervals ahead of now. The account's clock is `tat`, and a draw moves it before the
requests. The clock of a key or notifier moves after its requests. A draw notes which of them made the requests since
the draw before, and returns all clocks. A process refuses a key by these clocks, and learns of another process's
requests with its next draw. It remembers a refusal until its end, so that a client that keeps asking costs no calls.

The item has the clocks of the keys and notifiers that ask now. A draw removes clocks that have been still for a minute.
"""

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.accounts.buckets import BLOCK, GRACE, MAX_ACCOUNTS
from shared.adapters.dynamo.client import ConditionFailed, Dynamo, Item
from shared.adapters.dynamo.codec import n
from shared.domain.accounts import Claim, Excess, Limited, Quota, Taker, quota
from shared.ports import Clock

MOVED: Final = 8
"""Clocks of keys and notifiers that one draw moves, those with most requests first; the next draw moves others."""
STILL_US: Final = 60_000_000
"""Microseconds that a clock has been still before it is removed; a process that moves it meanwhile loses one draw."""
_ACCOUNT: Final = "tat"
_KEY: Final = "k:"
_NOTIFIER: Final = "n:"
_MICRO: Final = 1_000_000


@dataclass(slots=True)
class _Held:
    """The tokens of an account that a process holds.

    Attributes:
        grace: tokens that it did not draw.
        tokens: drawn ones.
        refused: until when there are none; Unix microseconds.
        used: requests of each key and notifier, by clock, that no draw has noted yet.
        clocks: each clock's name and its time in the last answer.
    """

    grace: int
    tokens: Counter[Claim] = field(default_factory=Counter)
    refused: Counter[Claim] = field(default_factory=Counter)
    used: Counter[str] = field(default_factory=Counter)
    clocks: Mapping[str, int] = field(default_factory=dict)


class Allowances:
    """The request allowances of all accounts; safe for threads.

    Args:
        rate: requests per second and account.
        burst: requests at once after a pause.
        key: where an account's clocks are kept.
    """

    def __init__(
        self,
        dynamo: Dynamo,
        table: str,
        clock: Clock,
        *,
        rate: float,
        burst: int,
        key: Callable[[str], keys.Key] = keys.bucket,
    ) -> None:
        self._db = dynamo
        self._table = table
        self._clock = clock
        self._place = key
        self._account = quota(rate, burst)
        self._quotas = {_KEY: self._account.of_key(), _NOTIFIER: self._account.of_notifier()}
        self._block = min(BLOCK, self._account.most(Claim.OTHER))
        self._grace = max(0, min(GRACE, burst - self._block))
        self._accounts: dict[str, _Held] = {}
        self._lock = threading.Lock()

    def take(self, account: str, taker: Taker) -> Excess | None:
        """Take a token for one request; None if there was one."""
        now = round(self._clock.now() * _MICRO)
        name = (_NOTIFIER if taker.notifier else _KEY) + taker.name
        with self._lock:
            if len(self._accounts) >= MAX_ACCOUNTS:
                self._accounts.clear()
            held = self._accounts.setdefault(account, _Held(self._grace))
            own = self._quotas[name[:2]]
            until = _ahead(held, name, now, own) - _us(own.own(taker) - 1, own)
            if until > now:
                limited = Limited.NOTIFIER if taker.notifier else Limited.KEY
                return Excess((until - now) / _MICRO, limited, own.rate)
            until = self._spend(account, held, now, taker.claim)
            if until > now:
                return Excess((until - now) / _MICRO, Limited.ACCOUNT, self._account.rate)
            held.used[name] += 1
        return None

    def _spend(self, account: str, held: _Held, now: int, claim: Claim) -> int:
        """Use a token of the account; return `now`, or the time from which there is one."""
        if held.refused[claim] > now:
            return held.refused[claim]
        if held.grace:
            held.grace -= 1
            return now
        if not held.tokens[claim]:
            held.refused[claim] = self._draw(account, held, now, claim)
            if held.refused[claim] > now:
                return held.refused[claim]
            held.tokens[claim] = self._block
        held.tokens[claim] -= 1
        return now

    def _draw(self, account: str, held: _Held, now: int, claim: Claim) -> int:
        """Draw a block, and note who made the requests before; return `now`, or the time from which there is one."""
        cost, most = _us(self._block, self._account), _us(self._account.most(claim), self._account)
        noted = dict(held.used.most_common(MOVED))
        moves = {_ACCOUNT: cost} | {x: _us(count, self._quotas[x[:2]]) for x, count in noted.items()}
        while True:
            try:
                answer = self._move(account, held.clocks, moves, now, now + most - cost)
            except ConditionFailed as lost:
                held.clocks = _clocks(lost.item or {})
                tat = held.clocks.get(_ACCOUNT, 0)
                if tat > now and tat + cost > now + most:
                    return tat + cost - most
                continue  # now it is known which clocks run
            held.clocks = _clocks(answer)
            held.used -= Counter(noted)
            return now

    def _move(self, account: str, known: Mapping[str, int], moves: Mapping[str, int], now: int, limit: int) -> Item:
        """Move clocks, those that run from where they are and the others from now; return the item.

        Args:
            now: Unix microseconds.
            limit: how far the account's may be before.

        Raises:
            ConditionFailed: a clock that was thought to run does not or the other way round, or there is no block.
        """
        sets, conditions = [], []
        names, values = {"#c0": _ACCOUNT}, {":now": n(now)}
        for i, (clock, cost) in enumerate(moves.items()):
            names[f"#c{i}"] = clock
            if known.get(clock, 0) > now:
                sets.append(f"#c{i} = #c{i} + :c{i}")
                conditions.append(f"#c{i} > :now")
                values[f":c{i}"] = n(cost)
            else:
                sets.append(f"#c{i} = :c{i}")
                conditions.append(f"(attribute_not_exists(#c{i}) OR #c{i} <= :now)")
                values[f":c{i}"] = n(now + cost)
        if known.get(_ACCOUNT, 0) > now:
            conditions.append("#c0 <= :limit")
            values[":limit"] = n(limit)
        still = (x for x, at in known.items() if at < now - STILL_US and x not in moves)
        gone = {f"#g{i}": x for i, x in enumerate(islice(still, MOVED))}
        found = self._db.call(
            "update_item",
            TableName=self._table,
            Key=self._place(account),
            UpdateExpression=f"SET {', '.join(sets)}" + (f" REMOVE {', '.join(gone)}" if gone else ""),
            ConditionExpression=" AND ".join(conditions),
            ExpressionAttributeNames={**names, **gone},
            ExpressionAttributeValues=values,
            ReturnValues="ALL_NEW",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
        item: Item = found["Attributes"]
        return item


def _us(requests: int, of: Quota) -> int:
    """Return the microseconds that some requests move a clock by."""
    return round(requests * _MICRO / of.rate)


def _ahead(held: _Held, name: str, now: int, of: Quota) -> int:
    """Return where a clock of a key or notifier is, as far as the process knows."""
    return max(now, held.clocks.get(name, 0)) + _us(held.used[name], of)


def _clocks(item: Item) -> dict[str, int]:
    return {x: int(at["N"]) for x, at in item.items() if x == _ACCOUNT or x[:2] in (_KEY, _NOTIFIER)}
