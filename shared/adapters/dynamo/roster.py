"""Which credentials were ever declared: jobs may still wait for one that is declared no more."""

from collections.abc import Iterable

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import Dynamo


class Roster:
    """A set in the table `ops` that only grows.

    Args:
        db: the database.
        table: the name of the table `ops`.
    """

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
