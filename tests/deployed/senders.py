"""The long forms of kills of senders: rates meanwhile, or all times as they are shipped."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from infra.local.console import say
from tests.deployed import kills as kills_
from tests.deployed import rates
from tests.deployed.drill import Report, Running, percentile

KILL_LANES: Final = ("sendgrid-main", "rate-150")
RATE_LANES: Final = {"rate-1": 40, "rate-10": 60, "rate-150": 60}
"""Lane → seconds of its rate."""
PATIENT_LANES: Final = {"kill-20": (120,), "kill-200": (1200,), "kill-2000": (2000,)}
"""Lane → messages of a shot: for several seconds, and where that is possible for all four leases of its workers."""
PATIENCE: Final = 40.0
"""Seconds within which 95 of 100 jobs go on after a kill."""
LEAST_UNKNOWN: Final = 4
"""Of so many kills at least one must leave a message unknown: with fewer the run proves little."""


def run(running: Running, seed: int, *, kills: int) -> Report:
    """Kill senders on two lanes side by side, then look at the rates of three lanes while senders are killed."""
    begun = time.monotonic()
    lanes = dict.fromkeys(KILL_LANES, kills_.SIZES)
    shots, report = kills_.drill(running, lanes, -(-kills // len(lanes)), seed)
    left = sum(shot.unknown > 0 for shot in shots)
    say(kills_.table(shots))
    report.check(f"only {left} of {len(shots)} kills left a message unknown", holds=left * LEAST_UNKNOWN >= len(shots))
    with ThreadPoolExecutor() as pool:
        measured = [
            pool.submit(rates.judged, running, lane, seconds=seconds, kills=3, seed=seed)
            for lane, seconds in RATE_LANES.items()
        ]
        lines = [future.result() for future in measured]
    for line in lines:
        say(line.row())
    report.wrong += [line.row() for line in lines if line.certain > line.rate + 1 or not line.killed]
    report.figures = {
        "kills": len(shots),
        "of these, between the first and the last accepted message of a window": sum(s.inside for s in shots),
        "of these, with unknown messages": left,
        "messages": sum(s.total for s in shots),
        "of these, unknown": sum(s.unknown for s in shots),
        **report.figures,
        "s in all": time.monotonic() - begun,
    }
    return report


def recovery(running: Running, seed: int, *, kills: int) -> Report:
    """Kill senders, one after the other, and wait for what the deployment itself does."""
    running[0].sweep()  # which comes for the first time a minute after a deploy
    shots, report = kills_.drill(running, PATIENT_LANES, kills, seed, patient=True)
    say(kills_.table(shots))
    report.figures = {"kills": len(shots), **report.figures}
    for lane in PATIENT_LANES:
        some = [s for s in shots if s.lane == lane]
        say(kills_.summary(some, lane))
        slow = percentile([s.went_on for s in some], 95)
        report.check(f"{lane}: 5 of 100 jobs take {slow:.0f} s or more to go on", holds=slow <= PATIENCE)
    return report
