"""Where identities and the audit log are kept: in tables of their own, and before an upgrade in `records`.

No function may write identities or change the audit log (docs/adr/0080). A stage that is older than these tables has
its items in `records`; `places` reads them there.
"""

from collections.abc import Sequence
from typing import Final

from shared.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Homes:
    """The names of the tables. Empty: `records`, as before there were other tables.

    Attributes:
        identities: the table of accounts, API keys and senders.
        audit: the table of the audit log.
        both: whether entries of the audit log are also written to `records`. Only the operators' function does so: the
            version before this one needs the entries after a rollback.
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
"""Everything is in `records`, as before there were other tables."""
