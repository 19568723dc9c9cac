"""Chaos on the local cloud: providers fail at random, senders are killed, webhooks come late, twice, or never.

What goes wrong, and when, is drawn from a seed; how far the machine got by then is not, so a seed replays the weather
and not every call. In the end each message is accounted for, and the simulator's own log has the last word.

Meanwhile every vendor takes some messages and answers 500 or 504 in its own words, whatever the weather (`vendors.py`).
"""

import random
import threading
import time
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Final, Self

from infra.local import processes
from shared.contracts import ENV_FEEDBACK_QUEUE_URL
from simulator.client import ControlClient
from tests.deployed import vendors
from tests.deployed.api import STATES, Api
from tests.deployed.drill import amounts
from tests.deployed.inside import Inside
from tests.deployed.oracle import ref_of
from tests.deployed.watch import Watch, answered

BATCH: Final = 500
CREDENTIALS: Final = (("sendgrid", "sendgrid-main"), ("sendgrid", "rate-150"))
"""Those whose provider posts events in batches: a post each would keep a laptop busy for an hour."""
WEATHER: Final[Sequence[tuple[int, Mapping[str, Any]]]] = (
    (6, {}),
    (2, {"mode": "503", "probability": 0.3}),
    (1, {"mode": "503"}),
    (1, {"mode": "500", "probability": 0.1}),
    (1, {"mode": "500", "status": 502, "probability": 0.1, "accept": True}),
    (1, {"mode": "500", "status": 500, "probability": 0.1, "accept": True, "own": True}),
    (1, {"mode": "500", "status": 504, "probability": 0.1, "accept": True, "own": True}),
    (1, {"mode": "406", "probability": 0.1}),
    (1, {"mode": "429", "probability": 0.3}),
    (1, {"mode": "reset", "probability": 0.1}),
    (2, {"mode": "accept_and_drop", "probability": 0.1}),
    (1, {"mode": "401", "count": 3}),
    (1, {"latency_ms": 400}),
)
"""How often a credential's weather is drawn, and what the simulator is told. Where a message was taken, a gateway says
502, so that a 500 or 504 is the vendor's."""
POSTS: Final[Mapping[str, Any]] = {"loss": 0.05, "duplicate": 0.2, "reorder": 0.2}
MIX: Final = {"blocked": 0.03, "bounce": 0.02, "defer": 0.03}
SPELL_SECONDS: Final = (1.0, 6.0)
KILL_SECONDS: Final = (8.0, 20.0)
SETTLE_SECONDS: Final = 420
SETTLE_EACH: Final = 0.1
"""Seconds more for each message: a laptop carries some fifty a second under chaos, and a round may wait 15 minutes."""
SOFT: Final = frozenset({"dropped", "blocked", "failed_temporarily"})


@dataclass(slots=True)
class Report:
    """What came of it; `wrong` is empty if every promise was kept."""

    seed: int
    messages: int
    kills: int = 0
    spells: int = 0
    samples: int = 0
    calls: int = 0
    accepted: int = 0
    broken: Counter[tuple[str, int]] = field(default_factory=Counter)
    """(vendor, status) → calls that were taken and answered so in the vendor's own words."""
    states: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return the report as lines."""
        reasons = ", ".join(f"{n} {reason}" for reason, n in self.reasons.most_common())
        vendors = ", ".join(f"{name} {status}: {n}" for (name, status), n in sorted(self.broken.items()))
        return (
            f"seed {self.seed}: {self.messages} messages in {self.seconds:.0f} s, {self.spells} changes of weather, "
            f"{self.kills} processes killed; {self.accepted} accepted; {amounts(self.states)}; "
            f"{self.samples} reads of counts; unknown: {reasons or 'none'}; {self.broken.total()} calls taken and "
            f"answered with 500 or 504 in the vendor's own words ({vendors or 'none'}); {len(self.wrong)} faults"
        )


class Chaos(threading.Thread):
    """The weather, until it is left."""

    def __init__(self, inside: Inside, control: ControlClient, report: Report) -> None:
        super().__init__(daemon=True)
        self._inside = inside
        self._control = control
        self._report = report
        self._rng = random.Random(report.seed)  # noqa: S311 - weather
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        for place in CREDENTIALS:
            self._control.webhooks(*place, mix=MIX, **POSTS)
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join()
        for place in CREDENTIALS:
            self._control.faults(*place)
            self._control.webhooks(*place, mix={}, loss=0, duplicate=0, reorder=0)

    def run(self) -> None:
        """Change the weather, and kill."""
        weights, kinds = zip(*WEATHER, strict=True)
        next_kill = time.monotonic() + self._rng.uniform(*KILL_SECONDS) / 2
        while not self._ended.wait(self._rng.uniform(*SPELL_SECONDS)):
            struck = self._rng.choice(CREDENTIALS)
            weather = self._rng.choices(kinds, weights)[0]
            for place in CREDENTIALS:  # one at a time: with both struck, rounds wait up to a quarter of an hour
                self._control.faults(*place, **(weather if place == struck else {}))
            self._report.spells += 1
            if time.monotonic() >= next_kill:
                self._report.kills += self._inside.kill(self._rng.choice(CREDENTIALS)[1])
                next_kill = time.monotonic() + self._rng.uniform(*KILL_SECONDS)


def run(inside: Inside, api: Api, control: ControlClient, *, messages: int, seed: int) -> Report:
    """Send so many messages through the storm and account for each."""
    report = Report(seed, messages)
    began = time.time()
    patience = SETTLE_SECONDS + SETTLE_EACH * messages
    wanted: dict[str, Sequence[str]] = {}
    logs: dict[str, str] = {}
    with Watch(inside, api) as watch, ExitStack() as stack:
        for _, name in CREDENTIALS:
            stack.callback(inside.redeliver_after, name, inside.redeliver_after(name, 30))
        tag = uuid.uuid4().hex[:8]
        with Chaos(inside, control, report), vendors.breaking(control, tag):
            for sent in vendors.post(api, tag):
                wanted[sent.job], logs[sent.job] = sent.recipients, sent.log
                watch.add(sent.job, len(sent.recipients))
                report.messages += len(sent.recipients)
            for start in range(0, messages, BATCH):
                tag = uuid.uuid4().hex[:8]
                recipients = [f"p{i}+{tag}@example.com" for i in range(min(BATCH, messages - start))]
                job = _post(api, recipients)
                wanted[job], logs[job] = recipients, f"/batches/{job}/logs"
                watch.add(job, len(recipients))
            processes.wait_for(answered(lambda: _sent(api, wanted) >= 0.9 * report.messages), patience, pause=1)
        if not processes.wait_for(answered(lambda: _still(inside, api, control, wanted)), patience, pause=1):
            report.wrong.append("not all jobs came to rest")
        report.samples, report.wrong[:0] = watch.samples, watch.wrong
    report.seconds = time.time() - began
    report.broken = vendors.answered(control, began - 1)
    for vendor in vendors.LANES:
        missing = [status for status in vendors.STATUSES if not report.broken[vendor, status]]
        report.wrong += [f"{vendor} took nothing that it answered with {status}" for status in missing]
    lines = {job: api.items(path) for job, path in logs.items()}
    _account(report, control, wanted, lines, began)
    return report


def _post(api: Api, recipients: Sequence[str]) -> str:
    body = {
        "from": "news@example.com",
        "to": list(recipients),
        "subject": "Hello",
        "text": "Hello",
        "route": [name for _, name in CREDENTIALS],
        "max_attempts": 12,
    }
    answer = api.call("POST", "/batches", body)
    assert answer.status == 202, answer
    job: str = answer.body["job_id"]
    return job


def _counts(api: Api, wanted: Mapping[str, Sequence[str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for job in wanted:
        total.update(api.get(f"/jobs/{job}")["counts"])
    return total


def _sent(api: Api, wanted: Mapping[str, Sequence[str]]) -> int:
    counts = _counts(api, wanted)
    return sum(counts[state] for state in STATES if state not in ("queued", "sending"))


def _still(inside: Inside, api: Api, control: ControlClient, wanted: Mapping[str, Sequence[str]]) -> bool:
    """Tell whether every job has ended, and no webhook is on its way."""
    for place in (*CREDENTIALS, *vendors.LANES.items()):
        counters = control.webhooks(*place)["counters"]
        if counters["planned"] > counters["delivered"] + counters["failed"]:
            return False
    if inside.waiting(inside.deployment.environment[ENV_FEEDBACK_QUEUE_URL]):
        return False
    found = [api.get(f"/jobs/{job}") for job in wanted]
    return all(job["state"] == "LOGGED" and not job["counts"]["queued"] + job["counts"]["sending"] for job in found)


def _account(
    report: Report,
    control: ControlClient,
    wanted: Mapping[str, Sequence[str]],
    logs: Mapping[str, Sequence[Mapping[str, Any]]],
    since: float,
) -> None:
    """Compare every log line with what the simulator accepted."""
    rows = [row for row in control.log(since=since - 1) if row["ref"] and ref_of(row).job in wanted]
    report.accepted = len(rows)
    times: Counter[tuple[str, str]] = Counter((ref_of(row).job, row["recipient"]) for row in rows)
    bad: Counter[str] = Counter()
    for job, recipients in wanted.items():
        lines = logs[job]
        if {line["recipient"] for line in lines} != set(recipients) or len(lines) != len(recipients):
            bad["a job's log is not its list"] += 1
        for line in lines:
            report.states[line["state"]] += 1
            if line["state"] == "unknown":
                report.reasons[line["error"] or "no reason"] += 1
            bad.update(_faults(line, times[job, line["recipient"]]))
    report.wrong += [f"{n}: {what}" for what, n in bad.items()]
    if sum(report.states.values()) != report.messages:
        report.wrong.append(f"{sum(report.states.values())} log lines for {report.messages} messages")


def _faults(line: Mapping[str, Any], accepted: int) -> list[str]:
    """Return what is wrong with a message in the end. `accepted`: how often its providers took it."""
    gave_up = sum(any(word["word"] in SOFT for word in attempt["feedback"]) for attempt in line["attempts"])
    standing = accepted - gave_up
    state = line["state"]
    broken = {
        "accepted more than once": standing > 1,
        "sent or delivered, and no provider has it": state in ("sent", "delivered") and accepted == 0,
        "unknown without a reason": state == "unknown" and not line["error"],
        "failed without a reason": state in ("failed", "skipped") and not line["error"],
        "failed, and a provider has it": state in ("failed", "skipped") and standing > 0 and not _bounced(line),
        f"still {state}": state in ("queued", "sending"),
    }
    return [what for what, holds in broken.items() if holds]


def _bounced(line: Mapping[str, Any]) -> bool:
    words = {word["word"] for attempt in line["attempts"] for word in attempt["feedback"]}
    return bool(words & {"bounced", "complained"})
