"""Webhooks of a running local cloud to a receiver in a process of its own, while their functions are killed.

Jobs are sent; `gather_hooks` and `call_hooks` are killed with `kill -9`; one endpoint hangs all the while. In the end
each message's last state has reached each other endpoint, under one id, signed.

Without kills, times are measured. Words of the provider are held back meanwhile: they change most messages before
their first state is handed on, which is then reported no more. A job before that starts the functions. A chunk is
handed on when its lease ends, so the time begins at the last answer in the chunk. The earlier answers wait for that
one, at the rate of the lane: that takes longer, and is printed beside it.

`python -m tests.deployed.hook_kills` is the long form.
"""

import argparse
import random
import statistics
import sys
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from infra.local.processes import wait_for
from shared import contracts
from tests.deployed.api import OPEN, Api
from tests.deployed.drill import judged, killing
from tests.deployed.inside import Inside, running
from tests.deployed.receiver import Mode, Received, ReceiverProcess
from tests.deployed.watch import answered

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


@dataclass(slots=True)
class HookKills:
    """What came of webhooks; `wrong` is empty if every promise was kept.

    Attributes:
        events: different events that arrived at the endpoint without batches.
        requests: to the two endpoints that answer.
        repeats: events that arrived there more than once.
        kills: workers that were killed.
        timed: messages whose acceptance was to be timed.
        waits: seconds from the last answer in a message's chunk, before the ledger has it, to the event at the endpoint
            without batches.
        answered: the same from the message's own answer.
        seconds: until everything had arrived.
    """

    seed: int
    messages: int
    events: int = 0
    requests: int = 0
    repeats: int = 0
    kills: int = 0
    timed: int = 0
    waits: list[float] = field(default_factory=list)
    answered: list[float] = field(default_factory=list)
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)

    @property
    def p95(self) -> float:
        """The 95th percentile of the waits, in seconds."""
        return _p95(self.waits)

    def text(self) -> str:
        """Return the figures."""
        return (
            f"seed {self.seed}: {self.messages} messages, {self.events} events in {self.requests} requests, "
            f"{self.repeats} repeated; {self.kills} workers killed; {self._times()}all arrived after "
            f"{self.seconds:.0f} s; {len(self.wrong)} faults"
        )

    def _times(self) -> str:
        if not self.timed:
            return ""
        return (
            f"p95 of {len(self.waits)} acceptances from the last answer in the chunk to the arrival {self.p95:.2f} s, "
            f"from the message's own {_p95(self.answered):.2f} s, while another endpoint hangs; "
        )


def _p95(some: Sequence[float]) -> float:
    return statistics.quantiles(some, n=20)[-1] if len(some) > 1 else 0.0


class HookDrill:
    """Jobs, endpoints, and what goes wrong.

    Args:
        inside: the running cloud.
        api: its API.
        report: is filled in.
        kills: of workers.
        receiver: answers.
        hold: holds the provider's words back, or lets them come; None: nothing is timed.
    """

    def __init__(
        self,
        inside: Inside,
        api: Api,
        report: HookKills,
        kills: int,
        receiver: ReceiverProcess,
        hold: Callable[[bool], object] | None = None,
    ) -> None:
        self._inside = inside
        self._api = api
        self._report = report
        self._kills = kills
        self._receiver = receiver
        self._hold = hold
        self._rng = random.Random(report.seed)  # noqa: S311 - of a drill
        self._tag = uuid.uuid4().hex[:10]
        self._secrets: dict[str, str] = {}
        self._hooks: list[str] = []
        self._jobs: list[str] = []
        self._ended = threading.Event()

    def run(self) -> None:
        """Prove endpoints, send, kill, wait until everything has arrived, and judge."""
        try:
            for path in (NOW, BATCH, HANGS):
                self._create(path)
            if not wait_for(answered(self._proven), PATIENCE, pause=1.0):
                self._report.wrong.append("an endpoint was not enabled by its answer to `test`")
                return
            if self._hold and not self._started():
                self._report.wrong.append("nothing arrived in time of a first job")
                return
            self._receiver.switch(HANGS, Mode.HANG)
            began = time.monotonic()
            minutes = threading.Thread(target=self._minutes)
            minutes.start()
            try:
                if self._hold:
                    self._send_and_wait(self._hold)
                else:
                    self._send_and_kill()
                if not wait_for(answered(self._arrived), PATIENCE, pause=1.0):
                    self._report.wrong.append("not everything arrived in time")
            finally:
                self._ended.set()
                minutes.join()
            self._report.seconds = time.monotonic() - began
            self._judge()
        finally:
            for hook in self._hooks:
                self._api.call("DELETE", f"/hooks/{hook}")

    def _create(self, path: str) -> None:
        body = {"url": self._receiver.url(path), "events": ["*"], "batch": path == BATCH}
        answer = self._api.call("POST", "/hooks", body)
        assert answer.status == 201, answer
        self._hooks.append(answer.body["id"])
        self._secrets[path] = answer.body["secret"]

    def _proven(self) -> bool:
        return all(self._api.get(f"/hooks/{hook}")["state"] == "enabled" for hook in self._hooks)

    def _started(self) -> bool:
        """Have all functions on the way started by a job; tell whether all of it has arrived."""
        timed = self._report.messages
        self._send_more()
        self._report.messages = MORE
        arrived = wait_for(answered(self._arrived), PATIENCE, pause=1.0)
        self._report.messages += timed
        return arrived

    def _send_and_wait(self, hold: Callable[[bool], object]) -> None:
        """Send all messages, and let words about them come when each acceptance has arrived."""
        report = self._report
        report.timed = report.messages - MORE
        hold(True)
        try:
            self._send_all(report.timed)
            wait_for(answered(lambda: len(self._arrivals()) >= report.timed), PATIENCE, pause=1.0)
        finally:
            hold(False)

    def _send_all(self, messages: int) -> None:
        each = max(1, messages // 4)
        for start in range(0, messages, each):
            self._send(range(start, min(start + each, messages)))

    def _send_more(self) -> None:
        self._send(range(self._report.messages, self._report.messages + MORE))

    def _send_and_kill(self) -> None:
        """Send all messages, and then more until all kills are made."""
        with killing(self._kill, self._kills, self._rng, (1, 4)) as done:
            self._send_all(self._report.messages)
            until = time.monotonic() + PATIENCE
            while not done.wait(1.0) and time.monotonic() < until:
                self._send_more()
                self._report.messages += MORE

    def _send(self, people: Sequence[int]) -> None:
        self._jobs.append(self._api.post([f"p{n}.{self._tag}@example.com" for n in people], LANE))

    # What goes wrong, and what mends it

    def _kill(self) -> bool:
        killed = self._inside.kill_function(self._rng.choice(VICTIMS)) > 0
        self._report.kills += killed
        return killed

    def _minutes(self) -> None:
        """Run what runs every minute more often."""
        call = self._inside.names[contracts.HANDLERS["call_hooks"]]
        while not self._ended.wait(MINUTE):
            self._inside.sweep()
            self._inside.functions.invoke(FunctionName=call, InvocationType="Event", Payload=b"{}")

    # What came of it

    def _last(self) -> dict[tuple[str, str], str]:
        """Return message → its state now, of all jobs."""
        return {(job, line["message"]): line["state"] for job in self._jobs for line in self._api.lines(job)}

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
        if len(last) < self._report.messages or any(state in OPEN[:2] for state in last.values()):
            return False
        heard = [self._heard(path) for path in (NOW, BATCH)]
        return all(state in x[message] for message, state in last.items() for x in heard)

    def _judge(self) -> None:
        report = self._report
        seen: dict[str, int] = defaultdict(int)
        bodies: dict[str, bytes] = {}
        for path in (NOW, BATCH):
            for request in self._receiver.received(path):
                report.requests += 1
                self._check(request, bodies)
                for name in request.events:
                    seen[path + name] += 1
            for message, states in self._heard(path).items():
                report.wrong += [f"{path} {message} {x}: {len(n)} ids" for x, n in states.items() if len(n) != 1]
        report.events = sum(1 for x in seen if x.startswith(NOW))
        report.repeats = sum(1 for n in seen.values() if n > 1)
        if report.timed:
            self._time()

    def _time(self) -> None:
        """Note how long each accepted attempt took to reach the endpoint without batches first."""
        arrived = self._arrivals()
        accepted = {
            (job, line["message"], attempt["n"]): datetime.fromisoformat(attempt["at"]).timestamp()
            for job in self._jobs[1:]
            for line in self._api.lines(job)
            for attempt in line["attempts"]
        }
        last: dict[tuple[str, str, int], float] = defaultdict(float)
        for (job, message, n), at in accepted.items():
            place = job, message.partition(".")[0], n
            last[place] = max(last[place], at)
        for (job, message, n), at in arrived.items():
            self._report.waits.append(at - last[job, message.partition(".")[0], n])
            self._report.answered.append(at - accepted[job, message, n])

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
            self._report.wrong.append(f"{request.delivery}: the signature does not verify")
        if len(request.events) > (MAX_BATCH if request.path == BATCH else 1):
            self._report.wrong.append(f"{request.delivery}: {len(request.events)} events")
        if bodies.setdefault(request.path + request.delivery, request.body) != request.body:
            self._report.wrong.append(f"{request.delivery}: another body under the same id")


def run(
    inside: Inside,
    api: Api,
    *,
    messages: int,
    kills: int,
    seed: int,
    hold: Callable[[bool], object] | None = None,
) -> HookKills:
    """Send messages, kill workers of webhooks, and account for each event.

    Args:
        inside: the cloud.
        api: its API.
        messages: how many.
        kills: of workers.
        seed: of what to kill when.
        hold: holds the provider's words back, or lets them come. With it nothing is killed, and times are measured.
    """
    report = HookKills(seed, messages)
    lanes = inside.deployment.environment[contracts.ENV_LANE_URL_PREFIX]
    for url in (contracts.hooks_queue_url(lanes), contracts.calls_queue_url(lanes)):
        inside.sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": str(REDELIVER_SECONDS)})
    with ReceiverProcess() as receiver:
        HookDrill(inside, api, report, kills, receiver, hold).run()
    return report


def main() -> int:
    """Run the drill on the local cloud that is up; return the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--messages", type=int, default=400)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10_000))
    parser.add_argument("--within", type=float, default=2.0, help="the most seconds of the p95 without kills")
    options = parser.parse_args()

    def drill() -> HookKills:
        inside, api, control = running()
        provider = inside.lane(LANE).provider
        hold = None if options.kills else lambda held: control.webhooks(provider, LANE, paused=held)
        return run(inside, api, messages=options.messages, kills=options.kills, seed=options.seed, hold=hold)

    return judged(lambda: in_time(drill(), options.within))


def in_time(report: HookKills, seconds: float) -> HookKills:
    """Return a report with more faults if nothing was killed, and times are missing or their p95 is over `seconds`."""
    if not report.kills and len(report.waits) < report.timed:
        report.wrong.append(f"only {len(report.waits)} of {report.timed} acceptances were heard of")
    if not report.kills and report.p95 > seconds:
        report.wrong.append(f"without kills, the p95 is {report.p95:.2f} s: over {seconds:g} s")
    return report


if __name__ == "__main__":
    sys.exit(main())
