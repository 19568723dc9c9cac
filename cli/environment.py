"""Where commands find their settings: the environment, else the local cloud's `.local/env`.

Settings that belong together are taken together: an address from one place is never joined with keys from the other,
so that no command reaches another deployment than its user means, and no live key goes to a strange address. The file
may be anybody's who has put a folder here, so it names addresses of this machine alone.
"""

import ipaddress
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from cli.errors import Misused
from infra.local.paths import ENV_LOCAL, read_env

URL: Final = "POSTHASTE_URL"
API_KEY: Final = "POSTHASTE_API_KEY"
NOTIFIER: Final = "POSTHASTE_NOTIFIER"
NOTIFIER_PASSWORD: Final = "POSTHASTE_NOTIFIER_PASSWORD"  # noqa: S105 - the name of a setting
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


@dataclass(frozen=True, slots=True)
class Destination:
    """An HTTP API: base address without trailing slash, and the API key, which is never shown."""

    url: str
    key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class HubLogin:
    """An HTTP API as a notifier calls it: base address without trailing slash, user name, and the unshown password."""

    url: str
    user: str
    password: str = field(repr=False)


def local_cloud(environ: Mapping[str, str] | None = None, folder: Path | None = None) -> LocalCloud | None:
    """Return the local cloud's settings, None if there are none.

    They stand in the folder that POSTHASTE_LOCAL names, else in `.local` of the current folder or the nearest folder
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


def api_target(environ: Mapping[str, str] | None = None, folder: Path | None = None) -> Destination:
    """Return the API to talk to.

    Raises:
        Misused: address or key is missing, or the key would travel in plain text.
    """
    environ = os.environ if environ is None else environ
    url, key = environ.get(URL, "").rstrip("/"), environ.get(API_KEY, "")
    if not (url and key):
        url, key = _completed(url, key, local_cloud(environ, folder))
    if not key:
        raise Misused(f"no API key for {url}: set {API_KEY}; an operator makes one with `posthaste key create ACCOUNT`")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise Misused(f"{API_KEY} is not an API key: it contains spaces or characters that no key has")
    _check(url, "API key")
    return Destination(url, key)


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
    _check(url.rstrip("/"), "password")
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


def _is_here(url: str) -> bool:
    """Tell whether an address is this machine's, whoever reads it."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return False
    plain = url.isascii() and url.isprintable() and not set(url) & set("\\ @")
    return plain and parts.scheme in ("http", "https") and is_loopback(host)


def _check(url: str, secret: str) -> None:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        host, parts = "", urlsplit("")
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment or parts.username is not None:
        raise Misused(f"{URL} must look like https://api.example.com")
    if parts.scheme == "http" and not is_loopback(host):
        raise Misused(f"{URL} would send the {secret} unencrypted: use https://")


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _completed(url: str, key: str, local: LocalCloud | None) -> tuple[str, str]:
    """Return an address and a key, what is missing of them taken from the local cloud's settings."""
    its = local.values if local else {}
    here = its.get(URL, "").rstrip("/")
    if not url and here and key not in ("", its.get(API_KEY)):
        raise Misused(f"{API_KEY} is set, but not {URL}: it is not sent to the local cloud; set both, or neither")
    if not (url or here):
        raise Misused(f"no API address: set {URL}, or start a local cloud with `posthaste local up`")
    return (here, key or its.get(API_KEY, "")) if url in ("", here) else (url, key)


def _settings_in(file: Path) -> LocalCloud | None:
    """Return the settings in a file of ours; None if there are none that can be read."""
    try:
        return LocalCloud(file, read_env(file)) if file.is_file() and file.stat().st_uid == os.getuid() else None
    except (OSError, UnicodeDecodeError):
        return None
