"""`posthaste login`, `logout` and `whoami`."""

import os
import sys
from typing import Annotated, Any, Final

import typer

from cli.client import ApiClient, installed_version, target_of
from cli.environment import Destination, KeyOrigin, check_address, is_sendable
from cli.errors import Misused, NotAuthorised
from cli.login.store import StoredLogin, StoredLogins, logins_of
from cli.output import Json, emit, say, surroundings, tell
from shared.domain.accounts import id_of_key, is_key_text, key_digest

MISSING_SCOPE: Final = "missing_scope"

Address = Annotated[str, typer.Argument(metavar="URL", help="The API's address; asked for if it is not given.")]


def login(
    ctx: typer.Context,
    url: Address = "",
    no_keyring: Annotated[
        bool, typer.Option("--no-keyring", help="Store the key in a file that only you can read.")
    ] = False,
    json: Json = False,
) -> None:
    """Store the address and the API key of a Posthaste, for all commands. The key is asked for, or read from stdin."""
    around = surroundings(ctx)
    if not url and not around.asks:
        raise Misused("name the API's address: posthaste login https://api.example.com")
    url = (url or str(typer.prompt("Address of the API", err=True))).strip().rstrip("/")
    check_address(url, "API key", name="the address")
    key = typer.prompt("API key", hide_input=True, err=True) if around.asks else sys.stdin.readline()
    key = str(key).strip()
    if not is_sendable(key) or not is_key_text(key):
        raise Misused("this is not an API key: one begins with ph_live_, ph_team_ or ph_test_, and is shown once")
    limited = _checked(ctx, Destination(url, key, KeyOrigin.LOGIN))
    logins = logins_of(os.environ)
    stored = logins.add(url, key, file_only=no_keyring)
    if json:
        emit({**_document(Destination(url, key, KeyOrigin.LOGIN)), "stored_in": _place(logins, stored, json=True)})
        return
    say(f"logged in to {url} with the {_mode(key)} key {_id(key)}; the key is in {_place(logins, stored)}")
    if limited:
        tell("the key does not have the scope `read`: commands that list or show things are refused")


def logout(
    url: Annotated[str, typer.Argument(metavar="URL", help="The API's address; the current login's by default.")] = "",
    every: Annotated[bool, typer.Option("--all", help="Forget all logins.")] = False,
    json: Json = False,
) -> None:
    """Forget the stored address and key. The key itself stays valid; an operator revokes it."""
    logins = logins_of(os.environ)
    known = logins.urls()
    chosen = known if every else [url.rstrip("/")] if url else known[:1]
    gone = [x for x in chosen if logins.remove(x)]
    if json:
        emit({"logged_out": gone})
        return
    for each in gone:
        say(f"logged out of {each}")
    if not gone:
        tell(f"there is no login for {url}" if url else "there is no login")
    elif current := logins.urls()[:1]:
        say(f"commands now use {current[0]}")


def whoami(ctx: typer.Context, json: Json = False) -> None:
    """Show which API and which key commands use, and check that the API takes the key."""
    target = target_of(ctx)
    _checked(ctx, target)
    if json:
        emit(_document(target))
        return
    say(f"{target.url} with the {_mode(target.key)} key {_id(target.key)}, from {target.origin}")
    others = [x for x in logins_of(os.environ).urls() if x != target.url]
    if others:
        say(f"other logins: {', '.join(others)}; use one with `posthaste --url URL …`")


def _checked(ctx: typer.Context, target: Destination) -> bool:
    """Check that the API takes a key; return whether the key may not read. Raises NotAuthorised if it is refused."""
    api = ApiClient(target, surroundings(ctx).clock, tell, installed_version())
    try:
        api.get("/jobs", {"limit": "1"})
    except NotAuthorised as error:
        if error.problem != MISSING_SCOPE:
            raise
        return True
    finally:
        api.close()
    return False


def _document(target: Destination) -> dict[str, Any]:
    return {
        "url": target.url,
        "key_id": _id(target.key),
        "mode": _mode(target.key),
        "origin": target.origin.name.lower(),
    }


def _place(logins: StoredLogins, stored: StoredLogin, *, json: bool = False) -> str:
    """Return where the key is, for people or as a word."""
    if json:
        return "keyring" if stored.in_keyring else "file"
    return "the system's keyring" if stored.in_keyring else f"{logins.file}, which only you can read"


def _id(key: str) -> str:
    return id_of_key(key_digest(key))


def _mode(key: str) -> str:
    """Return `live`, `team` or `test`, the second word of a key."""
    return key.split("_")[1]
