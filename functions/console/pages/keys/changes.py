"""API keys are made, replaced, changed and revoked, by operators with the role of a key admin.

A key's text is drawn with the page that asks, and is sealed in its form. So a button that is pressed twice, or an
answer that is lost, leads to the same key, for some minutes. Only its hash leaves this function.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, TypeVar

from functions.console import lists
from functions.console.call import ConsoleCall
from functions.console.pages.asking import Question, ask
from functions.console.pages.offering import SHOWN_MS, drawn, offer, offered
from functions.console.pages.pressing import buttons_of, press
from functions.console.screen import Denial, PageRoute, absent, leave_for
from shared.domain.access.proofs import Proof
from shared.domain.accounts import ApiKey, Scope, key_digest, new_key_text
from shared.domain.namespaces import KeyKind
from shared.domain.times import DAY_MS, Millis
from shared.web.http import Answer

Choice = TypeVar("Choice", bound=StrEnum)
SECTION: Final = "Keys"
USE: Final = "posthaste key 1"
MAX_DAYS: Final = 3650
MAX_HOURS: Final = 8760
HOUR_MS: Final[Millis] = 3_600_000


def ask_to_create(call: ConsoleCall) -> Answer:
    """Ask what a new key is to be."""
    buttons_of(call)
    context = {
        "offer": offer(call, USE, drawn()),
        "kinds": [x.value for x in KeyKind],
        "scopes": [x.value for x in Scope],
        "proofs": [x.value for x in Proof],
        "most_days": call.services.settings.max_key_days,
    }
    return call.services.pages.page(call, "keys/new.html", context)


def create(call: ConsoleCall) -> Answer:
    """Make a key, and show its text; a repeated form changes nothing."""
    form = call.form
    kind, proof = _chosen(form, "kind", KeyKind), _chosen(form, "proof", Proof)
    signs = proof is Proof.SIGNATURE
    text = "" if signs else new_key_text(kind, offered(call, USE))
    body: dict[str, Any] = {
        "account": call.account,
        "kind": kind.value,
        "name": form.get("name", ""),
        "scopes": [x.value for x in Scope if form.get(f"scope {x.value}")] or None,
        "networks": _networks(form),
        "proof": proof.value,
        "public_key": form.get("public_key", "").strip() if signs else "",
        "digest": key_digest(text) if text else "",
    }
    days = _number(form, "days", MAX_DAYS)
    body |= {"expires": call.services.now + days * DAY_MS} if days else {}
    made = press(call, "POST", "/keys/create", body)
    return _shown(call, made, text)


def ask_to_rotate(call: ConsoleCall) -> Answer:
    """Ask for how long a key that is replaced still works."""
    context = {"key": _key(call), "offer": offer(call, USE, drawn())}
    return call.services.pages.page(call, "keys/rotate.html", context)


def rotate(call: ConsoleCall) -> Answer:
    """Replace a key, and show the new one's text; a repeated form changes nothing."""
    key = _key(call)
    text = new_key_text(key.kind, offered(call, USE))
    hours = _number(call.form, "hours", MAX_HOURS)
    body = {
        "account": call.account,
        "until": call.services.now + (hours or 0) * HOUR_MS,
        "digest": key_digest(text),
    }
    return _shown(call, press(call, "POST", f"/keys/{key.id}/rotate", body), text)


def ask_to_change(call: ConsoleCall) -> Answer:
    """Ask when a key is to end, and whence it may be used."""
    key = _key(call)
    context = {
        "key": key,
        "rotates": key.proof is not Proof.SIGNATURE and key.valid_at(call.services.now),
        "most_days": call.services.settings.max_key_days,
    }
    return call.services.pages.page(call, "keys/change.html", context)


def change(call: ConsoleCall) -> Answer:
    """Set when a key ends, and whence it may be used; what is as it was has no entry in the audit log."""
    key, form = _key(call), call.form
    networks, days = _networks(form), _number(form, "days", MAX_DAYS)
    if networks != list(key.networks):
        press(call, "POST", f"/keys/{key.id}/networks", {"account": call.account, "networks": networks})
    if days or form.get("never"):
        until = call.services.now + days * DAY_MS if days else 0
        press(call, "POST", f"/keys/{key.id}/expire", {"account": call.account, "until": until})
    return leave_for(call, "keys")


def ask_to_revoke(call: ConsoleCall) -> Answer:
    """Ask whether a key is to go."""
    key = _key(call)
    what = "It stops working within 30 seconds, for good. Jobs that it has made are sent all the same."
    title = f"Revoke the key {key.name or key.id}?"
    return ask(call, Question(SECTION, title, None, what, "Revoke", f"{call.account}/keys"))


def revoke(call: ConsoleCall) -> Answer:
    """Revoke a key; one that is gone is no error."""
    press(call, "POST", f"/keys/{call.path['key']}/revoke", {"account": call.account})
    return leave_for(call, "keys")


def _shown(call: ConsoleCall, answer: Mapping[str, Any], text: str) -> Answer:
    """Show the key of this form, within some minutes of its making."""
    made = answer["made"]
    fresh = call.services.now - made["created_at"] < SHOWN_MS
    mine = not text or key_digest(text).startswith(made["key_id"])
    context = {
        "made": made,
        "text": (text or answer["key"]) if fresh and mine else "",
        "secret": bool(text),
        "replaced": answer.get("replaces"),
    }
    return call.services.pages.page(call, "keys/made.html", context)


def _key(call: ConsoleCall) -> ApiKey:
    """Return the key of the account that the path names."""
    buttons_of(call)
    found = next((x for x in call.services.accounts.list_keys(call.account) if x.id == call.path["key"]), None)
    if found is None:
        raise absent("key")
    return found


def _chosen(form: Mapping[str, str], name: str, among: type[Choice]) -> Choice:
    """Return what a field is set to.

    Raises:
        Denial: to nothing that may be chosen.
    """
    text = form.get(name, "")
    if text not in set(among):
        raise Denial(422, "This cannot be chosen", f"Choose one of {', '.join(among)}.")
    return among(text)


def _networks(form: Mapping[str, str]) -> list[str]:
    return form.get("networks", "").replace(",", " ").split()


def _number(form: Mapping[str, str], name: str, most: int) -> int | None:
    """Return a whole number of a form; None: the field is empty.

    Raises:
        Denial: it is no number, or too large.
    """
    text = form.get(name, "").strip()
    if not text:
        return None
    found = lists.number(text, len(str(most)))
    if found is None or found > most:
        raise Denial(422, "This is no number of " + name, f"Type a whole number up to {most:,}, or nothing.")
    return found


_FOLDER: Final = "/console/{account}/keys"
ROUTES: Final = tuple(
    PageRoute(method, f"{_FOLDER}{path}", name, handler, operators=True, key_admins=True)
    for method, path, name, handler in (
        ("GET", "/new", "ask to create a key", ask_to_create),
        ("POST", "/new", "create a key", create),
        ("GET", "/{key}/rotate", "ask to rotate a key", ask_to_rotate),
        ("POST", "/{key}/rotate", "rotate a key", rotate),
        ("GET", "/{key}/change", "ask to change a key", ask_to_change),
        ("POST", "/{key}/change", "change a key", change),
        ("GET", "/{key}/revoke", "ask to revoke a key", ask_to_revoke),
        ("POST", "/{key}/revoke", "revoke a key", revoke),
    )
)
