"""`python -m tests.deployed.main_job`: the main job on a running local cloud, with a failover and kills.

The newsletter goes out while one of its two providers is down. The senders of the other one are killed in the middle
of a window, and `log` is killed now and then. The simulator's log has the last word.
"""

import random
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from examples.demo import newsletter
from examples.demo.newsletter import SentNewsletter
from infra.local.processes import wait_for
from simulator.client import ControlClient
from tests.deployed import kills
from tests.deployed.api import Api
from tests.deployed.drill import amounts, judged, killing
from tests.deployed.inside import Inside, running
from tests.deployed.oracle import Oracle
from tests.deployed.watch import Watch

LANE: Final = "sendgrid-main"
"""Its senders are killed; it takes over what the provider that is down refuses."""
AIM: Final = 60
"""Accepted messages after which its senders are killed: inside a window."""
LOG_KILLS: Final = 3
SEED: Final = 1


@dataclass(slots=True)
class MainJob:
    """What came of the main job; `wrong` is empty if every promise was kept.

    Attributes:
        accepted: messages that a provider took.
        moved: those that one provider refused and another one took.
        unknown: messages of a killed window that no provider has.
        kills: processes that were killed, by function.
        samples: answered reads of counts while it went on.
        seconds: from the post to the last state.
    """

    accepted: int = 0
    moved: int = 0
    unknown: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    samples: int = 0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return the figures."""
        return (
            f"main job: {self.accepted} messages accepted once, {self.moved} of them after a failover, "
            f"{self.unknown} unknown; killed: {amounts(self.kills) or 'nothing'}; counts read {self.samples} times; "
            f"{self.seconds:.0f} s; {len(self.wrong)} faults"
        )

    def judge(self, sent: SentNewsletter, found: Mapping[str, Any], lost: Sequence[int], window: int) -> None:
        """Compare fixture, the simulator's log and the API's.

        Args:
            sent: the newsletter.
            found: as `newsletter.evidence` returns it.
            lost: messages of each window whose claimant was killed.
            window: the most messages that one may have.
        """
        times = Counter(row["recipient_hash"] for row in found["accepted"])
        unknown = {line["recipient_hash"] for line in found["logs"] if line["state"] == "unknown"} - set(times)
        self.accepted, self.unknown = len(times), len(unknown)
        self.moved = sum(sum(line["providers"].values()) > 1 for line in found["logs"])
        self.wrong += newsletter.faults(sent, found, unknown)
        if len(unknown) > sum(lost):
            self.wrong.append(f"{len(unknown)} messages are unknown, and the killed windows held {sum(lost)}")
        self.wrong += [f"a killed window held {n} messages, and a window has {window}" for n in lost if n > window]
        needed = {"a failover": self.moved, **{f"a kill of {name}": self.kills[name] for name in ("sender", "log")}}
        self.wrong += [f"{name} did not happen" for name, n in needed.items() if not n]


def run(inside: Inside, api: Api, control: ControlClient) -> MainJob:
    """Send the newsletter through an outage and kills, and judge what came of it."""
    report, rng = MainJob(), random.Random(SEED)  # noqa: S311 - when to kill
    oracle = Oracle(control, LANE)

    def kill_log() -> bool:
        killed = inside.kill_function("log")
        report.kills["log"] += killed
        return killed > 0

    before = inside.redeliver_after(LANE, kills.REDELIVER_SECONDS)
    newsletter.strike(inside.cloud)
    try:
        with Watch(inside, api) as watch, killing(kill_log, LOG_KILLS, rng, (0.5, 3.0)):
            began = time.monotonic()
            sent = newsletter.send(inside.cloud)
            watch.add(sent.job_id, sent.answer["recipients"])
            if wait_for(lambda: len(oracle.of(sent.job_id)) >= AIM, kills.AIM_SECONDS, pause=0.02):
                report.kills["sender"] = inside.kill(LANE)
            newsletter.watch(inside.cloud, sent, show=lambda _line: None, seconds=kills.SETTLE_SECONDS)
            watch.drop(sent.job_id)
        report.seconds, report.samples = time.monotonic() - began, watch.samples
        report.wrong += watch.wrong
        chunks = range(-(-sent.answer["recipients"] // kills.CHUNK))
        lost = [len(indices) for _, indices in kills.lost(inside, sent.job_id, chunks)]
        report.judge(sent, newsletter.evidence(inside.cloud, sent), lost, inside.window(LANE))
        newsletter.recovered(inside.cloud)
    finally:
        inside.redeliver_after(LANE, before)
    return report


if __name__ == "__main__":
    sys.exit(judged(lambda: run(*running())))
