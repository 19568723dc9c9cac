"""The first page of an account: its flow by day and provider, its credentials, and the jobs that are under way."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Final

from functions.console import charts
from functions.console.call import ConsoleCall
from functions.console.charts import Flow
from functions.console.lists import KINDS
from functions.console.pages.alarms import raised
from functions.console.pages.credentials.view import CredentialRow, credential_row
from functions.console.pages.jobs.rows import pause_of, rows
from functions.console.pages.jobs.spans import DAYS, DAYS_SPAN, FATES, TODAY, today
from functions.console.pages.jobs.view import JobRow
from functions.console.screen import PageRoute
from functions.console.use_cases import RaisedAlarm
from shared.contracts import Credential
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import BY_KEYS
from shared.domain.jobs.states import ACTIVE
from shared.domain.lanes.state import CredentialState
from shared.domain.namespaces import namespaces_of
from shared.domain.spending.limits import PRICE, Line, shown, units_of
from shared.domain.stats import Day
from shared.domain.times import Millis
from shared.frozen import dataclass
from shared.web.http import Answer

AMOUNTS: Final = {"failed": "failure"}
"""Fates of messages that have another name in the stats."""
RECENT: Final = 10
"""Jobs that are shown."""
LOOKED_AT: Final = 100
"""Jobs that the rate is of: the most that one read of the table gives."""


@dataclass(frozen=True, slots=True)
class ProviderRow:
    """One provider's results in the days shown."""

    name: str
    numbers: Mapping[str, int]
    """By BY_KEYS."""


@dataclass(frozen=True, slots=True)
class QuotaRow:
    """A limit of the day. `share`: percent used."""

    name: str
    limit: float | int
    used: float | int
    left: float | int
    share: int


@dataclass(frozen=True, slots=True)
class Overview:
    """The page. `sums`: of today and of all days, by span; `accepted`: by the providers that accepted."""

    flow: Flow
    accepted: Flow
    sums: Mapping[str, Mapping[str, int]]
    providers: Sequence[ProviderRow]
    credentials: Sequence[CredentialRow]
    jobs: Sequence[JobRow]
    rate: float
    """Messages per second that the credentials of open jobs may send."""
    counted: int
    """Jobs that the rate is of, the newest ones; 0: all."""
    quotas: Sequence[QuotaRow]
    """Limits of the day; none if the account has none."""
    alarms: Sequence[RaisedAlarm] | None
    """That are raised, for operators only; None: they cannot be read."""


def overview(call: ConsoleCall) -> Overview:
    """Return what the page shows; what can be read at once is."""
    services = call.services
    last = today(services.now)
    mine = [c for c in services.settings.credentials if c.open_to(call.account)]
    days = services.reads.submit(services.stats.days, call.account, last - timedelta(days=DAYS - 1), last)
    states = services.reads.submit(services.credentials.read, [c.id for c in mine])
    quotas = services.reads.submit(services.use_cases.spender.lines, call.account)
    jobs, newest, paused, more = _newest(call)
    found = days.result()
    return Overview(
        flow=charts.flow(_every_day({day.day: day.amounts for day in found}, last)),
        accepted=_accepted(found, last),
        sums={TODAY: _sums(found, last), DAYS_SPAN: _sums(found)},
        providers=_providers(found),
        credentials=[credential_row(c, states.result()[c.id]) for c in mine],
        jobs=newest,
        rate=0 if paused else allowed(jobs, mine, states.result(), services.now),
        counted=LOOKED_AT if more else 0,
        quotas=[_quota(x) for x in quotas.result()],
        alarms=raised(call),
    )


def _quota(x: Line) -> QuotaRow:
    name = "Price" if x.measure == PRICE else units_of(x.measure)
    limit, used, left = (shown(x.measure, y) for y in (x.limit, x.used, x.left))
    share = min(100, 100 * x.used // x.limit) if x.limit else 100
    return QuotaRow(name[:1].upper() + name[1:], limit, used, left, share)


def _newest(call: ConsoleCall) -> tuple[Sequence[Job], list[JobRow], bool, bool]:
    """Return the newest jobs of all its keys, the first as rows, whether the account is paused, and has more."""
    pause = pause_of(call)
    jobs, after = call.services.listing.among(namespaces_of(call.account), KINDS, limit=LOOKED_AT)
    paused = pause.result().paused
    return jobs, rows(call, jobs[:RECENT], paused=paused), paused, bool(after)


def allowed(
    jobs: Sequence[Job], credentials: Sequence[Credential], states: Mapping[str, CredentialState], now: Millis
) -> float:
    """Return the messages per second that credentials with open work may send; one with many jobs counts once.

    Args:
        credentials: that it may use, as declared.
    """
    real = frozenset(c.id for c in credentials)
    at_work = [job for job in jobs if _is_at_work(job, real)]
    wanted = {c for job in at_work for c in job.route}
    total = sum(_rate(c, states[c.id], now) for c in credentials if c.id in wanted)
    return min(total, sum(job.rate or total for job in at_work))


def _is_at_work(job: Job, credentials: frozenset[str]) -> bool:
    """Tell whether a job sends through one of some credentials; those of test keys send through none."""
    return job.state in ACTIVE and not job.quiet and not credentials.isdisjoint(job.route)


def _rate(credential: Credential, state: CredentialState, now: Millis) -> float:
    """Return the messages per second that a credential may send now."""
    sends = not state.switches.paused and state.breaker.usable(now)
    return state.rate(credential.rate) if sends else 0


def _every_day(known: Mapping[date, Mapping[str, int]], last: date) -> list[tuple[str, Mapping[str, int]]]:
    """Return the amounts of all days, oldest first; a day without messages has none."""
    days = [last - timedelta(days=i) for i in reversed(range(DAYS))]
    return [(day.isoformat(), known.get(day, {})) for day in days]


def _accepted(found: Sequence[Day], last: date) -> Flow:
    """Return what each provider accepted by day."""
    known = {day.day: {name: numbers.get("accepted", 0) for name, numbers in day.providers.items()} for day in found}
    return charts.flow(_every_day(known, last), sorted({name for numbers in known.values() for name in numbers}))


def _sums(found: Sequence[Day], only: date | None = None) -> dict[str, int]:
    """Return the messages of each fate on some days. `only`: on this one."""
    amounts = [day.amounts for day in found if only in {None, day.day}]
    return {fate: sum(some.get(AMOUNTS.get(fate, fate), 0) for some in amounts) for fate in FATES}


def _providers(found: Sequence[Day]) -> list[ProviderRow]:
    names = sorted({name for day in found for name in day.providers})
    return [
        ProviderRow(name, {did: sum(day.providers.get(name, {}).get(did, 0) for day in found) for did in BY_KEYS})
        for name in names
    ]


def show(call: ConsoleCall) -> Answer:
    """Show the account at a glance."""
    return call.services.pages.page(call, "overview/overview.html", {"overview": overview(call)})


ROUTES: Final = (PageRoute("GET", "/console/{account}", "overview", show),)
