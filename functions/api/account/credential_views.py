"""Credentials as clients read them."""

from collections.abc import Mapping
from datetime import date
from typing import Final, Literal

from pydantic import Field

from shared.contracts import Credential
from shared.domain.lanes.breaker import BreakerState
from shared.domain.lanes.state import CredentialState, QuotaLeft
from shared.web.views import Time, View, at


class BreakerView(View):
    """Whether a provider is used, or avoided because its calls failed."""

    state: Literal["closed", "open", "half_open"] = Field(
        description="closed: used. open: avoided. half_open: a few messages test whether it works again."
    )
    reason: str | None = Field(description="Code of the failure that opened it; null while it is closed.")
    since: Time | None = Field(description="When it was opened, or closed again; null if it never opened.")


class WarmupView(View):
    """The days on which a credential's quota per day is smaller."""

    start: date = Field(description="The first day, in the quota's zone. Nothing is sent before.")
    day: int = Field(description="The number of the present day; 0 before the first.")
    days: int = Field(description="How many there are.")
    full_from: date = Field(description="The first day of the full quota.")
    full: int = Field(description="Messages, or segments of SMS, of a day from then on.")


class QuotaView(View):
    """A limit of a credential in each period."""

    messages: int = Field(description="Messages, or segments of SMS, in each period; during a warm-up the day's.")
    per: Literal["hour", "day", "month", "24h"] = Field(description="`24h` slides.")
    zone: str = Field(description="Whose local clock begins the period.")
    used: int = Field(description="Of the present period; near its end also what counts in the next.")
    warmup: WarmupView | None = Field(default=None, description="Null without a warm-up, and after it.")


class CredentialView(View):
    """A provider account that is open to the account."""

    id: str
    provider: str
    channel: str
    rate: float = Field(
        description="Messages per second at present, never exceeded; lower while the provider refuses more."
    )
    declared_rate: float = Field(description="What the deployment declares, which the present one never exceeds.")
    in_flight: int = Field(description="Messages whose time slots are reserved and not yet past.")
    breaker: BreakerView
    paused: bool = Field(description="By an operator: nothing is sent through it.")
    quotas: list[QuotaView] = Field(default_factory=list, description="Empty if none is declared.")
    full_until: Time | None = Field(
        default=None, description="A quota, or its provider's own, is used up until then; null while none is."
    )


class CredentialPage(View):
    """Credentials, in the deployment's order."""

    items: list[CredentialView]
    next_cursor: str | None


_BREAKERS: Final[Mapping[BreakerState, Literal["closed", "open", "half_open"]]] = {
    BreakerState.CLOSED: "closed",
    BreakerState.OPEN: "open",
    BreakerState.HALF_OPEN: "half_open",
}


def credential_view(credential: Credential, state: CredentialState) -> CredentialView:
    """Return a credential as clients see it: never its secret, its address or whom else it is open to."""
    rate = state.rate(credential.rate)
    return CredentialView(
        id=credential.id,
        provider=credential.provider,
        channel=credential.channel,
        rate=rate,
        declared_rate=credential.rate,
        in_flight=round(state.ahead * rate),
        breaker=BreakerView(
            state=_BREAKERS[state.breaker.state],
            reason=None if state.breaker.closed else state.breaker.reason,
            since=at(state.breaker.since),
        ),
        paused=state.switches.paused,
        quotas=[_quota(x) for x in state.left(credential.quotas)],
        full_until=at(state.full_until if state.full else 0),
    )


def _quota(x: QuotaLeft) -> QuotaView:
    return QuotaView(
        messages=x.most,
        per=x.quota.per.value,
        zone=x.quota.zone,
        used=x.most - x.left,
        warmup=None
        if x.warmup is None
        else WarmupView(
            start=x.warmup.start,
            day=x.day,
            days=len(x.warmup.days),
            full_from=x.warmup.full_from,
            full=x.quota.messages,
        ),
    )
