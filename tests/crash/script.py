"""What a crashing process runs: a whole batch, single-handed, on the real adapters; and what comes after it."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from shared import contracts
from shared.adapters.clock import SystemClock
from shared.bootstrap import Deployment
from shared.bootstrap.sending import SendingLane
from shared.contracts import Credential, ProviderEvent, Settings
from shared.domain.content.content import Content, Mailbox
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.job import Job, Policy
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.states import JobState
from shared.domain.lanes import pacing
from shared.engine.intake.accept import Acceptor, BatchRequest
from shared.engine.jobs.control import JobControl
from shared.engine.reports.message_log import Filter, MessageLog
from shared.ports import Replay
from simulator import ControlClient
from tests.crash.taps import Tap, install

CREDENTIAL: Final = "main"
SENDER: Final = "news@example.com"
"""A job that waited before it starts is stopped instead if its account does not have its sender."""
LATER: Final = 2 * 3600.0
"""Seconds by which the recovering process's clock is ahead: leases have ended and pointers count as lost."""
ROUNDS: Final = 40
ROUND: Final = 60.0
"""Seconds from one run of the sweeper to the next; it leaves jobs of its last seconds to others."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One scenario.

    Attributes:
        recipients: how many.
        per_chunk, window, per_call: sizes.
        stop_after: stop the job after that many provider calls, 0 never; whoever recovers resumes it.
        feedback: whether the providers' words come while the first process still lives.
        campaign: whose job it is, which then reserves its credential; empty for a batch.
        provider: through which it goes.
        mail: it is a mail, not a batch; see `mail_script`.
        upload: the mail is uploaded and committed, not handed in by one call.
        deaf: the stream of ledgers only folds: the walk of finished jobs ends the mail.
    """

    name: str
    recipients: int
    per_chunk: int
    window: int
    per_call: int
    stop_after: int = 0
    feedback: bool = True
    campaign: str = ""
    provider: str = "sendgrid"
    mail: bool = False
    upload: bool = False
    deaf: bool = False


MAIL: Final = Shape("mail", recipients=3, per_chunk=1, window=1, per_call=1, provider="mailgun", mail=True)
"""Handed in by one call, and ended by the stream of ledgers."""
SHAPES: Final = {
    s.name: s
    for s in (
        Shape("small", recipients=4, per_chunk=4, window=2, per_call=1),
        Shape("two chunks", recipients=7, per_chunk=4, window=2, per_call=2),
        Shape("stopped", recipients=6, per_chunk=6, window=2, per_call=1, stop_after=2, feedback=False),
        Shape("one", recipients=1, per_chunk=1, window=1, per_call=1),
        Shape("campaign", recipients=4, per_chunk=2, window=2, per_call=1, campaign="spring"),
        MAIL,
        replace(MAIL, name="uploaded mail", feedback=False, upload=True, deaf=True),
    )
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a process works: the environment of the functions, the simulator's address, and the client's account."""

    env: dict[str, str]
    simulator: str
    shape: Shape
    account: str
    key: str
    """The client's idempotency key: repeated by whoever recovers, as a client would."""


class Later(SystemClock):
    """A clock that is ahead."""

    def __init__(self, ahead: float) -> None:
        self._ahead = ahead

    def now(self) -> float:
        """Return Unix seconds, ahead of time."""
        return super().now() + self._ahead

    def advance(self, seconds: float) -> None:
        """Put the clock forward."""
        self._ahead += seconds


class ListAcceptor(Acceptor):
    """Accepts a batch as the job of a campaign: READY, for the planner to start."""

    campaign = ""

    def _job(self, request: BatchRequest, job_id: str, now: int, ttl: int, ledgers: Sequence[Ledger]) -> Job:
        job = super()._job(request, job_id, now, ttl, ledgers)
        if not self.campaign:
            return job
        return replace(job, kind="campaign", campaign=self.campaign, state=JobState.READY, planned_at=0)


class Process:
    """One process of the deployment that does everything in turn."""

    def __init__(self, place: Place, clock: SystemClock) -> None:
        os.environ.update(place.env)
        pacing.WINDOW = place.shape.window  # type: ignore[misc]
        self.place = place
        self.d = Deployment(place.env, clock)
        provider = place.shape.provider
        base = f"{place.simulator}/{provider}/{CREDENTIAL}"
        fast = Credential(CREDENTIAL, provider, "email", 500, base, per_call=place.shape.per_call)
        self.lane = SendingLane(self.d, fast)
        slow = Credential(CREDENTIAL, provider, "email", place.shape.per_chunk / 30, base)
        chunky = Settings("crash", (slow,), {"email": (CREDENTIAL,)})
        self.acceptor = ListAcceptor(
            records=self.d.records, lanes=self.d.lanes, breaker_cache=self.d.breaker_cache, settings=chunky, clock=clock
        )
        self.acceptor.campaign = place.shape.campaign
        self.control = JobControl(
            records=self.d.records,
            ledgers=self.d.ledgers,
            planner=self.d.planner,
            retrier=self.d.retrier,
            clock=clock,
        )

    def accept(self) -> str:
        """Post the batch as its client would and return the job's id."""
        people = [f"person{i}@example.com" for i in range(self.place.shape.recipients)]
        request = BatchRequest(
            account=self.place.account,
            test=False,
            channel="email",
            route=(CREDENTIAL,),
            content=Content(Mailbox(SENDER), "Hello", "<p>Hello</p>"),
            recipients=tuple(Recipient(p, p) for p in people),
            duplicates=0,
            policy=Policy(),
            idempotency_key=self.place.key,
            fingerprint="same",
        )
        answer = self.acceptor.accept(request)
        if isinstance(answer, Replay):
            return str(json.loads(answer.answer)["job_id"])
        assert not hasattr(answer, "code")
        return answer.job.id  # type: ignore[union-attr]

    def pump(self) -> int:
        """Serve the pointers that lie in the lane, as the lane's function would; returns how many."""
        url = self.place.env[contracts.ENV_LANE_URL_PREFIX] + CREDENTIAL
        served = 0
        while True:
            got = self.d.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=2, WaitTimeSeconds=0)
            messages = got.get("Messages", [])
            if not messages:
                return served
            for m in messages:
                self.serve(json.loads(m["Body"]))
                self.d.sqs.delete_message(QueueUrl=url, ReceiptHandle=m["ReceiptHandle"])
                served += 1

    def serve(self, pointer: Mapping[str, Any]) -> None:
        """Serve a pointer."""
        deadline = self.d.clock.now() + 30
        self.lane.sender(3.0).work(pointer["job"], pointer["chunk"], owner=uuid4().hex, deadline=deadline)

    def fold(self, job: str) -> None:
        """Do what the stream of the ledgers leads to."""
        for x in self.d.ledgers.read_all(job):
            if x.dirty:
                self.d.logger.fold(x)

    def feedback(self, job: str) -> None:
        """Pass on the provider's words about what it accepted."""
        rows = [r for r in ControlClient(self.place.simulator).log() if r["ref"].startswith(job)]
        words = [ProviderEvent(r["ref"], "delivered", int(r["at"]), r["message_id"]) for r in rows]
        self.d.tracker.track(CREDENTIAL, words)


def first(place: Place, kill_at: int, report: Path) -> None:
    """Live a batch's whole life, or die at a point; writes the names of the points it passed."""
    tap = Tap(kill_at)
    process = Process(place, SystemClock())
    install(tap)
    job = process.accept()
    if place.shape.stop_after:

        def stop(calls: int) -> None:
            if calls == place.shape.stop_after:
                process.control.stop(job, place.account)

        tap.after_call = stop
    process.d.planner.react(job)
    process.pump()
    process.fold(job)
    if place.shape.feedback:
        process.feedback(job)
        process.fold(job)
    report.write_text(json.dumps(tap.names))


def after(place: Place, report: Path) -> None:
    """Recover: the client repeats its request, the sweeper runs, lanes are served, until the job is LOGGED."""
    clock = Later(LATER)
    process = Process(place, clock)
    job_id = process.accept()
    resumed = False
    for _ in range(ROUNDS):
        process.d.sweeper.sweep(process.d.clock.now() + 60)
        process.pump()
        process.fold(job_id)
        job = process.d.records.job(job_id)
        assert job is not None
        if job.state is JobState.LOGGED:
            if not job.stopped or resumed:
                break
            resumed = True
            process.control.resume(job_id, place.account)
        clock.advance(ROUND)
    said = _lines(process, job_id)
    process.feedback(job_id)
    process.fold(job_id)
    final = process.d.records.job(job_id)
    assert final is not None
    told = {"job": _summary(final), "said": said, "proven": _lines(process, job_id)}
    report.write_text(json.dumps({**told, "holder": process.d.records.reserved(CREDENTIAL)[0]}))


def _lines(process: Process, job_id: str) -> dict[str, str]:
    job = process.d.records.job(job_id)
    assert job is not None
    logs = MessageLog(records=process.d.records, ledgers=process.d.ledgers, clock=process.d.clock)
    lines, _ = logs.lines(job, Filter(), limit=1000)
    return {line.recipient: line.state.value for line in lines}


def _summary(job: Job) -> dict[str, Any]:
    raw = asdict(job)
    return {k: raw[k] for k in ("id", "state", "total", "counts", "version")}
