"""The report of an erasure: findings and changes."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum


class Erased(StrEnum):
    """The counters of an erasure: a kind of thing, and the change that it gets."""

    RECIPIENTS = "recipients blanked"
    WORDS = "texts of providers removed"
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
    """The findings of an erasure.

    Attributes:
        erased: how many, by `Erased`; a list counts once, however many files it has.
        accounts: those that had data of the person.
        jobs: those in which the person was a recipient or got a copy.
        lists: uploaded ones whose files are deleted.
        kept: what stays for now, and why: one sentence each.
    """

    erased: Counter[str] = field(default_factory=Counter)
    accounts: set[str] = field(default_factory=set)
    jobs: set[str] = field(default_factory=set)
    lists: set[str] = field(default_factory=set)
    kept: list[str] = field(default_factory=list)
