"""Where commands find their settings: the environment, else the local cloud's `.local/env`.

Settings that belong together are taken together: an address from one place is never joined with AWS keys from the
other, so that no command reaches another deployment than its user means, and no live key goes to a strange address.
"""

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from cli.errors import Misused
from infra.local.paths import ENV_LOCAL, read_env

URL: Final = "POSTHASTE_URL"
API_KEY: Final = "POSTHASTE_API_KEY"
AWS_ENDPOINT: Final = "AWS_ENDPOINT_URL"


@dataclass(frozen=True, slots=True)
class LocalCloud:
    """The `env` file of a local cloud, and what is in it."""

    file: Path
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Target:
    """An HTTP API: base address without trailing slash, and the API key, which is never shown."""

    url: str
    key: str = field(repr=False)


def local_cloud(environ: Mapping[str, str] | None = None, folder: Path | None = None) -> LocalCloud | None:
    """Return the local cloud's settings, None if there are none.

    They stand in the folder that POSTHASTE_LOCAL names, else in `.local` of the current folder or the nearest folder
    above that has one. A file that belongs to somebody else is passed over: it could name any address.
    """
    environ = os.environ if environ is None else environ
    start = folder or Path.cwd()
    named = environ.get(ENV_LOCAL)
    candidates = [start / named / "env"] if named else [f / ".local" / "env" for f in (start, *start.parents)]
    for file in candidates:
        try:
            if file.is_file() and file.stat().st_uid == os.getuid():
                return LocalCloud(file, read_env(file))
        except (OSError, UnicodeDecodeError):
            continue
    return None


def api_target(environ: Mapping[str, str] | None = None, folder: Path | None = None) -> Target:
    """Return the API to talk to.

    Raises:
        Misused: address or key is missing, or the key would travel in plain text.
    """
    environ = os.environ if environ is None else environ
    local = local_cloud(environ, folder)
    values: Mapping[str, str] = local.values if local else {}
    url = (environ.get(URL) or values.get(URL, "")).rstrip("/")
    if not url:
        raise Misused(f"no API address: set {URL}, or start a local cloud with `posthaste local up`")
    key = environ.get(API_KEY, "")
    if not key and url == values.get(URL, "").rstrip("/"):
        key = values.get(API_KEY, "")
    if not key:
        raise Misused(f"no API key for {url}: set {API_KEY}; an operator makes one with `posthaste key create ACCOUNT`")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise Misused(f"{API_KEY} is not an API key: it holds blanks or characters that no key has")
    _check(url)
    return Target(url, key)


def _check(url: str) -> None:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        host, parts = "", urlsplit("")
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment or parts.username is not None:
        raise Misused(f"{URL} must look like https://api.example.com")
    if parts.scheme == "http" and not is_loopback(host):
        raise Misused(f"{URL} would send the API key unencrypted: use https://")


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
