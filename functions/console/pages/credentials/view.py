"""Credentials as people read them: their rate and state, and for operators how their switches are set."""

from collections.abc import Sequence
from typing import Final

from functions.console.call import ConsoleCall
from functions.console.screen import absent
from functions.console.use_cases import Setting
from shared.contracts import Credential
from shared.domain.lanes.breaker import BreakerState
from shared.domain.lanes.state import CredentialState, QuotaLeft
from shared.domain.lanes.switches import EVERYTHING, Switch
from shared.frozen import dataclass

CONDITIONS: Final = ("in use", "slowed", "full", "avoided", "tried again", "paused")


@dataclass(frozen=True, slots=True)
class CredentialRow:
    """A credential.

    Attributes:
        condition: in a word, which is also its badge.
        full_until: Unix milliseconds until which a quota is used up; 0: none is.
        quotas: each in its present period.
    """

    id: str
    provider: str
    channel: str
    rate: float
    declared: float
    in_flight: int
    condition: str
    reason: str
    since: int
    full_until: int
    quotas: Sequence[QuotaLeft]


@dataclass(frozen=True, slots=True)
class LaneRow:
    """A credential, and how it does.

    Attributes:
        declared: as in cdk.json.
        shown: its figures.
        setting: how its switch is set.
    """

    declared: Credential
    shown: CredentialRow
    setting: Setting


def lanes(call: ConsoleCall, credentials: Sequence[Credential]) -> tuple[Sequence[LaneRow], Setting]:
    """Return credentials with their states, and the switch of everything."""
    services = call.services
    states = services.reads.submit(services.credentials.read, [c.id for c in credentials])
    asked = {c.id: Switch(credential=c.id) for c in credentials}
    settings = services.use_cases.switches.read(EVERYTHING, *asked.values())
    found = states.result()
    rows = [LaneRow(c, credential_row(c, found[c.id]), settings[asked[c.id]]) for c in credentials]
    return rows, settings[EVERYTHING]


def named_lane(call: ConsoleCall) -> LaneRow:
    """Return the credential that the path names; Denial if none is declared under that name."""
    found = [c for c in call.services.settings.credentials if c.id == call.path["credential"]]
    if not found:
        raise absent("credential")
    return lanes(call, found)[0][0]


def credential_row(credential: Credential, state: CredentialState) -> CredentialRow:
    """Return a credential as people read it."""
    rate = state.rate(credential.rate)
    return CredentialRow(
        id=credential.id,
        provider=credential.provider,
        channel=credential.channel,
        rate=rate,
        declared=credential.rate,
        in_flight=round(state.ahead * rate),
        condition=_condition(state, rate < credential.rate),
        reason="" if state.breaker.closed else state.breaker.reason,
        since=0 if state.breaker.closed else state.breaker.since,
        full_until=state.full_until if state.full else 0,
        quotas=state.left(credential.quotas),
    )


def _condition(state: CredentialState, slowed: bool) -> str:  # noqa: FBT001 - of one caller
    """Return what a credential is doing, in a word."""
    if state.switches.paused:
        return "paused"
    if state.breaker.state is BreakerState.OPEN:
        return "avoided"
    if state.breaker.state is BreakerState.HALF_OPEN:
        return "tried again"
    if state.full:
        return "full"
    return "slowed" if slowed else "in use"
