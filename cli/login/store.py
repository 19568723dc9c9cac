"""The logins of this user: a file has their addresses, the system's keyring their keys.

Without a keyring the keys are in the file as well, which only this user can read.
"""

import json
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from cli.errors import Failed, Misused

SERVICE: Final = "posthaste"
"""The name under which the keyring has the keys; the user name of each is its address."""
OTHERS: Final = 0o077
"""The bits of a file's mode that let others read or change it."""


class Keyring(Protocol):
    """The system's store of secrets, as the package `keyring` reaches it."""

    def get_password(self, service: str, username: str) -> str | None:
        """Return a secret, None if there is none."""
        ...

    def set_password(self, service: str, username: str, password: str) -> None:
        """Store a secret.

        Args:
            service: the program that stores it.
        """
        ...

    def delete_password(self, service: str, username: str) -> None:
        """Delete a secret."""
        ...


@dataclass(frozen=True, slots=True)
class StoredLogin:
    """An API's address, without trailing slash, and its key.

    Attributes:
        in_keyring: whether the system's keyring has the key; the file has it otherwise.
    """

    url: str
    key: str = field(repr=False)
    in_keyring: bool


def system_keyring() -> Keyring | None:
    """Return the system's keyring, None if this machine has none that protects what it stores."""
    import keyring  # noqa: PLC0415 - loads when a login is stored or used
    from keyring.errors import KeyringError  # noqa: PLC0415

    try:
        found = keyring.get_keyring()
        return found if keyring.core.recommended(found) else None
    except KeyringError:
        return None


def logins_of(environ: Mapping[str, str]) -> "StoredLogins":
    """Return the logins of the user whose environment this is."""
    home = environ.get("XDG_CONFIG_HOME") or (environ.get("HOME") and f"{environ['HOME']}/.config")
    return StoredLogins(Path(home) / "posthaste" / "logins.json" if home else None)


class StoredLogins:
    """The logins in a file; `file`: None if the user has no home, and so no logins.

    Every method raises Misused if others can read the file, or if it is none of ours.
    """

    def __init__(self, file: Path | None, keyring: Callable[[], Keyring | None] | None = None) -> None:
        self.file = file
        self._keyring = keyring or (lambda: system_keyring())  # noqa: PLW0108 - a test replaces it

    def urls(self) -> list[str]:
        """Return the addresses that have a login, the current one first."""
        known = self._read()
        current = known["current"]
        return sorted(known["logins"], key=lambda url: (url != current, url))

    def current(self) -> StoredLogin | None:
        """Return the login that was stored or used last, None if there is none."""
        found = self.urls()
        return self.find(found[0]) if found else None

    def find(self, url: str) -> StoredLogin | None:
        """Return the login of an address, None if there is none.

        Raises:
            Misused: the keyring no longer has the key.
        """
        entry = self._read()["logins"].get(url)
        if entry is None:
            return None
        key = entry.get("key")
        if key is not None:
            return StoredLogin(url, str(key), in_keyring=False)
        found = _asked(self._keyring(), url)
        if found is None:
            raise Misused(f"the keyring has no key of {url} any more: log in again with `posthaste login {url}`")
        return StoredLogin(url, found, in_keyring=True)

    def add(self, url: str, key: str, *, file_only: bool = False) -> StoredLogin:
        """Store a login and make it the current one.

        Args:
            url: the address, without trailing slash.
            file_only: do not use the keyring.
        """
        known = self._read()
        self._forget(url, known)
        stored = not file_only and _stored(self._keyring(), url, key)
        known["logins"][url] = {} if stored else {"key": key}
        known["current"] = url
        self._write(known)
        return StoredLogin(url, key, in_keyring=stored)

    def remove(self, url: str) -> bool:
        """Forget a login; return whether there was one. If it was the current one, the first of the rest is."""
        known = self._read()
        if url not in known["logins"]:
            return False
        self._forget(url, known)
        del known["logins"][url]
        if known["current"] == url:
            known["current"] = min(known["logins"], default="")
        self._write(known)
        return True

    def _forget(self, url: str, known: Mapping[str, Any]) -> None:
        """Delete an address's key from the keyring, if it is there."""
        entry = known["logins"].get(url)
        keyring = self._keyring() if entry is not None and "key" not in entry else None
        if keyring is None:
            return
        from keyring.errors import KeyringError, PasswordDeleteError  # noqa: PLC0415 - see above

        try:
            keyring.delete_password(SERVICE, url)
        except PasswordDeleteError:
            return  # somebody deleted it already
        except KeyringError:
            raise Failed("the system's keyring is locked: unlock it and repeat the command") from None

    def _read(self) -> dict[str, Any]:
        nothing: dict[str, Any] = {"current": "", "logins": {}}
        if self.file is None:
            return nothing
        try:
            facts = self.file.stat()
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return nothing  # a folder that this user may not enter is another user's
        except OSError:
            raise Misused(f"cannot look for logins in {self.file}: check HOME and XDG_CONFIG_HOME") from None
        try:
            if facts.st_uid != os.getuid() or facts.st_mode & OTHERS:
                raise Misused(f"others can read or change {self.file}: run `chmod 600 {self.file}`, or delete it")
            found = json.loads(self.file.read_text(encoding="utf-8"))
            return {"current": str(found["current"]), "logins": {str(k): dict(v) for k, v in found["logins"].items()}}
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            raise Misused(f"cannot read the logins in {self.file}: delete the file and log in again") from None

    def _write(self, known: Mapping[str, Any]) -> None:
        if self.file is None:
            raise Misused("there is no place for a login: set HOME, or POSTHASTE_URL and POSTHASTE_API_KEY")
        try:
            self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.file.parent)  # of mode 0600
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    json.dump(known, file)
                Path(name).replace(self.file)
            except OSError:
                Path(name).unlink()  # it has keys
                raise
        except OSError as error:
            raise Failed(f"cannot write {self.file}: {error.strerror}") from None


def _asked(keyring: Keyring | None, url: str) -> str | None:
    """Return what the keyring has for an address; Failed if it is locked."""
    if keyring is None:
        return None
    from keyring.errors import KeyringError  # noqa: PLC0415 - see above

    try:
        return keyring.get_password(SERVICE, url)
    except KeyringError:
        raise Failed("the system's keyring is locked: unlock it, or set POSTHASTE_URL and POSTHASTE_API_KEY") from None


def _stored(keyring: Keyring | None, url: str, key: str) -> bool:
    """Store a key in the keyring; return whether it took it."""
    if keyring is None:
        return False
    from keyring.errors import KeyringError  # noqa: PLC0415 - see above

    try:
        keyring.set_password(SERVICE, url, key)
    except KeyringError:
        return False
    return True
