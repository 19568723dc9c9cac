"""The traces of an API key in the audit log; and how the endpoints and notifiers that still serve it are disabled."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from cli.hooks.operating import accepted, hook_service
from cli.operating.accounts import AccountService
from cli.operating.notifiers import Office, done, office_of
from cli.output import counted, moment
from shared.domain.audit import HOURLY, Act, Event
from shared.domain.hooks.draft import HookDraft
from shared.domain.hooks.endpoint import Endpoint
from shared.domain.namespaces import namespaces_of
from shared.domain.notices.notifier import Notifier
from shared.ports import Clock, Journal

PAGE: Final = 1000
SHOWN: Final = 5
HOOKS: Final = frozenset({Act.HOOK_CREATED, Act.HOOK_CHANGED, Act.HOOK_ROTATED, Act.HOOK_ENABLED})
NOTIFIERS: Final = frozenset({Act.NOTIFIER_CREATED, Act.NOTIFIER_CHANGED, Act.NOTIFIER_ROTATED, Act.NOTIFIER_ENABLED})
"""After one of these acts, the key's holder may know an endpoint's secret or address, or a notifier's password."""


@dataclass(frozen=True, slots=True)
class Traces:
    """What a key has done.

    Attributes:
        acts: action → what it was done to, the latest first; of requests that were accepted, the hours.
        endpoints: those that it has made or changed, and that are not disabled.
        notifiers: likewise.
    """

    acts: Mapping[str, list[str]]
    endpoints: list[Endpoint]
    notifiers: list[Notifier]

    def document(self) -> dict[str, Any]:
        """Return it for programs."""
        return {
            "endpoints": [x.id for x in self.endpoints],
            "notifiers": [x.name for x in self.notifiers],
            "actions": dict(self.acts),
        }

    def lines(self) -> Iterator[str]:
        """Yield it for people."""
        yield from (f"endpoint {x.id} {x.url}".rstrip() for x in self.endpoints)
        yield from (f"notifier {x.name}" for x in self.notifiers)
        for act, subjects in self.acts.items():
            more = f" and {counted(len(subjects) - SHOWN, 'other')}" if len(subjects) > SHOWN else ""
            yield f"{act}: {', '.join(subjects[:SHOWN])}{more}"


def traces_of(service: AccountService, owner: str, key_id: str, clock: Clock) -> Traces:
    """Return what a key has done, as far back as entries of the account's audit logs are kept."""
    acts = _acts(service.found.journal(clock), owner, key_id)
    touched, named = _subjects(acts, HOOKS), _subjects(acts, NOTIFIERS)
    hooks = hook_service(service.found, clock) if touched else None
    every = [x for space in namespaces_of(owner) for x in hooks.every(space)] if hooks is not None else []
    return Traces(
        {act: list(subjects) for act, subjects in sorted(acts.items())},
        [x for x in every if x.id in touched and not x.disabled_at],
        list(_enabled(office_of(service, clock), sorted(named))),
    )


def _enabled(office: Office, names: Iterable[str]) -> Iterator[Notifier]:
    for name in names:
        found = office.store.get(name)
        if found is not None and not found.disabled and not found.deleted:
            yield found


def disable(service: AccountService, found: Traces, clock: Clock) -> None:
    """Disable the endpoints and notifiers of a key. Repeat it after an interruption."""
    if found.endpoints:
        hooks = hook_service(service.found, clock)
        for endpoint in found.endpoints:
            accepted(hooks.change(endpoint, HookDraft(disabled=True), by=service.by))
    office = office_of(service, clock)
    for notifier in found.notifiers:
        done(office.notifiers.switch(notifier, disabled=True, by=service.by))


def _acts(journal: Journal, owner: str, key_id: str) -> dict[str, dict[str, None]]:
    """Return by action what a key did it to."""
    acts: dict[str, dict[str, None]] = {}
    for space in namespaces_of(owner):
        for entry in entries(journal, space, PAGE, actor=key_id):
            acts.setdefault(entry.kind, {})[_subject(entry)] = None
    return acts


def entries(journal: Journal, owner: str, size: int, *, actor: str) -> Iterator[Event]:
    """Yield the entries of one actor in one log, newest first. `size`: entries that are read at a time."""
    after = ""
    while True:
        page, after = journal.page(owner, actor=actor, after=after, limit=size)
        yield from page
        if not after:
            return


def _subject(entry: Event) -> str:
    """Return what an act was done to; of requests that were accepted, the hour."""
    return str(moment(entry.at)) if entry.kind in HOURLY else entry.id


def _subjects(acts: Mapping[str, Mapping[str, None]], wanted: frozenset[Act]) -> set[str]:
    return {subject for act in wanted for subject in acts.get(act.value, ())}
