"""Has a function of its own do what operators press, and says in words of a page why it was refused."""

from collections.abc import Mapping
from typing import Any, Final

from functions.console.call import ConsoleCall
from functions.console.screen import Denial, absent
from shared.ports import Retriable
from shared.ports.people import Buttons

_REFUSED: Final = 400
_FAULT: Final = 500
_NOBODY: Final = 401


def may_press(call: ConsoleCall, *, key_admin: bool = False) -> bool:
    """Tell whether the visitor has buttons.

    Args:
        key_admin: those that change what lets somebody in.
    """
    user = call.who.person.user
    return call.services.buttons is not None and (user.key_admin if key_admin else user.operator)


def buttons_of(call: ConsoleCall) -> Buttons:
    """Return what does what operators press.

    Raises:
        Denial: the deployment has no buttons, so it has no page of them.
    """
    if call.services.buttons is None:
        raise absent("page")
    return call.services.buttons


def press(call: ConsoleCall, method: str, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Do something and return what the route of operators answers.

    Args:
        path: of the route, without its root.
        body: of a GET its query.

    Raises:
        Denial: it was refused.
        Retriable: it may have been done or not.
    """
    found = buttons_of(call).press(call.who.name, method, path, body)
    if found.status < _REFUSED:
        return found.body
    if found.status >= _FAULT:
        raise Retriable("buttons: fault")
    if found.status == _NOBODY:
        raise Denial(403, "Sign in once more", "Your session is over, or you are no operator any more.")
    errors = " ".join(str(x["message"]) for x in found.body.get("errors") or ())
    raise Denial(found.status, "Nothing was changed", errors or str(found.body.get("detail") or found.body["title"]))
