"""Notes what a call of the API writes."""

from typing import Any


class Watched:
    """A low-level DynamoDB client that notes writes, except those of request buckets and of the last use of keys.

    Attributes:
        writes: all that were tried.
        made: those that succeeded: one whose condition does not hold stores nothing.
    """

    UNNOTED = ({"S": "BUCKET"}, {"S": "KEY"}, {"S": "SEEN"})
    READS = ("get_item", "batch_get_item", "query", "scan", "create_table")

    def __init__(self, client: Any) -> None:
        self._client = client
        self.meta = client.meta
        self.writes: list[str] = []
        self.made: list[str] = []

    def __getattr__(self, name: str) -> Any:
        operation = getattr(self._client, name)

        def noted(**kwargs: Any) -> Any:
            is_write = name not in self.READS and kwargs.get("Key", {}).get("sk") not in self.UNNOTED
            if is_write:
                self.writes.append(name)
            answer = operation(**kwargs)
            if is_write:
                self.made.append(name)
            return answer

        return noted
