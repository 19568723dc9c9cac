"""Windows of events: those that are open, with counts and when they close, and those that became digests."""

from typing import Final, Protocol
from urllib.parse import urlencode

from functions.console import lists
from functions.console.call import ConsoleCall
from functions.console.listing import KEYS, Asked, Filters, ListFilter, ListRows, listed, states
from functions.console.pages.asking import Question, ask, done
from functions.console.screen import PageRoute, absent, redirect
from shared.domain.accounts import Scope
from shared.domain.digests.window import DigestWindow, WindowState
from shared.engine.intake.declined import Declined
from shared.web.http import Answer

FILTERS: Final[Filters[DigestWindow]] = (
    ListFilter("key", "Batch key"),
    states(tuple(WindowState), lambda x: x.state),
    KEYS,
)
SECTION: Final = "Digests"


class WindowChange(Protocol):
    """A change of a window, made in the name of `by`."""

    def __call__(self, namespace: str, window_id: str, *, by: str) -> DigestWindow | Declined:
        """Do it."""


def _digests(at: Asked) -> ListRows[DigestWindow]:
    """Return a page of windows, newest first."""
    pages, key = at.call.services.use_cases.digests().pages, at["key"]
    if key:
        return ListRows(*pages.of_key(at.space, key, after=at.place, limit=lists.PAGE))
    return ListRows(*pages.page(at.space, after=at.place, limit=lists.PAGE))


def ask_to_close(call: ConsoleCall) -> Answer:
    """Ask whether a digest is to be made now."""
    window = _named(call)
    return _ask(call, window, "Send this digest now?", "events become a digest at once. Later ones open a new window.")


def ask_to_cancel(call: ConsoleCall) -> Answer:
    """Ask whether no digest is to be made."""
    window = _named(call)
    return _ask(call, window, "Cancel this digest?", "events are in no digest. This cannot be undone.", danger=True)


def close(call: ConsoleCall) -> Answer:
    """Close a window now."""
    return _change(call, call.services.use_cases.digests().service.close)


def cancel(call: ConsoleCall) -> Answer:
    """Cancel an open window."""
    return _change(call, call.services.use_cases.digests().service.cancel)


def _ask(call: ConsoleCall, window: DigestWindow, title: str, what: str, *, danger: bool = False) -> Answer:
    label = "Cancel the digest" if danger else "Send now"
    keys = lists.kind_of_keys(call)
    fields = {"keys": keys}
    return ask(call, Question(SECTION, title, window.events, what, label, _list_of(call, keys), fields, danger=danger))


def _change(call: ConsoleCall, change: WindowChange) -> Answer:
    window = _named(call)
    done(change(window.namespace, window.id, by=call.actor))
    return redirect(f"{call.home}{_list_of(call, lists.kind_of_keys(call))}")


def _named(call: ConsoleCall) -> DigestWindow:
    """Return the window that the path names; Denial if there is none of these keys."""
    found = call.services.use_cases.digests().service.read(lists.space(call), call.path["window"])
    if isinstance(found, Declined):
        raise absent("digest")
    return found


def _list_of(call: ConsoleCall, keys: str) -> str:
    return f"{call.account}/digests?{urlencode({'keys': keys})}"


_PATH: Final = "/console/{account}/digests"
ROUTES: Final = (
    listed(_PATH, "digests", "digests/digests.html", FILTERS, _digests),
    PageRoute("GET", f"{_PATH}/{{window}}/close", "ask to close a window", ask_to_close, Scope.SEND),
    PageRoute("POST", f"{_PATH}/{{window}}/close", "close a window", close, Scope.SEND),
    PageRoute("GET", f"{_PATH}/{{window}}/cancel", "ask to cancel a window", ask_to_cancel, Scope.SEND),
    PageRoute("POST", f"{_PATH}/{{window}}/cancel", "cancel a window", cancel, Scope.SEND, ends=True),
)
