"""Tables are lost in the middle of sending, one after the other, and come back by `posthaste restore` from copies.

Batches and single messages are on their way, and their senders are killed, when copies of all tables are made. More is
sent; then all that a table holds is deleted. The command brings it back from the copy. What is asserted, by the
simulator's own log:

- no message is taken twice, also once everything was released and resumed;
- each message that was not taken says why: it is unknown, failed or skipped, or `restore review` names its job as lost.
"""

import time
from collections import Counter
from typing import Any, Final

from infra.local import accounts, deploy
from infra.local.processes import wait_for
from shared import contracts
from tests.deployed.api import Api
from tests.deployed.drill import Drill, Report, Running, answered
from tests.deployed.kills import REDELIVER_SECONDS, SILENT

LANE: Final = "rate-150"
TABLES: Final = {
    "ops": contracts.ENV_OPS_TABLE,
    "records": contracts.ENV_RECORDS_TABLE,
    "identities": contracts.ENV_IDENTITIES_TABLE,
    "audit": contracts.ENV_AUDIT_TABLE,
}
"""In the order of their losses."""
SMALL: Final = 20
SINGLES: Final = 10
COPIED: Final = 0.2
LOST: Final = 0.5
"""Shares of the messages that were taken when the copies are made, and when the table is lost."""
DELETE: Final = 25
PATIENCE: Final = 180.0
"""Seconds within which all comes to rest, on a busy machine."""
ENDED: Final = ("unknown", "failed", "skipped")


class Losses(Drill):
    """One run."""

    def __init__(self, running: Running, seed: int) -> None:
        super().__init__(running, seed)
        self._client = deploy.client("dynamodb", self.inside.port)
        self._environment = self.inside.environment("api")

    def run(self, messages: int, losses: int) -> None:
        """Lose so many tables in turn, each while so many messages are on their way."""
        for name in list(TABLES)[:losses]:
            began = time.time()
            self._lose(name, messages)
            self.report.figures[f"s for {name}"] = time.time() - began
        self.report.figures["seconds in all"] = round(self.passed(), 1)

    def _lose(self, name: str, messages: int) -> None:
        began = time.time() - 1
        api = self.account(f"loss-{self.tag}-{name}")
        posted = self._posted(api, name, messages)
        with self.inside.redelivering(LANE, REDELIVER_SECONDS):
            self._wait(posted, began, COPIED)
            copies = self._copied()
            self.kill("senders", self.inside.kill(LANE))
            self._wait(posted, began, LOST)
            self._deleted(self._environment[TABLES[name]])
            begun = time.time()
            done = self._restore("copy", f"{name}={copies[name]}", "--yes")
            self.report.figures[f"s of restoring {name}"] = time.time() - begun
            self.report.add("items put back", sum(x["put"] for x in done["tables"]))
            lost = self._released()
            self._judge(api, posted, began, lost)
        for copy in copies.values():
            self._client.delete_table(TableName=copy)

    def _restore(self, *words: str) -> Any:
        return accounts.posthaste(self.inside.deployment, self.inside.port, "restore", *words)

    # What is sent

    def _posted(self, api: Api, name: str, messages: int) -> dict[str, str]:
        """Post batches and single messages; return the job of each recipient."""
        people = [f"{(SILENT, 'ann')[n % 2]}+{self.tag}.{name}.{n}@example.com" for n in range(messages)]
        singles, rest = people[:SINGLES], people[SINGLES:]
        parts = [rest[SMALL:], rest[:SMALL], *([x] for x in singles)]
        return {to: job for part in parts for job in [api.post(part, LANE)] for to in part}

    def _taken(self, posted: dict[str, str], began: float) -> Counter[str]:
        """Return how often the provider took each recipient's message."""
        rows = self.control.log(credential=LANE, since=began)
        return Counter(row["recipient"] for row in rows if row["recipient"] in posted)

    def _wait(self, posted: dict[str, str], began: float, share: float) -> None:
        wanted = share * len(posted)
        self.until(
            lambda: len(self._taken(posted, began)) >= wanted, PATIENCE, f"{wanted:.0f} were not taken", pause=0.1
        )

    # What is lost

    def _copied(self) -> dict[str, str]:
        """Have copies of all tables made as they are now; return their names."""
        copies = {}
        for name, variable in TABLES.items():
            table = self._environment[variable]
            copies[name] = f"{table}{contracts.COPY_ENDING}{self.tag}-{self.rng.randrange(10**6)}"
            self._client.restore_table_to_point_in_time(
                SourceTableName=table, TargetTableName=copies[name], UseLatestRestorableTime=True
            )
        return copies

    def _deleted(self, table: str) -> None:
        """Delete all that a table holds."""
        pages = self._client.get_paginator("scan").paginate(TableName=table, ProjectionExpression="pk, sk")
        gone = [{"DeleteRequest": {"Key": item}} for page in pages for item in page["Items"]]
        for n in range(0, len(gone), DELETE):
            self._client.batch_write_item(RequestItems={table: gone[n : n + DELETE]})
        self.report.add("items lost", len(gone))

    # How it goes on

    def _released(self) -> dict[str, int]:
        """Let go all that is held, once it is at rest, and resume; return the messages of each job that is lost."""
        shown: dict[str, Any] = {}

        def at_rest() -> bool:
            self.inside.sweep()
            shown.update(self._restore("review"))
            return all(x["state"] == "LOGGED" for x in shown["held"] if x["waiting"])

        self.until(at_rest, PATIENCE, "held jobs have not come to rest", pause=2)
        self.report.add("held", len(shown["held"]))
        self.report.add("held with messages that wait", sum(x["waiting"] > 0 for x in shown["held"]))
        self._restore("release", "--all", "--yes")
        accounts.posthaste(self.inside.deployment, self.inside.port, "resume", "--all", "--yes")
        return {x["job_id"]: x["messages"] for x in shown["lost"]}

    def _judge(self, api: Api, posted: dict[str, str], began: float, lost: dict[str, int]) -> None:
        """Wait until all jobs have ended, and compare their logs with what the provider took."""
        jobs = set(posted.values())

        def still() -> bool:
            self.inside.sweep()
            answers = [api.call("GET", f"/batches/{job}") for job in jobs - lost.keys()]
            return all(x.status == 404 or x.body["state"] == "LOGGED" for x in answers)

        came = wait_for(answered(still), PATIENCE, pause=2)
        self.report.check("not all jobs have ended", holds=came)
        taken = self._taken(posted, began)
        states: dict[str, str] = {}
        for job in jobs - lost.keys():
            states |= {line["recipient"]: line["state"] for line in api.lines(job)}
        twice = sum(n > 1 for n in taken.values())
        named = {to for to, job in posted.items() if job in lost}
        unnamed = [to for to in posted if not taken[to] and to not in named and states.get(to) not in ENDED]
        self.report.check(f"{twice} messages were taken twice", holds=not twice)
        self.report.check(f"{len(unnamed)} messages are lost and not named", holds=not unnamed)
        self.report.add("messages", len(posted))
        self.report.add("messages taken", len(taken))
        self.report.add("taken twice", twice)
        self.report.add("unknown", sum(x == "unknown" for x in states.values()))
        self.report.add("of jobs that are lost", len(named))


def run(running: Running, seed: int, *, messages: int, losses: int) -> Report:
    """Lose tables in turn.

    Args:
        running: the cloud.
        seed: of the names of copies.
        messages: on their way at each loss.
        losses: how many tables are lost, one after the other.
    """
    drill = Losses(running, seed)
    drill.report.figures["messages"] = 0
    drill.run(messages, losses)
    return drill.report
