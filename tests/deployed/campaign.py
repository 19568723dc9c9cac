"""A campaign of two lists from their files to LOGGED on a local cloud, while its ingest and senders are killed.

The first list is sent while the second is read; both jobs are stopped in the middle and resumed. What is asserted, by
the simulator's own log:

- nobody gets the message twice, nobody gets it who should not: bad rows, duplicates and who has unsubscribed, before
  the list was read or after;
- every other recipient is accepted exactly once, or is shown as `unknown`: of a window whose sender was killed, at most
  a window for each lease. Nobody is unknown whose delivery was told;
- no second has more than the campaign's rate, plus one;
- the counts add up to the total, however often they are read meanwhile, and are those of the log in the end;
- after the 2xx of stop each lease ends the window that it is in, at the most, and nothing comes after that;
- what each list's upload says of each row is what the list was made with.
"""

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from infra.local import processes
from shared.domain.lists.uploads import DUPLICATE
from tests.deployed.api import STATES
from tests.deployed.drill import Drill, Report, Running
from tests.deployed.kills import LOST, REDELIVER_SECONDS, SILENT, lost
from tests.deployed.lists import Made, make
from tests.deployed.oracle import Oracle
from tests.deployed.owner import TEMPLATE, Link, Owner, mail_to
from tests.deployed.rates import SHIFT_SECONDS, certainly_within
from tests.deployed.watch import Watch

LANE: Final = "campaign-mail"
KILLS: Final = (0.1, 0.75)
"""Shares of the messages at which all senders are killed: in the first list, and after stop and resume."""
FIRST: Final = 0.2
"""The first list's share of the rows."""
STOP: Final = 0.5
"""The share of the messages at which it is stopped."""
PATIENCE: Final = 8
"""A run may take so many times as long as its messages would at the full rate, and two minutes more."""
SPARE_SECONDS: Final = 120
LATE_SECONDS: Final = 10.0
"""A call's time-out: a window's calls begin within a second of its claim, but a busy machine lets them wait."""
SWEEP_SECONDS: Final = 1.0
TRIES: Final = 5


class Proof(Drill):
    """One run. `folder`: for lists."""

    def __init__(self, running: Running, seed: int, folder: Path) -> None:
        super().__init__(running, seed)
        self._folder = folder
        self._oracle = Oracle(self.control, LANE)
        self._window = self.inside.window(LANE)
        self._owner = Owner(self.api, LANE, TEMPLATE)
        self._jobs: dict[str, Made] = {}
        self._end = 0.0

    def run(self, rows: int, kills: Sequence[float]) -> None:
        """Do all of it.

        Args:
            rows: recipients of both lists.
            kills: at which shares of the messages the senders are killed; the first is within the first list.
        """
        self.report.figures["rows"] = rows
        links = self._known()
        (early, one), (late, other) = links.items()
        first = make(self._folder / "first.csv", f"{self.tag}a", round(rows * FIRST), known=tuple(links))
        second = make(self._folder / "second.csv", f"{self.tag}b", rows - round(rows * FIRST))
        self._unsubscribe(early, one)
        found = self._owner.read(self._owner.upload(first.file, duplicates="drop", encoding="utf-8"))
        self._listed(first, found)
        self.report.check(f"left out {found['skipped']}", holds=found["skipped"] == {"unsubscribed": 1})
        self._unsubscribe(late, other)
        soon = self.inside.redelivering(LANE, REDELIVER_SECONDS)
        with soon, Watch(self.inside, self.api) as watch:
            self._sent(watch, first, second, kills)
            for job in self._jobs:
                watch.drop(job)
        watch.report(self.report)
        self._judge(set(links))
        self._rated(self.began)
        self.report.figures["seconds in all"] = round(self.passed(), 1)

    # Who does not want it

    def _known(self) -> dict[str, Link]:
        """Have two people get a mail of an earlier campaign; return their links by address."""
        people = [f"{name}+{self.tag}@example.com" for name in ("early", "late")]
        file = self._folder / "known.csv"
        file.write_text("\n".join(("recipient,name", *(f"{p},Known" for p in people))), encoding="utf-8")
        owner = Owner(self.api, LANE, TEMPLATE)
        owner.read(owner.upload(file))
        self.api.finished(owner.send())
        return {to: Link(mail_to(self.control, to)) for to in people}

    def _unsubscribe(self, address: str, link: Link) -> None:
        """Look at a link's page, which changes nothing, and unsubscribe by one click, twice."""
        where = f"/suppressions/{address}?scope=campaigns"
        page = link.look()
        shown = page.status == 200 and page.headers["content-type"].startswith("text/html") and "<form" in page.body
        self.report.check(f"the link shows {page}", holds=shown)
        self.report.check("a look at the link unsubscribes", holds=self.api.call("GET", where).status == 404)
        clicks = [link.click().status for _ in range(2)]
        self.report.check(f"one click answers {clicks}", holds=clicks == [200, 200])
        self.report.check("one click does not unsubscribe", holds=self.api.call("GET", where).status == 200)

    # The lists

    def _listed(self, made: Made, found: dict[str, Any]) -> None:
        """Compare what an upload says with what its list was made with."""
        tell = self.report.check
        wanted = {"state": "ready", "rows": made.rows, "accepted": len(made.names), "invalid": len(made.invalid)}
        wanted["duplicates"] = len(made.duplicates)
        tell(f"the list is not {wanted}: {found}", holds={k: found[k] for k in wanted} == wanted)
        problems = {e["row"]: e["code"] for e in found["errors"]}
        expected = made.invalid | dict.fromkeys(made.duplicates, DUPLICATE)
        tell(f"problems {problems}, not {expected}", holds=problems == expected)

    def _ingest_killed(self, made: Made) -> dict[str, Any]:
        """Upload a list and kill the ingest in the middle of it, again if it was too fast; return how it was read."""
        for _ in range(TRIES):
            begun = time.monotonic()
            killed, at, swept = 0, 0, 0.0

            def kill(found: dict[str, Any]) -> None:
                nonlocal killed, at, swept
                if not killed and 0 < found["rows"] < made.rows:
                    killed, at = self.inside.kill_function("ingest"), found["rows"]
                elif killed and time.monotonic() > swept + SWEEP_SECONDS:
                    self.inside.sweep()
                    swept = time.monotonic()

            found = self._owner.read(self._owner.upload(made.file, duplicates="drop", encoding="utf-8"), kill)
            if killed:
                break
        self.report.check(f"the ingest was not killed in the middle in {TRIES} tries", holds=killed > 0)
        self.report.figures |= {
            "rows of the second list": made.rows,
            "bytes of it": made.file.stat().st_size,
            "rows read when the ingest was killed": at,
            "seconds from upload to ready": round(time.monotonic() - begun, 1),
        }
        return found

    # Sending

    def _sent(self, watch: Watch, first: Made, second: Made, kills: Sequence[float]) -> None:
        """Send both lists, killing, stopping and resuming on the way."""
        rows = len(first.names) + len(second.names)
        begun = time.monotonic()
        self._end = begun + PATIENCE * rows / self.inside.lane(LANE).rate + SPARE_SECONDS
        self._send(watch, first)
        self._reach(kills[0] * rows)
        self.kill("senders", self.inside.kill(LANE))
        self._listed(second, self._ingest_killed(second))
        self._send(watch, second)
        for share, what in sorted([(STOP, "stop"), *((share, "kill") for share in kills[1:])]):
            self._reach(share * rows)
            if what == "kill":
                self.kill("senders", self.inside.kill(LANE))
            else:
                self._stopped(rows)
        open_ = list(self._jobs)

        def ended() -> bool:
            open_[:] = [job for job in open_ if not self._logged(job)]
            return not open_

        processes.wait_for(ended, max(1.0, self._end - time.monotonic()), pause=0.2)
        left = [self.api.get(f"/jobs/{job}") for job in open_]
        self.report.check(f"not finished: {[(x['state'], x['counts']) for x in left]}", holds=not left)
        self.report.figures["seconds from the first send to LOGGED"] = round(time.monotonic() - begun, 1)

    def _send(self, watch: Watch, made: Made) -> None:
        job = self._owner.send()
        self._jobs[job] = made
        watch.add(job, len(made.names))

    def _accepted(self) -> int:
        return sum(len(self._oracle.of(job)) for job in self._jobs)

    def _reach(self, messages: float) -> None:
        """Wait until so many messages are accepted."""
        arrived = processes.wait_for(lambda: self._accepted() >= messages, self._end - time.monotonic(), pause=0.02)
        self.report.check(f"{messages:.0f} messages were not accepted in time", holds=arrived)

    def _logged(self, job: str) -> bool:
        """Tell whether a job is LOGGED and every delivery has been heard of."""
        found = self.api.get(f"/jobs/{job}")
        loud = sum(not row["recipient"].startswith(SILENT) for row in self._oracle.of(job))
        return bool(found["state"] == "LOGGED" and found["counts"]["delivered"] >= loud)

    def _stopped(self, rows: int) -> None:
        """Stop, twice, look that it stays so, and resume, twice."""
        tell, jobs = self.report.check, list(self._jobs)
        self._owner.post("stop")
        answered = time.time()
        second = [x["state"] for x in self._owner.post("stop")["jobs"]]
        tell(f"a second stop answers {second}", holds=set(second) <= {"STOPPED", "LOGGED"})
        queued = sum(self.api.finished(job, leaves=("queued", "sent"))["counts"]["queued"] for job in jobs)
        ended = time.time()
        arrived = [row for job in jobs for row in self._oracle.of(job)]
        late = [row for row in arrived if row["at"] > answered]
        chunks = Counter(tuple(row["ref"].split("-")[:2]) for row in late)
        last = max((row["at"] - answered for row in late), default=0.0)
        self.report.figures |= {
            "accepted when it was stopped": len(arrived) - len(late),
            "accepted after the answer of stop": len(late),
            "seconds from that answer to the last": round(last, 2),
            "seconds from it to LOGGED": round(ended - answered, 1),
        }
        most = max(chunks.values(), default=0)
        tell(f"{most} messages of a lease after stop, more than a window", holds=most <= self._window)
        tell(f"accepted {last:.1f} s after stop", holds=last <= LATE_SECONDS)
        tell(f"{queued} were left to resume", holds=0 < queued < rows)
        resumed = self._owner.post("resume")["messages"]
        tell(f"resumed {resumed}, not {queued}", holds=resumed == queued)
        again = self.api.call("POST", f"/campaigns/{self._owner.id}/resume")
        tell(f"a second resume answers {again}", holds=again.status == 409 or again.body["messages"] == 0)

    # What came of it

    def _judge(self, gone: set[str]) -> None:
        """Compare the API's log with the simulator's."""
        tell = self.report.check
        lines = {line["recipient"]: line for line in self._owner.messages()}
        names = {name: job for job, made in self._jobs.items() for name in made.names}
        times = sum((self._oracle.times(job) for job in self._jobs), Counter[str]())
        unknown = {name for name, line in lines.items() if line["state"] == "unknown"}
        wanted = set(names) - gone
        tell(f"accepted twice: {[n for n, c in times.items() if c > 1][:5]}", holds=set(times.values()) <= {1})
        tell(f"accepted though not to be sent to: {list(set(times) - wanted)[:5]}", holds=set(times) <= wanted)
        missing = wanted - set(times) - unknown
        tell(f"neither accepted nor unknown: {list(missing)[:5]}", holds=not missing)
        tell("the log has other lines", holds={n: line["job_id"] for n, line in lines.items()} == names)
        windows = [w for job in self._jobs for w in self._lost(job)]
        skipped = {name: (lines[name]["state"], lines[name]["error"]) for name in gone}
        # Why a sender left somebody out stands in its window's detail, which a kill may take along.
        fair = {("skipped", "unsubscribed"), *([("skipped", "skipped")] if windows else [])}
        tell(f"who unsubscribed: {skipped}", holds=set(skipped.values()) <= fair)
        told = [n for n in unknown & set(times) if not n.startswith(SILENT)]
        tell(f"unknown though their delivery was told: {told[:5]}", holds=not told)
        stray = [lines[n] for n in unknown if LOST not in (lines[n]["error"] or "")]
        tell(f"unknown for another reason than a kill: {stray[:3]}", holds=not stray)
        most = max((len(indices) for _, indices in windows), default=0)
        tell(f"{most} unknown by one lease", holds=most <= self._window)
        others = Counter(line["state"] for n, line in lines.items() if n in times and n not in unknown)
        tell(f"accepted, but {others}", holds=set(others) <= {"sent", "delivered"})
        states = Counter(line["state"] for line in lines.values())
        stats = self.api.get(f"/campaigns/{self._owner.id}/stats")
        counts = {state: stats["counts"][state] for state in STATES}
        tell(f"the counts are {counts}, the log's {states}", holds=counts == dict.fromkeys(STATES, 0) | states)
        self.report.figures |= {
            "recipients": len(names),
            "accepted by the provider": len(times),
            "twice": sum(n - 1 for n in times.values()),
            "leases lost": len(windows),
            "messages in them": sum(len(indices) for _, indices in windows),
            "unknown in the end": len(unknown),
            "of them accepted": len(unknown & set(times)),
            "counts": "  ".join(f"{state} {n}" for state, n in counts.items() if n),
        }

    def _lost(self, job: str) -> Sequence[tuple[int, Sequence[int]]]:
        return lost(self.inside, job, range(len(self.inside.ledgers.read_all(job))))

    def _rated(self, since: float) -> None:
        """Look at every second of the lane."""
        rate = self.inside.lane(LANE).rate
        calls = self.control.calls(credential=LANE, since=since)
        stats = self.control.stats(credential=LANE, since=since)
        certain, gross = (certainly_within(calls, seconds) for seconds in (1.0, 1.0 - SHIFT_SECONDS))
        self.report.figures |= {
            "rate per second": rate,
            "worst second": stats["max_in_one_second"],
            "worst second, for certain": certain,
            "worst second but for what the machine delays": gross,
        }
        self.report.check(f"{certain} in a second", holds=certain <= rate + 1 or gross <= rate)


def run(running: Running, seed: int, *, rows: int, kills: int) -> Report:
    """Send a campaign of so many rows, kill its senders so often meanwhile, and account for each row."""
    with TemporaryDirectory() as folder:
        proof = Proof(running, seed, Path(folder))
        proof.run(rows, KILLS[:kills])
    return proof.report
