"""Domains that their owners prove to be theirs by a DNS record, and what else their DNS says of mail.

The record names the account, so only the domain's owner grants anything: a stored claim is not enough.
Sources: RFC 7208 3 (SPF), RFC 6376 3.6.2.1 (DKIM), RFC 7489 6.1 and 6.6.3 (DMARC), RFC 8020 (names below a name).
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final

from shared.domain.namespaces import owner
from shared.frozen import dataclass

MAX_CLAIMS: Final = 50
"""Domains that an account may claim: each unproven one costs look-ups."""
_LABEL: Final = "_posthaste"


class CheckState(StrEnum):
    """Whether DNS has a record."""

    FOUND = "found"
    MISSING = "missing"
    WRONG = "wrong"
    """There is one, and receivers do not accept it."""
    UNKNOWN = "unknown"
    """DNS did not answer."""


@dataclass(frozen=True, slots=True)
class SenderClaim:
    """A domain that an account says is its own.

    Attributes:
        domain: lower-case ASCII.
        created_at: Unix milliseconds.
        proven_at: when its record was last found, Unix milliseconds; 0 for never. It is shown, and grants nothing.
    """

    domain: str
    created_at: int
    proven_at: int = 0


@dataclass(frozen=True, slots=True)
class DnsCheck:
    """A finding about the DNS of a domain.

    Attributes:
        name: `spf`, `dkim` or `dmarc`.
        state: what was found.
        found: the record, or empty.
        advice: what to do, or empty.
    """

    name: str
    state: CheckState
    found: str = ""
    advice: str = ""


def record_name(domain: str) -> str:
    """Return the name of the record by which a domain's owner lets accounts send."""
    return f"{_LABEL}.{domain}"


def record_value(account: str) -> str:
    """Return the text of that record which lets an account send; its team keys send as the account."""
    return f"posthaste-account={owner(account)}"


def proves(texts: Iterable[str], account: str) -> bool:
    """Tell whether the texts of a domain's record let an account send. Other accounts may have records beside it."""
    return any(text.strip() == record_value(account) for text in texts)


def spf(texts: Sequence[str]) -> DnsCheck:
    """Judge the texts of a domain."""
    found = [text for text in texts if text.lower() == "v=spf1" or text.lower().startswith("v=spf1 ")]
    if not found:
        advice = "Publish one TXT record of the domain that includes your provider: v=spf1 include:… ~all."
        return DnsCheck("spf", CheckState.MISSING, advice=advice)
    if len(found) > 1:
        return DnsCheck("spf", CheckState.WRONG, found[0], "There are several SPF records: join them into one.")
    return DnsCheck("spf", CheckState.FOUND, found[0])


def dkim(*, exists: bool) -> DnsCheck:
    """Judge whether there are keys below `_domainkey` of a domain; which of them signs only the provider says."""
    if exists:
        return DnsCheck("dkim", CheckState.FOUND)
    return DnsCheck("dkim", CheckState.MISSING, advice="Publish the records that your provider shows for DKIM.")


def dmarc_names(domain: str) -> list[str]:
    """Return where a domain's DMARC policy may be, the nearest first: at the domain, and at those above it."""
    labels = domain.split(".")
    return [f"_dmarc.{'.'.join(labels[n:])}" for n in range(max(1, len(labels) - 1))]


def dmarc(texts: Sequence[str], domain: str) -> DnsCheck:
    """Judge the texts of the nearest name that has any. `domain`: whose policy it is."""
    found = [text for text in texts if text.replace(" ", "").lower().startswith("v=dmarc1;")]
    if not found:
        advice = f"Publish a TXT record at _dmarc.{domain}: v=DMARC1; p=none; rua=mailto:…"
        return DnsCheck("dmarc", CheckState.MISSING, advice=advice)
    if len(found) > 1:
        return DnsCheck("dmarc", CheckState.WRONG, found[0], "There are several DMARC records: keep one.")
    if "p=" not in found[0].replace(" ", "").lower():
        return DnsCheck("dmarc", CheckState.WRONG, found[0], "The record lacks a policy: p=none, quarantine or reject.")
    return DnsCheck("dmarc", CheckState.FOUND, found[0])


def unanswered(name: str) -> DnsCheck:
    """Return the check of a matter about which DNS did not answer."""
    return DnsCheck(name, CheckState.UNKNOWN, advice="DNS did not answer. Try again.")
