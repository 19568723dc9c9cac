"""`python -m tests.deployed`: the long form of the drills on a running local cloud; prints what happened.

Twenty kills on two lanes side by side, then the rates of three lanes with their senders killed meanwhile. Exits with 1
if a promise was broken, or if so few kills left an unknown message that the run proves little.

`--patient`: so many kills on each lane of `recovery.json` instead, one after the other, with all times as shipped.
Exits with 1 if a promise was broken, or if jobs take too long to go on.
"""

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from infra.local.console import LocalCloudError, say
from simulator.client import ControlClient
from tests.deployed import kills, rates
from tests.deployed.api import Api
from tests.deployed.inside import Inside, NoLane, running

KILL_LANES: Final = ("sendgrid-main", "rate-150")
RATE_LANES: Final = {"rate-1": 40, "rate-10": 60, "rate-150": 60}
"""Lane → seconds of its rate."""
PATIENT_LANES: Final = {"kill-20": (120,), "kill-200": (1200,), "kill-2000": (2000,)}
"""Lane → messages of a shot: for several seconds, and where that is possible for all four leases of its workers."""
PATIENCE: Final = 40.0
"""Seconds within which 95 of 100 jobs go on after a kill."""
LEAST_UNKNOWN: Final = 4
"""Of so many kills at least one must leave a message unknown."""


def shoot(inside: Inside, api: Api, control: ControlClient, count: int, seed: int) -> list[str]:
    """Kill senders; return what is wrong."""
    begun = time.monotonic()
    lanes = dict.fromkeys(KILL_LANES, kills.SIZES)
    report = kills.drill(inside, api, control, lanes, -(-count // len(lanes)), seed)
    shots = report.shots
    left = sum(shot.unknown > 0 for shot in shots)
    say(report.table())
    say(
        f"\n{len(shots)} kills, {sum(s.inside for s in shots)} between the first and the last accepted message of a "
        f"window; {left} left messages unknown, {sum(s.unknown for s in shots)} of {sum(s.total for s in shots)}; "
        f"{report.samples} reads of counts meanwhile, {report.missed} more timed out; "
        f"{time.monotonic() - begun:.0f} s\n"
    )
    wrong = report.faults()
    if left * LEAST_UNKNOWN < len(shots):
        wrong.append(f"only {left} of {len(shots)} kills left a message unknown")
    return wrong


def wait(inside: Inside, api: Api, control: ControlClient, count: int, seed: int) -> list[str]:
    """Kill senders, one after the other, and wait for what the deployment itself does; return what is wrong."""
    inside.sweep()  # which comes for the first time a minute after a deploy
    report = kills.drill(inside, api, control, PATIENT_LANES, count, seed, patient=True)
    say(f"{report.table()}\n\n{report.summary()}\n")
    wrong = report.faults()
    for lane in PATIENT_LANES:
        slow = kills.percentile(sorted(s.went_on for s in report.shots if s.lane == lane), 95)
        if slow > PATIENCE:
            wrong.append(f"{lane}: 5 of 100 jobs take {slow:.0f} s or more to go on")
    return wrong


def pace(inside: Inside, api: Api, control: ControlClient, seed: int) -> list[str]:
    """Measure rates while senders are killed; return what is wrong."""
    with ThreadPoolExecutor() as pool:
        begun = [
            pool.submit(rates.judged, inside, api, control, lane, seconds=seconds, kills=3, seed=seed)
            for lane, seconds in RATE_LANES.items()
        ]
        runs = [future.result() for future in begun]
    for run in runs:
        say(run.row())
    return [run.row() for run in runs if run.certain > run.rate + 1 or not run.killed]


def main() -> int:
    """Run all; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.deployed", description=__doc__)
    parser.add_argument("--kills", type=int, default=20, help="how often a sender is killed")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of where to aim")
    parser.add_argument("--patient", action="store_true", help="with all times as shipped; see above")
    options = parser.parse_args()
    try:
        inside, api, control = running()
        say(f"seed {options.seed}")
        if options.patient:
            wrong = wait(inside, api, control, options.kills, options.seed)
        else:
            wrong = shoot(inside, api, control, options.kills, options.seed)
            wrong += pace(inside, api, control, options.seed)
    except (LocalCloudError, NoLane) as error:
        wrong = [str(error)]
    for text in wrong:
        say(f"WRONG: {text}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
