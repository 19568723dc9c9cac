"""Chaos on the local cloud: providers fail at random, senders are killed, webhooks come late, twice, or never.

What goes wrong, and when, is drawn from a seed; how far the machine got by then is not, so a seed replays the weather
and not every call. In the end each message is accounted for, and the simulator's own log has the last word.

Meanwhile every vendor takes some messages and answers 500 or 504 in its own words, whatever the weather (`vendors.py`).
"""

import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from infra.local import processes
from shared.contracts import ENV_FEEDBACK_QUEUE_URL
from simulator.registry import providers
from tests.deployed import vendors
from tests.deployed.api import STATES
from tests.deployed.drill import Drill, Report, Running, answered, beside
from tests.deployed.oracle import ref_of
from tests.deployed.watch import Watch

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
REDELIVER_SECONDS: Final = 30


class Chaos(Drill):
    """One storm over so many messages."""

    def __init__(self, running: Running, seed: int, messages: int) -> None:
        super().__init__(running, seed)
        self.report.figures["messages"] = 0
        self._messages = messages
        self._patience = SETTLE_SECONDS + SETTLE_EACH * messages
        self._wanted: dict[str, Sequence[str]] = {}
        """Job → its recipients."""
        self._logs: dict[str, str] = {}
        """Job → the path of its log."""
        self._next_kill = time.monotonic() + self.rng.uniform(*KILL_SECONDS) / 2

    def run(self) -> None:
        """Send all messages through the storm, wait until all is still, and account for each."""
        with Watch(self.inside, self.api) as watch, ExitStack() as stack:
            for _, name in CREDENTIALS:
                stack.enter_context(self.inside.redelivering(name, REDELIVER_SECONDS))
            with self._storm(), vendors.breaking(self.control, self.tag):
                for sent in vendors.post(self.api, self.tag):
                    self._add(watch, sent)
                for start in range(0, self._messages, BATCH):
                    self._add(watch, self._post(min(BATCH, self._messages - start)))
                total = sum(map(len, self._wanted.values()))
                processes.wait_for(answered(lambda: self._sent() >= 0.9 * total), self._patience, pause=1)
            self.until(self._still, self._patience, "not all jobs came to rest")
            watch.report(self.report)
        self.report.figures |= {"messages": total, "s in all": self.passed()}
        broken = vendors.answered(self.control, self.began - 1)
        for vendor in providers():
            missing = [status for status in vendors.STATUSES if not broken[vendor, status]]
            self.report.wrong += [f"{vendor} took nothing that it answered with {status}" for status in missing]
        self.report.figures["calls taken, and answered with 500 or 504 in the vendor's own words"] = {
            f"{name} {status}": n for (name, status), n in broken.items()
        }
        self._account()

    @contextmanager
    def _storm(self) -> Iterator[None]:
        """Let the weather change, and kill, until the block is left."""
        for place in CREDENTIALS:
            self.control.webhooks(*place, mix=MIX, **POSTS)
        try:
            with beside(self._change, lambda: self.rng.uniform(*SPELL_SECONDS)):
                yield
        finally:
            for place in CREDENTIALS:
                self.control.faults(*place)
                self.control.webhooks(*place, mix={}, loss=0, duplicate=0, reorder=0)

    def _change(self) -> None:
        """Change the weather, and now and then kill."""
        weights, kinds = zip(*WEATHER, strict=True)
        struck = self.rng.choice(CREDENTIALS)
        weather = self.rng.choices(kinds, weights)[0]
        for place in CREDENTIALS:  # one at a time: with both struck, rounds wait up to a quarter of an hour
            self.control.faults(*place, **(weather if place == struck else {}))
        self.report.add("changes of weather")
        if time.monotonic() >= self._next_kill:
            self.kill("senders", self.inside.kill(self.rng.choice(CREDENTIALS)[1]))
            self._next_kill = time.monotonic() + self.rng.uniform(*KILL_SECONDS)

    def _add(self, watch: Watch, sent: vendors.Sent) -> None:
        self._wanted[sent.job], self._logs[sent.job] = sent.recipients, sent.log
        watch.add(sent.job, len(sent.recipients))

    def _post(self, count: int) -> vendors.Sent:
        tag = uuid.uuid4().hex[:8]
        recipients = [f"p{i}+{tag}@example.com" for i in range(count)]
        body = {
            "from": "news@example.com",
            "to": recipients,
            "subject": "Hello",
            "text": "Hello",
            "route": [name for _, name in CREDENTIALS],
            "max_attempts": 12,
        }
        answer = self.api.call("POST", "/batches", body)
        assert answer.status == 202, answer
        job: str = answer.body["job_id"]
        return vendors.Sent(job, recipients, f"/batches/{job}/logs")

    def _sent(self) -> int:
        counts: Counter[str] = Counter()
        for job in self._wanted:
            counts.update(self.api.get(f"/jobs/{job}")["counts"])
        return sum(counts[state] for state in STATES if state not in ("queued", "sending"))

    def _still(self) -> bool:
        """Tell whether every job has ended, and no webhook is on its way."""
        for place in (*CREDENTIALS, *vendors.LANES.items()):
            counters = self.control.webhooks(*place)["counters"]
            if counters["planned"] > counters["delivered"] + counters["failed"]:
                return False
        if self.inside.waiting(self.inside.deployment.environment[ENV_FEEDBACK_QUEUE_URL]):
            return False
        found = [self.api.get(f"/jobs/{job}") for job in self._wanted]
        return all(job["state"] == "LOGGED" and not job["counts"]["queued"] + job["counts"]["sending"] for job in found)

    def _account(self) -> None:
        """Compare every log line with what the simulator accepted."""
        states, reasons, bad = Counter[str](), Counter[str](), Counter[str]()
        rows = [row for row in self.control.log(since=self.began - 1) if row["ref"] and ref_of(row).job in self._wanted]
        times: Counter[tuple[str, str]] = Counter((ref_of(row).job, row["recipient"]) for row in rows)
        for job, recipients in self._wanted.items():
            lines = self.api.items(self._logs[job])
            if {line["recipient"] for line in lines} != set(recipients) or len(lines) != len(recipients):
                bad["a job's log is not its list"] += 1
            for line in lines:
                states[line["state"]] += 1
                if line["state"] == "unknown":
                    reasons[line["error"] or "no reason"] += 1
                bad.update(_faults(line, times[job, line["recipient"]]))
        self.report.wrong += [f"{n}: {what}" for what, n in bad.items()]
        total = self.report.figures["messages"]
        self.report.check(f"{states.total()} log lines for {total} messages", holds=states.total() == total)
        self.report.check(f"only {len(rows)} accepted", holds=len(rows) > self._messages / 2)
        self.report.figures |= {"accepted": len(rows), "states in the end": states, "unknown, why": reasons}


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


def run(running: Running, seed: int, *, messages: int) -> Report:
    """Send so many messages through the storm, and account for each."""
    for _, name in CREDENTIALS:
        running[0].lane(name)
    chaos = Chaos(running, seed, messages)
    chaos.run()
    return chaos.report
