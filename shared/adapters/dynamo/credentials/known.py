"""Which credentials were ever declared: jobs may still wait for one that is no longer declared."""

from collections.abc import Iterable, Iterator, Sequence

from shared.adapters.dynamo import indices, keys
from shared.adapters.dynamo.client import Dynamo
from shared.domain.jobs.job import SHARDS


class KnownCredentials:
    """A set in the table `ops` that only grows."""

    def __init__(self, db: Dynamo, table: str) -> None:
        self._db = db
        self._table = table

    def note(self, declared: Iterable[str]) -> list[str]:
        """Add the credentials that are declared, at least one; returns all that ever were.

        Noting them again changes nothing.
        """
        answer = self._db.call(
            "update_item",
            TableName=self._table,
            Key=keys.roster(),
            UpdateExpression="ADD ids :ids",
            ExpressionAttributeValues={":ids": {"SS": sorted(set(declared))}},
            ReturnValues="ALL_NEW",
        )
        return sorted(answer["Attributes"]["ids"]["SS"])


class OpenSlots:
    """Every partition of the index `open` that has jobs; the first walk reads which these are.

    Jobs of campaigns are under their credential, even when it is no longer declared.
    """

    def __init__(self, roster: KnownCredentials, declared: Sequence[str]) -> None:
        self._roster = roster
        self._declared = declared
        self._known: list[str] = []

    def __iter__(self) -> Iterator[str]:
        if not self._known:
            owners = self._roster.note(self._declared)
            slots = [indices.open_slot(c, 0, running=r) for c in owners for r in (False, True)]
            slots += [indices.open_slot(None, shard, running=r) for shard in range(SHARDS) for r in (False, True)]
            self._known = slots
        return iter(self._known)

    def serving(self, credential: str) -> list[str]:
        """Return those in which jobs may wait for a credential; all for an empty name."""
        return [slot for slot in self if indices.waits_for(slot, credential)]
