"""The engine's use cases that every product of a deployment shares, each with what it needs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shared import contracts
from shared.adapters.sqs import SqsQueue, arn_of
from shared.bootstrap.core import Core
from shared.lazy import PartOf, lazy

if TYPE_CHECKING:
    from shared.adapters import hooks, reports, scheduler
    from shared.adapters.dynamo.accounts import first_accounts
    from shared.adapters.dynamo.campaigns import campaigns, templates, uploads
    from shared.adapters.dynamo.campaigns import pictures as shelves
    from shared.adapters.dynamo.credentials import known, lease_hints
    from shared.adapters.dynamo.jobs import bookmarks, bouncing, exports, scheduled
    from shared.adapters.dynamo.notices import inboxes, notifiers
    from shared.adapters.dynamo.searching import search_pages
    from shared.adapters.s3 import files, multipart
    from shared.engine import minutes, pool
    from shared.engine.campaigns import pictures
    from shared.engine.intake import accept, schedules
    from shared.engine.jobs import campaign_queue, control, plan, rescheduling, retry, wake
    from shared.engine.lists import ingest, uploading
    from shared.engine.notices import take
    from shared.engine.outcome import announcer, fold, track
    from shared.engine.reports import candidates, export, message_log, search
    from shared.engine.sweeper import expired as leases
    from shared.engine.sweeper import sweep
    from shared.engine.walks import Walk, doubts
    from shared.providers import registry
else:
    hooks, reports, scheduler = lazy("shared.adapters", "hooks", "reports", "scheduler")
    (first_accounts,) = lazy("shared.adapters.dynamo.accounts", "first_accounts")
    campaigns, templates, uploads = lazy("shared.adapters.dynamo.campaigns", "campaigns", "templates", "uploads")
    (shelves,) = lazy("shared.adapters.dynamo.campaigns", "pictures")
    known, lease_hints = lazy("shared.adapters.dynamo.credentials", "known", "lease_hints")
    bookmarks, bouncing = lazy("shared.adapters.dynamo.jobs", "bookmarks", "bouncing")
    exports, scheduled = lazy("shared.adapters.dynamo.jobs", "exports", "scheduled")
    (search_pages,) = lazy("shared.adapters.dynamo.searching", "search_pages")
    inboxes, notifiers = lazy("shared.adapters.dynamo.notices", "inboxes", "notifiers")
    files, multipart = lazy("shared.adapters.s3", "files", "multipart")
    minutes, pool = lazy("shared.engine", "minutes", "pool")
    (pictures,) = lazy("shared.engine.campaigns", "pictures")
    accept, schedules = lazy("shared.engine.intake", "accept", "schedules")
    control, plan = lazy("shared.engine.jobs", "control", "plan")
    campaign_queue, rescheduling = lazy("shared.engine.jobs", "campaign_queue", "rescheduling")
    retry, wake = lazy("shared.engine.jobs", "retry", "wake")
    ingest, uploading = lazy("shared.engine.lists", "ingest", "uploading")
    (take,) = lazy("shared.engine.notices", "take")
    announcer, fold, track = lazy("shared.engine.outcome", "announcer", "fold", "track")
    candidates, export = lazy("shared.engine.reports", "candidates", "export")
    message_log, search = lazy("shared.engine.reports", "message_log", "search")
    leases, sweep = lazy("shared.engine.sweeper", "expired", "sweep")
    (doubts,) = lazy("shared.engine.walks", "doubts")
    (registry,) = lazy("shared.providers", "registry")

part = PartOf["UseCases"]()


class UseCases(Core):
    """The use cases of one deployment, each made when first asked for."""

    # Stores

    files = part(
        lambda d: files.S3Files(lambda: d.aws.client("s3", files.CONFIG), d.env[contracts.ENV_BUCKET], d.clock)
    )
    """Uploads and exports."""
    multipart = part(
        lambda d: multipart.S3Multipart(lambda: d.aws.client("s3", files.CONFIG), d.env[contracts.ENV_BUCKET])
    )
    campaigns = part(lambda d: campaigns.DynamoCampaigns(d.dynamo, records=d.records_table, blobs=d.blobs))
    templates = part(lambda d: templates.DynamoTemplates(d.dynamo, records=d.records_table))
    uploads = part(lambda d: uploads.DynamoUploads(d.dynamo, records=d.records_table, ops=d.ops_table))
    """Uploaded lists."""
    pictures = part(
        lambda d: pictures.PictureService(
            shelves.DynamoPictures(d.dynamo, records=d.records_table),
            d.files,
            d.clock,
            pictures.most_of(d.settings.images),
            d.address,
        )
    )
    """Pictures of messages."""
    notifiers = part(lambda d: notifiers.DynamoNotifiers(d.dynamo, records=d.records_table))
    inboxes = part(lambda d: inboxes.DynamoInboxes(d.dynamo, records=d.records_table, files=d.blobs))
    """Payloads of notifiers."""
    exports = part(lambda d: exports.DynamoExports(d.dynamo, d.records_table))
    first_accounts = part(
        lambda d: first_accounts.DynamoFirstAccounts(
            d.dynamo, d.clock, d.settings.max_key_days, messages=d.settings.newcomer_messages
        )
    )
    """What makes people's first accounts."""
    slots = part(lambda d: known.OpenSlots(known.KnownCredentials(d.dynamo, d.ops_table), d.served))
    """Every partition of the index `open` that has jobs."""

    # Queues

    due_queue = part(lambda d: d.queue(contracts.ENV_DUE_QUEUE_URL))
    ingest_queue = part(lambda d: d.queue(contracts.ENV_INGEST_QUEUE_URL))
    export_queue = part(lambda d: d.queue(contracts.ENV_EXPORT_QUEUE_URL))
    inbox_queue = part(
        lambda d: SqsQueue(d.sqs, contracts.inbox_queue_url(d.env[contracts.ENV_LANE_URL_PREFIX]), d.clock)
    )
    """Which inboxes have records that were not taken."""
    reports = part(
        lambda d: reports.StreamReports(
            d.sqs, d.aws.later("dynamodbstreams"), d.env[contracts.ENV_LOG_REPORTS_URL], d.clock
        )
    )
    """Lambda's reports about stream records that it gave up."""
    small_reports = part(
        lambda d: reports.StreamReports(
            d.sqs,
            d.aws.later("dynamodbstreams"),
            d.env[contracts.ENV_PLAN_REPORTS_URL],
            d.clock,
            others=contracts.PLAN_STREAM_FILTERS[:-1],
        )
    )
    """The same about small jobs."""

    # From a request to a job that has ended

    acceptor = part(
        lambda d: accept.Acceptor(
            records=d.records,
            lanes=d.lanes,
            breaker_cache=d.breaker_cache,
            settings=d.settings,
            clock=d.clock,
            spender=d.spender,
        )
    )
    """Makes jobs that begin at once."""
    scheduler = part(
        lambda d: scheduler.EventBridgeScheduler(
            d.aws.later("scheduler", scheduler.CONFIG),
            group=contracts.prefix(d.settings.stage),
            queue=arn_of(d.env[contracts.ENV_DUE_QUEUE_URL], d.aws.region, d.env[contracts.ENV_SCHEDULER_ROLE_ARN]),
            role=d.env[contracts.ENV_SCHEDULER_ROLE_ARN],
        )
    )
    minutes = part(lambda d: minutes.MinuteAnnouncer(scheduler=d.scheduler, queue=d.due_queue, clock=d.clock))
    """Announces minutes in which something is due."""
    schedules = part(
        lambda d: schedules.Schedules(
            records=d.records,
            agenda=scheduled.DynamoAgenda(d.dynamo, d.records_table),
            scheduler=d.scheduler,
            due_queue=d.due_queue,
            clock=d.clock,
        )
    )
    """Keeps the schedules of jobs that wait for their time."""
    planner = part(
        lambda d: plan.Planner(
            records=d.records, ledgers=d.ledgers, lanes=d.lanes, standings=d.standings, clock=d.clock
        )
    )
    """Starts jobs."""
    due = part(lambda d: plan.Due(records=d.records, planner=d.planner, schedules=d.schedules))
    """Starts jobs whose time has come."""
    retrier = part(lambda d: retry.Retrier(records=d.records, ledgers=d.ledgers, recovery=d.recovery, clock=d.clock))
    """Carries out owners' retries of large jobs."""
    control = part(
        lambda d: control.JobControl(
            records=d.records,
            ledgers=d.ledgers,
            planner=d.planner,
            retrier=d.retrier,
            clock=d.clock,
            schedules=d.schedules,
            spender=d.spender,
        )
    )
    """What owners do with jobs."""
    rescheduler = part(
        lambda d: rescheduling.Rescheduler(
            records=d.records,
            ledgers=d.ledgers,
            planner=d.planner,
            schedules=d.schedules,
            clock=d.clock,
            campaign_of=lambda name: d.campaigns.get(name),
            kept_days=d.settings.kept_days,
        )
    )
    """Gives jobs that wait another time."""
    announcer = part(
        lambda d: announcer.Announcer(
            d.audience,
            hooks.SqsHookHints(d.sqs, d.env[contracts.ENV_LANE_URL_PREFIX], d.clock),
            d.clock,
        )
    )
    """Announces the changes of folds to webhooks."""
    logger = part(
        lambda d: fold.LedgerFolder(
            records=d.records,
            ledgers=d.ledgers,
            lists=_LateLists(d),
            recovery=d.recovery,
            clock=d.clock,
            announcer=d.announcer,
            bouncing=bouncing.DynamoBouncingDays(d.dynamo, d.records_table),
        )
    )
    """Folds ledgers and finalises jobs."""
    tracker = part(
        lambda d: track.Tracker(
            records=d.records,
            ledgers=d.ledgers,
            recovery=d.recovery,
            clock=d.clock,
            pool=pool.ThreadPool(),
            listeners=d.audience,
        )
    )
    """Joins feedback."""
    waker = part(
        lambda d: wake.PauseResumer(
            records=d.records,
            ledgers=d.ledgers,
            lanes=d.lanes,
            planner=d.planner,
            clock=d.clock,
            slots=d.slots.serving,
            queue=d.due_queue,
            pool=pool.ThreadPool(),
        )
    )
    """Wakes what a pause has kept."""
    campaign_queue = part(
        lambda d: campaign_queue.CampaignQueue(
            records=d.records,
            ledgers=d.ledgers,
            credentials=lambda: [c.id for c in d.settings.credentials],
            queue=d.due_queue,
            clock=d.clock,
        )
    )
    """Has those looked at that wait for a credential."""

    # Lists, payloads, exports

    uploading = part(
        lambda d: uploading.Uploading(
            campaigns=d.campaigns,
            uploads=d.uploads,
            files=d.files,
            places=d.open_places,
            queue=d.ingest_queue,
            settings=d.settings,
            clock=d.clock,
        )
    )
    """Takes lists for campaigns."""
    ingestion = part(
        lambda d: ingest.Ingestion(
            records=d.records,
            campaigns=d.campaigns,
            uploads=d.uploads,
            files=d.files,
            multipart=d.multipart,
            queue=d.ingest_queue,
            settings=d.settings,
            clock=d.clock,
            turns=d.account_turns,
            lease_margin=float(d.env.get(contracts.ENV_LEASE_MARGIN, ingest.LEASE_MARGIN)),
            searched=d.spender.searched,
        )
    )
    """Reads uploaded lists."""
    notice_service = part(
        lambda d: take.NoticeService(inboxes=d.inboxes, queue=d.inbox_queue, clock=d.clock, acceptances=d.acceptances)
    )
    """Stores payloads of notifiers."""
    logs = part(
        lambda d: message_log.MessageLog(
            records=d.records, ledgers=d.ledgers, clock=d.clock, feedback_timeout=d.settings.feedback_timeout
        )
    )
    """The log of messages: what happened to each."""
    search_pages = part(lambda d: search_pages.DynamoSearchPages(d.dynamo, d.records_table, d.rules.of))
    """Pages that searches for messages read."""

    def search_in(self, jobs: "candidates.JobPages", each: "search.Each") -> "search.MessageSearch":
        """Return what finds messages. `each`: reads jobs side by side."""
        looked = candidates.Candidates(jobs, self.search_pages, lambda: int(self.clock.now() * 1000))
        return search.MessageSearch(looked, self.logs, each)

    export_service = part(lambda d: export.ExportService(exports=d.exports, queue=d.export_queue, clock=d.clock))
    """Where exports are asked for."""
    exporter = part(
        lambda d: export.Exporter(
            exports=d.exports,
            multipart=d.multipart,
            records=d.records,
            logs=d.logs,
            queue=d.export_queue,
            clock=d.clock,
            turns=d.account_turns,
        )
    )
    """Makes exports."""

    # What walks

    bookmarks = part(lambda d: bookmarks.DynamoBookmarks(d.dynamo, d.ops_table))
    """How far the sweeper's walks are."""

    asking = part(lambda d: doubts.Asking(d.records, d.lanes, d.answers))
    """Has providers asked about messages of unknown fate."""
    expired = part(lambda d: d.expired_of(lambda: d.served))
    """Takeover of the leases of dead workers in all lanes."""

    def answers(self, credential: str) -> bool:
        """Tell whether a credential's provider can be asked for the fate of a message."""
        return credential in self.served and registry.resolves(self.settings.credential(credential).provider)

    def expired_of(self, credentials: Callable[[], Sequence[str]]) -> "leases.ExpiredLeases":
        """Return what takes over leases of dead workers in some lanes, where hints say that somebody works."""
        return leases.ExpiredLeases(
            records=self.records,
            ledgers=self.ledgers,
            recovery=self.recovery,
            hints=lease_hints.DynamoHints(self.dynamo, self.ops_table),
            credentials=credentials,
            clock=self.clock,
            lanes=self.lanes,
        )

    def sweeper_of(self, walks: "Sequence[Walk]") -> "sweep.Sweeper":
        """Return a sweeper that continues these walks where it last stopped."""
        return sweep.Sweeper(walks=walks, bookmarks=self.bookmarks, clock=self.clock, pool=pool.ThreadPool())


@dataclass(frozen=True)
class Room:
    """The parts that one product adds.

    Attributes:
        deployment: what these are made of.
    """

    deployment: UseCases


class _LateLists:
    """The campaigns' jobs; what reads campaigns is loaded when it is first asked: few folds need it."""

    def __init__(self, of: UseCases) -> None:
        self._of = of

    def sent(self, campaign: str) -> Sequence[str]:
        return self._of.campaigns.sent(campaign)
