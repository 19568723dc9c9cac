"""A clinic's spool against the deployed hub, over a bad link, with `kill -9` of the sync and of the hub's functions.

Some notices wait until tomorrow; when all have been uploaded, the clinic moves half of these to today and cancels the
others. The oracle is the providers' log: each number is reached once, or never if its notice was cancelled. The spool's
updates are compared with the hub's.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from zoneinfo import ZoneInfo

from cli.notifier.mailbox import UpdateBox
from cli.notifier.messages import FINAL, Messages
from cli.notifier.outbox import Outbox
from cli.notifier.store import SpoolFile
from examples.demo import notices
from infra.local import deploy, processes
from infra.local.accounts import ZONE
from infra.local.console import LocalCloudError
from infra.local.paths import ROOT
from shared import contracts
from shared.adapters.dynamo.notices.inboxes import DynamoInboxes
from shared.adapters.dynamo.notices.notices import DynamoNotices
from shared.adapters.dynamo.notices.notifiers import DynamoNotifiers
from shared.adapters.s3.blobs import S3Blobs
from shared.domain.notices.notice import Verb
from tests.deployed.drill import Drill, Report, Running, beside
from tests.deployed.link import LossyLink

PAYLOAD_BYTES: Final = 1_024
"""Of the first payloads: small, so that many have to pass the link."""
REDELIVER_SECONDS: Final = 5
"""A hint whose worker was killed comes back so soon, instead of after some minutes."""
PATIENCE: Final = 240.0
EACH: Final = 0.3
"""Seconds more for each notice: the simulated phones take thirty a second."""
PAUSE: Final = 0.3
QUIET_MS: Final = 2_000
"""The link ends a call that was given up, so nothing arrives later."""
SYNC: Final = """
import sys
from cli.notifier import outbox
outbox.QUIET_MS = int(sys.argv[2])
from cli.main import main
sys.argv = ["posthaste", "notifier", "sync", "--spool", sys.argv[1]]
main()
"""


class ClinicDrill(Drill):
    """One clinic, its spool and its link.

    Args:
        running: the cloud.
        seed: of what goes wrong.
        count: of notices.
        kills: of each function, in the middle of its work. A new worker takes the local cloud seconds.
        folder: for the spool's file.
    """

    def __init__(self, running: Running, seed: int, *, count: int, kills: int, folder: Path) -> None:
        super().__init__(running, seed)
        self.report.figures["notices"] = count
        self._clinic = notices.clinic(self.inside.cloud)
        self._file = folder / "spool.db"
        self._spool = SpoolFile(self._file)
        self._link = LossyLink(self.api.url, self.rng, self._during)
        self._child: subprocess.Popen[bytes] | None = None
        self._left = {"take": kills, "notices": kills}
        self._aimed = {"take": threading.Event(), "notices": threading.Event()}
        self._ended = threading.Event()
        base = 412_000_000 + self.rng.randrange(900_000)
        made = [notices.record(self._clinic, n, base + n) for n in range(count)]
        self._records = {x.pop("id"): {k: str(v) for k, v in x.items() if k != "action"} for x in made}
        names = list(self._records)
        fifth = max(1, len(names) // 5)
        self._moved, self._canceled = names[:fifth], names[fifth : 2 * fifth]
        self._wanted = dict.fromkeys(names, "SUCCESS") | dict.fromkeys(self._canceled, "CANCELED")

    def run(self) -> None:
        """Upload, change, deliver and collect; fill the report."""
        stage = self.inside.deployment.settings.stage
        hints = self.inside.sqs.get_queue_url(QueueName=contracts.inbox_queue_name(stage))["QueueUrl"]
        with self.inside.invisible(hints, REDELIVER_SECONDS), self._link:
            try:
                self._ask(Verb.NEW, self._wanted, tomorrow=(*self._moved, *self._canceled))
                self._sync_until(lambda: not Outbox(self._spool).waiting)
                uploaded = self.passed()
                with beside(self._deliver, lambda: PAUSE):
                    self._ask(Verb.UPDATE, self._moved)
                    Messages(self._spool).cancel(self._canceled, self._now())
                    self._sync_until(self._all_ended)
                    self._link.calm = True
                    self._sync_until(lambda: True)
            finally:
                self._ended.set()
        self._judge()
        self._spool.close()
        fates = {f"calls {name}": n for name, n in self._link.fates.items()}
        self.report.figures |= {"s until the upload": uploaded, "s until the end": self.passed(), **fates}

    # What the clinic does

    def _ask(self, verb: Verb, names: Sequence[str] | dict[str, str], *, tomorrow: Sequence[str] = ()) -> None:
        """Queue records in the spool, offline."""
        later = f"{datetime.now(ZoneInfo(ZONE)) + timedelta(days=1):%Y-%m-%d}"
        late = set(tomorrow)
        records = [{"id": x, **self._records[x], **({"delivery_date": later} if x in late else {})} for x in names]
        Messages(self._spool).ask(verb, records, self._now())
        with self._spool.change():
            self._spool.keep("limit", str(PAYLOAD_BYTES))

    def _sync_until(self, done: Any) -> None:
        """Sync again and again, each time in a process of its own, until something holds."""
        patience = PATIENCE + EACH * len(self._wanted)
        if not processes.wait_for(lambda: self._sync() and done(), patience, pause=PAUSE):
            raise LocalCloudError(f"not finished after {patience:.0f} s: {Messages(self._spool).summary()}")

    def _sync(self) -> bool:
        """Run one sync; tell whether it has ended well."""
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "POSTHASTE_URL": self._link.url,
            "POSTHASTE_NOTIFIER": self._clinic.name,
            "POSTHASTE_NOTIFIER_PASSWORD": self._clinic.password,
        }
        self.report.add("syncs")
        command = [sys.executable, "-c", SYNC, str(self._file), str(QUIET_MS)]
        self._child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        out, _ = self._child.communicate(timeout=PATIENCE)
        if self._child.returncode not in (0, 5, -signal.SIGKILL):
            raise LocalCloudError(f"sync: {self._child.returncode} {out.decode(errors='replace')[-500:]}")
        return self._child.returncode == 0

    def _all_ended(self) -> bool:
        return all(x.known_status in FINAL for x in Messages(self._spool).walk())

    # What goes wrong

    def _during(self, method: str) -> None:
        """Kill, while a call is carried: the sync one time in five, and what takes the upload."""
        if self._link.calm:
            return
        child = self._child
        if child is not None and child.poll() is None and self._is_due():
            threading.Timer(self.rng.random() * 0.05, child.send_signal, (signal.SIGKILL,)).start()
            self.report.kills["sync"] += 1
        if method == "PUT":
            self._strike("take", self.rng.uniform(0.05, 0.3))

    def _is_due(self) -> bool:
        """Tell whether to kill the sync: the first one for certain."""
        return not self.report.kills["sync"] or self.rng.random() < 0.2

    def _strike(self, function: str, seconds: float) -> None:
        """Kill the workers of a function after some seconds, or as soon as there are some; at most so often."""
        if self._left[function] and not self._aimed[function].is_set():
            self._aimed[function].set()
            threading.Timer(seconds, self._kill, (function,)).start()

    def _kill(self, function: str) -> None:
        if processes.wait_for(lambda: self._ended.is_set() or self._killed(function), PATIENCE, pause=0.1):
            self._aimed[function].clear()

    def _killed(self, function: str) -> bool:
        if not self.inside.kill_function(function):
            return False
        self._left[function] -= 1
        self.report.kills[function] += 1
        return True

    def _deliver(self) -> None:
        """Have the function of every minute run all the time, and be killed in its midst."""
        self._strike("notices", self.rng.uniform(0.05, 0.5))
        name = self.inside.names[contracts.HANDLERS["notices"]]
        self.inside.functions.invoke(FunctionName=name, Payload=b"{}")

    # What came of it

    def _judge(self) -> None:
        """Compare the spool, the hub's updates, its notices, and the providers' log."""
        found = list(UpdateBox(self._spool).entries())
        self.report.figures["updates"] = len(found)
        fields = ("id", "status", "error", "updated_at")
        mine = [tuple(x[name] for name in fields) for x in found]
        hub = [tuple(x[name] for name in fields) for x in self._clinic.updates()]
        wrong = self.report.wrong
        if mine != hub:
            wrong.append(f"the spool has {len(mine)} updates, the hub {len(hub)}, and they differ")
        rejected = Counter(x["error"] for x in found if "action" in x)
        if rejected:
            wrong.append(f"records were rejected: {dict(rejected)}")
        finals = {
            name: [x["status"] for x in found if x["id"] == name and x["status"] in FINAL] for name in self._wanted
        }
        wrong += [f"{n}: {self._wanted[n]} once wanted, {x} found" for n, x in finals.items() if x != [self._wanted[n]]]
        wrong += self._handed_over()
        wrong += self._stored()

    def _handed_over(self) -> list[str]:
        numbers = {"+61" + x["phone_number"][1:]: name for name, x in self._records.items()}
        log = self.control.log(since=self.began - 1)
        times = Counter(numbers[row["recipient"]] for row in log if row["recipient"] in numbers)
        wanted = Counter(name for name, status in self._wanted.items() if status == "SUCCESS")
        return [f"{name}: handed over {times[name]} times" for name in self._wanted if times[name] != wanted[name]]

    def _stored(self) -> list[str]:
        """Return what is wrong with the hub's notices: each record was taken once, so each change is one."""
        table = self.inside.deployment.environment[contracts.ENV_RECORDS_TABLE]
        dynamo = self.inside.dynamo
        notifier = DynamoNotifiers(dynamo, records=table).get(self._clinic.name)
        if notifier is None:
            return ["the notifier has gone"]
        files = S3Blobs(lambda: deploy.client("s3", self.inside.port), "")  # no file is read
        inbox = DynamoInboxes(dynamo, records=table, files=files).state(notifier.name)
        keys = {notifier.notice_id(name): name for name in self._wanted}
        stored = DynamoNotices(dynamo, records=table).read(tuple(keys))
        taken = {keys[uuid]: notice.gen for uuid, notice in stored.items()}
        expected = {name: 2 if name in self._moved else 1 for name in self._wanted}
        wrong = [
            f"{name}: {taken.get(name)} versions of its data" for name in expected if taken.get(name) != expected[name]
        ]
        return wrong if inbox.empty else [*wrong, f"the inbox is not empty: {inbox}"]

    @staticmethod
    def _now() -> int:
        return int(time.time() * 1000)


def run(running: Running, seed: int, *, notices: int, kills: int) -> Report:
    """Let a clinic sync so many notices, kill each function so often meanwhile, and account for each notice."""
    with TemporaryDirectory() as folder:
        drill = ClinicDrill(running, seed, count=notices, kills=kills, folder=Path(folder))
        drill.run()
    return drill.report
