"""The parts of one deployment: the core, and each use case with what it needs."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from shared import contracts
from shared.bootstrap.core import Core

if TYPE_CHECKING:
    from shared.adapters.dynamo.campaigns.campaigns import DynamoCampaigns
    from shared.adapters.dynamo.campaigns.uploads import DynamoUploads
    from shared.adapters.dynamo.credentials.known import OpenSlots
    from shared.adapters.dynamo.jobs.exports import DynamoExports
    from shared.adapters.dynamo.notices.inboxes import DynamoInboxes
    from shared.adapters.dynamo.notices.notifiers import DynamoNotifiers
    from shared.adapters.reports import StreamReports
    from shared.adapters.s3.files import S3Files
    from shared.adapters.s3.multipart import S3Multipart
    from shared.adapters.sqs import SqsQueue
    from shared.engine.intake.schedules import Schedules
    from shared.engine.jobs.due import Due
    from shared.engine.jobs.plan import Planner
    from shared.engine.jobs.retry import Retrier
    from shared.engine.jobs.turns import Turns
    from shared.engine.jobs.wake import Waker
    from shared.engine.lists.ingest import Ingestion
    from shared.engine.lists.uploading import Uploading
    from shared.engine.notices.take import NoticeDesk
    from shared.engine.outcome.announcer import Announcer
    from shared.engine.outcome.fold import Logger
    from shared.engine.outcome.track import Tracker
    from shared.engine.reports.export import ExportDesk, Exporter
    from shared.engine.reports.message_log import MessageLog
    from shared.engine.sweeper.expired import ExpiredLeases
    from shared.engine.sweeper.sweep import Sweeper
    from shared.engine.walks import Walk
    from shared.engine.walks.doubts import Asking


class Deployment(Core):
    """The parts of one deployment, each made when first asked for; one per process."""

    @cached_property
    def expired(self) -> "ExpiredLeases":
        """Takeover of the leases of dead workers in all lanes."""
        return self.expired_of(lambda: self.served)

    def expired_of(self, credentials: Callable[[], Sequence[str]]) -> "ExpiredLeases":
        """Return what takes over leases of dead workers in some lanes, where hints say that somebody works."""
        from shared.adapters.dynamo.credentials.lease_hints import DynamoHints  # noqa: PLC0415
        from shared.engine.sweeper.expired import ExpiredLeases  # noqa: PLC0415

        return ExpiredLeases(
            records=self.records,
            ledgers=self.ledgers,
            recovery=self.recovery,
            hints=DynamoHints(self.dynamo, self.ops_table),
            credentials=credentials,
            clock=self.clock,
            lanes=self.lanes,
        )

    @cached_property
    def planner(self) -> "Planner":
        """Starts jobs."""
        from shared.engine.jobs.plan import Planner  # noqa: PLC0415

        return Planner(
            records=self.records,
            ledgers=self.ledgers,
            lanes=self.lanes,
            standings=self.standings,
            clock=self.clock,
        )

    @cached_property
    def schedules(self) -> "Schedules":
        """Keeps the schedules of jobs that wait for their time."""
        from shared.adapters.dynamo.jobs.scheduled import DynamoAgenda  # noqa: PLC0415
        from shared.adapters.scheduler import CONFIG as PATIENCE  # noqa: PLC0415
        from shared.adapters.scheduler import EventBridgeScheduler  # noqa: PLC0415
        from shared.engine.intake.schedules import Schedules  # noqa: PLC0415

        scheduler = EventBridgeScheduler(
            self.aws.later("scheduler", PATIENCE),
            group=contracts.prefix(self.settings.stage),
            queue=self.env[contracts.ENV_DUE_QUEUE_ARN],
            role=self.env[contracts.ENV_SCHEDULER_ROLE_ARN],
        )
        return Schedules(
            records=self.records,
            agenda=DynamoAgenda(self.dynamo, self.records_table),
            scheduler=scheduler,
            due_queue=self.queue(contracts.ENV_DUE_QUEUE_URL),
            clock=self.clock,
        )

    @cached_property
    def due(self) -> "Due":
        """Starts jobs whose time has come."""
        from shared.engine.jobs.due import Due  # noqa: PLC0415

        return Due(records=self.records, planner=self.planner, schedules=self.schedules)

    @cached_property
    def files(self) -> "S3Files":
        """Uploads and exports."""
        from shared.adapters.s3.files import CONFIG as OF_FILES  # noqa: PLC0415
        from shared.adapters.s3.files import S3Files  # noqa: PLC0415

        return S3Files(lambda: self.aws.client("s3", OF_FILES), self.env[contracts.ENV_BUCKET], self.clock)

    @cached_property
    def campaigns(self) -> "DynamoCampaigns":
        """Campaigns."""
        from shared.adapters.dynamo.campaigns.campaigns import DynamoCampaigns  # noqa: PLC0415

        return DynamoCampaigns(self.dynamo, records=self.records_table, blobs=self.blobs)

    @cached_property
    def uploads(self) -> "DynamoUploads":
        """Uploaded lists."""
        from shared.adapters.dynamo.campaigns.uploads import DynamoUploads  # noqa: PLC0415

        return DynamoUploads(self.dynamo, records=self.records_table, ops=self.ops_table)

    @cached_property
    def _ingest_queue(self) -> "SqsQueue":
        return self.queue(contracts.ENV_INGEST_QUEUE_URL)

    @cached_property
    def uploading(self) -> "Uploading":
        """Takes lists for campaigns."""
        from shared.engine.lists.uploading import Uploading  # noqa: PLC0415

        return Uploading(
            campaigns=self.campaigns,
            uploads=self.uploads,
            files=self.files,
            places=self.open_places,
            queue=self._ingest_queue,
            settings=self.settings,
            clock=self.clock,
        )

    @cached_property
    def ingestion(self) -> "Ingestion":
        """Reads uploaded lists."""
        from shared.engine.lists.ingest import LEASE_MARGIN, Ingestion  # noqa: PLC0415

        return Ingestion(
            records=self.records,
            campaigns=self.campaigns,
            uploads=self.uploads,
            files=self.files,
            multipart=self._multipart,
            queue=self._ingest_queue,
            settings=self.settings,
            clock=self.clock,
            lease_margin=float(self.env.get(contracts.ENV_LEASE_MARGIN, LEASE_MARGIN)),
        )

    @cached_property
    def notifiers(self) -> "DynamoNotifiers":
        """Notifiers."""
        from shared.adapters.dynamo.notices.notifiers import DynamoNotifiers  # noqa: PLC0415

        return DynamoNotifiers(self.dynamo, records=self.records_table)

    @cached_property
    def inboxes(self) -> "DynamoInboxes":
        """Payloads of notifiers."""
        from shared.adapters.dynamo.notices.inboxes import DynamoInboxes  # noqa: PLC0415

        return DynamoInboxes(self.dynamo, records=self.records_table, files=self.blobs)

    @cached_property
    def inbox_queue(self) -> "SqsQueue":
        """Which inboxes have records that were not taken."""
        from shared.adapters.sqs import SqsQueue  # noqa: PLC0415

        return SqsQueue(self.sqs, contracts.inbox_queue_url(self.env[contracts.ENV_LANE_URL_PREFIX]), self.clock)

    @cached_property
    def notice_desk(self) -> "NoticeDesk":
        """Stores payloads of notifiers."""
        from shared.engine.notices.take import NoticeDesk  # noqa: PLC0415

        return NoticeDesk(inboxes=self.inboxes, queue=self.inbox_queue, clock=self.clock, acceptances=self.acceptances)

    @cached_property
    def logs(self) -> "MessageLog":
        """The log of messages: what happened to each."""
        from shared.engine.reports.message_log import MessageLog  # noqa: PLC0415

        timeout = self.settings.feedback_timeout
        return MessageLog(records=self.records, ledgers=self.ledgers, clock=self.clock, feedback_timeout=timeout)

    @cached_property
    def export_desk(self) -> "ExportDesk":
        """Where exports are asked for."""
        from shared.engine.reports.export import ExportDesk  # noqa: PLC0415

        return ExportDesk(exports=self._exports, queue=self._export_queue, clock=self.clock)

    @cached_property
    def exporter(self) -> "Exporter":
        """Makes exports."""
        from shared.engine.reports.export import Exporter  # noqa: PLC0415

        return Exporter(
            exports=self._exports,
            multipart=self._multipart,
            records=self.records,
            logs=self.logs,
            queue=self._export_queue,
            clock=self.clock,
        )

    @cached_property
    def _multipart(self) -> "S3Multipart":
        from shared.adapters.s3.files import CONFIG as OF_FILES  # noqa: PLC0415
        from shared.adapters.s3.multipart import S3Multipart  # noqa: PLC0415

        return S3Multipart(lambda: self.aws.client("s3", OF_FILES), self.env[contracts.ENV_BUCKET])

    @cached_property
    def _exports(self) -> "DynamoExports":
        from shared.adapters.dynamo.jobs.exports import DynamoExports  # noqa: PLC0415

        return DynamoExports(self.dynamo, self.records_table)

    @cached_property
    def _export_queue(self) -> "SqsQueue":
        return self.queue(contracts.ENV_EXPORT_QUEUE_URL)

    @cached_property
    def logger(self) -> "Logger":
        """Folds ledgers and finalises jobs."""
        from shared.engine.outcome.fold import Logger  # noqa: PLC0415

        return Logger(
            records=self.records,
            ledgers=self.ledgers,
            lists=_LateLists(self),
            recovery=self.recovery,
            clock=self.clock,
            announcer=self.announcer,
        )

    @cached_property
    def announcer(self) -> "Announcer":
        """Announces the changes of folds to webhooks."""
        from shared.adapters.dynamo.hooks.listeners import DynamoListeners  # noqa: PLC0415
        from shared.adapters.hooks import SqsHookHints  # noqa: PLC0415
        from shared.engine.outcome.announcer import Announcer  # noqa: PLC0415

        listeners = DynamoListeners(self.dynamo, records=self.records_table, clock=self.clock)
        hints = SqsHookHints(self.sqs, self.env[contracts.ENV_LANE_URL_PREFIX], self.clock)
        return Announcer(listeners, hints, self.clock)

    @property
    def _reports(self) -> "StreamReports":
        """Lambda's reports about stream records that it gave up."""
        from shared.adapters.reports import StreamReports  # noqa: PLC0415

        url = self.env[contracts.ENV_LOG_REPORTS_URL]
        return StreamReports(self.sqs, self.aws.later("dynamodbstreams"), url, self.clock)

    @cached_property
    def retrier(self) -> "Retrier":
        """Carries out owners' retries of large jobs."""
        from shared.engine.jobs.retry import Retrier  # noqa: PLC0415

        return Retrier(records=self.records, ledgers=self.ledgers, recovery=self.recovery, clock=self.clock)

    @cached_property
    def tracker(self) -> "Tracker":
        """Joins feedback."""
        from shared.engine.outcome.track import Tracker  # noqa: PLC0415
        from shared.engine.pool import ThreadPool  # noqa: PLC0415

        return Tracker(
            records=self.records, ledgers=self.ledgers, recovery=self.recovery, clock=self.clock, pool=ThreadPool()
        )

    @cached_property
    def waker(self) -> "Waker":
        """Wakes what a pause has kept."""
        from shared.engine.jobs.wake import Waker  # noqa: PLC0415
        from shared.engine.pool import ThreadPool  # noqa: PLC0415

        return Waker(
            records=self.records,
            ledgers=self.ledgers,
            lanes=self.lanes,
            planner=self.planner,
            clock=self.clock,
            slots=self.slots.serving,
            queue=self.queue(contracts.ENV_DUE_QUEUE_URL),
            pool=ThreadPool(),
        )

    @cached_property
    def turns(self) -> "Turns":
        """Has those looked at that wait for a credential."""
        from shared.engine.jobs.turns import Turns  # noqa: PLC0415

        declared = [c.id for c in self.settings.credentials]
        return Turns(
            records=self.records,
            ledgers=self.ledgers,
            credentials=lambda: declared,
            queue=self.queue(contracts.ENV_DUE_QUEUE_URL),
            clock=self.clock,
        )

    @cached_property
    def slots(self) -> "OpenSlots":
        """Every partition of the index `open` that has jobs."""
        from shared.adapters.dynamo.credentials.known import KnownCredentials, OpenSlots  # noqa: PLC0415

        return OpenSlots(KnownCredentials(self.dynamo, self.ops_table), self.served)

    @property
    def walks(self) -> "list[Walk]":
        """The sweeper's walks, in order: those that live jobs need are first. Each has its share of the time."""
        from shared.adapters.dynamo.credentials.switchboard import DynamoHolds  # noqa: PLC0415
        from shared.engine.lists.uploading import Reminder  # noqa: PLC0415
        from shared.engine.notices.take import WaitingInboxes  # noqa: PLC0415
        from shared.engine.reports.archive import Archiver  # noqa: PLC0415
        from shared.engine.sweeper.dropped import Dropped  # noqa: PLC0415
        from shared.engine.walks import Walk, simple  # noqa: PLC0415
        from shared.engine.walks.doubts import Doubts  # noqa: PLC0415
        from shared.engine.walks.jobs import JobActions, OpenJobs  # noqa: PLC0415

        jobs = OpenJobs(
            records=self.records,
            ledgers=self.ledgers,
            holds=DynamoHolds(self.dynamo, records=self.records_table, ops=self.ops_table),
            lanes=self.lanes,
            actions=JobActions(self.planner, self.recovery, self.logger, self.retrier),
            clock=self.clock,
            asking=self.asking,
            slots=self.slots,
        )
        walks = [
            Walk("jobs", 75, jobs.looks, jobs.ended),
            simple("inboxes", 5, WaitingInboxes(self.inboxes, self.inbox_queue, self.clock).walk),
        ]
        if contracts.ENV_LOG_REPORTS_URL in self.env:
            walks.append(simple("dropped", 10, Dropped(self._reports, self.logger).walk))
        walks += [
            simple("lists", 5, Reminder(self.uploads, self._ingest_queue, self.clock).walk),
            Walk("doubts", 10, Doubts(self.records, self.ledgers, self.clock, self.asking).looks),
        ]
        if self.archive_after is not None:
            archiver = Archiver(self.records, self._exports, self._export_queue, self.clock, self.archive_after)
            walks.append(simple("archive", 10, archiver.walk))
        return walks

    @property
    def asking(self) -> "Asking":
        """Has providers asked about messages of unknown fate."""
        from shared.engine.walks.doubts import Asking  # noqa: PLC0415

        return Asking(self.records, self.lanes, self._answers)

    def _answers(self, credential: str) -> bool:
        """Tell whether a credential's provider can be asked for the fate of a message."""
        from shared.providers import registry  # noqa: PLC0415

        return credential in self.served and registry.resolves(self.settings.credential(credential).provider)

    @cached_property
    def sweeper(self) -> "Sweeper":
        """Walks all that another part may have left undone."""
        return self.sweeper_of(self.walks)

    def sweeper_of(self, walks: "Sequence[Walk]") -> "Sweeper":
        """Return a sweeper that continues these walks where it last stopped."""
        from shared.adapters.dynamo.jobs.bookmarks import DynamoBookmarks  # noqa: PLC0415
        from shared.engine.pool import ThreadPool  # noqa: PLC0415
        from shared.engine.sweeper.sweep import Sweeper  # noqa: PLC0415

        bookmarks = DynamoBookmarks(self.dynamo, self.ops_table)
        return Sweeper(walks=walks, bookmarks=bookmarks, clock=self.clock, pool=ThreadPool())


class _LateLists:
    """The campaigns' jobs; what reads campaigns is loaded when it is first asked: few folds need it."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment

    def sent(self, campaign: str) -> Sequence[str]:
        return self._deployment.campaigns.sent(campaign)
