"""Notices whose writes announce when there is something to do about them again."""

import math
from collections.abc import Callable, Collection, Iterable, Sequence

from shared.contracts import DueKind
from shared.domain.notices.notice import Notice, NoticeChange
from shared.domain.times import Millis, Seconds
from shared.frozen import dataclass
from shared.ports import Clock, DueMinutes, Notices


@dataclass(frozen=True, slots=True)
class NoticeTimes:
    """Announces the minutes in which notices are due, after they were stored.

    Attributes:
        minutes: of the deployment's clock.
        clock: the time that notices go by.
        when: returns the moment of the deployment's clock at which that shows a later one. Both are Unix seconds.
    """

    minutes: DueMinutes
    clock: Clock
    when: Callable[[Seconds], Seconds]

    def announce(self, changes: Iterable[NoticeChange]) -> None:
        """Have the function of notices woken for each notice that is due later or now."""
        now: Millis = int(self.clock.now() * 1000)
        for moment in sorted({max(x.notice.due, now) for x in changes if x.notice and x.notice.due is not None}):
            self.minutes.announce(DueKind.NOTICES, math.ceil(self.when(moment / 1000) * 1000))


@dataclass(frozen=True, slots=True)
class AnnouncedNotices:
    """`ports.Notices` that announces what it writes.

    Attributes:
        stored: where notices are.
        times: announces them.
    """

    stored: Notices
    times: NoticeTimes

    def read(self, uuids: Collection[str]) -> dict[str, Notice]:
        return self.stored.read(uuids)

    def write(self, old: Notice | None, change: NoticeChange) -> bool:
        done = self.stored.write(old, change)
        if done:
            self.times.announce([change])
        return done

    def write_all(self, changes: Sequence[tuple[Notice, NoticeChange]]) -> bool:
        done = self.stored.write_all(changes)
        if done:
            self.times.announce(change for _, change in changes)
        return done

    def shorten(self, notice: Notice, until: int) -> None:
        self.stored.shorten(notice, until)

    def due(self, shard: int, now: int) -> Iterable[str]:
        return self.stored.due(shard, now)

    def of_number(self, account: str, phone: str) -> Iterable[str]:
        return self.stored.of_number(account, phone)
