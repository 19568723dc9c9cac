"""`make soak`: hunt for hours with fresh seeds; `--sabotage NAME`: print the shortest trace that finds a sabotage.

Among batches, among campaigns that share a credential, and among operators who pause and resume, in turn.
"""

import argparse
import secrets
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import cycle

from tests.statemachine.campaigns import CampaignMachine
from tests.statemachine.hunt import hunt, hunt_for, moto, over_fakes, over_moto
from tests.statemachine.machine import Machine
from tests.statemachine.operators import OperatorMachine
from tests.statemachine.sabotage import OF_CAMPAIGNS, SABOTAGES

MACHINES = {"batches": Machine, "campaigns": CampaignMachine, "operators": OperatorMachine}
BLOCK = 300.0
"""Seconds between two lines of progress."""


def main() -> int:
    """Hunt and report; 1 if a promise did not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.statemachine", description=__doc__)
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--stores", choices=["fakes", "moto"], default="fakes")
    parser.add_argument("--seed", type=int, help="hunt from this seed only")
    parser.add_argument("--runs", type=int, default=20, help="runs from each seed")
    parser.add_argument("--machine", choices=[*MACHINES, "all"], default="all")
    parser.add_argument("--sabotage", choices=sorted(SABOTAGES | OF_CAMPAIGNS))
    asked = parser.parse_args()
    wanted = list(MACHINES.values()) if asked.machine == "all" else [MACHINES[asked.machine]]
    if asked.sabotage:
        wanted = [CampaignMachine if asked.sabotage in OF_CAMPAIGNS else Machine]
    with ExitStack() as stack:
        client = stack.enter_context(moto()) if asked.stores == "moto" else None
        targets = [over_moto(client, m) if asked.stores == "moto" else over_fakes(m) for m in wanted]
        if asked.sabotage:
            stack.enter_context((SABOTAGES | OF_CAMPAIGNS)[asked.sabotage]())
        try:
            if asked.seed is not None:
                for target in targets:
                    hunt(target, asked.seed, runs=asked.runs)
                sys.stdout.write(f"{asked.runs * len(targets)} runs, no promise broken\n")
                return 0
            return _soak(targets, asked.hours * 3600, asked.runs)
        except AssertionError as e:
            sys.stdout.write("".join(traceback.format_exception_only(e)) + "\n")
            return 1


def _soak(targets: Sequence[type[Machine]], seconds: float, runs: int) -> int:
    end = time.monotonic() + seconds
    made = 0
    turns = cycle(targets)
    while (left := end - time.monotonic()) > 0:
        target = next(turns)
        made += hunt_for(target, min(BLOCK, left), secrets.randbits(48), runs=runs)
        sys.stdout.write(f"{made} runs, no promise broken\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
