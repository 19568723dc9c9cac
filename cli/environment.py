"""Where commands find their settings: the option, the environment, the user's login, the local cloud's `.local/env`.

Settings that belong together are taken together: an address from one place is never joined with keys from the other. So
no command reaches another deployment than its user means, and no live key is sent to a strange address. Another
person may have put the file into this folder, so it names only addresses of this machine.
"""

import ipaddress
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from cli.errors import Misused
from cli.login.store import logins_of
from infra.local.paths import ENV_LOCAL, read_env

URL: Final = "POSTHASTE_URL"
API_KEY: Final = "POSTHASTE_API_KEY"
NOTIFIER: Final = "POSTHASTE_NOTIFIER"
NOTIFIER_PASSWORD: Final = "POSTHASTE_NOTIFIER_PASSWORD"  # noqa: S105 - the name of a setting
LOCAL: Final = "local"
"""In place of an address: the local cloud's."""
AWS_ENDPOINT: Final = "AWS_ENDPOINT_URL"


@dataclass(frozen=True, slots=True)
class LocalCloud:
    """The `env` file of a local cloud, and what is in it."""

    file: Path
    values: Mapping[str, str]

    def keeps(self, name: str) -> bool:
        """Check whether it has a setting for which the environment has no other value."""
        its = self.values.get(name)
        return bool(its) and os.environ.get(name) in (None, "", its)


class KeyOrigin(StrEnum):
    """Where the address and the key of an API come from."""

    ENVIRONMENT = "the environment"
    LOGIN = "the login"
    LOCAL = "the local cloud"


@dataclass(frozen=True, slots=True)
class Destination:
    """An HTTP API: base address without trailing slash, and the API key, which is never shown."""

    url: str
    key: str = field(repr=False)
    origin: KeyOrigin = field(default=KeyOrigin.ENVIRONMENT, compare=False)


@dataclass(frozen=True, slots=True)
class HubLogin:
    """An HTTP API as a notifier calls it: base address without trailing slash, user name, and the unshown password."""

    url: str
    user: str
    password: str = field(repr=False)


def local_cloud(environ: Mapping[str, str] | None = None, folder: Path | None = None) -> LocalCloud | None:
    """Return the local cloud's settings, None if there are none.

    They are in the folder that POSTHASTE_LOCAL names, else in `.local` of the current folder or the nearest folder
    above that has one. A file that belongs to somebody else is passed over.

    Raises:
        Misused: it names an address that is not this machine's.
    """
    environ = os.environ if environ is None else environ
    start = folder or Path.cwd()
    named = environ.get(ENV_LOCAL)
    candidates = [start / named / "env"] if named else [f / ".local" / "env" for f in (start, *start.parents)]
    found = next((x for x in map(_settings_in, candidates) if x is not None), None)
    if found is not None:
        _check_is_here(found)
    return found


def _check_is_here(cloud: LocalCloud) -> None:
    """Refuse a file that names another machine's address."""
    for name, value in cloud.values.items():
        if ("_URL" in name or "://" in value) and not _is_here(value):
            raise Misused(f"{cloud.file}: {name} is not on this machine: no local cloud wrote this file. Remove it")


def api_target(environ: Mapping[str, str] | None = None, folder: Path | None = None, *, named: str = "") -> Destination:
    """Return the API to talk to: the one that the option names, else the environment's, the login's, the local cloud's.

    Args:
        environ: the settings; by default the environment.
        folder: where to look for a local cloud; by default the current folder.
        named: an address that the user chose for this command, or `local`; the address decides which key is used.

    Raises:
        Misused: address or key is missing, or the key would travel in plain text.
    """
    environ = os.environ if environ is None else environ
    found = _named(named, environ, folder) if named else _unnamed(environ, folder)
    if not found.key:
        advice = f"log in with `posthaste login {found.url}`, or set {API_KEY}"
        raise Misused(
            f"no API key for {found.url}: {advice}; an operator makes one with `posthaste key create ACCOUNT`"
        )
    if not is_sendable(found.key):
        raise Misused(f"{API_KEY} is not an API key: it contains spaces or characters that no key has")
    check_address(found.url, "API key")
    return found


def _named(named: str, environ: Mapping[str, str], folder: Path | None) -> Destination:
    """Return the API that the user names for one command, with the key that belongs to its address, if there is one."""
    if named == LOCAL:
        local = local_cloud(environ, folder)
        if local is None or not local.values.get(URL):
            raise Misused("there is no local cloud here: start it with `posthaste local up`")
        return Destination(local.values[URL].rstrip("/"), local.values.get(API_KEY, ""), KeyOrigin.LOCAL)
    url = named.rstrip("/")
    check_address(url, "API key", name="--url")
    if environ.get(API_KEY) and environ.get(URL, "").rstrip("/") == url:
        return Destination(url, environ[API_KEY])
    return _of_address(url, environ, folder)


def _unnamed(environ: Mapping[str, str], folder: Path | None) -> Destination:
    url, key = environ.get(URL, "").rstrip("/"), environ.get(API_KEY, "")
    if url and key:
        return Destination(url, key)
    if url:
        check_address(url, "API key")
        return _of_address(url, environ, folder)
    if not key and (login := logins_of(environ).current()):
        return Destination(login.url, login.key, KeyOrigin.LOGIN)
    return _local_target(key, local_cloud(environ, folder))


def _of_address(url: str, environ: Mapping[str, str], folder: Path | None) -> Destination:
    """Return an address with the key that was stored for it; without a key if there is none."""
    login = logins_of(environ).find(url)
    if login is not None:
        return Destination(url, login.key, KeyOrigin.LOGIN)
    local = local_cloud(environ, folder)
    here = local is not None and local.values.get(URL, "").rstrip("/") == url
    return Destination(url, local.values.get(API_KEY, ""), KeyOrigin.LOCAL) if local and here else Destination(url, "")


def notifier_login(
    environ: Mapping[str, str] | None = None, folder: Path | None = None, *, given: Mapping[str, str] | None = None
) -> HubLogin:
    """Return the API that a notifier calls, and how it logs in.

    Args:
        environ: the settings; by default the environment.
        given: settings that come before the environment's.
        folder: where to look for a local cloud; by default the current folder.

    Raises:
        Misused: address, user name or password is missing, or the password would travel in plain text.
    """
    environ = {**(os.environ if environ is None else environ), **(given or {})}
    names = (URL, NOTIFIER, NOTIFIER_PASSWORD)
    found = _values(names, environ, folder)
    missing = [name for name, value in zip(names, found, strict=True) if not value]
    if missing:
        raise Misused(f"set {URL}, {NOTIFIER} and {NOTIFIER_PASSWORD}: {' and '.join(missing)} missing")
    url, user, password = found
    if ":" in user or not _is_plain(user + password):
        raise Misused(f"{NOTIFIER} or {NOTIFIER_PASSWORD} holds characters that neither has")
    check_address(url.rstrip("/"), "password")
    return HubLogin(url.rstrip("/"), user, password)


def _values(names: Sequence[str], environ: Mapping[str, str], folder: Path | None) -> list[str]:
    """Return settings of the environment; if it has none of them, those of the local cloud."""
    found = [environ.get(name, "") for name in names]
    if not any(found) and (local := local_cloud(environ, folder)):
        return [local.values.get(name, "") for name in names]
    return found


def _is_plain(text: str) -> bool:
    """Tell whether a text is printable ASCII."""
    return text.isascii() and text.isprintable()


def is_sendable(key: str) -> bool:
    """Check whether a key can be a header: printable ASCII without spaces."""
    return _is_plain(key) and " " not in key


def _is_here(url: str) -> bool:
    """Tell whether an address is this machine's for every program that parses it."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return False
    plain = url.isascii() and url.isprintable() and not set(url) & set("\\ @")
    return plain and parts.scheme in ("http", "https") and is_loopback(host)


def check_address(url: str, secret: str, *, name: str = URL) -> None:
    """Refuse what is no API's address, and one to which a secret would travel in plain text.

    Args:
        secret: what the secret is called.
        name: what the address is called: the setting or the option that has it.

    Raises:
        Misused: the address is refused.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        host, parts = "", urlsplit("")
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment or parts.username is not None:
        raise Misused(f"{name} must look like https://api.example.com")
    if parts.scheme == "http" and not is_loopback(host):
        raise Misused(f"{name} would send the {secret} unencrypted: use https://")


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _local_target(key: str, local: LocalCloud | None) -> Destination:
    """Return the local cloud, for which the environment may have the key."""
    its = local.values if local else {}
    here = its.get(URL, "").rstrip("/")
    if here and key not in ("", its.get(API_KEY)):
        raise Misused(f"{API_KEY} is set, but not {URL}: it is not sent to the local cloud; set both, or neither")
    if not here:
        raise Misused(
            f"no API address: log in with `posthaste login`, set {URL}, "
            "or start a local cloud with `posthaste local up`"
        )
    return Destination(here, key or its.get(API_KEY, ""), KeyOrigin.LOCAL)


def _settings_in(file: Path) -> LocalCloud | None:
    """Return the settings in a file of ours; None if there are none that can be read."""
    try:
        return LocalCloud(file, read_env(file)) if file.is_file() and file.stat().st_uid == os.getuid() else None
    except (OSError, UnicodeDecodeError):
        return None
