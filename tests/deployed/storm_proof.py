"""Two campaigns through a bad hour: their provider fails one call in five, and a sender is killed every four seconds.

The provider is a program of its own, which is the oracle, too (`storm_provider.py`). It posts receipts of what it has
taken. Beside the campaigns, another account sends single messages through the same credential, and there are doubts
from a run before. All times are as shipped. What is asserted:

- both campaigns are LOGGED in time;
- no message is taken twice, and none is lost: the provider has it, or its log says `failed` or `unknown`;
- none is `unknown` of which the provider has told that it was delivered;
- the provider is called with a single message soon after the API's answer.
"""

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from infra.local import processes
from infra.local.processes import wait_for
from shared.contracts import WEBHOOK_PATH
from tests.deployed.api import OPEN, Api
from tests.deployed.drill import Drill, Report, Running, answered, beside, has_begun, percentile
from tests.deployed.kills import SILENT
from tests.deployed.owner import TEMPLATE, Owner
from tests.deployed.storm_process import StormProvider, serving

LANE: Final = "stormy"
KILL_SECONDS: Final = 4.0
SINGLE_SECONDS: Final = 1.0
PATIENCE: Final = 2
"""A campaign that is late is waited for so many times as long, so that the report says how late it is."""
SETTLE_SECONDS: Final = 120.0
"""Within which single messages end, and receipts arrive, after the campaigns."""
SLICE: Final = 10
"""Seconds of a figure of the time line."""


class StormProof(Drill):
    """One run.

    Args:
        running: the cloud.
        seed: of the weather, and of what is killed.
        size: messages of each campaign.
        provider: serves the lane.
        folder: for lists.
    """

    def __init__(self, running: Running, seed: int, *, size: int, provider: StormProvider, folder: Path) -> None:
        super().__init__(running, seed)
        self._size = size
        self._provider = provider
        self._folder = folder
        self._owners: list[Owner] = []
        self._wanted: set[str] = set()
        self._logged: list[float] = []
        """Seconds from the first send until each campaign was LOGGED."""
        self._posted: dict[str, tuple[str, float]] = {}
        """Recipient of a single message → its job, and when the API had answered."""
        self._left: dict[int, str] = {}

    def run(self, *, within: float, soon: float, doubts: int, kill_seconds: float) -> None:
        """Leave doubts, send both campaigns and single messages, kill, and judge.

        Args:
            within: seconds after which both campaigns are LOGGED at the latest.
            soon: seconds after which the provider has been called with 95 % of the single messages.
            doubts: messages of the run before, of which some are unknown then.
            kill_seconds: for which senders are killed, and until one is.
        """
        self._doubt(doubts)
        for name in "ab":
            self._list(name)
        other = self.account(f"storm-{self.tag}")
        began = time.time()
        until = time.monotonic() + kill_seconds

        def strike() -> None:
            if time.monotonic() < until or not self.report.kills["senders"]:
                self._strike()

        with beside(lambda: self._single(other), lambda: SINGLE_SECONDS), beside(strike, lambda: KILL_SECONDS):
            jobs = [owner.send() for owner in self._owners]
            self._wait(jobs, began, within)
        self._judge_singles(other, soon)
        self._judge(began)

    def _doubt(self, messages: int) -> None:
        """Send a job of which no events come, so that what its provider leaves in doubt stays so."""
        job = self.api.post([f"{SILENT}+{self.tag}.{n}@example.com" for n in range(messages)], LANE)

        def logged() -> bool:
            return bool(self.api.get(f"/jobs/{job}")["state"] == "LOGGED")

        self.until(logged, SETTLE_SECONDS * PATIENCE, "the run before did not end", pause=0.5)
        self.report.figures["doubts of a run before"] = self.api.get(f"/jobs/{job}")["counts"]["unknown"]

    def _list(self, name: str) -> None:
        """Have a campaign and its list made, ready to be sent."""
        people = [f"{name}{n}+{self.tag}@example.com" for n in range(self._size)]
        file = self._folder / f"{name}.csv"
        file.write_text("\n".join(("recipient,name", *(f"{to},Ann {to[:6]}" for to in people))), encoding="utf-8")
        owner = Owner(self.api, LANE, TEMPLATE)
        found = owner.read(owner.upload(file))
        assert found["accepted"] == self._size, found
        self._owners.append(owner)
        self._wanted.update(people)

    def _single(self, other: Api) -> None:
        """Send a single message of another account."""
        to = f"single+{self.tag}.{len(self._posted)}@example.com"
        job = other.post([to], LANE)
        self._posted[to] = job, time.time()

    def _strike(self) -> None:
        """Kill one of the lane's processes that can serve."""
        workers = self.inside.workers(LANE)
        self.report.add(
            "sender processes that ended meanwhile", sum(workers.get(x) != y for x, y in self._left.items())
        )
        self._left = {pid: born for pid, born in workers.items() if has_begun(pid)}
        if self._left:
            victim = self.rng.choice(sorted(self._left))
            self.kill("senders", processes.kill(victim, self._left.pop(victim)))

    def _wait(self, jobs: Sequence[str], began: float, within: float) -> None:
        """Wait until all jobs are LOGGED, and note when each was."""
        left = list(jobs)

        def ended() -> bool:
            for job in list(left):
                with suppress(TimeoutError):  # a busy machine: asked again
                    if self.api.get(f"/jobs/{job}")["state"] == "LOGGED":
                        self._logged.append(time.time() - began)
                        left.remove(job)
            return not left

        wait_for(ended, within * PATIENCE, pause=0.5)
        found = [self.api.get(f"/jobs/{job}") for job in left]
        self.report.wrong += [f"never LOGGED: {x['state']} {x['counts']}" for x in found]
        self.report.wrong += [f"LOGGED after {x:.0f} s, not {within:g}" for x in self._logged if x > within]

    # What came of it

    def _judge(self, began: float) -> None:
        """Compare the campaigns' logs with the provider's."""
        lines = dict[str, dict[str, Any]]()
        taken: Counter[str] = Counter()
        doubted: list[str] = []

        def settled() -> bool:
            nonlocal lines, taken
            lines = {line["recipient"]: line for owner in self._owners for line in owner.messages()}
            taken = Counter(call["to"] for call in self._provider.calls() if call["taken"])
            doubted[:] = [to for to, x in lines.items() if x["state"] == "unknown" and taken[to]]
            return not doubted

        wait_for(answered(settled), SETTLE_SECONDS, pause=3)
        states = Counter(line["state"] for line in lines.values())
        accounted = {to for to, line in lines.items() if line["state"] in (*OPEN[:2], "failed", "unknown")}
        twice = sum(n > 1 for n in taken.values())
        lost = [to for to in self._wanted if not taken[to] and to not in accounted]
        failed = [to for to, line in lines.items() if line["state"] == "failed" and taken[to]]
        wrong = {
            "taken twice": twice,
            "lost": len(lost),
            "unknown though their delivery was told": len(doubted),
            "failed, and the provider has them": len(failed),
            "still queued, being sent or skipped": sum(states[x] for x in (*OPEN[:2], "skipped")),
        }
        self.report.wrong += [f"{n} messages {what}" for what, n in wrong.items() if n]
        self.report.check(f"{len(lines)} log lines, not {len(self._wanted)}", holds=set(lines) == self._wanted)
        had = sum(taken[to] > 0 for to in self._wanted)
        self.report.check(f"the provider has only {had} messages", holds=had > self._size)
        until = began + self._logged[-1] if len(self._logged) == len(self._owners) else time.time()
        calls = [call for call in self._provider.calls() if began <= call["at"] < until]
        slices = Counter(int((call["at"] - began) / SLICE) for call in calls)
        share = len(calls) / self.inside.lane(LANE).rate / (until - began)
        self.report.figures = {
            "until LOGGED": " and ".join(f"{x:.0f} s" for x in self._logged) or "never",
            "taken by the provider": had,
            "taken twice": twice,
            "lost": len(lost),
            "states in the end": states,
            "unknown, of which taken": f"{states['unknown']}, {len(doubted)}",
            "share of the rate used until then": f"{share:.0%}",
            f"called with in each {SLICE} s": " ".join(str(slices[n]) for n in range(max(slices, default=0) + 1)),
            **self.report.figures,
        }

    def _judge_singles(self, other: Api, soon: float) -> None:
        """Wait until the single messages have ended, and note how soon each was called and taken.

        Args:
            other: the API with their account's key.
            soon: see `run`.
        """
        states: Counter[str] = Counter()

        def ended() -> bool:
            states.clear()
            for job, _ in self._posted.values():
                states.update(other.get(f"/jobs/{job}")["counts"])
            return not any(states[state] for state in OPEN[:2])

        self.until(ended, SETTLE_SECONDS, "not all single messages ended", pause=3)
        first: dict[str, float] = {}
        taken: dict[str, float] = {}
        for call in self._provider.calls():
            if call["to"] in self._posted:
                first.setdefault(call["to"], call["at"])
                if call["taken"]:
                    taken.setdefault(call["to"], call["at"])
        called, got = ([at - self._posted[to][1] for to, at in x.items()] for x in (first, taken))
        p95 = percentile(called, 95)
        self.report.check(
            f"95 % of the single messages were called within {p95:.1f} s, not {soon:g}", holds=p95 <= soon
        )
        self.report.figures |= {"single messages called": len(called), "single messages in the end": states}
        self.report.figures |= {"s to their first call, p95": p95, "s until they are taken, p95": percentile(got, 95)}


def run(
    running: Running, seed: int, *, size: int, doubts: int, within: float, soon: float, kill_seconds: float = 0.0
) -> Report:
    """Send two campaigns through the storm, and account for each message.

    Args:
        running: the cloud.
        seed: of the weather, and of what is killed.
        size: messages of each campaign.
        doubts: messages of a run before, of which some stay unknown.
        within: seconds after which both campaigns are LOGGED at the latest.
        soon: seconds from the API's answer after which the provider has been called with 95 % of the single messages.
        kill_seconds: for which a sender is killed every four seconds; 0: until both are LOGGED.
    """
    inside, api, _ = running
    webhook = api.url + WEBHOOK_PATH.format(provider=inside.lane(LANE).provider, credential_id=LANE)
    with (
        TemporaryDirectory() as folder,
        StormProvider(webhook, seed, Path(folder)) as provider,
        serving(inside, LANE, provider),
    ):
        proof = StormProof(running, seed, size=size, provider=provider, folder=Path(folder))
        proof.run(within=within, soon=soon, doubts=doubts, kill_seconds=kill_seconds or within * PATIENCE)
    return proof.report
