"""Single messages of two accounts through two providers, while `kill -9` ends senders, planners and trackers by turns.

One provider is a program of its own that fails a tenth of its calls (`storm_provider.py`); the other one is the
simulator's. All times are as shipped. In the end each message has been taken once at the most, its log says why if no
provider has it, its job is LOGGED with the counts of its message, and the day's stats of each account add up to what
it has posted.
"""

import itertools
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Any, Final

from infra.local import processes
from infra.local.processes import wait_for
from shared.contracts import ENV_FEEDBACK_QUEUE_URL, WEBHOOK_PATH
from tests.deployed.api import OPEN, Api
from tests.deployed.drill import Drill, KillsAtAnswers, Report, Running, answered, has_begun, percentile
from tests.deployed.storm_process import StormProvider, serving

FAILING: Final = "stormy"
HEALTHY: Final = "rate-150"
FAILS: Final = 0.1
"""Share of the calls of the failing provider."""
FUNCTIONS: Final = ("plan", "track")
"""What folds the ledgers of small jobs, and what takes the word of providers."""
VICTIMS: Final = (FAILING, *FUNCTIONS, HEALTHY, *FUNCTIONS)
"""Lanes, of which a sender is killed, and functions, in the order of their kills."""
LATER: Final = 1.0
"""Seconds up to which a kill waits: others post and are sent then."""
CLIENTS: Final = 12
READERS: Final = 4
POST_SECONDS: Final = 120.0
"""Within which a post is answered with 202, on a busy machine."""
AIM_SECONDS: Final = 60.0
"""Within which there is something to kill, on a busy machine."""
SETTLE_SECONDS: Final = 240.0
"""After the last first call, within which all messages end, on a busy machine."""
FEEDBACK_SECONDS: Final = 30
"""Feedback of a killed tracker comes again so soon, instead of after minutes."""
STATS_SECONDS: Final = 150.0
"""Within which stats are exact, once all messages have ended."""
TWICE: Final = "taken twice"
LOST: Final = "lost"
AMOUNTS: Final = ("success", "failure", "queued", "skipped")
_AMOUNT: Final = {"delivered": "success", "failed": "failure", "skipped": "skipped", "unknown": "queued"}
"""State → the amount of the stats that counts it."""


@dataclass(slots=True)
class Account:
    """An account that posts.

    Attributes:
        api: with its key.
        posted: recipient → its job, and when the API had answered with 202.
        jobs: as they were last read, by id.
    """

    api: Api
    posted: dict[str, tuple[str, float]] = field(default_factory=dict)
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)


class Singles(Drill):
    """One run.

    Args:
        running: the cloud.
        seed: of the failures, and of when to kill.
        messages: of both accounts.
        rate: posts a second.
        kills: of senders, planners and trackers each.
        provider: serves the lane that fails.
    """

    def __init__(
        self, running: Running, seed: int, *, messages: int, rate: float, kills: int, provider: StormProvider
    ) -> None:
        super().__init__(running, seed)
        self._messages = messages
        self._rate = rate
        self._provider = provider
        self._accounts = [Account(self.account(f"singles-{self.tag}-{n}")) for n in range(2)]
        victims = list(itertools.islice(itertools.cycle(VICTIMS), 3 * kills))
        self._struck = KillsAtAnswers(messages, victims, self.rng, LATER, self._strike)
        self._ended = Event()
        self.logged = 0.0
        """When all jobs were found LOGGED."""

    def run(self, *, within: float) -> None:
        """Post, kill, wait until all is still, and judge.

        Args:
            within: seconds from the last 202 to the last message's first call, at the most.
        """
        self.report.figures["messages"] = self._messages
        self._post_all()
        last = max(at for x in self._accounts for _, at in x.posted.values())
        still = self.until(self._still, within + SETTLE_SECONDS, "not all messages have ended", pause=3)
        self.report.figures["s from the last 202 until all jobs were LOGGED"] = (self.logged or time.time()) - last
        self.report.figures["s from the last 202 until all was told"] = time.time() - last
        self._judge_times(last, within)
        self._judge()
        if still:
            self._judge_stats(last)

    # The clients

    def _post_all(self) -> None:
        """Post all messages at the rate, those of both accounts by turns."""
        began = time.monotonic()
        with ThreadPoolExecutor(CLIENTS) as pool:
            for sent in [pool.submit(self._post, n, began + n / self._rate) for n in range(self._messages)]:
                sent.result()
        self.report.figures["s of posting"] = time.monotonic() - began

    def _post(self, n: int, due: float) -> None:
        """Post a message once it is due, again and again until it is accepted. `due`: of the monotonic clock."""
        self._ended.wait(max(0.0, due - time.monotonic()))
        account, to = self._accounts[n % 2], f"single+{self.tag}.{n}@example.com"
        body = {"from": "news@example.com", "to": [to], "subject": "Hello", "text": "Hello"}
        body["route"] = [FAILING, HEALTHY]

        def accepted() -> bool:
            answer = account.api.call("POST", "/batches", body, idempotency_key=to)
            if answer.status == 202:
                account.posted[to] = answer.body["job_id"], time.time()
            return answer.status == 202

        if not wait_for(answered(accepted), POST_SECONDS, pause=0.5):
            raise TimeoutError(f"message {n} was not accepted")
        self._struck.answered(self._ended)

    # What goes wrong

    def _strike(self, victim: str) -> None:
        """Kill a lane's sender or a function, as soon as there is something to kill."""

        def killed() -> bool:
            if victim in FUNCTIONS:
                return self.kill_function(victim)
            return self.kill("send", self._kill_sender(victim))

        self.report.check(f"nothing of {victim} to kill", holds=wait_for(killed, AIM_SECONDS, pause=0.1))

    def _kill_sender(self, lane: str) -> int:
        """Kill one of a lane's processes that can serve; return how many were killed."""
        begun = {pid: born for pid, born in self.inside.workers(lane).items() if has_begun(pid)}
        if not begun:
            return 0
        pid = self.rng.choice(sorted(begun))
        return int(processes.kill(pid, begun[pid]))

    # What came of it

    def _taken(self) -> dict[str, list[float]]:
        """Return, by recipient, when providers took their message."""
        found = defaultdict[str, list[float]](list)
        for call in self._provider.calls():
            if call["taken"]:
                found[call["to"]].append(call["at"])
        for row in self.control.log(credential=HEALTHY, since=self.began - 1):
            found[row["recipient"]].append(row["at"])
        return found

    def _still(self) -> bool:
        """Tell whether all jobs are LOGGED, and no provider has still to tell about a message that it has taken."""
        for account in self._accounts:
            account.jobs = {job["job_id"]: job for job in account.api.items("/batches")}
        found = self._counted()
        if any(job["state"] != "LOGGED" for job in found.values()):
            return False
        self.logged = self.logged or time.time()
        taken = self._taken()
        return not any((job["counts"]["unknown"] and taken[to]) or job["counts"]["sent"] for to, job in found.items())

    def _counted(self) -> dict[str, dict[str, Any]]:
        """Return the job of each recipient as it was read; without those that the list of jobs lacks."""
        return {to: x.jobs[job] for x in self._accounts for to, (job, _) in x.posted.items() if job in x.jobs}

    def _lines(self) -> dict[str, dict[str, Any]]:
        """Return the log of each recipient's message; a job whose log is not one line is noted."""
        found: dict[str, dict[str, Any]] = {}
        with ThreadPoolExecutor(READERS) as pool:
            for account in self._accounts:
                logs = pool.map(account.api.lines, [job for job, _ in account.posted.values()])
                for to, lines in zip(account.posted, logs, strict=True):
                    self.report.check(f"a log is {lines}", holds=[x["recipient"] for x in lines] == [to])
                    found |= {line["recipient"]: line for line in lines}
        return found

    def _judge(self) -> None:
        """Compare the logs and counts of all jobs with what providers took."""
        jobs, lines, taken = self._counted(), self._lines(), self._taken()
        states = Counter(line["state"] for line in lines.values())
        both = [(jobs[to]["counts"], line, len(taken[to])) for to, line in lines.items() if to in jobs]
        bad = Counter(fault for counts, line, times in both for fault in _faults(line, counts, times))
        posted = sum(len(x.posted) for x in self._accounts)
        stored = sum(len(x.jobs) for x in self._accounts)
        self.report.wrong += [f"{n} messages {what}" for what, n in bad.items()]
        self.report.check(
            f"{posted} posted, {stored} jobs and {len(lines)} lines", holds=posted == stored == len(lines)
        )
        self.report.figures |= {
            "messages taken": sum(taken[to] != [] for to in lines),
            "taken twice": bad[TWICE],
            "lost": bad[LOST],
            "states in the end": states,
            "reasons": Counter(line["error"] for line in lines.values() if line["error"]),
        }

    def _judge_times(self, last: float, within: float) -> None:
        """Note how soon messages were called first. `last`: the last 202; `within`: as of `run`."""
        first = {to: min(at) for to, at in self._taken().items()}
        for call in self._provider.calls():
            first[call["to"]] = min(call["at"], first.get(call["to"], call["at"]))
        waits = [first[to] - at for x in self._accounts for to, (_, at) in x.posted.items() if to in first]
        tail = max(first.values()) - last
        self.report.check(f"the last message was called after {tail:.0f} s, not {within:g}", holds=tail <= within)
        self.report.figures |= {
            "s from the last 202 to the last first call": tail,
            "s from a 202 to the first call, p50": percentile(waits, 50),
            "s from a 202 to the first call, p95": percentile(waits, 95),
            "s from a 202 to the first call, p99": percentile(waits, 99),
            "never called": self._messages - len(waits),
        }

    def _judge_stats(self, last: float) -> None:
        """Wait until the days' stats of each account are the sums of its messages. `last`: the last 202."""
        for account in self._accounts:
            wanted = Counter(_AMOUNT[state] for job in account.jobs.values() for state, n in job["counts"].items() if n)
            found = Counter[str]()

            def exact(account: Account = account, wanted: Counter[str] = wanted, found: Counter[str] = found) -> bool:
                found.clear()
                for day in account.api.get("/stats")["items"]:
                    found.update({name: day[name] for name in AMOUNTS})
                return found == wanted

            came = wait_for(answered(exact), STATS_SECONDS, pause=3)
            self.report.check(f"the stats are {dict(found)}, not {dict(wanted)}", holds=came)
        self.report.figures["s from the last 202 until the stats were found exact"] = time.time() - last


def _faults(line: Mapping[str, Any], counts: Mapping[str, int], taken: int) -> list[str]:
    """Return what is wrong with a message in the end.

    Args:
        line: its log.
        counts: of its job.
        taken: how often providers took it.
    """
    state = line["state"]
    broken = {
        TWICE: taken > 1,
        LOST: state in ("sent", "delivered") and not taken,
        f"still {state}": state in OPEN,
        f"{state} without a reason": state in ("failed", "skipped", "unknown") and not line["error"],
        f"{state}, and a provider has them": state in ("failed", "skipped", "unknown") and taken,
        "counted otherwise than their log says": {k: n for k, n in counts.items() if n} != {state: 1},
    }
    return [what for what, holds in broken.items() if holds]


def run(running: Running, seed: int, *, messages: int, rate: float, kills: int, within: float) -> Report:
    """Post single messages of two accounts, kill meanwhile, and account for each.

    Args:
        running: the cloud.
        seed: of the failures, and of when to kill.
        messages: of both accounts.
        rate: posts a second.
        kills: of senders, planners and trackers each.
        within: seconds from the last 202 to the last message's first call, at the most.
    """
    inside, api, _ = running
    webhook = api.url + WEBHOOK_PATH.format(provider=inside.lane(FAILING).provider, credential_id=FAILING)
    with (
        TemporaryDirectory() as folder,
        StormProvider(webhook, seed, Path(folder), FAILS) as provider,
        serving(inside, FAILING, provider),
        inside.invisible(inside.deployment.environment[ENV_FEEDBACK_QUEUE_URL], FEEDBACK_SECONDS),
    ):
        drill = Singles(running, seed, messages=messages, rate=rate, kills=kills, provider=provider)
        drill.run(within=within)
    return drill.report
