"""Notices: searched by their id or number, and the notifiers that upload them, with when each was last seen."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final
from uuid import UUID

from functions.console import lists
from functions.console.call import ConsoleCall
from functions.console.listing import KEYS, Asked, Filters, ListFilter, ListRows, answer
from functions.console.screen import PageRoute, absent
from shared.domain.namespaces import kind_of, namespaces_of, owner
from shared.domain.notices.notice import Notice, Phase
from shared.domain.notices.notifier import Contact, Notifier, is_name
from shared.domain.recipients.reader import RecipientFault, number_reader
from shared.frozen import dataclass
from shared.web.http import Answer

NOTIFIERS: Final = 20
"""Of a page; each needs a query of its own."""
SEARCHED: Final = 200
"""Notifiers of each kind of keys whose notices a search by id looks for."""
NEWEST: Final = 100
"""Notices to a number that are shown."""
CONDITIONS: Final = ("disabled", "in use", "never seen")
"""Of notifiers."""
MOST: Final = 1_000
"""Notices that wait, as far as they are counted."""


@dataclass(frozen=True, slots=True)
class NotifierRow:
    """A notifier.

    Attributes:
        contact: when it was last there.
        waiting: notices that wait, at most MOST.
    """

    notifier: Notifier
    contact: Contact
    waiting: int

    @property
    def condition(self) -> str:
        """In a word, which is also its badge."""
        if self.notifier.disabled:
            return CONDITIONS[0]
        return CONDITIONS[1] if self.contact.seen_at else CONDITIONS[2]


FILTERS: Final[Filters[NotifierRow]] = (
    ListFilter("search", "Id, or number with its country code"),
    ListFilter("state", "Notifiers", CONDITIONS, "in every state", lambda x: x.condition),
    replace(KEYS, label="Notifiers of keys"),
)


def notices(call: ConsoleCall) -> Answer:
    """Show the notices that are searched for, and a page of notifiers; or a page of what waits of one notifier."""
    named = lists.typed(call, "waiting")
    if named:
        return _waiting(call, named)
    return answer(call, "notices/notices.html", FILTERS, _notifiers)


def _waiting(call: ConsoleCall, name: str) -> Answer:
    """Show a page of the notices of a notifier that wait, the next due first."""
    room = call.services.use_cases.notices()
    found = room.notifiers.get(name) if is_name(name) else None
    if found is None or owner(found.account) != call.account:
        raise absent("notifier")
    names, after = room.waiting.page(name, after=lists.place(call), limit=lists.PAGE)
    context = {
        "notifier": found,
        "keys": kind_of(found.account, test=found.test).value,
        "rows": _read(call, names),
        "paging": lists.paging(call, after, {"waiting": name}),
    }
    return call.services.pages.page(call, "notices/waiting.html", context)


def notice(call: ConsoleCall) -> Answer:
    """Show one notice with its runs."""
    found = _read(call, [call.path["notice"]]) if _is_uuid(call.path["notice"]) else []
    if not found:
        raise absent("notice")
    context = {"notice": found[0], "waits": found[0].phase is Phase.WAITING}
    return call.services.pages.page(call, "notices/notice.html", context)


def _found(call: ConsoleCall, typed: str) -> Sequence[Notice]:
    """Return the notices of an id, or the newest to a number."""
    number = number_reader()(typed)
    if typed.startswith("+") and not isinstance(number, RecipientFault):
        room = call.services.use_cases.notices()
        every = (room.notices.of_number(account, number[1]) for account in _owners(call))
        return _read(call, [name for names in every for name in islice(names, NEWEST)])[:NEWEST]
    return _read(call, [x.notice_id(typed) for x in _every_notifier(call)])


def _owners(call: ConsoleCall) -> Sequence[str]:
    """Return the accounts under which notices are kept: the account's and its team keys'."""
    return sorted({space.partition("#")[0] for space in namespaces_of(call.account)})


def _every_notifier(call: ConsoleCall) -> Iterable[Notifier]:
    store = call.services.use_cases.notices().notifiers
    for space in namespaces_of(call.account):
        yield from store.page(space, after="", limit=SEARCHED)[0]


def _read(call: ConsoleCall, names: Sequence[str]) -> list[Notice]:
    """Return those of some notices that are there and the account's, in their order."""
    found = call.services.use_cases.notices().notices.read(names) if names else {}
    there = (found[name] for name in names if name in found)
    return [x for x in there if owner(x.account) == call.account and not x.gone(call.services.now)]


def _notifiers(at: Asked) -> ListRows[NotifierRow]:
    """Return a page of notifiers, newest first, and the notices that are searched for."""
    services, room = at.call.services, at.call.services.use_cases.notices()
    found, after = room.notifiers.page(at.space, after=at.place, limit=NOTIFIERS)
    contacts = room.notifiers.contacts([x.name for x in found])
    counts = services.reads.map(lambda x: room.waiting.count(x.name, MOST), found)
    rows = [NotifierRow(x, contacts.get(x.name, Contact()), n) for x, n in zip(found, counts, strict=True)]
    notices = _found(at.call, at["search"]) if at["search"] else []
    bare = not (at["state"] or at.place or after)
    return ListRows(rows, after, bare=bare, more={"found": notices, "newest": NEWEST, "most": MOST})


def _is_uuid(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False


ROUTES: Final = (
    PageRoute("GET", "/console/{account}/notices", "notices", notices),
    PageRoute("GET", "/console/{account}/notices/{notice}", "notice", notice),
)
