"""Audit logs of accounts and of the deployment, as operators read them: one, or all as one list."""

import heapq
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final, Self

from pydantic import Field, model_validator

from functions.operate.accounts import resolve
from functions.operate.call import Call, OperateQuery, OperateView, route
from functions.operate.services import OperateServices
from shared.domain.audit import EVERYONE, Event
from shared.domain.auditing.seals import Tampering
from shared.domain.namespaces import TEST, KeyKind, is_team, namespace, namespaces_of, owner, team_space
from shared.engine.reports.sealing import Verified, Verifier
from shared.web.http import Answer
from shared.web.routing import Nothing

READ_SECONDS: Final = 15
"""For so long logs are read for one answer: API Gateway gives up after 30 seconds."""


class LogsQuery(OperateQuery):
    """Which entries, newest first."""

    account: str = Field("", max_length=200, description="An id or a name; empty: what concerns the whole deployment.")
    kind: KeyKind = Field(KeyKind.LIVE, description="Of which keys of the account.")
    everything: bool = Field(False, description="The logs of the deployment and of all accounts as one.")
    action: str = Field("", max_length=64)
    actor: str = Field("", max_length=200)
    limit: int = Field(100, ge=1, le=1000)
    before: int = Field(0, ge=0, description="Only entries before this time; 0: all.")

    @model_validator(mode="after")
    def _one(self) -> Self:
        if self.account and self.everything:
            raise ValueError("Name an account, or ask for everything")
        return self


class LoggedAct(OperateView):
    """Something that somebody did. `actor_name`: of an API key, if it has one and still exists."""

    at: int
    account_id: str | None
    test: bool
    team: bool
    action: str
    subject: str
    actor: str
    actor_name: str | None
    data: dict[str, str | int]


class AuditRows(OperateView):
    """Entries, newest first. `before`: of the next page; 0: this is the last."""

    items: list[LoggedAct]
    before: int


class _Logs:
    """Logs that are read together for a limited time.

    Attributes:
        cut: the millisecond at which the time was over; its entries and older ones are not complete. 0: all was read.
    """

    def __init__(self, services: OperateServices, query: LogsQuery) -> None:
        self._clock, self._journal, self._query = services.clock, services.journal, query
        self._until = services.clock.now() + READ_SECONDS
        self.cut = 0

    def entries(self, name: str) -> Iterator[Event]:
        """Yield the entries of one log, newest first."""
        query = self._query
        after = f"{query.before:015d}" if query.before else ""  # sorts before each entry of that millisecond
        while True:
            page, after = self._journal.page(name, kind=query.action, actor=query.actor, after=after, limit=query.limit)
            yield from page
            if not after:
                return
            if self._clock.now() >= self._until:
                self.cut = max(self.cut, int(after.partition("#")[0]))
                return


def entries(call: Call[LogsQuery, Nothing]) -> Answer:
    """Return the newest entries.

    Entries of one millisecond are never parted, so a page may be longer than asked for. It may be shorter, even empty,
    where few of many entries are wanted.
    """
    query, services = call.query, call.services
    logs = _Logs(services, query)
    merged = heapq.merge(*map(logs.entries, _owners(services, query)), key=lambda event: event.at, reverse=True)
    found = list(islice(merged, query.limit))
    following = next(merged, None)
    while following is not None and following.at == found[-1].at:
        found.append(following)
        following = next(merged, None)
    found = [x for x in found if x.at > logs.cut]
    before = found[-1].at if following is not None and following.at > logs.cut else 0
    names = _names(services, found)
    return AuditRows(
        items=[_entry(x, names) for x in found], before=max(before, logs.cut + 1 if logs.cut else 0)
    ).answer()


def _owners(services: OperateServices, query: LogsQuery) -> list[str]:
    if query.everything:
        return [EVERYONE, *(name for x in services.accounts.list_accounts() for name in namespaces_of(x.id))]
    if not query.account:
        return [EVERYONE]
    whose = resolve(services, query.account)
    return [namespace(team_space(whose) if query.kind is KeyKind.TEAM else whose, test=query.kind is KeyKind.TEST)]


def _names(services: OperateServices, events: list[Event]) -> Mapping[str, str]:
    """Return the names of the keys that did something, by their ids."""
    owners = {_account(event) for event in events} - {EVERYONE}
    return {key.id: key.name for name in sorted(owners) for key in services.accounts.list_keys(name) if key.name}


def _account(event: Event) -> str:
    return owner(event.account.removesuffix(TEST))


def _entry(event: Event, names: Mapping[str, str]) -> LoggedAct:
    return LoggedAct(
        at=event.at,
        account_id=None if event.account == EVERYONE else _account(event),
        test=event.account.endswith(TEST),
        team=is_team(event.account),
        action=event.kind,
        subject=event.id,
        actor=event.actor,
        actor_name=names.get(event.actor),
        data=dict(event.data),
    )


class VerifyQuery(OperateQuery):
    """Which logs are compared with their seals."""

    account: str = Field("", max_length=200, description="An id or a name; empty: the deployment's log.")


class LogFinding(OperateView):
    """The first fault of a log.

    `fault`: an entry was `removed`, `changed` or `inserted`, or a seal is missing or changed. `place`: of the entry in
    the log, as time, subject and action; null: it is not there any more.
    """

    fault: Tampering
    at: int
    place: str | None


class LogVerified(OperateView):
    """A log that was compared with its seals. `whole`: False if the time was over; `digest`: of the newest seal."""

    log: str
    entries: int
    seals: int
    sealed_until: int
    digest: str | None
    finding: LogFinding | None
    whole: bool


class LogsVerified(OperateView):
    """The logs of an account: of its live, team and test keys."""

    items: list[LogVerified]


def verify(call: Call[VerifyQuery, Nothing]) -> Answer:
    """Compare logs with their seals, and return the first fault of each."""
    services = call.services
    account = call.query.account
    logs = namespaces_of(resolve(services, account)) if account else (EVERYONE,)
    until = services.clock.now() + READ_SECONDS
    verifier = Verifier(services.seals, services.clock)
    return LogsVerified(items=[_verified(log, verifier.verify(log, until=until)) for log in logs]).answer()


def _verified(log: str, found: Verified) -> LogVerified:
    fault = found.finding
    return LogVerified(
        log=log,
        entries=found.entries,
        seals=found.seals,
        sealed_until=found.sealed,
        digest=found.digest or None,
        finding=LogFinding(fault=fault.fault, at=fault.at, place=fault.place or None) if fault else None,
        whole=found.whole,
    )


ROUTES: Final = (
    route("GET", "/audit", "Who did what, newest first", entries, AuditRows),
    route("GET", "/audit/verify", "Whether logs are as they were sealed", verify, LogsVerified, "not_found"),
)
