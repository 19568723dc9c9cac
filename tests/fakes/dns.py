"""DNS in memory."""

from collections.abc import Sequence

from shared.ports import DnsUnanswered


class FakeDns:
    """`ports.Dns` in memory.

    Attributes:
        records: name → its TXT records.
        down: no look-up is answered.
        asked: the names that were looked up.
    """

    def __init__(self) -> None:
        self.records: dict[str, list[str]] = {}
        self.down = False
        self.asked: list[str] = []

    def texts(self, name: str) -> Sequence[str]:
        self._ask(name)
        return self.records.get(name, [])

    def exists(self, name: str) -> bool:
        self._ask(name)
        return any(x == name or x.endswith(f".{name}") for x in self.records)

    def _ask(self, name: str) -> None:
        self.asked.append(name)
        if self.down:
            raise DnsUnanswered("down")
