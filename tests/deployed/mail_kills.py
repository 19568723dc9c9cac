"""Mails of programs through a relay to a running local cloud, while `kill -9` ends the relay, the API and the sender.

Programs send by SMTP, and repeat what is not answered with 250. Each mail that was answered so is queued once, and
a provider has it exactly once by the simulator's own log, or the log of its job says `unknown`.
"""

import os
import smtplib
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Self

from infra.local.console import LocalCloudError
from infra.local.paths import ROOT
from infra.local.processes import wait_for
from tests.deployed.api import Api
from tests.deployed.drill import Drill, KillsAtAnswers, Report, Running, troubled

LANE: Final = "mailgun-main"
"""Carries the demo account's mails."""
PROGRAMS: Final = 3
PATIENCE: Final = 240.0
"""Within which every mail is answered with 250, and within which all is sent then, on a busy machine."""
EACH: Final = 0.5
"""Seconds more for each mail."""
AIM_SECONDS: Final = 60.0
"""Within which there is something to kill."""
SMTP_SECONDS: Final = 60.0
LATER: Final = 0.3
"""Seconds up to which a kill of the relay or the API waits: it is in the middle of other mails then."""
LATENCY_MS: Final = 600
"""Of the provider's answers until the last sender is killed, so that kills hit calls."""
REDELIVER_SECONDS: Final = 10
"""A pointer whose worker was killed comes back so soon, instead of after 12 minutes."""
SWEEP_SECONDS: Final = 3.0
RELAY: Final = """
import sys
from cli.relay import delivering, outage
from cli.main import main
outage.PAUSES = (0.5, 1.0)  # this API is away for moments
delivering.RETRIES_MS = (500, 1_000)
delivering.LATER_MS = 2_000
sys.argv = ["posthaste", "relay", *sys.argv[1:]]
main()
"""
VICTIMS: Final = ("relay", "API", "sender")
FOLDERS: Final = ("data", "queue", "inflight", "cleanup")
ACCEPTED: Final = 250
REFUSED: Final = 500


class RelayProcess:
    """`posthaste relay` on one spool, however often it is killed. Use as a context manager.

    Args:
        api: where it hands mails.
        folder: for the spool and its log.

    Attributes:
        port: where it listens; another one after each kill.
        spool: its folder.
    """

    def __init__(self, api: Api, folder: Path) -> None:
        self.port = 0
        self.spool = folder / "spool"
        self._log = folder / "relay.log"
        target = {"POSTHASTE_URL": api.url, "POSTHASTE_API_KEY": api.key}
        self._environment = {**os.environ, "PYTHONPATH": str(ROOT), **target}
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._kill()

    def restart(self) -> None:
        """Kill it with `kill -9`, and start it again."""
        self._kill()
        self._start()

    def is_empty(self) -> bool:
        """Tell whether it holds no mail."""
        return not any(any((self.spool / name).iterdir()) for name in FOLDERS)

    def _start(self) -> None:
        command = [sys.executable, "-c", RELAY, "--listen", "127.0.0.1:0", "--spool", str(self.spool)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=ROOT, env=self._environment, stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.startswith("listening on "):
            raise LocalCloudError(f"the relay did not start:\n{self._log.read_text('utf-8')[-500:]}")
        self.port = int(line.rpartition(":")[2])

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()


class MailDrill(Drill):
    """Programs, a relay, and what goes wrong.

    Args:
        running: the cloud.
        seed: of when to kill.
        mails: how many.
        kills: of the relay, of the API and of the sender each.
        folder: for the relay.
    """

    def __init__(self, running: Running, seed: int, *, mails: int, kills: int, folder: Path) -> None:
        super().__init__(running, seed)
        self._mails = mails
        self._relay = RelayProcess(self.api, folder)
        self._sender = f"bounces+{self.tag}@example.com"
        self._kills = kills
        self._struck = KillsAtAnswers(mails, ["relay", "API"] * kills, self.rng, LATER, self._strike)
        self._patience = PATIENCE + EACH * mails
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._swept = 0.0
        self._lines: dict[str, dict[str, Any]] = {}

    def run(self) -> None:
        """Send, kill, wait until all is sent, and judge."""
        soon = self.inside.redelivering(LANE, REDELIVER_SECONDS, express=True)
        with soon, self._relay, ThreadPoolExecutor(PROGRAMS + 1) as pool:
            try:
                hunt = pool.submit(self._hunt)
                for sent in [pool.submit(self._send, n) for n in range(self._mails)]:
                    sent.result()
                answered = self.passed()
                hunt.result()
            finally:
                self._ended.set()
            self.until(self._settled, self._patience, "mails still wait, or are being sent", pause=0.5)
        self.report.figures |= {"s until the last answer": answered, "s until all was sent": self.passed()}
        self._judge()
        self.report.wrong += [
            f"{x}: killed {self.report.kills[x]} times, not {self._kills}"
            for x in VICTIMS
            if self.report.kills[x] != self._kills
        ]

    # The programs

    def _to(self, n: int) -> str:
        """Return a recipient of whom no feedback comes: what is said of the mail is the engine's own word."""
        return f"silent+{n}@{self.tag}.example.org"

    def _message(self, n: int) -> bytes:
        head = f"From: news@example.com\r\nTo: {self._to(n)}\r\nMessage-ID: <{n}.{self.tag}@example.com>\r\n"
        return f"{head}Subject: Ticket {n}\r\n\r\n.\r\nTicket {n} is done.\r\n".encode()

    def _send(self, n: int) -> None:
        """Send a mail, again and again until it is answered with 250."""
        if not wait_for(partial(self._is_answered, n), self._patience, pause=0.2):
            self.report.wrong.append("a mail was not answered with 250 in time")

    def _is_answered(self, n: int) -> bool:
        """Send a mail once; tell whether its program has a final answer."""
        code, text = self._transaction(n)
        if code == ACCEPTED:
            with self._lock:
                self.report.add("mails answered with 250")
                self.report.add("of these, by the spool", text.startswith(b"2.0.0 kept"))
            self._struck.answered(self._ended)
        elif code >= REFUSED:
            self.report.wrong.append(f"a mail was refused: {code} {text!r}")
        else:
            with self._lock:
                self.report.add("transactions repeated")
            return False
        return True

    def _transaction(self, n: int) -> tuple[int, bytes]:
        """Return the answer to a mail; 0 if there was none."""
        try:
            with smtplib.SMTP("127.0.0.1", self._relay.port, timeout=SMTP_SECONDS) as smtp:
                smtp.ehlo()
                smtp.mail(self._sender)
                smtp.rcpt(self._to(n))
                return smtp.data(self._message(n))
        except OSError:  # smtplib's own errors are such, too
            return 0, b""

    # What goes wrong

    def _strike(self, victim: str) -> None:
        if victim == "relay":
            self._relay.restart()
        elif not wait_for(lambda: self.inside.kill_function("api") > 0, AIM_SECONDS, pause=0.1):
            return
        self.report.kills[victim] += 1

    def _hunt(self) -> None:
        """Kill the sender's workers, each time some mails after the last time, in the middle of calls."""
        place = self.inside.lane(LANE).provider, LANE
        step = max(3, self._mails // (2 * self._kills))
        with troubled(self.control, [place], latency_ms=LATENCY_MS):
            for _ in range(self._kills):
                aim = len(self._rows()) + self.rng.randrange(2, step)
                wait_for(partial(self._has, aim), AIM_SECONDS, pause=0.1)
                if not wait_for(self._sender_killed, AIM_SECONDS, pause=0.1):
                    return

    def _has(self, rows: int) -> bool:
        return self._ended.is_set() or len(self._rows()) >= rows

    def _sender_killed(self) -> bool:
        return self.kill("sender", self.inside.kill(LANE) > 0) or self._ended.is_set()

    # What came of it

    def _rows(self) -> list[dict[str, Any]]:
        """Return what a provider has accepted of these mails."""
        place = f"@{self.tag}.example.org"
        return [row for row in self.control.log(since=self.began - 1) if row["recipient"].endswith(place)]

    def _settled(self) -> bool:
        """Tell whether no mail waits or is being sent, and have the sweeper look meanwhile."""
        if time.monotonic() - self._swept >= SWEEP_SECONDS:
            self.inside.sweep()
            self._swept = time.monotonic()
        if not self._relay.is_empty():
            return False
        for mail in self.api.items("/mails"):
            job = mail["job_id"]
            if mail["mail_from"] == self._sender and job not in self._lines:
                (line,) = self.api.items(f"/jobs/{job}/logs")
                if line["state"] in ("queued", "sending"):
                    return False
                self._lines[job] = line
        return bool(len(self._lines) >= self.report.figures.get("mails answered with 250", 0))

    def _judge(self) -> None:
        """Compare what was answered with 250 with the jobs' logs and the simulator's."""
        report = self.report
        rows = self._rows()
        times = Counter((row["recipient"], row["finished_hash"]) for row in rows)
        lines: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        for line in self._lines.values():
            lines[line["recipient"]].append(line)
        for n in range(self._mails):
            to = self._to(n)
            accepted = times.pop((to, sha256(self._message(n)).hexdigest()), 0)
            report.add("at a provider once", accepted == 1)
            if len(lines[to]) != 1:
                report.wrong.append(f"{to}: queued {len(lines[to])} times, accepted {accepted} times")
                continue
            line = lines[to][0]
            unknown = line["state"] == "unknown"
            report.add("unknown", unknown)
            report.add("of these, never called", unknown and not accepted)
            if fault := _fault(line, accepted):
                report.wrong.append(f"{to}: {fault}")
        if times:
            report.wrong.append(f"{times.total()} accepted that no program sent so")
        if (self._relay.spool / "failed").exists():
            report.wrong.append("the relay gave a mail up")


def _fault(line: dict[str, Any], accepted: int) -> str:
    """Return what is wrong with a mail in the end, or nothing."""
    state = line["state"]
    if accepted > 1:
        return f"{state}, and accepted {accepted} times"
    if state == "unknown":
        return "" if line["error"] else "unknown without a reason"
    if state not in ("sent", "delivered"):
        return f"{state}: {line['error']}"
    return "" if accepted else f"{state}, and no provider has it"


def run(running: Running, seed: int, *, mails: int, kills: int) -> Report:
    """Send so many mails through a relay, kill meanwhile, and account for each."""
    with TemporaryDirectory() as folder:
        drill = MailDrill(running, seed, mails=mails, kills=kills, folder=Path(folder))
        drill.run()
    return drill.report
