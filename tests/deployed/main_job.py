"""`python -m tests.deployed.main_job`: the main job on a running local cloud, with a failover and kills.

The newsletter goes out while one of its two providers is down. The senders of the other one are killed in the middle
of a window, and `log` is killed now and then. The simulator's log has the last word.
"""

import random
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from examples.demo import newsletter
from examples.demo.newsletter import SentNewsletter
from infra.local.processes import wait_for
from tests.deployed import kills
from tests.deployed.drill import Report, Running, judged, killing
from tests.deployed.inside import running
from tests.deployed.oracle import Oracle
from tests.deployed.watch import Watch

LANE: Final = "sendgrid-main"
"""Its senders are killed; it takes over what the provider that is down refuses."""
AIM: Final = 60
"""Accepted messages after which its senders are killed: inside a window."""
LOG_KILLS: Final = 3
SEED: Final = 1


class MainJob(Report):
    """What came of the main job."""

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
        moved = sum(sum(line["providers"].values()) > 1 for line in found["logs"])
        self.figures["messages accepted once"] = len(times)
        self.figures |= {"of them, after a failover": moved, "unknown, and no provider has them": len(unknown)}
        self.wrong += newsletter.faults(sent, found, unknown)
        if len(unknown) > sum(lost):
            self.wrong.append(f"{len(unknown)} messages are unknown, and the killed windows held {sum(lost)}")
        self.wrong += [f"a killed window held {n} messages, and a window has {window}" for n in lost if n > window]
        needed = {"a failover": moved, **{f"a kill of {name}": self.kills[name] for name in ("sender", "log")}}
        self.wrong += [f"{name} did not happen" for name, n in needed.items() if not n]


def run(running: Running) -> MainJob:
    """Send the newsletter through an outage and kills, and judge what came of it."""
    inside, api, control = running
    report, rng = MainJob(SEED), random.Random(SEED)  # noqa: S311 - when to kill
    oracle = Oracle(control, LANE)

    def kill_log() -> bool:
        report.kills["log"] += (killed := inside.kill_function("log"))
        return killed > 0

    newsletter.strike(inside.cloud)
    with inside.redelivering(LANE, kills.REDELIVER_SECONDS):
        with Watch(inside, api) as watch, killing(kill_log, LOG_KILLS, rng, (0.5, 3.0)):
            began = time.monotonic()
            sent = newsletter.send(inside.cloud)
            watch.add(sent.job_id, sent.answer["recipients"])
            if wait_for(lambda: len(oracle.of(sent.job_id)) >= AIM, kills.AIM_SECONDS, pause=0.02):
                report.kills["sender"] = inside.kill(LANE)
            newsletter.watch(inside.cloud, sent, show=lambda _line: None, seconds=kills.SETTLE_SECONDS)
            watch.drop(sent.job_id)
        seconds = time.monotonic() - began
        chunks = range(-(-sent.answer["recipients"] // kills.CHUNK))
        lost = [len(indices) for _, indices in kills.lost(inside, sent.job_id, chunks)]
        report.judge(sent, newsletter.evidence(inside.cloud, sent), lost, inside.window(LANE))
        report.figures["s from the post to the last state"] = seconds
        watch.report(report)
        newsletter.recovered(inside.cloud)
    return report


if __name__ == "__main__":
    sys.exit(judged(lambda: run(running())))
