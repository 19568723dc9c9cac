"""The traces of an API key in the audit log; and how the endpoints and notifiers that still serve it are disabled."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from functions.operate.declined import accepted
from functions.operate.services import OperateServices
from shared.domain.audit import HOURLY, Act, Event
from shared.domain.hooks.draft import HookDraft
from shared.domain.hooks.endpoint import Endpoint
from shared.domain.namespaces import namespaces_of
from shared.domain.notices.notifier import Notifier
from shared.frozen import dataclass

PAGE: Final = 1000
READ_SECONDS: Final = 15
"""For so long logs are read for one answer: API Gateway gives up after 30 seconds."""
HOOKS: Final = frozenset({Act.HOOK_CREATED, Act.HOOK_CHANGED, Act.HOOK_ROTATED, Act.HOOK_ENABLED})
NOTIFIERS: Final = frozenset({Act.NOTIFIER_CREATED, Act.NOTIFIER_CHANGED, Act.NOTIFIER_ROTATED, Act.NOTIFIER_ENABLED})
"""After one of these acts, the key's holder may know an endpoint's secret or address, or a notifier's password."""


@dataclass(frozen=True, slots=True)
class KeyTrail:
    """What a key has done.

    Attributes:
        acts: action → what it was done to, the latest first; of requests that were accepted, the hours.
        endpoints: those that it has made or changed, and that are not disabled.
        notifiers: likewise.
        place: where the logs are read on; empty: all is read.
    """

    acts: Mapping[str, list[str]]
    endpoints: list[Endpoint]
    notifiers: list[Notifier]
    place: str


def traces_of(services: OperateServices, owner: str, key_id: str, place: str = "") -> KeyTrail:
    """Return what a key has done, as far back as the account's audit logs go, or as can be read in `READ_SECONDS`.

    Args:
        place: of the traces before; empty: from the newest entries on.
    """
    acts, following = _acts(services, owner, key_id, place)
    touched, named = _subjects(acts, HOOKS), _subjects(acts, NOTIFIERS)
    spaces = namespaces_of(owner) if touched else ()
    every = [x for space in spaces for x in services.hooking.service.every(space)]
    return KeyTrail(
        {act: list(subjects) for act, subjects in sorted(acts.items())},
        [x for x in every if x.id in touched and not x.disabled_at],
        list(_enabled(services, sorted(named))),
        following,
    )


def disable(services: OperateServices, found: KeyTrail, *, by: str) -> None:
    """Disable the endpoints and notifiers of a key. Repeat it after an interruption. `by`: the operator."""
    for endpoint in found.endpoints:
        accepted(services.hooking.service.change(endpoint, HookDraft(disabled=True), by=by))
    for notifier in found.notifiers:
        accepted(services.notifier_service.switch(notifier, disabled=True, by=by))


def _enabled(services: OperateServices, names: Iterable[str]) -> Iterator[Notifier]:
    for name in names:
        found = services.notifiers.get(name)
        if found is not None and not found.disabled and not found.deleted:
            yield found


def _acts(services: OperateServices, owner: str, key_id: str, place: str) -> tuple[dict[str, dict[str, None]], str]:
    """Return by action what a key did it to, and where to read on. A place is the number of a log and a place in it."""
    acts: dict[str, dict[str, None]] = {}
    begin, _, after = place.partition(":")
    until = services.clock.now() + READ_SECONDS
    for number, space in list(enumerate(namespaces_of(owner)))[int(begin or 0) :]:
        more = True
        while more:
            page, after = services.journal.page(space, actor=key_id, after=after, limit=PAGE)
            for entry in page:
                acts.setdefault(entry.kind, {})[_subject(entry)] = None
            more = bool(after)
            if more and services.clock.now() >= until:
                return acts, f"{number}:{after}"
    return acts, ""


def _subject(entry: Event) -> str:
    """Return what an act was done to; of requests that were accepted, the hour."""
    if entry.kind not in HOURLY:
        return entry.id
    return datetime.fromtimestamp(entry.at / 1000, UTC).isoformat().replace("+00:00", "Z")


def _subjects(acts: Mapping[str, Mapping[str, None]], wanted: frozenset[Act]) -> set[str]:
    return {subject for act in wanted for subject in acts.get(act.value, ())}
