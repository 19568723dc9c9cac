"""Texts that a page draws and seals in its form, so that the same form does a thing once, however often it is sent."""

import secrets
from typing import Final

from functions.console.call import ConsoleCall
from functions.console.screen import Denial
from shared.domain.times import Millis

OFFERED_MS: Final[Millis] = 3_600_000
"""Milliseconds for which a page that offers something can be used."""
SHOWN_MS: Final[Millis] = 600_000
"""Milliseconds for which the same form shows a key again."""
FIELD: Final = "offer"
STALE: Final = Denial(409, "This page is too old", "Nothing was changed. Open the page again.")


def drawn() -> str:
    """Return 256 random bits, as `accounts.new_key_text` takes them."""
    return secrets.token_urlsafe(32)


def offer(call: ConsoleCall, use: str, text: str) -> str:
    """Return a text, sealed for the visitor and a use."""
    return call.services.links.seal(use, f"{call.who.person.user.id} {call.services.now} {text}")


def offered(call: ConsoleCall, use: str) -> str:
    """Return the text that this visitor was offered for a use, of the field `offer` of a form.

    Raises:
        Denial: the form has none of theirs, or it is too old.
    """
    found = call.services.links.unseal(use, call.form.get(FIELD, ""))
    user, at, text = found.split(" ") if found else ("", "0", "")
    if user != call.who.person.user.id or call.services.now - int(at) > OFFERED_MS:
        raise STALE
    return text
