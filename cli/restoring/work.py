"""The work of a restore, by the operator's own right on the tables. No other command loads this."""

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from cli.deployment import OperatedDeployment
from cli.output import Surroundings
from cli.progress.meters import Meter
from cli.restoring.tables import CopySource
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.jobs.ledger_writes import JobTables
from shared.adapters.dynamo.jobs.records import DynamoRecords
from shared.adapters.dynamo.restoring.copying import READERS, WRITERS, Copied, Copying
from shared.adapters.dynamo.restoring.holding import Holding, Settled
from shared.adapters.dynamo.restoring.items import RUN, Past
from shared.adapters.s3.blobs import S3Blobs
from shared.domain.audit import operator
from shared.domain.jobs.job import Job
from shared.domain.lanes.switches import EVERYTHING

REASON: Final = "restore"
"""The reason of the pause, in the audit log and for colleagues."""


class Restoring:
    """A restore of one stage."""

    def __init__(self, found: OperatedDeployment, around: Surroundings) -> None:
        self._found = found
        self._around = around
        self._db = Dynamo(
            found.client("dynamodb", connections=READERS * WRITERS),
            sleep=around.clock.sleep,
            audit_days=found.audit_days(),
            homes=found.homes(),
        )
        self.tables = JobTables(found.table(), found.ops())
        self._now = int(around.clock.now() * 1000)
        self._records = DynamoRecords(
            self._db,
            records=self.tables.records,
            ops=self.tables.ops,
            blobs=S3Blobs(lambda: found.client("s3"), ""),  # no content of a job is read
        )
        self.holding = Holding(self._db, self.tables, self._records, now=self._now)

    @property
    def by(self) -> str:
        """The operator, for the audit log."""
        return operator(self._found.who())

    def pause(self) -> None:
        """Pause everything before the first item comes back."""
        self._found.switchboard(self._around.clock).pause(EVERYTHING, by=self.by, reason=REASON)

    def copy(self, wanted: Sequence[CopySource], source: CopySource, *, exact: bool, shown: Meter) -> Copied:
        """Copy one table; `wanted`: all that are restored."""
        living = self._living(wanted)
        past = Past(self._now, exact, self._known if living else _no_job, self._records.details)

        def told(so_far: Copied) -> None:
            shown(0.0, f"{source.name}: {so_far.read:,} items")

        return Copying(
            self._db,
            source=source.copy,
            target=source.table,
            past=past,
            mark=source.copy,
            sleep=self._around.clock.sleep,
            shown=told,
        ).run()

    def settle(self, wanted: Sequence[CopySource]) -> Settled:
        """Hold jobs and make their figures right, once the tables are copied; nothing if no job was in them."""
        if not any(x.name in ("records", "ops") for x in wanted):
            return Settled()
        return self.holding.settle(living=self._living(wanted))

    def _living(self, wanted: Sequence[CopySource]) -> bool:
        """Tell whether the table of jobs holds what it held at the loss: neither now nor before it was restored."""
        if any(x.name == "records" for x in wanted):
            return False
        return not any(self._db.partition(self.tables.records, "SYS", RUN))

    @cache  # noqa: B019 - one for the process
    def _known(self, job: str) -> Job | None:
        return self._records.job(job)


def _no_job(_: str) -> None:
    return None


def is_paused(found: OperatedDeployment, clock: Any) -> bool:
    """Tell whether everything is paused."""
    return found.switchboard(clock).read(EVERYTHING)[EVERYTHING].switches.paused
