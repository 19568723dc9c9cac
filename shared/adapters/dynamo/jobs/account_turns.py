"""Turns of accounts' work, on DynamoDB: one item for the line of each kind."""

from collections.abc import Callable
from typing import Final

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import Dynamo, Item
from shared.adapters.dynamo.codec import n
from shared.adapters.dynamo.fields import Fields
from shared.adapters.dynamo.keys import Key
from shared.adapters.dynamo.versioned import Versioned
from shared.domain.lists import in_line
from shared.domain.lists.in_line import WaitingLine
from shared.domain.times import Millis
from shared.ports import Clock, Retriable, TurnKind

TRIES: Final = 10
"""Writes of others at the same time."""
KEPT_S: Final = 86_400
"""Seconds that a line is kept after its last write: longer than a piece of work takes."""
_FIELDS: Final = Fields(WaitingLine, always=("until", "version"))


class DynamoAccountTurns:
    """`ports.AccountTurns` over the table `records`.

    Args:
        records: the name of the table.
    """

    def __init__(self, dynamo: Dynamo, *, records: str, clock: Clock) -> None:
        self._db = dynamo
        self._table = records
        self._clock = clock

    def enter(self, account: str, kind: TurnKind, name: str, under_way: Callable[[str], bool]) -> str:
        return self._change(account, kind, lambda line, now: in_line.entered(line, name, now, under_way))

    def leave(self, account: str, kind: TurnKind, name: str) -> str:
        return self._change(account, kind, lambda line, now: in_line.left(line, name, now))

    def _change(
        self, account: str, kind: TurnKind, rule: Callable[[WaitingLine, Millis], tuple[WaitingLine, str]]
    ) -> str:
        """Change a line by a rule; return the piece that is to begin, or empty."""
        key = keys.turns(account, kind)
        lines = Versioned(self._db, self._table, lambda x: self._item(key, x), _line)
        for _ in range(TRIES):
            old = lines.get(key)
            line = old or WaitingLine()
            new, begins = rule(line, int(self._clock.now() * 1000))
            if new == line or lines.write(old, new):
                return begins
        raise Retriable("turns: busy")

    def _item(self, key: Key, x: WaitingLine) -> Item:
        return {**key, **_FIELDS.item(x), "ttl": n(int(self._clock.now()) + KEPT_S)}


def _line(item: Item) -> WaitingLine:
    return WaitingLine(**_FIELDS.read(item))
