"""Webhooks of a running local cloud to a receiver in a process of its own, while their functions are killed.

Jobs are sent; `gather_hooks` and `call_hooks` are killed with `kill -9`; one endpoint hangs all the while. In the end
each message's last state has reached each other endpoint, under one id, signed.

Without kills, times are measured. Words of the provider are held back meanwhile: they change most messages before
their first state is handed on, which is then reported no more. A job before that starts the functions. A chunk is
handed on when its lease ends, so the time begins at the last answer in the chunk. The earlier answers wait for that
one, at the rate of the lane: that takes longer, and is printed beside it.
"""

import time
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from infra.local.processes import wait_for
from shared import contracts
from tests.deployed.api import OPEN
from tests.deployed.drill import Drill, Report, Running, answered, beside, killing, percentile
from tests.deployed.receiver import Mode, Received, ReceiverProcess

LANE: Final = "sendgrid-main"
VICTIMS: Final = ("gather_hooks", "call_hooks")
NOW, BATCH, HANGS = "/now", "/batch", "/hangs"
PATIENCE: Final = 240.0
"""Seconds within which everything arrives on a busy machine."""
REDELIVER_SECONDS: Final = 15
"""A hint whose worker was killed comes back so soon, instead of after six minutes."""
MINUTE: Final = 5.0
"""Seconds between two runs of what runs every minute."""
MAX_BATCH: Final = 100
MORE: Final = 20
"""Messages of a further job, while kills are still to be made."""


class HookDrill(Drill):
    """Jobs, endpoints, and what goes wrong.

    Args:
        running: the cloud.
        seed: of what to kill when.
        messages: how many.
        kills: of workers; without any, times are measured.
        receiver: answers.
    """

    def __init__(self, running: Running, seed: int, *, messages: int, kills: int, receiver: ReceiverProcess) -> None:
        super().__init__(running, seed)
        self._messages = messages
        self._kills = kills
        self._receiver = receiver
        self._secrets: dict[str, str] = {}
        self._hooks: list[str] = []
        self._jobs: list[str] = []

    def run(self, *, within: float) -> None:
        """Prove endpoints, send, kill, wait until everything has arrived, and judge.

        Args:
            within: the most seconds of the 95th percentile without kills.
        """
        try:
            for path in (NOW, BATCH, HANGS):
                self._create(path)
            if not self.until(self._proven, PATIENCE, "an endpoint was not enabled by its answer to `test`"):
                return
            timed = self._messages
            if not self._kills and not self._started():
                return
            self._receiver.switch(HANGS, Mode.HANG)
            began = time.monotonic()
            with beside(self._minute, lambda: MINUTE):
                if self._kills:
                    self._send_and_kill()
                else:
                    self._send_and_wait(timed)
                self.until(self._arrived, PATIENCE, "not everything arrived in time")
            self.report.figures |= {"messages": self._messages, "s until all arrived": time.monotonic() - began}
            self._judge()
            if not self._kills:
                in_time(self.report, *self._times(), timed=timed, within=within)
        finally:
            for hook in self._hooks:
                self.api.call("DELETE", f"/hooks/{hook}")

    def _create(self, path: str) -> None:
        body = {"url": self._receiver.url(path), "events": ["*"], "batch": path == BATCH}
        answer = self.api.call("POST", "/hooks", body)
        assert answer.status == 201, answer
        self._hooks.append(answer.body["id"])
        self._secrets[path] = answer.body["secret"]

    def _proven(self) -> bool:
        return all(self.api.get(f"/hooks/{hook}")["state"] == "enabled" for hook in self._hooks)

    def _started(self) -> bool:
        """Have all functions on the way started by a job; tell whether all of it has arrived."""
        timed = self._messages
        self._send_more()
        self._messages = MORE
        arrived = self.until(self._arrived, PATIENCE, "nothing arrived in time of a first job")
        self._messages += timed
        return arrived

    def _send_and_wait(self, timed: int) -> None:
        """Send all messages, and let words about them come when each acceptance has arrived."""
        place = self.inside.lane(LANE).provider, LANE
        self.control.webhooks(*place, paused=True)
        try:
            self._send_all(timed)
            wait_for(answered(lambda: len(self._arrivals()) >= timed), PATIENCE, pause=1.0)
        finally:
            self.control.webhooks(*place, paused=False)

    def _send_all(self, messages: int) -> None:
        each = max(1, messages // 4)
        for start in range(0, messages, each):
            self._send(range(start, min(start + each, messages)))

    def _send_more(self) -> None:
        """Send a further job."""
        self._send(range(self._messages, self._messages + MORE))
        self._messages += MORE

    def _send_and_kill(self) -> None:
        """Send all messages, and then more until all kills are made."""
        with killing(self._kill, self._kills, self.rng, (1, 4)) as done:
            self._send_all(self._messages)
            until = time.monotonic() + PATIENCE
            while not done.wait(1.0) and time.monotonic() < until:
                self._send_more()
        killed = self.report.kills["workers"]
        self.report.check(f"{killed} workers killed, not {self._kills}", holds=killed == self._kills)

    def _send(self, people: Sequence[int]) -> None:
        self._jobs.append(self.api.post([f"p{n}.{self.tag}@example.com" for n in people], LANE))

    # What goes wrong, and what mends it

    def _kill(self) -> bool:
        killed = self.inside.kill_function(self.rng.choice(VICTIMS)) > 0
        return self.kill("workers", killed)

    def _minute(self) -> None:
        """Run what runs every minute more often."""
        call = self.inside.names[contracts.HANDLERS["call_hooks"]]
        self.inside.sweep()
        self.inside.functions.invoke(FunctionName=call, InvocationType="Event", Payload=b"{}")

    # What came of it

    def _last(self) -> dict[tuple[str, str], str]:
        """Return message → its state now, of all jobs."""
        return {(job, line["message"]): line["state"] for job in self._jobs for line in self.api.lines(job)}

    def _heard(self, path: str) -> dict[tuple[str, str], dict[str, set[str]]]:
        """Return message → state → ids of the events that say so, at an endpoint."""
        heard: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for request in self._receiver.received(path):
            for name, event in request.events.items():
                data = event["data"]
                if event["type"].startswith("message.") and data["job_id"] in self._jobs:
                    heard[data["job_id"], data["message"]][data["state"]].add(name)
        return heard

    def _arrived(self) -> bool:
        last = self._last()
        if len(last) < self._messages or any(state in OPEN[:2] for state in last.values()):
            return False
        heard = [self._heard(path) for path in (NOW, BATCH)]
        return all(state in x[message] for message, state in last.items() for x in heard)

    def _judge(self) -> None:
        wrong = self.report.wrong
        seen: dict[str, int] = defaultdict(int)
        bodies: dict[str, bytes] = {}
        for path in (NOW, BATCH):
            for request in self._receiver.received(path):
                self.report.add("requests")
                self._check(request, bodies)
                for name in request.events:
                    seen[path + name] += 1
            for message, states in self._heard(path).items():
                wrong += [f"{path} {message} {x}: {len(n)} ids" for x, n in states.items() if len(n) != 1]
        events = sum(1 for x in seen if x.startswith(NOW))
        self.report.check(f"{events} events of {self._messages} messages", holds=events >= self._messages)
        self.report.figures |= {"events": events, "events that came again": sum(n > 1 for n in seen.values())}

    def _times(self) -> tuple[list[float], list[float]]:
        """Return how long each accepted attempt took to reach the endpoint without batches first.

        Returns:
            Seconds from the last answer in a message's chunk, before the ledger has it, and from the message's own.
        """
        arrived = self._arrivals()
        accepted = {
            (job, line["message"], attempt["n"]): datetime.fromisoformat(attempt["at"]).timestamp()
            for job in self._jobs[1:]
            for line in self.api.lines(job)
            for attempt in line["attempts"]
        }
        last: dict[tuple[str, str, int], float] = defaultdict(float)
        for (job, message, n), at in accepted.items():
            place = job, message.partition(".")[0], n
            last[place] = max(last[place], at)
        waits = [at - last[job, message.partition(".")[0], n] for (job, message, n), at in arrived.items()]
        return waits, [at - accepted[place] for place, at in arrived.items()]

    def _arrivals(self) -> dict[tuple[str, str, int], float]:
        """Return (job, message, attempt) → when its acceptance, but of the first job, reached the endpoint `NOW`."""
        arrived: dict[tuple[str, str, int], float] = {}
        for request in self._receiver.received(NOW):
            for event in request.events.values():
                if event["type"] == "message.sent" and event["data"]["job_id"] in self._jobs[1:]:
                    data = event["data"]
                    arrived.setdefault((data["job_id"], data["message"], data["attempt"]), request.at)
        return arrived

    def _check(self, request: Received, bodies: dict[str, bytes]) -> None:
        """Check signature, size, and that a repeat has the same bytes."""
        if not request.is_signed_by(self._secrets[request.path]):
            self.report.wrong.append(f"{request.delivery}: the signature does not verify")
        if len(request.events) > (MAX_BATCH if request.path == BATCH else 1):
            self.report.wrong.append(f"{request.delivery}: {len(request.events)} events")
        if bodies.setdefault(request.path + request.delivery, request.body) != request.body:
            self.report.wrong.append(f"{request.delivery}: another body under the same id")


def in_time(report: Report, waits: Sequence[float], own: Sequence[float], *, timed: int, within: float) -> None:
    """Judge the times of a run without kills.

    Args:
        report: is filled in.
        waits: seconds from the last answer in the chunk to the arrival.
        own: the same from the message's own answer.
        timed: messages whose acceptance was to be heard of.
        within: the most seconds of the 95th percentile of the waits.
    """
    p95 = percentile(waits, 95)
    report.figures |= {
        "s from the last answer in the chunk, p95": p95,
        "s from the own answer, p95": percentile(own, 95),
    }
    report.check(f"only {len(waits)} of {timed} acceptances were heard of", holds=len(waits) >= timed)
    report.check(f"without kills, the p95 is {p95:.2f} s: over {within:g} s", holds=p95 <= within)


def run(running: Running, seed: int, *, messages: int, kills: int, within: float = 2.0) -> Report:
    """Send messages, kill workers of webhooks, and account for each event; without kills, measure times."""
    inside = running[0]
    lanes = inside.deployment.environment[contracts.ENV_LANE_URL_PREFIX]
    hints = [
        inside.invisible(url(lanes), REDELIVER_SECONDS)
        for url in (contracts.hooks_queue_url, contracts.calls_queue_url)
    ]
    with ReceiverProcess() as receiver, hints[0], hints[1]:
        drill = HookDrill(running, seed, messages=messages, kills=kills, receiver=receiver)
        drill.run(within=within)
    return drill.report
