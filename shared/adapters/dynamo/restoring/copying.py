"""Copies a table's past into the table: several readers side by side, each item put only where there is none.

A run that dies is continued: each reader notes its place after each page, and a page that is put again changes nothing.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from threading import Lock
from typing import Any, Final

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import Dynamo, Item
from shared.adapters.dynamo.codec import n, s
from shared.adapters.dynamo.restoring.items import RUN, Past, is_listener, restored
from shared.domain.times import Seconds
from shared.frozen import dataclass

READERS: Final = 8
"""Parts of a copy that are read side by side; their number is part of the notes of how far each is."""
WRITERS: Final = 4
"""Items of a page that each reader puts side by side."""
PAGE: Final = 200
SETTLE: Final[Seconds] = 20.0
"""Between the last item and those that name endpoints: by then the stream has been read, for no endpoint."""
_NEW: Final = {"ConditionExpression": "attribute_not_exists(pk)"}


@dataclass(frozen=True, slots=True)
class Copied:
    """The figures of a copy. `kept`: items that were there: newer ones, and those of a run before."""

    read: int = 0
    put: int = 0
    kept: int = 0
    passed: int = 0

    def __add__(self, other: "Copied") -> "Copied":
        return Copied(self.read + other.read, self.put + other.put, self.kept + other.kept, self.passed + other.passed)


class Pools:
    """Threads that work side by side; in tests work is done in turn."""

    def __call__(self, workers: int) -> AbstractContextManager[Any]:
        return ThreadPoolExecutor(workers)


class Copying:
    """Copies one table.

    Args:
        source: the table that holds the past; `target`: the one that is restored.
        past: what is known of that past.
        mark: names the copy: notes of another copy are no notes of this one.
        shown: is called with the figures so far.
    """

    def __init__(
        self,
        dynamo: Dynamo,
        *,
        source: str,
        target: str,
        past: Past,
        mark: str,
        sleep: Callable[[Seconds], None],
        shown: Callable[[Copied], object] = lambda _: None,
        pools: Callable[[int], AbstractContextManager[Any]] | None = None,
    ) -> None:
        self._db = dynamo
        self._source = source
        self._target = target
        self._past = past
        self._mark = mark
        self._sleep = sleep
        self._shown = shown
        self._pools = pools or Pools()
        self._lock = Lock()
        self._so_far = Copied()

    def run(self) -> Copied:
        """Copy what is left to copy, last of all who hears of events."""
        with self._pools(READERS) as pool:
            later = [item for found in pool.map(self._part, range(READERS)) for item in found]
        if later:
            self._sleep(SETTLE)
            self._put_all(later)
        return self._so_far

    def _part(self, number: int) -> list[Item]:
        """Copy a part of the table; return the items that come last."""
        later: list[Item] = []
        for page, after in self._pages(number):
            listeners = [x for x in page if is_listener(x)]
            later += listeners
            self._put_all([x for x in page if not is_listener(x)])
            if not listeners and not later:  # else a run that continues would pass them by
                self._note(number, after)
        return later

    def _pages(self, number: int) -> Iterable[tuple[list[Item], Item | None]]:
        """Yield each page of a part that is not noted as done, with the place after it, None at the end."""
        noted = self._db.get(self._target, self._place(number))
        if noted is not None and "after" not in noted:
            return
        start = noted["after"]["M"] if noted is not None else None
        while True:
            request: Item = {"TableName": self._source, "Segment": number, "TotalSegments": READERS, "Limit": PAGE}
            page = self._db.call(
                "scan", ConsistentRead=True, **request, **({"ExclusiveStartKey": start} if start else {})
            )
            start = page.get("LastEvaluatedKey")
            yield page["Items"], start
            if start is None:
                return

    def _put_all(self, items: Sequence[Item]) -> None:
        with self._pools(WRITERS) as pool:
            sums = list(pool.map(self._put, items))
        with self._lock:
            self._so_far = sum(sums, self._so_far)
            self._shown(self._so_far)

    def _put(self, item: Item) -> Copied:
        """Put what an item becomes, if there is none under its key."""
        found = restored(item, self._past)
        if not found:
            return Copied(read=1, passed=1)
        puts = [{"TableName": self._target, "Item": x, **_NEW} for x in found]
        if len(puts) == 1:
            put = self._db.attempt("put_item", **puts[0])
        else:
            put = self._db.together([{"Put": x} for x in puts])
        return Copied(read=1, put=int(put), kept=int(not put))

    def _place(self, number: int) -> keys.Key:
        return keys.key("SYS", f"{RUN}#{self._mark}#{number:02d}")

    def _note(self, number: int, after: Item | None) -> None:
        """Note how far a part is; without a place it is done."""
        item: Item = {**self._place(number), "source": s(self._source), "at": n(self._past.now)}
        self._db.call("put_item", TableName=self._target, Item=item | ({"after": {"M": after}} if after else {}))
