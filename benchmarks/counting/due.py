"""How long many notices of one minute take until their pointers are sent: in fake time, over the stores in memory.

Each call takes 6 ms, one after the other. A notice that becomes ACTIVE leaves its place in the index, and one partition
of an index takes 1,000 writes a second.
"""

from collections.abc import Collection, Sequence
from typing import Final

from benchmarks.rig import rows
from benchmarks.rig.rows import Row, counted, named
from shared.adapters.dynamo.client import BATCH_READ
from shared.domain.content.content import Content
from shared.domain.jobs.prepared import PreparedJob
from shared.domain.notices.notice import Notice, NoticeChange

MANY: Final = 10_000
CALL_SECONDS: Final = 0.006
INDEX_WRITES: Final = 1_000
"""A second, in one partition."""


def measure() -> list[Row]:
    """Return how long it takes until the last pointer of many notices is sent."""
    return [counted(named(rows.NOTICES, f"{MANY:,} due at once, 6 ms a call"), _seconds(MANY), 30, "s")]


def _seconds(count: int) -> float:
    """Return how long it takes until the last pointer is sent of so many notices of one notifier that are due."""
    from tests.engine.notices.hub import Hub  # noqa: PLC0415 - no other row needs the fakes

    hub = Hub(rate=1_000)
    for n in range(count):
        hub.new(n)
    tap = hub.world.tap
    tap.delay = lambda: hub.clock.advance(CALL_SECONDS)
    read, begin, began, moved = hub.store.read, hub.starts.begin, hub.clock.now(), 0

    def in_parts(uuids: Collection[str]) -> dict[str, Notice]:
        hub.clock.advance(CALL_SECONDS * (-(-len(uuids) // BATCH_READ) - 1))
        return read(uuids)

    def indexed(made: PreparedJob, content: Content, moves: Sequence[tuple[Notice, NoticeChange]]) -> Collection[str]:
        nonlocal moved
        moved += len(moves)
        hub.clock.advance(max(0.0, began + moved / INDEX_WRITES - hub.clock.now()))
        return begin(made, content, moves)

    hub.store.read, hub.starts.begin = in_parts, indexed  # type: ignore[method-assign]
    for _, act in hub.due.walk():
        act()
    if moved != count or tap.calls.count("queue.send") != tap.calls.count("run_starts.begin"):
        raise RuntimeError("not all have begun")
    return hub.clock.now() - began
