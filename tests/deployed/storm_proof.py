"""Two campaigns through a bad hour: their provider fails one call in five, and a sender is killed every four seconds.

The provider is a program of its own, which is the oracle, too (`storm_provider.py`). It posts receipts of what it has
taken. Beside the campaigns, another account sends single messages through the same credential, and there are doubts
from a run before. All times are as shipped. What is asserted:

- both campaigns are LOGGED in time;
- no message is taken twice, and none is lost: the provider has it, or its log says `failed` or `unknown`;
- none is `unknown` of which the provider has told that it was delivered;
- the provider is called with a single message soon after the API's answer.

`python -m tests.deployed.storm_proof` is the long form.
"""

import argparse
import random
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Self

import psutil

from infra.local import accounts, processes
from infra.local.processes import wait_for
from shared.contracts import WEBHOOK_PATH
from tests.deployed.api import OPEN, Api
from tests.deployed.drill import amounts, judged
from tests.deployed.inside import Inside, running
from tests.deployed.kills import SILENT, percentile
from tests.deployed.owner import TEMPLATE, Owner
from tests.deployed.storm_process import StormProvider, serving
from tests.deployed.watch import answered

LANE: Final = "stormy"
KILL_SECONDS: Final = 4.0
BEGIN_SECONDS: Final = 4.0
"""So old a process is before it is killed."""
SINGLE_SECONDS: Final = 1.0
PATIENCE: Final = 2
"""A campaign that is late is waited for so many times as long, so that the report says how late it is."""
SETTLE_SECONDS: Final = 120.0
"""Within which single messages end, and receipts arrive, after the campaigns."""
SLICE: Final = 10
"""Seconds of a figure of the time line."""


@dataclass(slots=True)
class StormReport:
    """What came of it; `wrong` is empty if every promise was kept.

    Attributes:
        size: messages of each campaign.
        logged: seconds from the first send until each campaign was LOGGED.
        called: messages that the provider was called with, in each slice of that time.
        share: of the rate that these calls took, until the later campaign was LOGGED.
        taken: messages of the campaigns that the provider has; `twice` and `lost` ones are faults.
        states: of the campaigns' messages, in the end.
        unknown_taken: those that are `unknown` and that the provider has.
        doubts: messages of the run before that are unknown.
        kills: processes; `felled` ones have ended between two kills for no reason of ours.
        singles: seconds from the API's answer until each single message was taken.
        first_calls: seconds until the provider was first called with it.
        single_states: in the end.
    """

    seed: int
    size: int
    logged: list[float] = field(default_factory=list)
    called: list[int] = field(default_factory=list)
    share: float = 0.0
    taken: int = 0
    twice: int = 0
    lost: int = 0
    states: Counter[str] = field(default_factory=Counter)
    unknown_taken: int = 0
    doubts: int = 0
    kills: int = 0
    felled: int = 0
    singles: list[float] = field(default_factory=list)
    first_calls: list[float] = field(default_factory=list)
    single_states: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return the figures; the last line has the most important ones."""
        logged = " and ".join(f"{x:.0f} s" for x in self.logged) or "never"
        first, taken = (_p95(x) for x in (self.first_calls, self.singles))
        rows = {
            "seed": self.seed,
            "messages of each campaign": self.size,
            "LOGGED after": logged,
            "share of the rate used until then": f"{self.share:.0%}",
            f"called with in each {SLICE} s": " ".join(map(str, self.called)),
            "sender processes killed": f"{self.kills}, {self.felled} more ended meanwhile",
            "states in the end": amounts(self.states),
            "taken by the provider": self.taken,
            "taken twice": self.twice,
            "lost": self.lost,
            "unknown, of which taken": f"{self.states['unknown']}, {self.unknown_taken}",
            "doubts of a run before": self.doubts,
            "single messages": f"{len(self.first_calls)} called: {amounts(self.single_states)}",
            "seconds to their first call, p95": f"{first:.1f}",
            "seconds until they are taken, p95": f"{taken:.1f}",
        }
        lines = [f"{name:<40} {value}" for name, value in rows.items()]
        figure = f"LOGGED after {logged}, {self.twice} twice, {self.lost} lost, single p95 {first:.1f} s, "
        return "\n".join([*lines, "", f"{figure}{self.kills} killed, {len(self.wrong)} faults"])


class Singles(threading.Thread):
    """Single messages of another account, one a second, until the block is left. `posted`: recipient → job, time."""

    def __init__(self, api: Api, tag: str) -> None:
        super().__init__(daemon=True)
        self._api = api
        self._tag = tag
        self._ended = threading.Event()
        self.posted: dict[str, tuple[str, float]] = {}
        self.failed: list[BaseException] = []

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join()

    def run(self) -> None:
        """Post."""
        while not self._ended.wait(SINGLE_SECONDS):
            to = f"single+{self._tag}.{len(self.posted)}@example.com"
            try:
                job = self._api.post([to], LANE)
            except Exception as error:  # noqa: BLE001 - reported by the thread that waits
                self.failed.append(error)
                return
            self.posted[to] = job, time.time()


class StormProof:
    """One run.

    Args:
        inside: the running cloud.
        api: its API.
        report: is filled in.
        provider: serves the lane.
        folder: for lists.
    """

    def __init__(self, inside: Inside, api: Api, report: StormReport, provider: StormProvider, folder: Path) -> None:
        self._inside = inside
        self._api = api
        self._report = report
        self._provider = provider
        self._folder = folder
        self._rng = random.Random(report.seed)  # noqa: S311 - of a drill
        self._tag = uuid.uuid4().hex[:8]
        self._owners: list[Owner] = []
        self._wanted: set[str] = set()

    def run(self, *, within: float, soon: float, doubts: int, kill_seconds: float) -> None:
        """Leave doubts, send both campaigns and single messages, kill, and judge.

        Args:
            within: seconds after which both campaigns are LOGGED at the latest.
            soon: seconds after which the provider has been called with 95 % of the single messages.
            doubts: messages of the run before, of which some are unknown then.
            kill_seconds: for which senders are killed.
        """
        self._doubt(doubts)
        for name in "ab":
            self._list(name)
        other = self._stranger()
        began = time.time()
        with Singles(other, self._tag) as singles, self._killing(kill_seconds):
            jobs = [owner.send() for owner in self._owners]
            self._wait(jobs, began, within)
        self._report.wrong += [f"a single message was not accepted by the API: {x!r}" for x in singles.failed]
        self._judge_singles(other, singles.posted, soon)
        self._judge(began)

    def _doubt(self, messages: int) -> None:
        """Send a job of which no events come, so that what its provider leaves in doubt stays so."""
        job = self._api.post([f"{SILENT}+{self._tag}.{n}@example.com" for n in range(messages)], LANE)

        def logged() -> bool:
            return bool(self._api.get(f"/jobs/{job}")["state"] == "LOGGED")

        if not wait_for(answered(logged), SETTLE_SECONDS * PATIENCE, pause=0.5):
            self._report.wrong.append("the run before did not end")
        self._report.doubts = self._api.get(f"/jobs/{job}")["counts"]["unknown"]

    def _list(self, name: str) -> None:
        """Have a campaign and its list made, ready to be sent."""
        people = [f"{name}{n}+{self._tag}@example.com" for n in range(self._report.size)]
        file = self._folder / f"{name}.csv"
        file.write_text("\n".join(("recipient,name", *(f"{to},Ann {to[:6]}" for to in people))), encoding="utf-8")
        owner = Owner(self._api, LANE, TEMPLATE)
        found = owner.read(owner.upload(file))
        assert found["accepted"] == self._report.size, found
        self._owners.append(owner)
        self._wanted.update(people)

    def _stranger(self) -> Api:
        """Return the API with the key of another account."""
        deployment, port = self._inside.deployment, self._inside.port
        words = ("account", "create", f"storm-{self._tag}", "--sender", "example.com")
        account = accounts.posthaste(deployment, port, *words)["account_id"]
        return Api(self._api.url, accounts.posthaste(deployment, port, "key", "create", account)["key"])

    @contextmanager
    def _killing(self, seconds: float) -> Iterator[None]:
        """Kill one sender's process of the lane every few seconds, for so long or until the block is left."""
        ended, until = threading.Event(), time.monotonic() + seconds

        def strike() -> None:
            left: dict[int, str] = {}
            while not ended.wait(KILL_SECONDS) and time.monotonic() < until:
                workers = self._inside.workers(LANE)
                self._report.felled += sum(workers.get(pid) != born for pid, born in left.items())
                left = {pid: born for pid, born in workers.items() if _has_begun(pid)}
                if left:
                    victim = self._rng.choice(sorted(left))
                    self._report.kills += processes.kill(victim, left.pop(victim))

        thread = threading.Thread(target=strike, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _wait(self, jobs: Sequence[str], began: float, within: float) -> None:
        """Wait until all jobs are LOGGED, and note when each was."""
        left = list(jobs)

        def ended() -> bool:
            for job in list(left):
                with suppress(TimeoutError):  # a busy machine: asked again
                    if self._api.get(f"/jobs/{job}")["state"] == "LOGGED":
                        self._report.logged.append(time.time() - began)
                        left.remove(job)
            return not left

        wait_for(ended, within * PATIENCE, pause=0.5)
        found = [self._api.get(f"/jobs/{job}") for job in left]
        self._report.wrong += [f"never LOGGED: {x['state']} {x['counts']}" for x in found]
        self._report.wrong += [f"LOGGED after {x:.0f} s, not {within:g}" for x in self._report.logged if x > within]

    # What came of it

    def _judge(self, began: float) -> None:
        """Compare the campaigns' logs with the provider's."""
        report, lines = self._report, dict[str, dict[str, Any]]()
        taken: Counter[str] = Counter()

        def settled() -> bool:
            nonlocal lines, taken
            lines = {line["recipient"]: line for owner in self._owners for line in owner.messages()}
            taken = Counter(call["to"] for call in self._provider.calls() if call["taken"])
            report.unknown_taken = sum(x["state"] == "unknown" and taken[to] > 0 for to, x in lines.items())
            return not report.unknown_taken

        wait_for(answered(settled), SETTLE_SECONDS, pause=3)
        until = began + report.logged[-1] if len(report.logged) == len(self._owners) else time.time()
        calls = [call for call in self._provider.calls() if began <= call["at"] < until]
        slices = Counter(int((call["at"] - began) / SLICE) for call in calls)
        report.called = [slices[n] for n in range(max(slices, default=0) + 1)]
        report.share = len(calls) / self._inside.lane(LANE).rate / (until - began) if calls else 0.0
        report.states = Counter(line["state"] for line in lines.values())
        report.taken = sum(taken[to] > 0 for to in self._wanted)
        report.twice = sum(n > 1 for n in taken.values())
        accounted = {to for to, line in lines.items() if line["state"] in (*OPEN[:2], "failed", "unknown")}
        report.lost = len([to for to in self._wanted if not taken[to] and to not in accounted])
        wrong = {
            "taken twice": report.twice,
            "lost": report.lost,
            "unknown though their delivery was told": report.unknown_taken,
            "failed, and the provider has them": sum(
                line["state"] == "failed" and taken[to] > 0 for to, line in lines.items()
            ),
            "still queued, being sent or skipped": sum(report.states[x] for x in (*OPEN[:2], "skipped")),
        }
        report.wrong += [f"{n} messages {what}" for what, n in wrong.items() if n]
        if set(lines) != self._wanted:
            report.wrong.append(f"{len(lines)} log lines for {len(self._wanted)} messages")

    def _judge_singles(self, other: Api, posted: Mapping[str, tuple[str, float]], soon: float) -> None:
        """Wait until the single messages have ended, and note how soon each was called and taken.

        Args:
            other: the API with their account's key.
            posted: recipient → job, time.
            soon: see `run`.
        """
        report = self._report

        def states() -> Counter[str]:
            counts = [other.get(f"/jobs/{job}")["counts"] for job, _ in posted.values()]
            return Counter(state for found in counts for state, n in found.items() if n)

        def ended() -> bool:
            report.single_states = states()
            return not any(report.single_states[state] for state in OPEN[:2])

        if not wait_for(answered(ended), SETTLE_SECONDS, pause=3):
            report.wrong.append("not all single messages ended")
        first: dict[str, float] = {}
        taken: dict[str, float] = {}
        for call in self._provider.calls():
            if call["to"] in posted:
                first.setdefault(call["to"], call["at"])
                if call["taken"]:
                    taken.setdefault(call["to"], call["at"])
        report.first_calls, report.singles = (
            [at - posted[to][1] for to, at in found.items()] for found in (first, taken)
        )
        if (p95 := _p95(report.first_calls)) > soon:
            report.wrong.append(f"95 % of the single messages were called within {p95:.1f} s, not {soon:g}")


def _has_begun(pid: int) -> bool:
    """Tell whether a process is old enough to serve: the emulator ends all of a function with one that cannot begin."""
    try:
        return bool(time.time() - psutil.Process(pid).create_time() >= BEGIN_SECONDS)
    except psutil.NoSuchProcess:
        return False


def _p95(some: Sequence[float]) -> float:
    return percentile(sorted(some), 95) if some else 0.0


def run(
    inside: Inside, api: Api, *, size: int, doubts: int, within: float, soon: float, kill_seconds: float, seed: int
) -> StormReport:
    """Send two campaigns through the storm, and account for each message.

    Args:
        inside: the cloud.
        api: its API.
        size: messages of each campaign.
        doubts: messages of a run before, of which some stay unknown.
        within: seconds after which both campaigns are LOGGED at the latest.
        soon: seconds from the API's answer after which the provider has been called with 95 % of the single messages.
        kill_seconds: for which a sender is killed every four seconds.
        seed: of the weather, and of what is killed.
    """
    report = StormReport(seed, size)
    webhook = api.url + WEBHOOK_PATH.format(provider=inside.lane(LANE).provider, credential_id=LANE)
    with (
        TemporaryDirectory() as folder,
        StormProvider(webhook, seed, Path(folder)) as provider,
        serving(inside, LANE, provider),
    ):
        proof = StormProof(inside, api, report, provider, Path(folder))
        proof.run(within=within, soon=soon, doubts=doubts, kill_seconds=kill_seconds)
    return report


def main() -> int:
    """Run on the local cloud that is up, and report; 1 if a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.deployed.storm_proof")
    parser.add_argument("--size", type=int, default=8_000, help="messages of each of the two campaigns")
    parser.add_argument("--doubts", type=int, default=2_000, help="messages of a run before")
    parser.add_argument("--within", type=float, default=240.0, help="seconds until both are LOGGED")
    parser.add_argument("--soon", type=float, default=5.0, help="the most seconds of the single messages' p95")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10_000))
    options = parser.parse_args()

    def storm() -> StormReport:
        inside, api, _ = running()
        return run(
            inside,
            api,
            size=options.size,
            doubts=options.doubts,
            within=options.within,
            soon=options.soon,
            kill_seconds=options.within * PATIENCE,
            seed=options.seed,
        )

    return judged(storm)


if __name__ == "__main__":
    sys.exit(main())
