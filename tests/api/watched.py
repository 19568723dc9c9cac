"""Notes what a call of the API writes."""

from typing import Any


class Watched:
    """A low-level DynamoDB client that notes writes, but no request buckets, last uses of keys and lone audit entries.

    A lone entry notes which key posts in this hour, before its request is judged. What changes something writes its
    entry in its own transaction, which is noted.

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
            unnoted = kwargs.get("Key", {}).get("sk") in self.UNNOTED or _is_audited(kwargs.get("Item", {}))
            is_write = name not in self.READS and not unnoted
            if is_write:
                self.writes.append(name)
            answer = operation(**kwargs)
            if is_write:
                self.made.append(name)
            return answer

        return noted


def _is_audited(item: dict[str, Any]) -> bool:
    return str(item.get("pk", {}).get("S", "")).endswith("#AUDIT")
