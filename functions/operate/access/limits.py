"""Limits of a day of accounts and their API keys, as operators see and set them."""

from typing import Annotated, Final, Literal

from pydantic import Field

from functions.operate.accounts import AccountBody, AccountQuery, owner_of, resolve
from functions.operate.call import Call, OperateView, route
from functions.operate.services import OperateServices
from shared.contracts import MICRO
from shared.domain.accounts import is_key_id
from shared.domain.spending import limits
from shared.domain.spending.limits import PRICE, UNLIMITED, Measure
from shared.web.http import Answer
from shared.web.problems import Problem, invalid
from shared.web.routing import Nothing

MOST: Final = 10**12
"""Of a limit: prices are counted in millionths, and DynamoDB's numbers have 38 digits."""
Most = Annotated[int, Field(ge=0, le=MOST)] | Annotated[float, Field(ge=0, le=MOST)] | Literal["none", "default"]
"""The most of a day. `none`: no limit; `default`: that of the settings, which a key has not."""


Country = Annotated[str, Field(pattern="^[A-Z]{2}$")]
"""ISO 3166."""


class LimitsQuery(AccountQuery):
    """Whose limits. `key`: the id of one of the account's API keys; empty for the account."""

    key: str = Field("", max_length=16)


class LimitsChange(AccountBody):
    """Limits to set. `key`: as of the query. `countries`: to whose numbers the account may send, empty for all."""

    key: str = Field("", max_length=16)
    limits: dict[Measure, Most] = Field(default_factory=dict)
    countries: list[Country] | None = Field(None, max_length=300)


class LimitRow(OperateView):
    """A limit of a day.

    Attributes:
        limit: a channel, `messages` of all channels, or `price`.
        most: the most of a day.
        used: how much is used today.
        default: it is the deployment's, and not set for the account.
    """

    limit: str
    most: float | int
    used: float | int
    default: bool


class AccountLimits(OperateView):
    """The limits of an account or key. `key_id`: None of an account; `resets_at`: Unix milliseconds.

    `countries`: those to whose numbers the account may send; empty: all. `own`: what was set for it, also to no limit.
    """

    account_id: str
    key_id: str | None
    resets_at: int
    items: list[LimitRow]
    countries: list[str]
    own: list[str]


def show_limits(call: Call[LimitsQuery, Nothing]) -> Answer:
    """Return the limits of an account or key, and what is used of them."""
    whose = resolve(call.services, call.query.account)
    return _answer(call.services, whose, _key_id(call.query.key))


def set_limits(call: Call[Nothing, LimitsChange]) -> Answer:
    """Set limits of an account or key; the others stay."""
    whose, key = owner_of(call), _key_id(call.body.key)
    if key and call.body.countries is not None:
        raise invalid("countries", "Countries are of an account, not of a key.")
    changes: dict[str, int | None] = {measure: _stored(measure, most) for measure, most in call.body.limits.items()}
    if not call.services.accounts.set_limits(whose, changes, key=key, countries=call.body.countries, by=call.key.id):
        raise Problem("not_found", f"{whose} has no key {key}: see `posthaste key list {whose}`.")
    return _answer(call.services, whose, key)


def _key_id(text: str) -> str:
    if text and not is_key_id(text):
        raise invalid("key", "A key's id has 16 hexadecimal digits: see `posthaste key list`.")
    return text


def _stored(measure: str, most: float | str) -> int | None:
    """Return a limit as it is stored; None: the default."""
    if most == "default":
        return None
    if isinstance(most, str):
        return UNLIMITED
    if measure == PRICE:
        return round(most * MICRO)
    if most != int(most):
        raise invalid("limits", f"The limit of {measure} is a whole number.")
    return int(most)


def _answer(services: OperateServices, whose: str, key: str) -> Answer:
    now = int(services.clock.now() * 1000)
    rules = services.accounts.rules(whose)
    own = rules.of(key)
    used = services.spending.used(whose, limits.day_of(now), key)
    rows = [
        LimitRow(
            limit=x.measure,
            most=limits.shown(x.measure, x.limit),
            used=limits.shown(x.measure, x.used),
            default=x.default,
        )
        for x in limits.lines({} if key else services.settings.limits, own, used)
    ]
    return AccountLimits(
        account_id=whose,
        key_id=key or None,
        resets_at=limits.resets_at(now),
        items=rows,
        countries=sorted(rules.countries),
        own=sorted(own),
    ).answer()


ROUTES: Final = (
    route("GET", "/accounts/limits", "What an account may spend in a day", show_limits, AccountLimits, "not_found"),
    route("POST", "/accounts/limits", "Set what it may spend", set_limits, AccountLimits, "not_found"),
)
