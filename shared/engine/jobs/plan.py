"""Planning: a READY job that is due becomes ENQUEUED, and its chunks' pointers go out (J1).

A job that reserves its credential waits its turn. The oldest job starts, and with it those of the same campaign. All
others stay READY until the last of these is LOGGED, and are tried again when the credential is free. If jobs of several
accounts wait, the accounts take turns (`domain.campaigns.turns`). Jobs of a paused
or suspended account wait for its resume. Meanwhile they let others start first, even if they were sending already. The
same holds for jobs whose remaining messages only wait for another try (`giving_way`).

A job that has waited since its acceptance is checked again before it first starts. If its API key was revoked, or its
sender was taken from its account, it is stopped instead.
"""

import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from shared.domain.audit import SYSTEM, Act, Event
from shared.domain.campaigns import turns
from shared.domain.campaigns.turns import WaitingJob
from shared.domain.jobs.job import Job
from shared.domain.jobs.queue import LedgerQueue
from shared.domain.jobs.states import Change, JobState
from shared.domain.times import Millis
from shared.engine.intake.accept import send_pointers
from shared.engine.intake.schedules import Schedules
from shared.engine.jobs.giving_way import GiveWay
from shared.engine.suppression.standing import AccountStatusCheck, key_of
from shared.ports import AccountStatuses, Changed, Clock, Lanes, OpenJob, Records

PROMPT_MS: Final = 3_000
"""The function that planned a job less than this long ago is still sending its pointers."""
KNOWN: Final = 10_000
"""Campaigns whose accounts a process remembers."""
_LOG: Final = logging.getLogger(__name__)


@dataclass(slots=True)
class _Look:
    """The findings of one look at a credential.

    Attributes:
        holder: the campaign that holds it; empty: none that is known.
        refused: accounts of which a job may not start.
        stuck: jobs that became stuck while they gave way.
    """

    holder: str = ""
    refused: set[str] = field(default_factory=set)
    stuck: set[str] = field(default_factory=set)

    def allows(self, x: WaitingJob) -> bool:
        """Tell whether a job may start: its campaign holds the credential, and no other account waits."""
        waits = bool(self.refused - {x.account}) and x.job not in self.stuck
        return self.holder in ("", x.campaign) and not waits

    def note(self, x: WaitingJob, changed: Changed) -> bool:
        """Note the result of a job's start; return whether it is the first refusal of its account."""
        self.holder = changed.held_by or (x.campaign if changed.won else self.holder)
        first = bool(changed.held_by) and x.account not in self.refused
        self.refused |= {x.account} if changed.held_by else set()
        return first


class Planner:
    """Starts jobs. A second plan of the same job only duplicates pointers."""

    def __init__(
        self, *, records: Records, ledgers: LedgerQueue, lanes: Lanes, standings: AccountStatuses, clock: Clock
    ) -> None:
        self.standing_check = AccountStatusCheck(standings)
        self._give_way = GiveWay(records=records, ledgers=ledgers)
        self._records = records
        self._ledgers = ledgers
        self._lanes = lanes
        self._clock = clock
        self._accounts: OrderedDict[str, str] = OrderedDict()

    def plan(self, job_id: str) -> Job | None:
        """Start a job if it is READY and due, and its turn; None otherwise."""
        return next((job for job in self.react(job_id) if job.id == job_id), None)

    def react(self, job_id: str) -> list[Job]:
        """Start what a change of a job lets start: itself, or those whose turn it is on the credential it reserves.

        Returns:
            The jobs that this call started, oldest first.
        """
        job = self._records.job(job_id)
        if job is None:
            return []
        if job.state is JobState.ENQUEUED:
            self._point_again(job)
        if job.exclusive:
            return self.next(job.route[0], job)
        changed = self._start(job, self._now())
        return [changed.job] if changed is not None and changed.won and changed.job is not None else []

    def _point_again(self, job: Job) -> None:
        """Send the pointers of a job that is planned and never began: its planner may have died before it sent them.

        The stream repeats the record of a job that is READY if the plan that it led to has failed.
        """
        if self._now() - job.planned_at >= PROMPT_MS:
            waiting = self._ledgers.list_queue(job.id)
            if not any(x.epoch for x in waiting):
                send_pointers(self._lanes, job, [x for x in waiting if x.not_before <= self._now()])

    def next(self, credential: str, named: Job | None = None) -> list[Job]:
        """Start the first job that is READY, due and reserves a credential, and those of its campaign.

        If a campaign holds the credential, only its jobs start, unless it gives way. None of them starts while another
        account waits, but one that has become stuck while it gave way.

        Args:
            named: a job of the credential, as just read, that the index may not show yet.

        Returns:
            The jobs that this call started, oldest first.
        """
        now = self._now()
        waiting = self._waiting(credential, named, now)
        contended = len({x.account for x in waiting}) > 1
        recent = self._records.turns(credential) if contended else ()
        started = self._tried(credential, turns.in_turn(waiting, recent), now)
        if contended and started:
            self._records.set_turns(credential, turns.after(recent, started[0].account))
        return started

    def _tried(self, credential: str, queue: Sequence[WaitingJob], now: Millis) -> list[Job]:
        """Try to start jobs in their order; return those that are started."""
        started: list[Job] = []
        look = _Look()
        for x in queue:
            changed = self._begun(credential, x.job, now) if look.allows(x) else None
            if changed is None:
                continue
            if look.note(x, changed) and len(queue) > 1:
                look.stuck |= self._give_way.stuck(credential, now)
            if changed.won and changed.job is not None:
                started.append(changed.job)
        return started

    def start(self, entry: OpenJob) -> list[Job]:
        """Start a job of the index that is READY and due, or the next of those that wait for its credential."""
        return self.next(entry.credential) if entry.credential else self.react(entry.job)

    def _waiting(self, credential: str, named: Job | None, now: Millis) -> list[WaitingJob]:
        """Return the jobs that wait for a credential, in no order."""
        waiting = {(x.created_at, x.job): x.campaign for x in self._due(credential, now)}
        if named is not None and named.state is JobState.READY:
            waiting[named.created_at, named.id] = named.campaign
        accounts = self._accounts_of({campaign: job for (_, job), campaign in waiting.items()})
        return [WaitingJob(at, job, campaign, accounts[campaign]) for (at, job), campaign in waiting.items()]

    def _accounts_of(self, campaigns: Mapping[str, str]) -> Mapping[str, str]:
        """Return the accounts of campaigns, each given with one of its jobs; that of an only campaign is not read."""
        unknown = campaigns.keys() - self._accounts.keys() if len(campaigns) > 1 else set[str]()
        if unknown:
            found = self._records.read_jobs([campaigns[x] for x in unknown])
            self._accounts |= {job.campaign: job.account for job in found.values()}
        accounts = {x: self._accounts.get(x, "") for x in campaigns}
        while len(self._accounts) > KNOWN:
            self._accounts.popitem(last=False)
        return accounts

    def _due(self, credential: str, now: Millis) -> list[OpenJob]:
        return [x for x in self._records.open_on(credential, running=False) if x.not_before <= now]

    def _begun(self, credential: str, job_id: str, now: Millis) -> Changed | None:
        """Start a job, once more if what holds its credential gives way; None if it must not start."""
        job = self._records.job(job_id)
        changed = self._start(job, now) if job is not None and not self._give_way.is_paused(job) else None
        if job is None or changed is None:
            return None
        if changed.held_by and self._give_way.ask(credential, now, job.account):
            return self._start(job, now) or changed
        return changed

    def _start(self, job: Job, now: Millis) -> Changed | None:
        """Make the transition and send the pointers; None if the job is not READY, not due, or stopped instead."""
        if job.state is not JobState.READY or job.due_at > now:
            return None
        if self._refused(job, now):
            return None
        changed = self._records.change(job, Change.PLAN, now)
        stored = changed.job
        if not changed.won and stored is not None and (stored.state, stored.planned_at) == (JobState.ENQUEUED, now):
            changed = Changed(won=True, job=stored)  # our own plan, whose answer was lost
        if changed.won and stored is not None:
            send_pointers(self._lanes, job, self._ledgers.list_queue(job.id))
        return changed

    def _refused(self, job: Job, now: Millis) -> bool:
        """Stop a job that is to start for the first time if it would not be accepted now; one read if it has waited."""
        reason = None if job.planned_at else self.standing_check.refusal(job, now)
        if reason is None:
            return False
        told = {"reason": reason.value, "key": key_of(job), "campaign": job.campaign}
        event = Event(job.namespace, now, job.id, Act.JOB_STOPPED, SYSTEM, {k: v for k, v in told.items() if v})
        if self._records.change(job, Change.STOP, now, reason=reason.value, strict=True, event=event).won:
            _LOG.warning("stopped at its start", extra={"job": job.id, "reason": reason.value})
        return True

    def _now(self) -> int:
        return int(self._clock.now() * 1000)


class Due:
    """Handles the message that a job's time has come."""

    def __init__(self, *, records: Records, planner: Planner, schedules: Schedules) -> None:
        self._records = records
        self._planner = planner
        self._schedules = schedules

    def arrived(self, job_id: str) -> Job | None:
        """Start a job if its time has come, None otherwise; one that still waits is waited for again.

        A message that is repeated, late, or about a job that was stopped or started changes nothing.
        """
        planned = self._planner.plan(job_id)
        if planned is None:
            job = self._records.job(job_id)
            if job is not None:
                self._schedules.hint(job)
        return planned
