"""A campaign from its file to LOGGED on a local cloud, while its ingest and its senders are killed and it is stopped.

What is asserted, by the simulator's own log:

- nobody gets the message twice, nobody gets it who should not: bad rows, duplicates and who has unsubscribed;
- every other recipient is accepted exactly once, or is shown as `unknown`: of a window whose sender was killed, at most
  a window for each lease. Nobody is unknown whose delivery was told;
- no second has more than the campaign's rate, plus one;
- the counts add up to the total, however often they are read meanwhile, and are those of the log in the end;
- after the 2xx of stop each lease ends the window that it is in, at the most, and nothing comes after that;
- what the list's upload says of each row is what the list was made with.
"""

import http.client
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from infra.local import processes
from shared.domain.uploads import DUPLICATE
from simulator.client import ControlClient
from tests.deployed.api import STATES, Api
from tests.deployed.inside import Inside
from tests.deployed.kills import LOST, REDELIVER_SECONDS, SILENT, Watch, lost
from tests.deployed.lists import Made, make
from tests.deployed.oracle import Oracle
from tests.deployed.rates import SHIFT_SECONDS, certainly_within

LANE: Final = "campaign-mail"
TEMPLATE: Final = {
    "from": "News <news@example.com>",
    "subject": "News for {{ name }}",
    "body": '<p>Dear {{ name }},</p><p>no more of it: <a href="{{ unsubscribe_url }}">unsubscribe</a></p>',
}
LINK: Final = re.compile(r'href="([^"]+/unsubscribe/[^"]+)"')
READ_SECONDS: Final = 300
PATIENCE: Final = 8
"""A run may take so many times as long as its messages would at the full rate, and two minutes more."""
SPARE_SECONDS: Final = 120
LATE_SECONDS: Final = 3.0
"""A window's calls begin within a second of its claim; on a busy machine they take their time."""
TRIES: Final = 3


@dataclass(slots=True)
class Report:
    """What came of it: figures by name, in order, and what breaks a promise."""

    figures: dict[str, object] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def check(self, what: str, *, holds: bool) -> None:
        """Note something that does not hold."""
        if not holds:
            self.wrong.append(what)

    def table(self) -> str:
        """Return the figures, a row each."""
        shown = {k: f"{v:,}" if isinstance(v, int | float) else str(v) for k, v in self.figures.items()}
        return "\n".join(f"{name:<44} {value:>20}" for name, value in shown.items())


def put(url: str, file: Path, headers: dict[str, str], method: str = "PUT") -> str:
    """Upload a file to a presigned address; return its ETag."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=120)
    try:
        with file.open("rb") as source:
            connection.request(method, f"{parts.path}?{parts.query}", source, headers)
            answer = connection.getresponse()
            text = answer.read()
    finally:
        connection.close()
    assert answer.status == 200, (answer.status, text)
    return answer.headers["ETag"].strip('"')


class Client:
    """A campaign as its owner drives it over the API."""

    def __init__(self, api: Api, lane: str, template: dict[str, str], channel: str = "email") -> None:
        self.api = api
        body = {"name": "Proof", "channel": channel, "credential_id": lane, "template": template}
        self.id: str = self.call("POST", "/campaigns", body)["campaign_id"]
        self.job = ""

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Return the JSON of a call that must succeed."""
        answer = self.api.call(method, path, body)
        assert 200 <= answer.status < 300, (method, path, answer.status, answer.body)
        return answer.body

    def upload(self, file: Path, **options: str) -> str:
        """Put a list where the API says and have it read; return the upload's id."""
        place = self.call("POST", f"/campaigns/{self.id}/uploads", options)
        etag = put(place["url"], file, place["headers"], place["method"])
        self.call("POST", f"/campaigns/{self.id}/uploads/{place['upload_id']}/complete", {"etag": etag})
        found: str = place["upload_id"]
        return found

    def list(self, upload: str) -> dict[str, Any]:
        """Return how far the reading of a list is."""
        found: dict[str, Any] = self.api.get(f"/campaigns/{self.id}/uploads/{upload}")
        return found

    def read(self, upload: str, meanwhile: Callable[[dict[str, Any]], None] = lambda _found: None) -> dict[str, Any]:
        """Wait until a list is read; `meanwhile` is told how far it is."""
        found: dict[str, Any] = {}

        def ended() -> bool:
            nonlocal found
            found = self.list(upload)
            meanwhile(found)
            return found["state"] in ("ready", "sent", "failed")

        assert processes.wait_for(ended, READ_SECONDS, pause=0.05), found
        return found

    def send(self, **options: Any) -> str:
        """Send the list that was read; return the job's id."""
        self.job = self.call("POST", f"/campaigns/{self.id}/send", options)["job_id"]
        return self.job

    def post(self, word: str) -> Any:
        """Stop, resume or retry."""
        return self.call("POST", f"/campaigns/{self.id}/{word}")

    def messages(self) -> Sequence[dict[str, Any]]:
        """Return all log lines."""
        return self.api.items(f"/campaigns/{self.id}/messages")


def text_of(control: ControlClient, to: str) -> dict[str, Any]:
    """Return the latest message to somebody, from the simulator's inbox, with its bodies."""
    found = control.json("GET", "/inbox.json?limit=2000")["messages"]
    seq = next(m["seq"] for m in found if m["to"] == to)
    message: dict[str, Any] = control.json("GET", f"/inbox/{seq}.json")
    return message


def unsubscribe(api: Api, html: str) -> None:
    """Follow the link of a mail as a mail program's button does (RFC 8058)."""
    link = LINK.search(html)
    assert link, html
    path = link[1][link[1].index("/unsubscribe/") :]
    form = {"content_type": "application/x-www-form-urlencoded"}
    answer = Api(api.url, "").call("POST", path, raw=b"List-Unsubscribe=One-Click", **form)
    assert answer.status == 200, answer


class Proof:
    """One run."""

    def __init__(self, inside: Inside, api: Api, control: ControlClient, folder: Path, tag: str) -> None:
        self._inside = inside
        self._api = api
        self._control = control
        self._folder = folder
        self._tag = tag
        self._oracle = Oracle(control, LANE)
        self._window = inside.window(LANE)
        self._rate = inside.lane(LANE).rate
        self.report = Report()

    def run(self, rows: int, kills: Sequence[float]) -> Report:
        """Do all of it.

        Args:
            rows: recipients.
            kills: at which shares of the messages the senders are killed; stop and resume come at the half.
        """
        begun = time.monotonic()
        gone = self._unsubscribed()
        made = make(self._folder / "list.csv", self._tag, rows, first=gone)
        owner = Client(self._api, LANE, TEMPLATE)
        self._ingested(owner, made)
        before = self._inside.redeliver_after(LANE, REDELIVER_SECONDS)
        since = time.time()
        try:
            with Watch(self._inside, self._api) as watch:
                job = owner.send()
                watch.add(job, rows)
                killed = self._sent(owner, rows, kills)
                watch.drop(job)
        finally:
            self._inside.redeliver_after(LANE, before)
        self.report.wrong += watch.wrong
        self.report.figures |= {"reads of the counts meanwhile": watch.samples, "sender processes killed": killed}
        self._judge(owner, made, gone, since)
        self.report.figures["seconds from the first call to the last"] = round(time.monotonic() - begun, 1)
        return self.report

    def _unsubscribed(self) -> str:
        """Have somebody get a mail and unsubscribe by its link; return the address."""
        address = f"gone+{self._tag}@example.com"
        file = self._folder / "one.csv"
        file.write_text(f"recipient,name\n{address},Gone\n", encoding="utf-8")
        owner = Client(self._api, LANE, TEMPLATE)
        owner.read(owner.upload(file))
        self._api.finished(owner.send(), leaves=("sent",))
        unsubscribe(self._api, text_of(self._control, address)["html"])
        return address

    def _ingested(self, owner: Client, made: Made) -> None:
        """Upload the list and kill the ingest in the middle of it, again if it was too fast."""
        tell, figures = self.report.check, self.report.figures
        figures["rows"] = made.rows
        figures["bytes"] = made.file.stat().st_size
        for _ in range(TRIES):
            begun = time.monotonic()
            upload = owner.upload(made.file, duplicates="drop")
            killed, at = 0, 0

            def kill(found: dict[str, Any]) -> None:
                nonlocal killed, at
                if not killed and 0 < found["rows"] < made.rows:
                    killed, at = self._inside.kill_function("ingest"), found["rows"]
                elif killed:
                    self._inside.sweep()

            found = owner.read(upload, kill)
            figures["rows read when the ingest was killed"] = at
            figures["seconds from upload to ready"] = round(time.monotonic() - begun, 1)
            if killed:
                break
        tell(f"the ingest was not killed in the middle in {TRIES} tries", holds=killed > 0)
        tell(f"the list is not ready: {found}", holds=found["state"] == "ready")
        wanted = {"rows": made.rows, "accepted": len(made.names), "invalid": len(made.invalid)}
        wanted["duplicates"] = len(made.duplicates)
        figures |= {f"{name} rows": n for name, n in wanted.items() if name != "rows"}
        tell(f"the list has other rows than {wanted}: {found}", holds={k: found[k] for k in wanted} == wanted)
        problems = {e["row"]: e["code"] for e in found["errors"]}
        expected = made.invalid | dict.fromkeys(made.duplicates, DUPLICATE)
        tell(f"problems {problems}, not {expected}", holds=problems == expected)

    def _sent(self, owner: Client, rows: int, kills: Sequence[float]) -> int:
        """Wait until all is sent, killing, stopping and resuming on the way; return how many processes were killed."""
        job = owner.job
        end = time.monotonic() + PATIENCE * rows / self._rate + SPARE_SECONDS
        begun = time.time()
        steps: list[tuple[float, str]] = sorted([(0.5, "stop"), *((share, "kill") for share in kills)])
        killed = 0
        for share, what in steps:

            def reached(wanted: float = share * rows) -> bool:
                return len(self._oracle.of(job)) >= wanted

            arrived = processes.wait_for(reached, end - time.monotonic(), pause=0.02)
            self.report.check(f"{share:.0%} of the messages were not sent in time", holds=arrived)
            if what == "kill":
                killed += self._inside.kill(LANE)
            else:
                self._stopped(owner, rows)
        found: dict[str, Any] = {}

        def logged() -> bool:
            nonlocal found
            found = self._api.get(f"/jobs/{job}")
            return bool(found["state"] == "LOGGED") and self._heard(job, found)

        ended = processes.wait_for(logged, max(1.0, end - time.monotonic()), pause=0.2)
        self.report.check(f"not finished: {found['state']} {found['counts']}", holds=ended)
        self.report.figures["seconds from send to LOGGED"] = round(time.time() - begun, 1)
        return killed

    def _heard(self, job: str, found: dict[str, Any]) -> bool:
        """Tell whether every delivery has been heard of."""
        loud = sum(not row["recipient"].startswith(SILENT) for row in self._oracle.of(job))
        return bool(found["counts"]["delivered"] >= loud)

    def _stopped(self, owner: Client, rows: int) -> None:
        """Stop, twice, look that it stays so, and resume, twice."""
        tell = self.report.check
        owner.post("stop")
        answered = time.time()
        second = owner.post("stop")
        tell(f"a second stop answers {second}", holds=second["state"] in ("STOPPED", "LOGGED"))
        found = self._api.finished(owner.job, leaves=("queued", "sent"))
        arrived = self._oracle.of(owner.job)
        late = [row for row in arrived if row["at"] > answered]
        chunks = Counter(row["ref"].split("-")[1] for row in late)
        last = max((row["at"] - answered for row in late), default=0.0)
        self.report.figures |= {
            "accepted when it was stopped": len(arrived),
            "accepted after the answer of stop": len(late),
            "seconds from that answer to the last": round(last, 2),
        }
        tell(
            f"more than a window of a lease after stop: {chunks}", holds=all(n <= self._window for n in chunks.values())
        )
        tell(f"accepted {last:.1f} s after stop", holds=last <= LATE_SECONDS)
        tell(f"nothing was left to resume: {found['counts']}", holds=0 < found["counts"]["queued"] < rows)
        resumed = owner.post("resume")
        tell(f"resumed {resumed}, not {found['counts']}", holds=resumed["messages"] == found["counts"]["queued"])
        again = self._api.call("POST", f"/campaigns/{owner.id}/resume")
        tell(f"a second resume answers {again}", holds=again.status == 409 or again.body["messages"] == 0)

    def _judge(self, owner: Client, made: Made, gone: str, since: float) -> None:
        """Compare the API's log with the simulator's."""
        tell, figures, job = self.report.check, self.report.figures, owner.job
        times = self._oracle.times(job)
        lines = {line["recipient"]: line for line in owner.messages()}
        wanted = set(made.names) - {gone}
        unknown = {name for name, line in lines.items() if line["state"] == "unknown"}
        windows = lost(self._inside, job, range(len(self._inside.ledgers.read_all(job))))
        tell(f"accepted twice: {[n for n, c in times.items() if c > 1][:5]}", holds=set(times.values()) <= {1})
        tell(f"accepted though not to be sent to: {list(set(times) - wanted)[:5]}", holds=set(times) <= wanted)
        missing = wanted - set(times) - unknown
        tell(f"neither accepted nor unknown: {list(missing)[:5]}", holds=not missing)
        tell("a log line is missing", holds=set(lines) == set(made.names))
        skipped = (lines[gone]["state"], lines[gone]["error"])
        tell(f"who unsubscribed is {skipped}", holds=skipped == ("skipped", "unsubscribed"))
        told = [n for n in unknown & set(times) if not n.startswith(SILENT)]
        tell(f"unknown though their delivery was told: {told[:5]}", holds=not told)
        stray = [n for n in unknown if LOST not in (lines[n]["error"] or "")]
        tell(f"unknown for another reason than a kill: {[lines[n] for n in stray[:3]]}", holds=not stray)
        most = max((len(indices) for _, indices in windows), default=0)
        tell(f"{most} unknown by one lease", holds=most <= self._window)
        others = Counter(line["state"] for n, line in lines.items() if n in times and n not in unknown)
        tell(f"accepted, but {others}", holds=set(others) <= {"sent", "delivered"})
        found = self._api.get(f"/jobs/{job}")
        counts = {state: found["counts"][state] for state in STATES}
        tell(
            f"the counts are not the log's: {counts}",
            holds=counts == dict.fromkeys(STATES, 0) | Counter(line["state"] for line in lines.values()),
        )
        self._rated(since)
        figures |= {
            "accepted by the provider": len(times),
            "twice": sum(n - 1 for n in times.values()),
            "leases lost": len(windows),
            "messages in them": sum(len(indices) for _, indices in windows),
            "unknown in the end": len(unknown),
            "of them accepted": len(unknown & set(times)),
            "counts": "  ".join(f"{state} {n}" for state, n in counts.items() if n),
        }

    def _rated(self, since: float) -> None:
        calls = self._control.calls(credential=LANE, since=since)
        stats = self._control.stats(credential=LANE, since=since)
        certain, gross = (certainly_within(calls, seconds) for seconds in (1.0, 1.0 - SHIFT_SECONDS))
        self.report.figures |= {
            "rate per second": self._rate,
            "worst second": stats["max_in_one_second"],
            "worst second, for certain": certain,
            "worst second but for what the machine delays": gross,
        }
        self.report.check(f"{certain} in a second", holds=certain <= self._rate + 1)
