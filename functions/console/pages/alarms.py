"""Alarms that are raised, for operators; a page is shown without them if they cannot be read."""

from collections.abc import Sequence

from functions.console.call import ConsoleCall
from functions.console.use_cases import RaisedAlarm
from shared.ports import Retriable


def raised(call: ConsoleCall) -> Sequence[RaisedAlarm] | None:
    """Return the alarms that a visitor may see; None: they cannot be read just now."""
    if not call.who.person.user.operator:
        return ()
    try:
        return call.services.use_cases.alarms.read()
    except Retriable:
        return None
