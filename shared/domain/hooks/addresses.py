"""Which URLs and network addresses may be called on behalf of an account. Everything that is not allowed is refused.

The URL names a host by its DNS name only. So the resolver gets no spelling of an address (decimal, octal, hexadecimal,
shortened, IPv6 with an embedded IPv4 address). The address that it returns is checked in binary form.
"""

import re
from collections.abc import Iterable
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

from shared.frozen import dataclass

MAX_URL: Final = 2_000
"""Characters."""
PORTS: Final = (443, 8443)
LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")
"""Hosts that the local cloud may call by http."""
_MAX_NAME: Final = 253
_MAX_PORT: Final = 65_535
_URL: Final = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[0-9A-Fa-f:.]*\]|[^\[\]:/?#@\\]*)(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<target>(?:/[^?#\\]*)?(?:\?[^#\\]*)?)"
)
_PRINTABLE: Final = re.compile(r"[\x21-\x7e]+")
_LABEL: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_NUMERIC: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
"""A last label that URL parsers read as the end of an IPv4 address."""
_FORBIDDEN_V4: Final = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by the customers of a carrier
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link-local: metadata services
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)
_GLOBAL_V6: Final = IPv6Network("2000::/3")
_FORBIDDEN_V6: Final = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # protocol assignments, with Teredo and ORCHID
        "2001:db8::/32",  # documentation
        "3fff::/20",  # documentation
    )
)
_EMBEDDING: Final = (
    (IPv6Network("::ffff:0:0/96"), 0),  # IPv4-mapped
    (IPv6Network("64:ff9b::/96"), 0),  # NAT64
    (IPv6Network("2002::/16"), 80),  # 6to4
)
"""Networks whose addresses lead to an IPv4 address, and the number of bits that follow it."""
_ISATAP: Final = (0x00005EFE, 0x02005EFE)
"""Bits 64 to 95 of an address that leads to the IPv4 address in its last 32 bits."""


class UrlRefused(ValueError):
    """A URL that no hook may have. The message is a sentence for its owner."""


@dataclass(frozen=True, slots=True)
class HookPlace:
    """Where a URL leads.

    Attributes:
        host: DNS name in lower case, to resolve and to verify the certificate for; without brackets.
        port: of the server.
        tls: whether the connection is encrypted.
        target: path and query as the request names them.
        header: the value of `Host`.
    """

    host: str
    port: int
    tls: bool
    target: str
    header: str


def parse_url(url: str, *, local: bool) -> HookPlace:
    """Return where a hook's URL leads.

    Args:
        local: whether this is the local cloud, which may also call its own machine by http.

    Raises:
        UrlRefused: the URL is not allowed.
    """
    found = _read(url)
    host, tls = found["host"].lower(), found["scheme"] == "https"
    port = int(found["port"] or (443 if tls else 80))
    if not (local and not tls and host in LOOPBACK):
        _check_public(host, port, tls=tls)
    elif not 0 < port <= _MAX_PORT:
        raise UrlRefused("The URL has no valid port.")
    shown = host if port == (443 if tls else 80) else f"{host}:{port}"
    return HookPlace(host.strip("[]"), port, tls, "/" + found["target"].removeprefix("/"), shown)


def _read(url: str) -> re.Match[str]:
    """Return the parts of a URL that contains nothing but scheme, host, port, path and query."""
    if len(url) > MAX_URL:
        raise UrlRefused(f"The URL has more than {MAX_URL} characters.")
    if not _PRINTABLE.fullmatch(url):
        raise UrlRefused("The URL has characters outside printable ASCII. Write its host in the form `xn--…`.")
    if "@" in re.split(r"[/?#]", url.partition("://")[2], maxsplit=1)[0]:
        raise UrlRefused("The URL contains a user name. Remove everything before the `@`.")
    if "#" in url:
        raise UrlRefused("The URL contains a fragment. Remove everything from the `#` on.")
    found = _URL.fullmatch(_lower_scheme(url))
    if found is None:
        raise UrlRefused("The URL is not an absolute https URL.")
    return found


def check_url(url: str, *, local: bool) -> str:
    """Return why a hook may not have this URL, as a sentence; empty if it may.

    Args:
        local: whether this is the local cloud.
    """
    try:
        parse_url(url, local=local)
    except UrlRefused as refused:
        return str(refused)
    return ""


def _lower_scheme(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    return scheme.lower() + separator + rest


def _check_public(host: str, port: int, *, tls: bool) -> None:
    """Refuse what is not https to a DNS name with at least two labels on an allowed port."""
    if not tls:
        raise UrlRefused("The URL must begin with https://.")
    labels = host.split(".")
    if host.startswith("[") or _NUMERIC.fullmatch(labels[-1]):
        raise UrlRefused("The URL names its host by an address. Use a DNS name.")
    if len(labels) == 1 or len(host) > _MAX_NAME or not all(_LABEL.fullmatch(label) for label in labels):
        raise UrlRefused("The URL has no public DNS name as its host.")
    if port not in PORTS:
        raise UrlRefused("The port must be 443 or 8443.")


def may_call(address: str, *, local: bool = False) -> bool:
    """Whether a connection may be made to this address.

    Args:
        address: IPv4 or IPv6 in the form that a resolver returns; anything else is refused.
        local: whether loopback addresses are allowed.
    """
    try:
        v4 = IPv4Address(address)
    except AddressValueError:
        return _may_call_v6(address, local=local)
    return _may_call_v4(v4, local=local)


def may_call_all(addresses: Iterable[str], *, local: bool = False) -> bool:
    """Whether there are addresses, and connections may be made to every one of them.

    Args:
        addresses: all that a name resolves to.
        local: whether loopback addresses are allowed.
    """
    checked = [may_call(address, local=local) for address in addresses]
    return bool(checked) and all(checked)


def _may_call_v4(address: IPv4Address, *, local: bool) -> bool:
    if address.is_loopback:
        return local
    return not any(address in network for network in _FORBIDDEN_V4)


def _may_call_v6(text: str, *, local: bool) -> bool:
    try:
        address = IPv6Address(text)
    except AddressValueError:
        return False
    if address.scope_id is not None:
        return False
    if address == IPv6Address(1):
        return local
    for network, shift in _EMBEDDING:
        if address in network:
            return _may_call_v4(IPv4Address(int(address) >> shift & 0xFFFFFFFF), local=False)
    if address not in _GLOBAL_V6 or any(address in network for network in _FORBIDDEN_V6):
        return False
    if int(address) >> 32 & 0xFFFFFFFF in _ISATAP:
        return _may_call_v4(IPv4Address(int(address) & 0xFFFFFFFF), local=False)
    return True
