"""A scheduler and agendas in memory."""

from shared.contracts import DueKind
from shared.domain.jobs.job import Job
from shared.domain.spending import limits
from tests.fakes.faults import Tap
from tests.fakes.queues import FakeQueue
from tests.fakes.records import FakeRecords


class FakeScheduler:
    """Schedules by name; `fire` sends their messages. `set_for`: name → Unix seconds. `bodies`: those set once."""

    def __init__(self, tap: Tap | None = None) -> None:
        self.set_for: dict[str, int] = {}
        self.bodies: dict[str, str] = {}
        self._tap = tap or Tap()

    def set(self, job: str, at: int) -> None:
        self._tap("scheduler.set", lambda: self.set_for.update({job: at}))

    def set_once(self, name: str, at: int, body: str) -> None:
        def keep() -> None:
            if name not in self.set_for:
                self.set_for[name], self.bodies[name] = at, body

        self._tap("scheduler.set_once", keep)

    def fire(self, now: float, queue: FakeQueue) -> int:
        """Send what was set once and is due, and forget it; return how many that were."""
        ripe = [name for name in self.bodies if self.set_for[name] <= now]
        for name in ripe:
            del self.set_for[name]
            queue.send([self.bodies.pop(name)])
        return len(ripe)

    def cancel(self, job: str) -> None:
        self._tap("scheduler.cancel", lambda: self.set_for.pop(job, None))


class FakeMinutes:
    """`ports.DueMinutes` in memory: `announced` has each kind with its moments, Unix milliseconds."""

    def __init__(self, tap: Tap | None = None) -> None:
        self.announced: list[tuple[DueKind, int]] = []
        self._tap = tap or Tap()

    def announce(self, kind: DueKind, at: int) -> bool:
        self._tap("minutes.announce", lambda: self.announced.append((kind, at)))
        return True


class FakeAgenda:
    """Agendas by account."""

    def __init__(self, records: FakeRecords, tap: Tap | None = None) -> None:
        self._records = records
        self.places: dict[tuple[str, bool], set[tuple[int, str]]] = {}
        self._dropped: set[tuple[int, str]] = set()
        self._tap = tap or Tap()

    def note(self, account: str, job: str, at: int, *, test: bool = False) -> None:
        self._dropped.discard((at, job))
        for among in (False, True)[: 1 + test]:
            self._tap("agenda.note", lambda a=among: self.places.setdefault((account, a), set()).add((at, job)))  # type: ignore[misc]

    def drop(self, account: str, job: str, at: int, *, test: bool = False) -> None:
        self._tap("agenda.drop", lambda: self._dropped.add((at, job)))

    def take(self, account: str, now: int, *, test: bool = False) -> int:
        def take() -> int:
            held = [self.places.get((account, only), set()) - self._dropped for only in (True, False)]
            tests, every = ({place for place in some if place[0] > now} for some in held)
            waiting = len(tests if test else every - tests)
            return waiting if waiting >= limits.MAX_SCHEDULES else 0

        return self._tap("agenda.take", take)

    def page(
        self, account: str, *, tests_only: bool = False, since: int, after: str, limit: int
    ) -> tuple[list[Job], str]:
        def found() -> tuple[list[Job], str]:
            at, _, job = after.partition("#")
            start = max((since + 1, ""), (int(at), job)) if after else (since + 1, "")
            places = sorted(p for p in self.places.get((account, tests_only), ()) if p > start)
            last = places[:limit][-1:]
            place = f"{last[0][0]:015d}#{last[0][1]}" if len(places) > limit else ""
            jobs = ((at, self._records.jobs.get(name)) for at, name in places[:limit])
            return [job for at, job in jobs if job is not None and job.not_before == at], place

        return self._tap("agenda.page", found)
