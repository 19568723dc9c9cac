"""The API's services, built once per process."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Final

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.accounts.accounts import Accounts
from shared.adapters.dynamo.accounts.buckets import Buckets
from shared.adapters.dynamo.accounts.claims import DynamoClaims
from shared.adapters.dynamo.accounts.stats import Stats
from shared.adapters.dynamo.audit import DynamoJournal
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.credentials.credentials import CredentialStates
from shared.adapters.dynamo.idempotent_replies import IdempotentReplies
from shared.adapters.dynamo.listing import Listing
from shared.adapters.dynamo.notices.logins import Logins
from shared.adapters.dynamo.recipients.guests import Guests
from shared.adapters.dynamo.recipients.suppressions import Suppressions
from shared.bootstrap import Deployment
from shared.bootstrap.carrying import message_bounds
from shared.contracts import Settings
from shared.engine.intake.accept import Acceptor
from shared.engine.intake.intake import Intake
from shared.engine.intake.proven import ProvenSenders
from shared.engine.intake.schedules import Schedules
from shared.engine.jobs.control import JobControl
from shared.engine.jobs.progress import ProgressReader
from shared.engine.jobs.rescheduling import Rescheduler
from shared.engine.reports.export import ExportService
from shared.engine.reports.message_log import MessageLog
from shared.engine.reports.search import WAVE, MessageSearch
from shared.engine.spender import Spender
from shared.frozen import dataclass
from shared.ports import Acceptances, Clock, Dns, Files, Journal, Links, Records, Senders, Texts
from shared.web.authentication import Doorkeeper

if TYPE_CHECKING:
    from functions.api.digests.services import DigestServices
    from functions.api.hooks.services import HookServices
    from functions.api.mails.services import MailServices
    from functions.api.notices.services import NoticeServices
    from shared.bootstrap.campaigning import CampaignServices
    from shared.engine.campaigns.pictures import PictureService
    from shared.engine.intake.identities import IdentityService


VISIT_RATE: Final = 1
"""Pages, or clicks, per second and link: a person and a mailbox provider need a handful."""
VISIT_BURST: Final = 30
VISIT_BLOCK: Final = 10
"""Visits that are drawn at once. The first ten of a link in a process draw nothing, so that most write nothing."""
VISIT_DAYS: Final = 1
"""Days after its last visit for which the bucket of a link is kept."""


@dataclass(frozen=True, slots=True)
class ApiServices:
    """Use cases and reads that routes call."""

    settings: Settings
    clock: Clock
    accounts: Accounts
    suppressions: Suppressions
    guests: Guests
    claims: DynamoClaims
    dns: Callable[[], Dns]
    """Look-ups in DNS; made by the first that asks."""
    identities: Callable[[], "IdentityService"]
    """Domains at the providers that sign for them."""
    texts: Texts
    links: Links
    """Knows the links of unsubscriptions."""
    visits: Buckets
    """How often a link may be followed, by method: one link's holder cannot shut another's."""
    address: str
    """The API's public one, without a slash at its end."""
    journal: Journal
    stats: Stats
    listing: Listing
    answers: IdempotentReplies
    credentials: CredentialStates
    records: Records
    intake: Intake
    acceptor: Acceptor
    spender: Spender
    """Counts what accounts spend."""
    acceptances: Acceptances
    control: JobControl
    rescheduler: Rescheduler
    schedules: Schedules
    exports: ExportService
    files: Files
    logs: MessageLog
    search: MessageSearch
    progress: ProgressReader
    pictures: Callable[[], "PictureService"]
    """As `campaigns`."""
    logins: Logins
    """Notifiers that make requests."""
    campaigns: Callable[[], "CampaignServices"]
    """Built by the first call: other requests need not wait for it."""
    notices: Callable[[], "NoticeServices"]
    """As `campaigns`."""
    digests: Callable[[], "DigestServices"]
    """As `campaigns`."""
    mails: Callable[[], "MailServices"]
    """As `campaigns`."""
    hooks: Callable[[], "HookServices"]
    """As `campaigns`."""

    @property
    def keeper(self) -> Doorkeeper:
        """It decides who a caller is."""
        return Doorkeeper(self.accounts, self.logins, self.links, self.clock)


def build(deployment: Deployment) -> ApiServices:
    """Build the services of a deployment."""
    client, table, clock = deployment.dynamo.client, deployment.records_table, deployment.clock
    records = deployment.records
    control = JobControl(
        records=records,
        ledgers=deployment.ledgers,
        planner=deployment.planner,
        retrier=deployment.retrier,
        clock=clock,
        schedules=deployment.schedules,
        spender=deployment.spender,
    )
    accounts = Accounts(
        client,
        table,
        clock,
        audit_days=deployment.settings.audit_days,
        homes=deployment.homes,
        rules=deployment.rules,
        unlisting=deployment.unlisting,
    )
    senders = ProvenSenders(granted=accounts, proofs=deployment.proofs, clock=clock)
    credentials = CredentialStates(client, deployment.ops_table, clock)
    listing = Listing(client, table, clock)
    return ApiServices(
        settings=deployment.settings,
        clock=clock,
        accounts=accounts,
        suppressions=deployment.suppressions,
        guests=Guests(deployment.dynamo, table, clock),
        claims=DynamoClaims(deployment.dynamo, table, clock),
        dns=lambda: deployment.dns,
        identities=lambda: deployment.identity_service,
        texts=deployment.texts,
        links=deployment.links,
        visits=visits(deployment.dynamo, table, clock),
        address=deployment.address,
        journal=DynamoJournal(deployment.dynamo, table),
        stats=Stats(client, table, clock),
        listing=listing,
        answers=IdempotentReplies(client, table, clock),
        credentials=credentials,
        records=records,
        intake=Intake(
            settings=deployment.settings,
            senders=senders,
            unwanted=deployment.suppressions,
            clock=clock,
            address=deployment.address,
            bounds=message_bounds,
        ),
        acceptor=Acceptor(
            records=records,
            lanes=deployment.lanes,
            breaker_cache=deployment.breaker_cache,
            settings=deployment.settings,
            clock=clock,
            schedules=deployment.schedules,
            acceptances=deployment.acceptances,
            unlists=lambda: deployment.unlisting.begun,
            spender=deployment.spender,
        ),
        spender=deployment.spender,
        acceptances=deployment.acceptances,
        control=control,
        rescheduler=deployment.rescheduler,
        schedules=deployment.schedules,
        exports=deployment.export_service,
        files=deployment.files,
        logs=deployment.logs,
        search=deployment.search_in(listing, ThreadPoolExecutor(WAVE, "reads").map),
        progress=ProgressReader(
            records=records,
            logs=deployment.logs,
            credentials=credentials,
            settings=deployment.settings,
            clock=clock,
        ),
        pictures=lambda: deployment.pictures,
        logins=Logins(deployment.dynamo, table, clock),
        campaigns=cache(lambda: _campaigns(deployment, control)),
        notices=cache(lambda: _notices(deployment, senders)),
        digests=cache(lambda: _digests(deployment, senders)),
        mails=cache(lambda: _mails(deployment, senders, deployment.suppressions)),
        hooks=cache(lambda: _hooks(deployment)),
    )


def visits(dynamo: Dynamo, table: str, clock: Clock) -> Buckets:
    """Return the allowance of visits of each unsubscription link, by method.

    Args:
        table: the name of the table that holds the buckets.
    """
    limits = {"rate": VISIT_RATE, "burst": VISIT_BURST, "block": VISIT_BLOCK, "keep": VISIT_DAYS}
    return Buckets(dynamo, table, clock, key=keys.visits, **limits)


def _campaigns(deployment: Deployment, control: JobControl) -> "CampaignServices":
    from shared.bootstrap.campaigning import build as build_campaigns  # noqa: PLC0415

    return build_campaigns(deployment, control)


def _notices(deployment: Deployment, senders: Senders) -> "NoticeServices":
    from functions.api.notices.services import build as build_notices  # noqa: PLC0415

    return build_notices(deployment, senders)


def _digests(deployment: Deployment, senders: Senders) -> "DigestServices":
    from functions.api.digests.services import build as build_digests  # noqa: PLC0415

    return build_digests(deployment, senders)


def _mails(deployment: Deployment, senders: Senders, suppressions: Suppressions) -> "MailServices":
    from functions.api.mails.services import build as build_mails  # noqa: PLC0415

    return build_mails(deployment, senders, suppressions)


def _hooks(deployment: Deployment) -> "HookServices":
    from functions.api.hooks.services import build as build_hooks  # noqa: PLC0415

    return build_hooks(deployment)
