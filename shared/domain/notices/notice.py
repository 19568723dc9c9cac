"""A notice: a stored record of a notifier, to be delivered now or later by SMS or voice. Source: docs/adr/0111.

Its phase is WAITING, then ACTIVE in a run, which is a message of a job, then WAITING again or ENDED. Every change is
one compare-and-swap on its version, in one transaction with its entries of the update log.
"""

from collections.abc import Sequence
from dataclasses import field, replace
from datetime import date
from enum import StrEnum
from typing import Any, Final

from shared.domain.jobs.labels import NO_LABELS, Labels
from shared.domain.notices.codes import SAYS, Failure, Rejection
from shared.domain.notices.times import DayWindow, Hours, moment
from shared.domain.notices.updates import UpdateEntry, next_stamp
from shared.frozen import dataclass

KEPT_DAYS: Final = 90
"""Days for which an ended notice is kept."""
DAY_S: Final = 86_400
MAX_RUNS: Final = 20
"""Runs that a notice remembers, the latest ones: each but the present one only for a late `delivered`."""
SHARDS: Final = 16


class Phase(StrEnum):
    """Where a notice is on its way."""

    WAITING = "WAITING"
    ACTIVE = "ACTIVE"
    ENDED = "ENDED"


class NoticeStatus(StrEnum):
    """The status that a notifier sees; SUCCESS is final."""

    NEW = "NEW"
    TEMP_FAIL = "TEMP_FAIL"
    SUCCESS = "SUCCESS"
    PERM_FAIL = "PERM_FAIL"
    CANCELED = "CANCELED"


class DeliveryMethod(StrEnum):
    """By which channel a notice is delivered."""

    SMS = "SMS"
    IVR = "IVR"


class Verb(StrEnum):
    """What a record asks for."""

    NEW = "NEW"
    UPDATE = "UPDATE"
    CANCEL = "CANCEL"


@dataclass(frozen=True, slots=True)
class NoticeData:
    """The data of a delivery, normalised: two records mean the same if their data are equal.

    Attributes:
        first_name: of the recipient.
        phone: E.164.
        template: id of a stored template.
        method: the requested channel.
        delivery: the first local date.
        expires: the local date from whose midnight on nothing is sent.
        start, end: the preferred hours, clipped to the reasonable ones; None: all of those.
    """

    first_name: str
    phone: str
    template: str
    method: DeliveryMethod
    delivery: date
    expires: date
    start: int | None = None
    end: int | None = None

    def preferred(self, hours: Hours) -> DayWindow:
        """Return the preferred hours of a day."""
        return hours.preferred(self.start, self.end)

    def expires_at(self, hours: Hours) -> int:
        """Return the moment from which on nothing is sent."""
        return moment(hours.timezone, self.expires)


@dataclass(frozen=True, slots=True)
class NoticeRun:
    """One message of a job that carries a notice.

    Attributes:
        job: its id; `index` is the recipient's in the job's only chunk.
        gen: the version of the data that it sends.
        method: the channel that it uses, which may not be the requested one.
    """

    job: str
    index: int
    gen: int
    method: DeliveryMethod


@dataclass(frozen=True, slots=True)
class Kept:
    """An update or a cancellation that waits for the present run; `sent`: the action as it was sent."""

    verb: Verb
    sent: str
    data: NoticeData | None = None

    def same(self, other: "Kept") -> bool:
        """Tell whether both ask for the same."""
        return (self.verb, self.data) == (other.verb, other.data)


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice as stored. Times are Unix milliseconds.

    Attributes:
        uuid: its key; `id` is its notifier's own name for it.
        gen: the version of its data: each update that is carried out makes the next one.
        run: the present one while it is ACTIVE, else None.
        runs: the latest ones, the present one last.
        kept: an action to be carried out once the run allows; `tries`: how many tries of that action have failed.
        next_at: when there is something to do for a notice that is WAITING, or keeps an action.
        expires_at: from then on nothing is sent.
        stamp: of its last entry of the log; 0: it has none. `error` and `message` are that entry's.
        ttl: Unix seconds after which it counts as absent; 0: it has not ended.
        labels: what its notifier calls it; they change no delivery.
    """

    uuid: str
    notifier: str
    account: str
    id: str
    data: NoticeData
    created_at: int
    next_at: int
    expires_at: int
    phase: Phase = Phase.WAITING
    status: NoticeStatus = NoticeStatus.NEW
    gen: int = 1
    run: NoticeRun | None = None
    runs: tuple[NoticeRun, ...] = ()
    kept: Kept | None = None
    tries: int = 0
    stamp: int = 0
    error: str = ""
    message: str = ""
    ttl: int = 0
    labels: Labels = NO_LABELS
    version: int = 1

    @property
    def due(self) -> int | None:
        """When there is something to do, in Unix milliseconds; None: nothing until a word comes."""
        return self.next_at if self.phase is Phase.WAITING or self.kept is not None else None

    @property
    def doubtful(self) -> bool:
        """Whether the notifier's last news is that the message may have gone out."""
        return self.error == Failure.UNKNOWN

    def gone(self, now: int) -> bool:
        """Tell whether it counts as absent."""
        return 0 < self.ttl <= now // 1000

    def of_run(self, job: str, index: int) -> bool:
        """Tell whether it is ACTIVE in that message of that job."""
        return self.phase is Phase.ACTIVE and self.run is not None and (self.run.job, self.run.index) == (job, index)


@dataclass(frozen=True, slots=True)
class NoticeChange:
    """The items to be written in one transaction.

    Attributes:
        notice: as it is stored afterwards; None: none is stored.
        entries: of the log, in order of their stamps.
        withdraw: a run whose message is withdrawn if it still can be, as another one has delivered.
    """

    notice: Notice | None
    entries: tuple[UpdateEntry, ...] = ()
    withdraw: NoticeRun | None = None

    def after(self, closed: int) -> "NoticeChange":
        """Return it with stamps that are later than `closed`, what readers have closed."""
        if not self.entries or self.entries[0].stamp > closed:
            return self
        shift = closed + 1 - self.entries[0].stamp
        entries = tuple(replace(x, stamp=x.stamp + shift) for x in self.entries)
        notice = replace(self.notice, stamp=entries[-1].stamp) if self.notice is not None else None
        return replace(self, notice=notice, entries=entries)


@dataclass(slots=True)
class NoticeDraft:
    """A change in the making: the notice as it becomes, and the entries that go with it."""

    notice: Notice
    now: int
    version: int = field(init=False)
    """The notice's next version."""
    entries: list[UpdateEntry] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.version = self.notice.version + 1

    def set(self, **changes: Any) -> None:
        """Change fields of the notice."""
        self.notice = replace(self.notice, **changes)

    def tell(self, error: str = "", message: str = "") -> None:
        """Add an entry with the present status; `message`: a sentence, by default the error's own."""
        message = message or SAYS.get(error, "")
        self._add(None, error, message)
        self.set(error=error, message=message)

    def reject(self, sent: str, code: Rejection, message: str = "") -> None:
        """Add the entry of a rejected record; the notice's own status, error and message stay.

        Args:
            sent: the record's action as it was sent.
            message: a sentence; by default the code's own.
        """
        self._add(sent, code.value, message or SAYS[code])

    def _add(self, action: str | None, error: str, message: str) -> None:
        self.set(stamp=next_stamp(self.now, self.notice.stamp))
        n = self.notice
        ended = n.phase is Phase.ENDED
        entry = UpdateEntry(
            n.notifier, n.uuid, n.id, n.stamp, n.status.value, action, error, message, self.version, ended, n.labels
        )
        self.entries.append(entry)

    def end(self, status: NoticeStatus, error: str = "", message: str = "") -> None:
        """End the notice, with an entry; what was kept is dropped.

        Args:
            error: a code of `Failure`, or empty.
            message: a sentence; by default the error's own.
        """
        ttl = self.now // 1000 + KEPT_DAYS * DAY_S
        self.set(phase=Phase.ENDED, status=status, run=None, kept=None, tries=0, next_at=0, ttl=ttl)
        self.tell(error, message)

    def changed(self, withdraw: NoticeRun | None = None) -> NoticeChange:
        """Return the change, one version on. `withdraw`: as of `NoticeChange`."""
        return NoticeChange(replace(self.notice, version=self.version), tuple(self.entries), withdraw)


def with_run(runs: Sequence[NoticeRun], run: NoticeRun) -> tuple[NoticeRun, ...]:
    """Return the runs that a notice remembers once another has begun."""
    return (*runs, run)[-MAX_RUNS:]
