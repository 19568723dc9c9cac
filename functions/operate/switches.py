"""Kill switches: pauses of a credential, an account or everything, rates, and breakers that are closed by hand."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Self

from pydantic import Field, model_validator

from functions.operate.accounts import resolve
from functions.operate.call import Call, OperateView, Why, route
from functions.operate.services import OperateServices
from shared.contracts import Credential
from shared.domain.jobs.states import MessageState
from shared.domain.lanes.switches import EVERYTHING, Switch
from shared.web.http import Answer
from shared.web.problems import Problem, invalid
from shared.web.routing import Nothing

COUNTED: Final = 1_000
"""Open jobs that a question counts: ten reads of a hundred."""


class SwitchChange(Why):
    """One thing that is switched. `account`: its id or name."""

    credential: str = Field("", max_length=64)
    account: str = Field("", max_length=200)
    everything: bool = False

    @model_validator(mode="after")
    def _one(self) -> Self:
        if bool(self.credential) + bool(self.account) + self.everything != 1:
            raise ValueError("Name a credential or an account, or ask for everything")
        return self


class RateChange(Why):
    """A rate in messages per second. 0: as declared."""

    rate: float


class PauseState(OperateView):
    """Whether something is paused, since when and why; 0 and empty if it is not."""

    paused: bool
    since: int
    reason: str


class SwitchResult(OperateView):
    """A pause that was set or ended. `credential_id`, `account_id`: None for others; `above`: of everything."""

    credential_id: str | None
    account_id: str | None
    changed: bool
    now: PauseState
    above: PauseState


class CredentialRate(PauseState):
    """A credential's present and declared rates, in messages per second, and its pause."""

    credential_id: str
    channel: str
    declared: float
    rate: float


class CredentialRates(OperateView):
    """All credentials. `above`: the pause of everything."""

    items: list[CredentialRate]
    above: PauseState


class RateResult(OperateView):
    """A credential's rate, in messages per second."""

    credential_id: str
    rate: float
    declared: float
    changed: bool


class BreakerResult(OperateView):
    """A breaker that is closed. `changed`: it was open."""

    credential_id: str
    changed: bool


class WaitingWork(OperateView):
    """How many messages of how many open jobs are not sent. `more`: there are more jobs, which were not counted."""

    messages: int
    jobs: int
    more: bool


def rates(call: Call[Nothing, Nothing]) -> Answer:
    """Return the credentials' rates and pauses."""
    services = call.services
    declared = services.settings.credentials
    found = services.switches.read(EVERYTHING, *(Switch(credential=c.id) for c in declared))
    items = [
        CredentialRate(
            credential_id=c.id,
            channel=c.channel,
            declared=c.rate,
            rate=setting.switches.within(c.rate),
            paused=setting.switches.paused,
            since=setting.since,
            reason=setting.reason,
        )
        for c in declared
        for setting in (found[Switch(credential=c.id)],)
    ]
    return CredentialRates(items=items, above=_state(services, EVERYTHING)).answer()


def waiting_work(call: Call[Nothing, Nothing]) -> Answer:
    """Return about how much waits, for a question."""
    messages = jobs = seen = 0
    for page in call.services.open_work.pages(lambda _job: True):
        left = [job.counts[MessageState.QUEUED] + job.counts[MessageState.SENDING] for job in page.jobs]
        messages, jobs, seen = messages + sum(left), jobs + sum(map(bool, left)), seen + len(page.jobs)
        if seen >= COUNTED:
            break
    return WaitingWork(messages=messages, jobs=jobs, more=seen >= COUNTED).answer()


def pause(call: Call[Nothing, SwitchChange]) -> Answer:
    """Pause. Senders learn it with their next window."""
    switch = _switch(call)
    changed = call.services.switches.pause(switch, by=call.key.id, reason=call.body.reason)
    return _switched(call.services, switch, changed=changed)


def resume(call: Call[Nothing, SwitchChange]) -> Answer:
    """End a pause."""
    switch = _switch(call)
    changed = call.services.switches.resume(switch, by=call.key.id, reason=call.body.reason)
    return _switched(call.services, switch, changed=changed)


def set_rate(call: Call[Nothing, RateChange]) -> Answer:
    """Set a credential's present rate, up to the declared one."""
    declared, body = _declared(call.services, call.path["credential"]), call.body
    with _within():
        changed = call.services.switches.set_rate(
            declared.id, body.rate, ceiling=declared.rate, by=call.key.id, reason=body.reason
        )
    rate = body.rate or declared.rate
    return RateResult(credential_id=declared.id, rate=rate, declared=declared.rate, changed=changed).answer()


def close_breaker(call: Call[Nothing, Why]) -> Answer:
    """Have a credential's senders call its provider again."""
    name = _declared(call.services, call.path["credential"]).id
    changed = call.services.switches.close_breaker(name, by=call.key.id, reason=call.body.reason)
    return BreakerResult(credential_id=name, changed=changed).answer()


def _switch(call: Call[Nothing, SwitchChange]) -> Switch:
    if call.body.credential:
        return Switch(credential=_declared(call.services, call.body.credential).id)
    return Switch(account=resolve(call.services, call.body.account)) if call.body.account else EVERYTHING


def _declared(services: OperateServices, credential: str) -> Credential:
    try:
        return services.settings.credential(credential)
    except KeyError:
        known = ", ".join(c.id for c in services.settings.credentials)
        raise Problem("credential_not_found", f"No credential {credential}; there are: {known or 'none'}.") from None


def _switched(services: OperateServices, switch: Switch, *, changed: bool) -> Answer:
    return SwitchResult(
        credential_id=switch.credential or None,
        account_id=switch.account or None,
        changed=changed,
        now=_state(services, switch),
        above=_state(services, EVERYTHING),
    ).answer()


def _state(services: OperateServices, switch: Switch) -> PauseState:
    found = services.switches.read(switch)[switch]
    return PauseState(paused=found.switches.paused, since=found.since, reason=found.reason)


@contextmanager
def _within() -> Iterator[None]:
    """Turn a rate that the board refuses into a problem."""
    try:
        yield
    except ValueError as refused:
        raise invalid("rate", f"{refused}.") from None


ROUTES: Final = (
    route("GET", "/switches", "Rates and pauses of credentials", rates, CredentialRates),
    route("GET", "/switches/waiting", "How much waits", waiting_work, WaitingWork),
    route("POST", "/switches/pause", "Pause", pause, SwitchResult, "not_found", "credential_not_found"),
    route("POST", "/switches/resume", "Resume", resume, SwitchResult, "not_found", "credential_not_found"),
    route(
        "PUT", "/switches/rates/{credential}", "Set a credential's rate", set_rate, RateResult, "credential_not_found"
    ),
    route(
        "POST",
        "/switches/breakers/{credential}/close",
        "Close a credential's breaker",
        close_breaker,
        BreakerResult,
        "credential_not_found",
    ),
)
