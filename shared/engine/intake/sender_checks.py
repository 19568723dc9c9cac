"""Checks of a domain's DNS for mail: SPF, DKIM and DMARC, with what is missing."""

from collections.abc import Callable, Iterable, Sequence

from shared.domain import senders as rules
from shared.domain.senders import DnsCheck
from shared.ports import Dns, DnsUnanswered

Inspection = Callable[[], DnsCheck]
Each = Callable[[Callable[[tuple[str, Inspection]], DnsCheck], Sequence[tuple[str, Inspection]]], Iterable[DnsCheck]]
"""Calls a function for each of some things, in turn or side by side, and returns the results in order."""


def sender_checks(dns: Dns, domain: str, *, each: Each = map) -> list[DnsCheck]:
    """Return the checks of a domain. A look-up that is not answered is a check that says so.

    Args:
        domain: lower-case ASCII.
        each: makes the checks, in turn or side by side.
    """

    def dmarc() -> DnsCheck:
        texts = (dns.texts(name) for name in rules.dmarc_names(domain))
        return rules.dmarc(next((found for found in texts if found), []), domain)

    looks: list[tuple[str, Inspection]] = [
        ("spf", lambda: rules.spf(dns.texts(domain))),
        ("dkim", lambda: rules.dkim(exists=dns.exists(f"_domainkey.{domain}"))),
        ("dmarc", dmarc),
    ]
    return list(each(_answered, looks))


def _answered(named: tuple[str, Inspection]) -> DnsCheck:
    name, look = named
    try:
        return look()
    except DnsUnanswered:
        return rules.unanswered(name)
