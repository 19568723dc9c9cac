"""Networks that an API key may be used from, and the network that a request comes from.

An IPv4 address that is written as an IPv6 one (`::ffff:192.0.2.1`) is the IPv4 address: it is in no network of IPv6.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

MAX_NETWORKS: Final = 50
"""Networks of one key: they are read with it by each process."""
SHOWN: Final = {4: 24, 6: 48}
"""Version of IP → bits of an address that are kept of where a key was last used: a site, not a person's machine."""

_Network = IPv4Network | IPv6Network
_Address = IPv4Address | IPv6Address


def network_of(text: str) -> str:
    """Return a network as it is stored, as in `192.0.2.0/24`; a single address is a network of one.

    Raises:
        ValueError: it is no network, has bits behind its length, or contains every address.
    """
    try:
        found = ip_network(text.strip())
    except ValueError:
        raise ValueError(_unfit(text.strip())) from None
    if found.prefixlen == 0:
        raise ValueError("it contains every address: leave the networks out instead")
    if isinstance(found, IPv6Network) and found.network_address.ipv4_mapped is not None:
        raise ValueError("write an IPv4 network as 192.0.2.0/24")
    return str(found)


def _unfit(text: str) -> str:
    """Return what is wrong with a text that is no network."""
    try:
        meant = ip_network(text, strict=False)
    except ValueError:
        return "it is no network, such as 192.0.2.0/24, 2001:db8::/48 or 192.0.2.7"
    return f"it has bits behind its length: write {meant}, or a single address without a length"


def networks_of(texts: Iterable[str]) -> tuple[str, ...]:
    """Return networks as a key stores them: sorted, each once.

    Raises:
        ValueError: one is not valid, or there are more than `MAX_NETWORKS`.
    """
    found = tuple(sorted(map(network_of, texts)))
    if len(found) > MAX_NETWORKS:
        raise ValueError(f"a key has at most {MAX_NETWORKS} networks")
    return tuple(dict.fromkeys(found))


def allows(networks: Sequence[str], source: str) -> bool:
    """Tell whether a key with those networks may be used from an address; without networks it may from any.

    An address that cannot be read is in no network.
    """
    if not networks:
        return True
    address = _address(source)
    return address is not None and any(address in network for network in _parsed(tuple(networks)))


def site(source: str) -> str:
    """Return the network of an address as it is kept and shown: `/24`, or `/48` of IPv6; empty if it is no address."""
    address = _address(source)
    if address is None:
        return ""
    return str(ip_network(f"{address}/{SHOWN[address.version]}", strict=False))


@lru_cache(maxsize=1024)
def _parsed(networks: tuple[str, ...]) -> tuple[_Network, ...]:
    return tuple(map(ip_network, networks))


def _address(source: str) -> _Address | None:
    try:
        found = ip_address(source.strip())
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return mapped or found
