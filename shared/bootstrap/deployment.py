"""One deployment: the use cases, what each product adds to them, and the walks of the sweeper."""

from typing import TYPE_CHECKING, Final

from shared import contracts
from shared.bootstrap.use_cases import UseCases
from shared.domain.jobs.job import MAIL
from shared.domain.jobs.states import JobState
from shared.lazy import PartOf, lazy
from shared.metrics import Metric, Service

if TYPE_CHECKING:
    from shared.adapters import metrics as told
    from shared.adapters.dynamo.accounts import seals as sealed
    from shared.adapters.dynamo.credentials import switchboard
    from shared.adapters.s3 import blobs
    from shared.adapters.s3 import copies as copying
    from shared.bootstrap import digesting, hooking, mailing, noticing, sending
    from shared.engine import minutes
    from shared.engine import walks as walking
    from shared.engine.lists import uploading
    from shared.engine.notices import take
    from shared.engine.outcome import fold
    from shared.engine.reports import archive, sealing
    from shared.engine.sweeper import dropped, overdue
    from shared.engine.walks import beginning, doubts, jobs, unlisted
else:
    (told,) = lazy("shared.adapters", "metrics")
    blobs, copying = lazy("shared.adapters.s3", "blobs", "copies")
    (sealed,) = lazy("shared.adapters.dynamo.accounts", "seals")
    (switchboard,) = lazy("shared.adapters.dynamo.credentials", "switchboard")
    digesting, hooking, mailing = lazy("shared.bootstrap", "digesting", "hooking", "mailing")
    noticing, sending = lazy("shared.bootstrap", "noticing", "sending")
    fold, take = lazy("shared.engine", "outcome.fold", "notices.take")
    uploading, walking = lazy("shared.engine", "lists.uploading", "walks")
    archive, dropped = lazy("shared.engine", "reports.archive", "sweeper.dropped")
    minutes, overdue = lazy("shared.engine", "minutes", "sweeper.overdue")
    (sealing,) = lazy("shared.engine.reports", "sealing")
    beginning, doubts, jobs, unlisted = lazy("shared.engine.walks", "beginning", "doubts", "jobs", "unlisted")

part = PartOf["Deployment"]()
_OVERDUE: Final = {
    contracts.DueKind.DIGESTS: (Service.DIGEST, Metric.DIGESTS_OVERDUE),
    contracts.DueKind.NOTICES: (Service.NOTICES, Metric.NOTICES_OVERDUE),
}


class Deployment(UseCases):
    """The parts of one deployment, each made when first asked for; one per process."""

    digesting = part(lambda d: digesting.Digesting(d))
    hooking = part(lambda d: hooking.Hooking(d))
    mailing = part(lambda d: mailing.Mailing(d))
    noticing = part(lambda d: noticing.Noticing(d))
    lane = part(lambda d: sending.SendingLane(d, d.settings.credential(d.env[contracts.ENV_LANE])))
    """The lane that this function serves."""
    fold_listeners = part(
        lambda d: [
            fold.FoldListener(
                lambda folded, _: folded.kind == MAIL,
                lambda folded, some: d.mailing.stream.released(
                    some[0].job, some, logged=folded.state is JobState.LOGGED
                ),
            ),
            fold.FoldListener(
                lambda folded, ledger: folded.kind != MAIL and bool(ledger.told),
                lambda _, some: d.noticing.words.tell(some[0]),
                apart=True,
            ),
            fold.FoldListener(
                lambda folded, _: folded.job is not None,
                lambda folded, some: folded.job and d.campaign_queue.released(folded.job, some),
            ),
        ]
    )
    """The reactions of mails, notices and turns to a fold, in this order."""

    @property
    def walks(self) -> "list[walking.Walk]":
        """The sweeper's walks, in order: those that live jobs need are first. Each has its share of the time."""
        open_jobs = jobs.OpenJobs(
            records=self.records,
            ledgers=self.ledgers,
            holds=switchboard.DynamoHolds(self.dynamo, records=self.records_table, ops=self.ops_table),
            lanes=self.lanes,
            actions=jobs.JobActions(self.planner, self.recovery, self.logger, self.retrier),
            clock=self.clock,
            asking=self.asking,
            slots=self.slots,
        )
        late = unlisted.UnlistedJobs(self.records, self.unlisting.begin)
        walks = [
            walking.Walk("unlisted", 20, late.looks, late.ended),
            walking.Walk("jobs", 75, open_jobs.looks, open_jobs.ended),
            walking.simple("inboxes", 5, take.WaitingInboxes(self.inboxes, self.inbox_queue, self.clock).walk),
        ]
        if contracts.ENV_LOG_REPORTS_URL in self.env:
            for name, some in (("dropped", self.reports), ("dropped small", self.small_reports)):
                walks.append(walking.simple(name, 10, dropped.Dropped(some, self.logger).walk))
        walks += [
            walking.simple("lists", 5, uploading.Reminder(self.uploads, self.ingest_queue, self.clock).walk),
            walking.Walk("doubts", 10, doubts.Doubts(self.records, self.ledgers, self.clock, self.asking).looks),
        ]
        if contracts.ENV_DUE_QUEUE_URL in self.env:
            walks.append(walking.simple("overdue", 5, self.overdue.walk))
        walks.append(walking.simple("search", 5, self.search_beginning.walk))
        walks.append(walking.simple("seals", 5, self.sealer.walk))
        if self.archive_after is not None:
            archiver = archive.Archiver(self.records, self.exports, self.export_queue, self.clock, self.archive_after)
            walks.append(walking.simple("archive", 10, archiver.walk))
        return walks

    relay = part(
        lambda d: minutes.MinuteRelay(
            wake={
                contracts.DueKind.DIGESTS: lambda minute: d.digesting.queue.send([minute.dumps()]),
                contracts.DueKind.NOTICES: lambda minute: d.noticing.function.wake(minute),
            },
            queue=d.due_queue,
            clock=d.clock,
        )
    )
    """Wakes the functions of what is due in a minute."""
    overdue = part(
        lambda d: overdue.OverdueWork(
            looks={
                contracts.DueKind.DIGESTS: d.digesting.overdue.found,
                contracts.DueKind.NOTICES: d.noticing.overdue.found,
            },
            queue=d.due_queue,
            tell=d.tell_overdue,
        )
    )
    """Finds what no schedule has announced."""

    def tell_overdue(self, kind: contracts.DueKind) -> None:
        """Report that something of a kind is overdue."""
        service, metric = _OVERDUE[kind]
        told.tell(self.settings.stage, service, {metric: 1})

    search_beginning = part(lambda d: beginning.SearchBeginning(d.search_pages, d.bookmarks, d.clock))
    """Notes since when all jobs come into pages that searches read."""
    seals = part(lambda d: sealed.DynamoSeals(d.dynamo, records=d.records_table, ops=d.ops_table))
    """Seals of audit logs."""
    seal_copies = part(
        lambda d: (
            copying.SealCopies(blobs.S3Blobs(lambda: d.aws.client("s3"), d.env[contracts.ENV_AUDIT_COPIES]))
            if contracts.ENV_AUDIT_COPIES in d.env
            else None
        )
    )
    """Keeps copies of sealed logs where there is a bucket for them."""
    sealer = part(lambda d: sealing.Sealer(d.seals, d.clock, d.settings.audit_days, d.seal_copies))
    sweeper = part(lambda d: d.sweeper_of(d.walks))
    """Walks all that another part may have left undone."""
