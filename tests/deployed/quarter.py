"""A provider of whose calls a quarter fails, on a running local cloud.

Prints how long a campaign's worth of messages takes on a single credential, and what became of them.
"""

from collections import Counter
from typing import Any, Final

from infra.local import processes
from tests.deployed.api import OPEN
from tests.deployed.drill import Drill, Report, Running, troubled

PLACE: Final = ("sendgrid", "rate-150")
PATIENCE: Final = 900
BATCH: Final = 4_000
FAILS: Final[list[dict[str, Any]]] = [
    {"mode": "accept_and_drop", "probability": 0.050},
    {"mode": "500", "status": 502, "probability": 0.053},
    {"mode": "503", "probability": 0.056},
    {"mode": "429", "probability": 0.059},
]
HANGS: Final[dict[str, Any]] = {"mode": "slow", "after_s": 30, "probability": 0.063}
"""Each a twentieth of all calls: the first rule that hits wins. A call that hangs outlasts the sender's ten seconds."""


def run(running: Running, seed: int, *, messages: int, hangs: int) -> Report:
    """Send so many messages and time them. `hangs`: 1: a fifth of the calls that fail gets no answer in time."""
    drill = Drill(running, seed)
    report = drill.report
    rate = drill.inside.lane(PLACE[1]).rate
    marks: dict[str, float] = {}
    jobs: list[str] = []

    def counts() -> Counter[str]:
        found = [drill.api.get(f"/jobs/{job}") for job in jobs]
        if all(x["state"] == "LOGGED" for x in found):
            marks.setdefault("s until LOGGED", drill.passed())
        return sum((Counter(x["counts"]) for x in found), Counter[str]())

    def look() -> bool:
        waiting = sum(counts()[state] for state in OPEN[:2])
        for share in (0.5, 0.9, 0.99):
            if waiting <= (1 - share) * messages:
                marks.setdefault(f"s until {share:.0%} ended", drill.passed())
        return "s until LOGGED" in marks

    with troubled(drill.control, [PLACE], latency_ms=50, rules=[*FAILS, HANGS if hangs else FAILS[1]]):
        for start in range(0, messages, BATCH):
            size = min(BATCH, messages - start)
            jobs.append(drill.api.post([f"q{start + i}+{drill.tag}@example.com" for i in range(size)], PLACE[1]))
        processes.wait_for(look, PATIENCE, pause=2)
    rows = [row for row in drill.control.log(since=drill.began - 1) if row["ref"] and row["ref"].split("-")[0] in jobs]
    states = counts()
    breaker = drill.inside.records.control("none", "none", lane=PLACE[1]).breaker
    written = breaker is not None and breaker.version
    report.figures |= {"messages": messages, "a second": rate, **marks, "states in the end": states}
    report.figures["accepted by the provider"] = len(rows)
    report.figures["breaker"] = f"{breaker.state}, {breaker.version} writes" if breaker and written else "never written"
    report.check("messages still wait", holds=not sum(states[state] for state in OPEN[:2]))
    report.check(f"{states.total()} of {messages} messages", holds=states.total() == messages)
    return report
