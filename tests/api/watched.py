"""Notes what a call of the API has written."""

from typing import Any


class Watched:
    """A low-level DynamoDB client that notes writes, except those of request buckets and of the last use of keys."""

    UNNOTED = ({"S": "BUCKET"}, {"S": "KEY"}, {"S": "SEEN"})
    READS = ("get_item", "batch_get_item", "query", "scan", "create_table")

    def __init__(self, client: Any) -> None:
        self._client = client
        self.meta = client.meta
        self.writes: list[str] = []

    def __getattr__(self, name: str) -> Any:
        operation = getattr(self._client, name)

        def noted(**kwargs: Any) -> Any:
            answer = operation(**kwargs)  # nothing is written if a condition does not hold
            if name not in self.READS and kwargs.get("Key", {}).get("sk") not in self.UNNOTED:
                self.writes.append(name)
            return answer

        return noted
