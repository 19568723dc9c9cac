"""`python -m tests.deployed.quarter`: a provider of whose calls a quarter fails, on a running local cloud.

Prints how long a campaign's worth of messages takes on a single credential, and what became of them.
"""

import argparse
import sys
import time
import uuid
from collections import Counter
from typing import Any, Final

from infra.local import processes
from infra.local.console import LocalCloudError, say
from tests.deployed.api import STATES, Api
from tests.deployed.inside import Inside, NoLane, running

PLACE: Final = ("sendgrid", "rate-150")
PATIENCE: Final = 900
FAILS: Final[list[dict[str, Any]]] = [
    {"mode": "accept_and_drop", "probability": 0.050},
    {"mode": "500", "status": 502, "probability": 0.053},
    {"mode": "503", "probability": 0.056},
    {"mode": "429", "probability": 0.059},
]
HANGS: Final[dict[str, Any]] = {"mode": "slow", "after_s": 30, "probability": 0.063}
"""Each a twentieth of all calls: the first rule that hits wins. A call that hangs outlasts the sender's ten seconds."""


def main() -> int:
    """Run and report; 1 if a message was not accounted for."""
    parser = argparse.ArgumentParser(prog="python -m tests.deployed.quarter", description=__doc__)
    parser.add_argument("--messages", type=int, default=8_000)
    parser.add_argument("--hangs", action="store_true", help="a fifth of the calls that fail gets no answer in time")
    options = parser.parse_args()
    try:
        inside, api, control = running()
        rate = inside.lane(PLACE[1]).rate
    except (LocalCloudError, NoLane) as error:
        say(f"error: {error}")
        return 1
    control.faults(*PLACE, latency_ms=50, rules=[*FAILS, *([HANGS] if options.hangs else [{**FAILS[1]}])])
    try:
        began = time.time()
        jobs = _post(api, options.messages)
        marks = _watch(api, jobs, options.messages, began)
    finally:
        control.faults(*PLACE)
    rows = [row for row in control.log(since=began - 1) if row["ref"] and row["ref"].split("-")[0] in jobs]
    counts = _counts(api, jobs)
    said = ", ".join(f"{n} {state}" for state, n in counts.items() if n)
    shares = ", ".join(f"{share:.0%} after {at:.0f} s" for share, at in marks.items())
    say(f"{options.messages} messages at {rate:g}/s, a quarter of the calls failing: {shares}; {said}")
    say(f"{len(rows)} accepted by the provider; breaker: {_breaker(inside)}")
    left = counts["queued"] + counts["sending"]
    return 1 if left or sum(counts[s] for s in STATES) != options.messages else 0


def _post(api: Api, messages: int) -> list[str]:
    jobs = []
    for start in range(0, messages, 4_000):
        tag = uuid.uuid4().hex[:8]
        people = [f"q{i}+{tag}@example.com" for i in range(min(4_000, messages - start))]
        body = {"from": "news@example.com", "to": people, "subject": "Hello", "text": "Hello", "route": [PLACE[1]]}
        answer = api.call("POST", "/batches", body)
        if answer.status != 202:
            raise LocalCloudError(f"not accepted: {answer}")
        jobs.append(str(answer.body["job_id"]))
    return jobs


def _counts(api: Api, jobs: list[str]) -> Counter[str]:
    total: Counter[str] = Counter()
    for job in jobs:
        total.update(api.get(f"/jobs/{job}")["counts"])
    return total


def _watch(api: Api, jobs: list[str], messages: int, began: float) -> dict[float, float]:
    """Wait for the end; returns the seconds until shares of the messages had been tried to the end."""
    marks: dict[float, float] = {}

    def look() -> bool:
        found = [api.get(f"/jobs/{job}") for job in jobs]
        waiting = sum(x["counts"]["queued"] + x["counts"]["sending"] for x in found)
        for share in (0.5, 0.9, 0.99):
            if waiting <= (1 - share) * messages:
                marks.setdefault(share, time.time() - began)
        if all(x["state"] == "LOGGED" for x in found):
            marks[1.0] = time.time() - began
            return True
        return False

    processes.wait_for(look, PATIENCE, pause=2)
    return marks


def _breaker(inside: Inside) -> str:
    breaker = inside.records.control("none", "none", lane=PLACE[1]).breaker
    return "never written" if breaker is None or not breaker.version else f"{breaker.state}, {breaker.version} writes"


if __name__ == "__main__":
    sys.exit(main())
