"""What an erasure has found and done."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum


class Erased(StrEnum):
    """What an erasure counts: things of a kind, and what is done to them."""

    RECIPIENTS = "recipients blanked"
    CONTENTS = "contents of single messages blanked"
    COPIES = "copies (cc, bcc) removed"
    SUPPRESSIONS = "suppressions hashed"
    UNSUBSCRIPTIONS = "unsubscriptions hashed"
    STOPS = "stops hashed"
    TEXTS = "texts removed"
    GUESTS = "guests removed"
    NOTICES = "notices blanked"
    RECORDS = "records of notifiers blanked"
    REFUSED = "refused rows blanked"
    DELIVERIES = "deliveries of webhooks blanked"
    EVENTS = "events blanked"
    ARCHIVED = "rows of archived files blanked"
    MAILS = "files of mails deleted"
    LISTS = "files of lists deleted"
    EXPORTS = "exports deleted"


@dataclass(slots=True)
class ErasureReport:
    """What was found, by kind, and what was done with it.

    Attributes:
        erased: how many, by `Erased`; of lists each once, however many files it has.
        accounts: of whom something was found.
        jobs: in which the person was a recipient or a copy.
        kept: what stays for now, and why: one sentence each.
    """

    erased: Counter[str] = field(default_factory=Counter)
    accounts: set[str] = field(default_factory=set)
    jobs: set[str] = field(default_factory=set)
    kept: list[str] = field(default_factory=list)
