"""`ports.Dns` by dnspython, through the resolver of the machine or one that is named."""

from collections.abc import Sequence
from typing import Final

from dns.exception import DNSException
from dns.rdatatype import TXT
from dns.resolver import NXDOMAIN, NoAnswer, Resolver

from shared.ports import DnsUnanswered

PATIENCE: Final = 3.0
"""Seconds for a look-up as a whole."""


class DnsResolver:
    """Looks up names. `server`: `address:port` of a resolver; empty for that of the machine."""

    def __init__(self, server: str = "") -> None:
        self._resolver = Resolver(configure=not server)
        if server:
            address, _, port = server.rpartition(":")
            self._resolver.nameservers = [address]
            self._resolver.port = int(port)
        self._resolver.lifetime = PATIENCE

    def texts(self, name: str) -> Sequence[str]:
        try:
            found = self._resolver.resolve(f"{name}.", TXT, search=False)
        except (NXDOMAIN, NoAnswer):
            return []
        except DNSException as fault:
            raise DnsUnanswered(type(fault).__name__) from fault
        return [b"".join(x.strings).decode("utf-8", "replace") for x in found]

    def exists(self, name: str) -> bool:
        try:
            self._resolver.resolve(f"{name}.", TXT, search=False)
        except NoAnswer:
            return True  # RFC 8020: a name below it exists, or it has other records
        except NXDOMAIN:
            return False
        except DNSException as fault:
            raise DnsUnanswered(type(fault).__name__) from fault
        return True
