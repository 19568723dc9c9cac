"""Request buckets: how often something may be asked. Those of accounts, which are shared, are in `allowances`.

A call must not cost a write of its own: the budget of a batch of one counts write units. So each process holds tokens
of an account. One conditional update draws the next BLOCK of them from the account's bucket in DynamoDB: one write per
50 requests. A process starts with GRACE tokens without asking, so that a quiet account never writes at all. Hence each
process may exceed the rate once, by at most GRACE + BLOCK requests: a bound on overload, not a bill.

The bucket is a clock (`tat`, Unix microseconds; "generic cell rate algorithm"). Each token moves it by one interval,
and it may be at most `burst` intervals ahead of now. A process remembers a refusal until its end, so that a client
that keeps asking costs no calls.
"""

import threading
from collections.abc import Callable
from typing import Final

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import ConditionFailed, Dynamo, Item
from shared.adapters.dynamo.codec import n, number
from shared.ports import Clock

BLOCK: Final = 50
GRACE: Final = 10
DAY_S: Final = 86_400
MAX_ACCOUNTS: Final = 10_000
"""Accounts a process remembers; past that it forgets all of them, which costs each one draw."""
_MICRO: Final = 1_000_000


class Buckets:
    """The request buckets of all accounts; safe for threads.

    Args:
        rate: requests per second and account.
        burst: requests at once after a pause.
        key: where an account's bucket is kept.
        block: tokens that one update draws; with 1 the bucket is exact.
        keep: days after which DynamoDB removes a bucket that is no longer used, 0 for never.
    """

    def __init__(
        self,
        dynamo: Dynamo,
        table: str,
        clock: Clock,
        *,
        rate: float,
        burst: int,
        key: Callable[[str], keys.Key],
        block: int = BLOCK,
        keep: int = 0,
    ) -> None:
        self._db = dynamo
        self._table = table
        self._clock = clock
        self._key = key
        self._keep_s = keep * DAY_S
        self._interval = _MICRO / rate
        self._burst = burst
        self._block = max(1, min(block, burst))
        self._grace = max(0, min(GRACE, burst - self._block)) if self._block > 1 else 0
        self._tokens: dict[str, int] = {}
        self._refused: dict[str, int] = {}
        self._lock = threading.Lock()

    def take(self, account: str) -> float | None:
        """Take a token for one request; None if there was one, else the seconds after which to try again."""
        now = round(self._clock.now() * _MICRO)
        with self._lock:
            if self._refused.get(account, 0) > now:
                return (self._refused[account] - now) / _MICRO
            if len(self._tokens) >= MAX_ACCOUNTS:
                self._tokens.clear()
                self._refused.clear()
            left = self._tokens.get(account, self._grace)
            if left == 0:
                until = self._draw(account, now)
                if until > now:
                    self._refused[account] = until
                    return (until - now) / _MICRO
                left = self._block
            self._tokens[account] = left - 1
        return None

    def _draw(self, account: str, now: int) -> int:
        """Draw a block; return `now`, or the time from which there is one."""
        cost = round(self._block * self._interval)
        ahead = round(self._burst * self._interval)
        try:
            self._move(account, "SET tat = tat + :cost", "tat > :now AND tat <= :limit", now, cost, now + ahead - cost)
        except ConditionFailed as lost:
            tat = number(lost.item, "tat") if lost.item else 0
            if tat > now:
                return tat + cost - ahead
            try:
                self._move(account, "SET tat = :start", "attribute_not_exists(tat) OR tat <= :now", now, cost, None)
            except ConditionFailed:
                return self._draw(account, now)  # another process was first: the clock runs now
        return now

    def _move(self, account: str, expression: str, condition: str, now: int, cost: int, limit: int | None) -> None:
        values = {":now": n(now)}
        values |= {":start": n(now + cost)} if limit is None else {":cost": n(cost), ":limit": n(limit)}
        names: Item = {}
        if self._keep_s:
            expression += ", #ttl = :ttl"
            values[":ttl"] = n(now // _MICRO + self._keep_s)
            names = {"ExpressionAttributeNames": {"#ttl": "ttl"}}
        self._db.call(
            "update_item",
            TableName=self._table,
            Key=self._key(account),
            UpdateExpression=expression,
            ConditionExpression=condition,
            ExpressionAttributeValues=values,
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
            **names,
        )
