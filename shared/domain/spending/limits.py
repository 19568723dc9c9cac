"""Limits of a day: those of an account, the part that a request takes, and the rest.

A day is one of UTC. A limit is of a channel's messages, of all messages together, or of their price. An SMS counts as
its segments, as it does in rates. Messages of test keys cost nothing, and do not count.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from datetime import UTC, datetime
from typing import Final, Literal, get_args

from shared.contracts import MICRO
from shared.domain.channels.channel import ChannelName
from shared.domain.channels.lookup import channel_of
from shared.domain.times import DAY_MS, Millis
from shared.frozen import dataclass

MESSAGES: Final = "messages"
"""The measure of messages of all channels together."""
PRICE: Final = "price"
"""The measure of what messages cost, in millionths of the unit of the deployment's prices."""
Measure = Literal[ChannelName, "messages", "price"]
"""What a limit is of."""
MEASURES: Final[tuple[Measure, ...]] = get_args(Measure)
UNLIMITED: Final = -1
"""The limit of an account that has none where others have the deployment's default."""
CODE: Final = "quota_exceeded"
"""The code of a refusal."""
BARRED: Final = "country_not_allowed"
"""The code of a refusal of numbers of a country."""
SCHEDULES: Final = "schedules"
"""The measure of jobs that wait for their time."""
MAX_SCHEDULES: Final = 100_000
"""Jobs of an account that may wait for their time; its test keys may have as many."""
SCHEDULES_CODE: Final = "too_many_schedules"
"""The code of a refusal of one more."""
RECOUNT_MS: Final[Millis] = 60_000
"""Milliseconds from one count of an account's schedules to the next."""
KEPT_DAYS: Final = 40
"""Days that the use of a day is kept."""

Limits = Mapping[str, int]
"""Measure (a channel's name, MESSAGES or PRICE) → the most of a day, or UNLIMITED."""


def units_of(measure: str) -> str:
    """Return a measure's messages, as a sentence names them; PRICE has none."""
    return measure if measure == MESSAGES else channel_of(measure).units


@dataclass(frozen=True, slots=True)
class Rules:
    """The limits that operators have set for an account.

    Attributes:
        limits: its own, which go before the deployment's defaults.
        keys: id of an API key → that key's limits, within its account's.
        countries: those (ISO 3166) to whose numbers it sends; empty: to all.
        unsearched: it keeps no pages for searches. `searched_from`: when it began to again, Unix milliseconds.
    """

    limits: Limits = field(default_factory=dict)
    keys: Mapping[str, Limits] = field(default_factory=dict)
    countries: frozenset[str] = frozenset()
    unsearched: bool = False
    searched_from: Millis = 0

    def changed(
        self, changes: Mapping[str, int | None], key: str = "", countries: Iterable[str] | None = None
    ) -> "Rules":
        """Return them with changes.

        Args:
            changes: measure → the most of a day, UNLIMITED, or None for no limit of its own.
            key: whose limits change; empty: the account's.
            countries: None: as they are.
        """
        own = {name: most for name, most in {**self.of(key), **changes}.items() if most is not None}
        found = replace(self, keys={**self.keys, key: own}) if key else replace(self, limits=own)
        return found if countries is None else replace(found, countries=frozenset(countries))

    def barred(self, countries: Iterable[str]) -> list[str]:
        """Return those of some countries to whose numbers the account does not send, in text order."""
        return sorted(set(countries) - self.countries) if self.countries else []

    def of(self, key: str) -> Limits:
        """Return what was set for a key, or for the account if the name is empty."""
        return self.keys.get(key, {}) if key else self.limits


def effective(default: Limits, own: Limits) -> dict[str, int]:
    """Return the limits that hold for an account, without what is unlimited."""
    return {measure: most for measure, most in {**default, **own}.items() if most != UNLIMITED}


@dataclass(frozen=True, slots=True)
class Charge:
    """The part of its account's limits that a request takes.

    Attributes:
        account: whose limits they are; team keys spend of their account's.
        day: as in `2026-11-20`.
        amounts: measure → how much is taken, of what is limited.
        limits: measure → the most of the day.
        key: the id of the API key that asks, if it has limits of its own; else empty.
        key_limits: measure → the most of the day by that key.
        defaults: the measures of `limits` whose limit is the deployment's default.
    """

    account: str
    day: str
    amounts: Mapping[str, int]
    limits: Limits
    key: str = ""
    key_limits: Limits = field(default_factory=dict)
    defaults: frozenset[str] = frozenset()

    def parts(self) -> Iterator[tuple[str, str, int, int]]:
        """Yield each limit that it is measured by: the key's id or empty, the measure, the amount and the limit."""
        for key, limits in (("", self.limits), (self.key, self.key_limits)):
            for measure, most in limits.items():
                if self.amounts.get(measure):
                    yield key, measure, self.amounts[measure], most


@dataclass(frozen=True, slots=True)
class Exceeded:
    """A limit that a request would exceed: of a day, or SCHEDULES. Amounts of PRICE are millionths.

    Attributes:
        measure: of the limit.
        limit: the most of the day.
        used: how much is used.
        asked: what the request would take.
        at: when it was found, Unix milliseconds.
        key: whether the limit is the API key's own.
    """

    measure: str
    limit: int
    used: int
    asked: int
    at: Millis
    key: bool = False

    @property
    def daily(self) -> bool:
        """Tell whether the limit is one of a day."""
        return self.measure != SCHEDULES

    @property
    def code(self) -> str:
        """The code of the refusal."""
        return CODE if self.daily else SCHEDULES_CODE

    @property
    def resets_at(self) -> Millis:
        """When the next day begins, or schedules are counted again; Unix milliseconds."""
        return resets_at(self.at) if self.daily else self.at + RECOUNT_MS

    @property
    def wait(self) -> int:
        """Seconds until then."""
        return math.ceil((self.resets_at - self.at) / 1000)


@dataclass(frozen=True, slots=True)
class Line:
    """A limit and its use on a day. Amounts of PRICE are millionths.

    Attributes:
        measure: of the limit.
        limit: the most of the day.
        used: how much is used.
        key: whether the limit is the API key's own.
        default: whether it is the deployment's default.
    """

    measure: Measure
    limit: int
    used: int
    key: bool = False
    default: bool = False

    @property
    def left(self) -> int:
        """How much can be used yet: nothing if the limit was lowered below its use."""
        return max(0, self.limit - self.used)


SHARES: Final = (80, 100)
"""Percent of a limit whose use is an event."""


@dataclass(frozen=True, slots=True)
class ReachedQuota:
    """A share of a limit that is used, once a day. Amounts of PRICE are millionths.

    Attributes:
        account: whose limit it is.
        day: as in `2026-11-20`.
        measure: of the limit.
        key: the id of the API key whose own limit it is; else empty.
        share: one of SHARES; 100 also if a request was refused.
        limit: the most of the day.
        used: how much was used then.
        at: Unix milliseconds.
        default: whether the limit is the deployment's default.
    """

    account: str
    day: str
    measure: str
    key: str
    share: int
    limit: int
    used: int
    at: Millis
    default: bool = False

    @property
    def used_up(self) -> bool:
        """Whether nothing is left of the limit."""
        return self.share == SHARES[-1]


def reached(limit: int, used: int) -> list[int]:
    """Return the shares of a limit that are used."""
    return [share for share in SHARES if used * 100 >= limit * share]


def lines(default: Limits, own: Limits, used: Mapping[str, int], *, key: bool = False) -> list[Line]:
    """Return the limits that hold, in the order of MEASURES.

    Args:
        default: the deployment's; empty for a key.
        own: those that operators have set.
        used: measure → how much is used.
    """
    found = effective(default, own)
    return [Line(x, found[x], used.get(x, 0), key, x not in own) for x in MEASURES if x in found]


def day_of(at: Millis) -> str:
    """Return the day of a time, as in `2026-11-20`."""
    return datetime.fromtimestamp(at / 1000, UTC).date().isoformat()


def resets_at(at: Millis) -> Millis:
    """Return when the day after a time begins."""
    return (at // DAY_MS + 1) * DAY_MS


def amounts(channel: str, messages: int, price: int = 0) -> dict[str, int]:
    """Return what messages take of each measure. `messages`: of SMS their segments; `price`: millionths."""
    return {channel: messages, MESSAGES: messages, PRICE: price}


def charge(
    account: str, at: Millis, taken: Mapping[str, int], default: Limits, rules: Rules, key: str
) -> Charge | None:
    """Return what a request takes of limits; None if it meets none.

    Args:
        at: the time of the request.
        taken: as of `amounts`.
        default: the deployment's limits, for what the account's rules leave open.
        key: the id of the API key that asks.
    """
    limits, own = effective(default, rules.limits), effective({}, rules.keys.get(key, {}))
    limited = {measure: taken[measure] for measure in {**limits, **own} if taken.get(measure)}
    defaults = frozenset(limits.keys() - rules.limits.keys())
    return Charge(account, day_of(at), limited, limits, key if own else "", own, defaults) if limited else None


def shown(measure: str, amount: int) -> float | int:
    """Return an amount as people read it: a price in its unit, anything else as it is."""
    return amount / MICRO if measure == PRICE else amount


def sentence(x: Exceeded) -> str:
    """Return for people which limit a request would exceed."""
    if not x.daily:
        return f"{x.used:,} jobs of this account wait for their time, and at most {x.limit:,} may. Send this one later."
    whose = "This API key" if x.key else "This account"
    most, used, asked = (f"{shown(x.measure, y):,}" for y in (x.limit, x.used, x.asked))
    may = f"may spend {most} a day" if x.measure == PRICE else f"may send {most} {units_of(x.measure)} a day"
    after = datetime.fromtimestamp(x.resets_at / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"{whose} {may}. {used} are used, and this needs {asked}. The next day begins at {after}."
