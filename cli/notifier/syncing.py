"""One sync: upload what waits, in order, then fetch updates. Patient with a bad link, and safe to end anywhere."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from cli.environment import HubLogin
from cli.errors import CommandError, Failed, Misused, NotAuthorised, Unreachable
from cli.notifier.hub import Busy, Hub, Uploaded, UploadFate
from cli.notifier.mailbox import UpdateBox
from cli.notifier.messages import Messages
from cli.notifier.outbox import Outbox, Payload
from cli.notifier.store import SpoolFile
from cli.output import counted
from shared.ports import Clock

TRIES: Final = 8
"""Failures in a row after which a sync ends; what waits stays in the spool."""
FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 30.0
LONGEST_WAIT: Final = 120.0
"""Seconds of Retry-After that a sync waits."""
SOONEST: Final = 10.0
"""Seconds before the next sync after one that failed, if syncs repeat; doubled each time, up to their interval."""


@dataclass(slots=True)
class SyncReport:
    """What a sync did."""

    records: int = 0
    payloads: int = 0
    updates: int = 0
    refused: int = 0

    @property
    def document(self) -> dict[str, int]:
        """As JSON."""
        return {"uploaded": self.records, "payloads": self.payloads, "refused": self.refused, "updates": self.updates}

    @property
    def text(self) -> str:
        """One line for people."""
        up = f"{counted(self.records, 'record')} uploaded in {counted(self.payloads, 'payload')}"
        refused = f", {self.refused:,} refused" if self.refused else ""
        return f"{up}{refused}; {counted(self.updates, 'update')} fetched"


class Syncing:
    """Syncs a spool. Its user holds the spool's lock.

    Args:
        tell: shows why something takes longer.
    """

    def __init__(
        self, spool: SpoolFile, hub: Hub, clock: Clock, tell: Callable[[str], None], rng: random.Random
    ) -> None:
        self._spool = spool
        self._hub = hub
        self._clock = clock
        self._tell = tell
        self._rng = rng
        self._outbox = Outbox(spool)
        self._mailbox = UpdateBox(spool)
        self._failures = 0
        self._met = False

    def run(self, report: SyncReport) -> None:
        """Upload, then fetch; updates are fetched even if the hub takes no upload.

        Args:
            report: counts what is done, also if it raises.

        Raises:
            CommandError: something is left to do; trying again later is safe.
        """
        problem: CommandError | None = None
        try:
            self._upload(report)
        except NotAuthorised:
            raise
        except CommandError as error:
            problem = error
        try:
            self._fetch(report)
        except CommandError as error:
            raise problem or error from None
        if problem:
            raise problem
        now = self._now()
        Messages(self._spool).prune(now)
        with self._spool.change():
            self._spool.keep("synced_at", str(now))

    def _upload(self, report: SyncReport) -> None:
        self._failures = 0
        while True:
            wait = self._outbox.wait(self._now())
            if wait:
                self._tell(f"an upload without an answer may still arrive; going on in {wait / 1000:.0f} s")
                self._clock.sleep(wait / 1000)
                continue
            payload = self._outbox.begin(self._now())
            if payload is None:
                return
            found = self._hub.upload(payload.body, payload.count)
            self._note(payload, found, report)
            self._met |= found.fate is not UploadFate.UNREACHED
            if found.end:
                raise found.end
            if found.fate in (UploadFate.STORED, UploadFate.REFUSED):
                self._failures = 0
            else:
                self._pause(found.says, found.wait)

    def _note(self, payload: Payload, found: Uploaded, report: SyncReport) -> None:
        now = self._now()
        match found.fate:
            case UploadFate.STORED:
                self._outbox.answered(payload, now)
                report.records += payload.count
                report.payloads += 1
            case UploadFate.REFUSED:
                if self._outbox.refused(payload, found.code, found.says, now):
                    report.refused += 1
                    self._tell(f"the hub refuses a record: {found.says}; see `posthaste notifier spool list`")
            case UploadFate.CUT:
                self._outbox.cut_off(now)
            case UploadFate.LOST:
                self._outbox.lost(now)
            case UploadFate.FAULT:
                self._outbox.failed(now)
            case UploadFate.HELD | UploadFate.UNREACHED:
                self._outbox.held()

    def _fetch(self, report: SyncReport) -> None:
        self._failures = 0
        while True:
            try:
                answer = self._hub.updates(self._mailbox.range())
            except Busy as busy:
                self._met |= busy.reached
                self._pause(str(busy), busy.wait)
                continue
            self._met = True
            new = self._mailbox.store(answer)
            report.updates += new
            if answer.whole and not answer.rest:
                return
            if answer.whole or new:
                self._failures = 0
            else:
                self._pause("the answer was cut off", None)

    def _pause(self, says: str, wait: float | None) -> None:
        """Wait before the next try; raise Unreachable if there is to be none."""
        self._failures += 1
        if not self._met:
            raise Unreachable(f"{says}: check POSTHASTE_URL and the network")
        if self._failures >= TRIES:
            raise Unreachable(f"{says}: try again later")
        if wait is not None and wait > LONGEST_WAIT:
            raise Failed(f"{says}: try again in {wait:.0f} s")
        plain = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (self._failures - 1)) * self._rng.uniform(0.75, 1.25)
        pause = plain if wait is None else wait
        self._tell(f"{says}; trying again in {pause:.1f} s")
        self._clock.sleep(pause)

    def _now(self) -> int:
        return int(self._clock.now() * 1000)


def bind(spool: SpoolFile, login: HubLogin, *, rebind: bool) -> None:
    """Tie a spool to its notifier and hub at the first sync.

    Args:
        login: whom it is synced with now.
        rebind: tie it anew.

    Raises:
        Misused: it is another notifier's, or another hub's.
    """
    hub, user = spool.setting("hub"), spool.setting("user")
    if (hub, user) == (login.url, login.user):
        return
    if user and not rebind:
        raise Misused(f"{spool.file} belongs to the notifier {user} at {hub}: use --rebind if it is to be moved")
    with spool.change():
        if user and user != login.user:
            UpdateBox(spool).forget_place()
        spool.keep("hub", login.url)
        spool.keep("user", login.user)


def next_delay(every: float, failures: int, rng: random.Random) -> float:
    """Return the seconds until the next sync.

    Args:
        every: the interval.
        failures: syncs that failed since the last good one.
        rng: spreads notifiers that were started together.
    """
    if not failures:
        return every * rng.uniform(0.9, 1.1)
    return min(every, SOONEST * 2.0 ** min(failures - 1, 16)) * rng.uniform(0.5, 1.0)
