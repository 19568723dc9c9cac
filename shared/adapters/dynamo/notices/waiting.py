"""Whether notices of a notifier wait: in its inbox, or for their next run."""

from itertools import islice
from typing import Final

from shared.adapters.dynamo.client import BATCH_READ, Dynamo
from shared.adapters.dynamo.codec import text
from shared.adapters.dynamo.notices import notice_keys as keys
from shared.adapters.dynamo.notices.notices import DynamoNotices

END_OF_TIME: Final = 10**15 - 2
"""Unix milliseconds, later than any notice is due."""


class DynamoWaiting:
    """`ports.WaitingNotices` over the table `records`."""

    def __init__(self, dynamo: Dynamo, *, records: str) -> None:
        self._db = dynamo
        self._table = records
        self._notices = DynamoNotices(dynamo, records=records)

    def any(self, notifier: str) -> bool:
        """Return whether a payload or a notice waits; walks the due notices of the notifier's shard."""
        inbox = self._db.get(self._table, keys.inbox(notifier))
        if inbox is not None and text(inbox, "open_pk"):
            return True
        due = iter(self._notices.due(keys.shard_of(notifier), END_OF_TIME))
        while some := list(islice(due, BATCH_READ)):
            if any(x.notifier == notifier for x in self._notices.read(some).values()):
                return True
        return False
