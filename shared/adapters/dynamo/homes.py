"""Where identities and the audit log are kept: in tables of their own, and before an upgrade in `records`.

No function may write the one or change the other (docs/adr/0080). A stage that is older than these tables has its
items in `records`; `places` reads them there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Homes:
    """The tables. Empty: `records`, as before there were others.

    Attributes:
        identities: of accounts, API keys and senders.
        audit: of the audit log.
        both: whether entries of the audit log are written to `records`, too: by operators' tools alone, so that the
            version before this one has them after a rollback.
    """

    identities: str = ""
    audit: str = ""
    both: bool = False

    def audits(self, records: str) -> Sequence[str]:
        """Return the tables that get an entry of the audit log."""
        if not self.audit:
            return (records,)
        return (self.audit, records) if self.both else (self.audit,)


IN_RECORDS: Final = Homes()
"""As before there were other tables."""
