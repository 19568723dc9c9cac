"""What an erasure has found and done."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class ErasureReport:
    """What was found, by kind, and what was done with it.

    Attributes:
        erased: recipients' rows, contents, copies, suppressions, unsubscriptions, files of lists and exports.
        accounts: of whom something was found.
        jobs: in which the person was a recipient or a copy.
        kept: what stays for now, and why: one sentence each.
    """

    erased: Counter[str] = field(default_factory=Counter)
    accounts: set[str] = field(default_factory=set)
    jobs: set[str] = field(default_factory=set)
    kept: list[str] = field(default_factory=list)
