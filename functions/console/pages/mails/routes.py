"""Mails that were handed over finished: the queue of their destinations, which can be dropped or hurried."""

from typing import Final

from functions.console import lists
from functions.console.call import ConsoleCall
from functions.console.listing import KEYS, Asked, Filters, ListRows, listed, shown, states
from functions.console.pages.asking import Question, ask
from functions.console.screen import Denial, PageRoute, absent, leave_for
from shared.domain.accounts import Scope
from shared.domain.ids import is_id
from shared.domain.mails.destination import DestinationState, MailDestination
from shared.domain.mails.mail import MailState, StoredMail
from shared.domain.namespaces import namespaces_of
from shared.domain.recipients.addresses import Address, parse
from shared.engine.mails.moves import InFlight
from shared.web.http import Answer

MAILS: Final[Filters[StoredMail]] = (states(tuple(MailState), lambda x: x.state), KEYS)
DESTINATIONS: Final[Filters[MailDestination]] = (states(tuple(DestinationState), lambda x: x.state),)
SECTION: Final = "Mails"
IN_FLIGHT: Final = Denial(
    409, "This is no longer possible", "The destination is being sent, or has ended. Look at the mail again."
)


def _mails(at: Asked) -> ListRows[StoredMail]:
    """Return a page of mails, newest first."""
    return ListRows(*at.call.services.use_cases.mails().mails.page(at.space, after=at.place, limit=lists.PAGE))


def mail(call: ConsoleCall) -> Answer:
    """Show a mail with a page of its destinations."""
    found = _named(call)
    context = shown(call, DESTINATIONS, lambda at: _destinations(at, found))
    return call.services.pages.page(call, "mails/mail.html", {"mail": found, **context})


def _destinations(at: Asked, mail: StoredMail) -> ListRows[MailDestination]:
    first, services = lists.numbered(at.call), at.call.services
    rows = services.use_cases.mails().moves.show(mail, first, lists.PAGE, each=services.reads.map)
    after = str(first + lists.PAGE) if first + lists.PAGE < len(mail.hosts) and mail.job else ""
    return ListRows(rows, after, bare=not at["state"])


def ask_to_drop(call: ConsoleCall) -> Answer:
    """Ask whether a destination is never to be sent to."""
    found, typed = _named(call), lists.typed(call, "address")
    _key(typed)
    what = f"destination, {typed}, is never sent to, if it still waits. Its sender gets no notification."
    back = f"{call.account}/mails/{found.id}"
    return ask(call, Question(SECTION, f"Drop {typed}?", 1, what, "Drop", back, {"address": typed}))


def ask_to_hurry(call: ConsoleCall) -> Answer:
    """Ask whether a destination that waits is tried now."""
    found, typed = _named(call), lists.typed(call, "address")
    _key(typed)
    what = f"destination, {typed}, gets the mail at once, if it still waits. This cannot be undone."
    back = f"{call.account}/mails/{found.id}"
    question = Question(SECTION, f"Try {typed} now?", 1, what, "Try now", back, {"address": typed}, danger=False)
    return ask(call, question)


def drop(call: ConsoleCall) -> Answer:
    """Take a destination out that waits."""
    found, key = _named(call), _key(call.form.get("address", ""))
    return _moved(call, found, call.services.use_cases.mails().moves.drop(found, key, by=call.actor))


def hurry(call: ConsoleCall) -> Answer:
    """Have a destination that waits tried now."""
    found, key = _named(call), _key(call.form.get("address", ""))
    moves, by = call.services.use_cases.mails().moves, call.actor
    return _moved(call, found, moves.reschedule(found, key, call.services.now, by=by))


def _moved(call: ConsoleCall, found: StoredMail, moved: MailDestination | InFlight | None) -> Answer:
    """Show a mail whose destination was moved.

    Args:
        moved: its destination; None: it has no such.
    """
    if moved is None:
        raise absent("destination")
    if isinstance(moved, InFlight):
        raise IN_FLIGHT
    return leave_for(call, f"mails/{found.id}")


def _named(call: ConsoleCall) -> StoredMail:
    """Return the mail that the path names; Denial if there is none, or it is another account's."""
    name = call.path["mail"]
    found = call.services.use_cases.mails().mails.get(name) if is_id(name) else None
    if found is None or found.namespace not in namespaces_of(call.account) or found.ttl * 1000 <= call.services.now:
        raise absent("mail")
    return found


def _key(typed: str) -> str:
    found = parse(typed)
    if not isinstance(found, Address):
        raise absent("destination")
    return found.key


_MAIL: Final = "/console/{account}/mails/{mail}"
ROUTES: Final = (
    listed("/console/{account}/mails", "mails", "mails/mails.html", MAILS, _mails),
    PageRoute("GET", _MAIL, "mail", mail),
    PageRoute("GET", f"{_MAIL}/drop", "ask to drop a destination", ask_to_drop, Scope.SEND),
    PageRoute("POST", f"{_MAIL}/drop", "drop a destination", drop, Scope.SEND, ends=True),
    PageRoute("GET", f"{_MAIL}/hurry", "ask to hurry a destination", ask_to_hurry, Scope.SEND),
    PageRoute("POST", f"{_MAIL}/hurry", "hurry a destination", hurry, Scope.SEND),
)
