"""`kill -9` of senders in the middle of their windows, and what became of every message; the oracle has the last word.

A shot posts a batch, waits until the oracle has accepted a random number of its messages that lies well inside a
window, and kills the lane's worker processes. The next shot follows at once, while the leases of the last one run out,
are taken over by the sweeper, and what was never claimed is sent. Half the recipients never give feedback, so that
their fate stays unknown; of the others a delivery tells it.

Nothing is waited for longer than need be: pointers come again soon, and the sweeper is started by hand. `patient` shots
leave all that as it is shipped, come one after the other, and show how long it takes until a job goes on. Only new
workers are started at once, since the emulator takes far longer for that than AWS does.
"""

import random
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from infra.local import processes
from shared.domain.lanes.pacing import pace
from tests.deployed.api import OPEN
from tests.deployed.drill import Report, Running, answered, percentile
from tests.deployed.inside import Inside
from tests.deployed.oracle import Oracle
from tests.deployed.watch import Watch

CHUNK = 500
SIZES = (CHUNK, 900)
"""Recipients of every second shot: one chunk, so one lease, and two, which a worker may hold side by side."""
LOST = "worker_lost"
SILENT = "silent"
"""The simulator says nothing of recipients that begin so."""
AIM_SECONDS = 120
"""A shot whose aim is not reached by then, on a busy machine, is fired all the same."""
SETTLE_SECONDS = 240
"""A lease lasts 25 s, which takes its time on a busy machine."""
FOLD_SECONDS = 30
"""Within which a job's counts follow its ledgers, on a busy machine."""
MORE = 4
"""Further shots at a lane, at the most, until one is a hit: a busy machine kills late."""
UNFINISHED = 5
"""Jobs of a lane at once: as many as shots are fired while a lease runs out."""
REDELIVER_SECONDS = 30
"""A pointer whose worker was killed comes back a little after its lease has run out, instead of after two minutes. So
some leases are taken over by the sweeper and some by a worker, and none is waited for longer than need be."""


@dataclass(slots=True)
class Shot:
    """One kill.

    Attributes:
        seen: messages of the job that the oracle had accepted just before.
        killed: processes that got the signal.
        at: when, in Unix seconds.
        leases: its leases that ended without the results of their last window.
        inside: some of that window was accepted and some was not, so the kill fell between its first and last.
        accepted: messages that the oracle has in the end, of `total`; `unknown` are unknown then, of which it has never
            had `uncalled`.
        most: the most messages that one of its leases left unknown.
        went_on: seconds from the kill until nothing of the job waited or was in anybody's hands.
        seconds: from the kill until the job was logged.
        wrong: what breaks a promise.
    """

    lane: str
    job: str
    seen: int
    killed: int
    at: float
    leases: int = 0
    inside: bool = False
    total: int = 0
    accepted: int = 0
    unknown: int = 0
    uncalled: int = 0
    most: int = 0
    went_on: float = 0.0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)


def hit(shot: Shot) -> bool:
    """Tell whether a kill fell into the middle of a window, and left messages unknown."""
    return shot.inside and shot.unknown > 0


def table(shots: Sequence[Shot]) -> str:
    """Return a row for each shot."""
    head = f"{'lane':<14} {'job':<28} {'seen':>4} {'killed':>6} {'leases':>6} {'inside':>6} {'accepted':>8} "
    lines = [head + f"{'unknown':>7} {'never called':>12} {'went on after':>13} {'logged after':>12}"]
    lines += [
        f"{s.lane:<14} {s.job:<28} {s.seen:>4} {s.killed:>6} {s.leases:>6} {'yes' if s.inside else 'no':>6} "
        f"{s.accepted:>8} {s.unknown:>7} {s.uncalled:>12} {s.went_on:>11.1f} s {s.seconds:>10.1f} s"
        for s in shots
    ]
    return "\n".join(lines)


def summary(shots: Sequence[Shot], lane: str) -> str:
    """Return what the kills of a lane left, and how soon its jobs went on."""
    waits = [s.went_on for s in shots]
    return (
        f"{len(shots)} kills on {lane} lost {sum(s.leases for s in shots)} leases, and left "
        f"{sum(s.unknown for s in shots)} messages unknown, {max(s.most for s in shots)} by a lease at the most; "
        f"{sum(s.uncalled for s in shots)} of them were never called. Jobs went on after a median of "
        f"{percentile(waits, 50):.1f} s, p95 {percentile(waits, 95):.1f} s, most {max(waits):.1f} s"
    )


def drill(
    running: Running, lanes: Mapping[str, Sequence[int]], shots: int, seed: int, *, patient: bool = False
) -> tuple[list[Shot], Report]:
    """Fire so many shots on each lane, and judge what came of them.

    Lanes are shot at side by side, but `patient` ones in turn: three of them keep the emulator, one process, busy.

    Args:
        running: the cloud.
        lanes: lane → recipients of its shots, in turn.
        shots: for each lane.
        seed: of where to aim.
        patient: one shot after the other, with all times as shipped.
    """
    inside, api, _ = running
    report = Report(seed)
    with Watch(inside, api, patient=patient) as watch, ThreadPoolExecutor(1 if patient else len(lanes)) as pool:
        ranges = [
            Range(running, watch, lane, seed + n, sizes, patient=patient)
            for n, (lane, sizes) in enumerate(lanes.items())
        ]
        fired = [shot for found in pool.map(lambda r: r.run(shots), ranges) for shot in found]
    watch.report(report)
    report.kills["senders"] = sum(shot.killed for shot in fired)
    report.wrong += [f"{shot.job}: {text}" for shot in fired for text in shot.wrong]
    return fired, report


class Range:
    """Kills on one lane."""

    def __init__(
        self, running: Running, watch: Watch, lane: str, seed: int, sizes: Sequence[int], *, patient: bool
    ) -> None:
        inside, self._api, control = running
        self._inside = inside
        self._oracle = Oracle(control, lane)
        self._watch = watch
        self._lane = lane
        self._window = inside.window(lane)
        self._workers = inside.lane(lane).workers
        self._rng = random.Random(seed)  # noqa: S311 - where to aim
        self._recipients: dict[str, list[str]] = {}
        self._sizes = sizes
        self._patient = patient

    def run(self, count: int) -> list[Shot]:
        """Fire so many shots and judge each when its job is finished."""
        if self._patient:
            with self._inside.room(self._lane, self._workers):
                shots = self._shoot(count, 1)
        else:
            with self._inside.redelivering(self._lane, REDELIVER_SECONDS):
                shots = self._shoot(count, UNFINISHED)
                while not any(map(hit, shots)) and len(shots) < count + MORE:
                    shots += self._shoot(1, 1)
        return shots

    def _shoot(self, count: int, unfinished: int) -> list[Shot]:
        shots: list[Shot] = []
        settled = 0
        for n in range(count):
            if n - settled == unfinished:
                self._settle(shots[settled])
                settled += 1
            shots.append(self._fire(self._sizes[n % len(self._sizes)]))
        for shot in shots[settled:]:
            self._settle(shot)
        for shot in shots:
            self._judge(shot)
        return shots

    def _fire(self, size: int) -> Shot:
        tag = uuid.uuid4().hex[:8]
        recipients = [f"{(SILENT, 'ann')[i % 2]}+{tag}.{i}@example.com" for i in range(size)]
        job = self._api.post(recipients, self._lane)
        self._recipients[job] = recipients
        self._watch.add(job, size)
        window = pace(self._inside.lane(self._lane).rate, 1000).window
        aim = self._rng.randrange(min(CHUNK, size) // window) * window + self._rng.randrange(window // 8, window // 2)
        seen = 0

        def aimed() -> bool:
            nonlocal seen
            seen = len(self._oracle.of(job))
            return seen >= aim

        if not processes.wait_for(aimed, AIM_SECONDS, pause=0.02) and not seen:
            raise TimeoutError(f"{job}: no message accepted after {AIM_SECONDS} s")
        shot = Shot(self._lane, job, seen, self._inside.kill(self._lane), time.time())
        if self._patient:
            self._inside.start(self._lane, min(shot.killed, self._workers))
        return shot

    def _settle(self, shot: Shot) -> None:
        found: dict[str, Any] = {}

        def logged() -> bool:
            nonlocal found
            found = self._api.get(f"/jobs/{shot.job}")
            if not shot.went_on and not found["counts"]["queued"] + found["counts"]["sending"]:
                shot.went_on = time.time() - shot.at
            return bool(found["state"] == "LOGGED") and self._heard(shot, found)

        if not processes.wait_for(answered(logged), SETTLE_SECONDS, pause=0.2):
            shot.wrong.append(f"not finished after {SETTLE_SECONDS} s: {found['state']} {found['counts']}")
        shot.seconds = time.time() - shot.at
        self._watch.drop(shot.job)

    def _heard(self, shot: Shot, found: dict[str, Any]) -> bool:
        """Tell whether every delivery has been heard of."""
        loud = sum(not row["recipient"].startswith(SILENT) for row in self._oracle.of(shot.job))
        return bool(found["counts"]["delivered"] >= loud)

    def _judge(self, shot: Shot) -> None:
        """Compare the job's log with the oracle's."""
        times = self._oracle.times(shot.job)
        lines, counts = self._settled(shot.job)
        windows = self._lost(shot)
        wanted = self._recipients[shot.job]
        shot.total = len(wanted)
        shot.accepted = len(times)
        shot.unknown = sum(line["state"] == "unknown" for line in lines.values())
        shot.uncalled = sum(line["state"] == "unknown" and name not in times for name, line in lines.items())
        shot.leases = len(windows)
        shot.most = max(map(len, windows), default=0)
        shot.inside = any(
            0 < sum(wanted[i] in times for i in indices if i % 2 == 0) < sum(i % 2 == 0 for i in indices)
            for indices in windows
        )
        tell = shot.wrong.append
        if twice := [name for name, n in times.items() if n > 1]:
            tell(f"{len(twice)} messages accepted more than once")
        if strangers := set(times) - set(wanted):
            tell(f"{len(strangers)} messages accepted that nobody asked for")
        if set(lines) != set(wanted):
            tell(f"{len(lines)} log lines for {len(wanted)} recipients")
        if many := [len(indices) for indices in windows if len(indices) > self._window]:
            tell(f"more than a window of {self._window} unknown by one lease: {many}")
        bad = Counter(text for name, line in lines.items() if (text := _fault(line, accepted=name in times)))
        shot.wrong += [f"{n} messages {text}" for text, n in bad.items()]
        if _states(lines) != counts:
            tell(f"the counts are not the log's: {dict(counts)} and {dict(_states(lines))}")

    def _settled(self, job: str) -> tuple[dict[str, dict[str, Any]], Counter[str]]:
        """Return a job's log by recipient and its counts, read again while they differ.

        An answer to a doubt may come between the two reads, and its ledger is folded a moment later. A difference that
        lasts is a fault.
        """
        lines: dict[str, dict[str, Any]] = {}
        counts: Counter[str] = Counter()

        def agree() -> bool:
            nonlocal lines, counts
            lines = {line["recipient"]: line for line in self._api.lines(job)}
            counts = Counter({k: n for k, n in self._api.get(f"/batches/{job}")["counts"].items() if n})
            return _states(lines) == counts

        processes.wait_for(agree, FOLD_SECONDS, pause=1)
        return lines, counts

    def _lost(self, shot: Shot) -> Sequence[Sequence[int]]:
        """Return the places in the list of each window whose claimant was lost without a trace of its results."""
        chunks = range(-(-len(self._recipients[shot.job]) // CHUNK))
        return [[chunk * CHUNK + i for i in indices] for chunk, indices in lost(self._inside, shot.job, chunks)]


def lost(inside: Inside, job: str, chunks: Iterable[int]) -> list[tuple[int, list[int]]]:
    """Return chunk and indices of each window whose claimant was lost without a trace of its results."""
    windows = [d for n in chunks for d in inside.records.details(job, n)[0]]
    return [(d.chunk, found) for d in windows if (found := [e.index for e in d.entries if e.code == LOST])]


def _states(lines: Mapping[str, Mapping[str, Any]]) -> Counter[str]:
    return Counter(line["state"] for line in lines.values())


def _fault(line: dict[str, Any], *, accepted: bool) -> str:
    """Return what is wrong with a message in the end, or nothing."""
    state = line["state"]
    if state in OPEN and state != "sent":
        return f"are still {state}"
    if state == "unknown":
        if accepted and not line["recipient"].startswith(SILENT):
            return "are unknown though their delivery was told"
        return "" if line["error"] else "are unknown without a reason"
    if state not in ("sent", "delivered"):
        return f"are {state}"
    return "" if accepted else f"are {state} but were never accepted"
