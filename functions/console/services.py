"""The services of the console, built once per process: the use cases of the API, and its own people."""

from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Final, Protocol

from functions.console.assets import Assets
from functions.console.limits import NETWORK_BURST, NETWORK_RATE, STATE_BURST, STATE_RATE, SignInLimits
from functions.console.rendering import Pages
from functions.console.use_cases import ConsoleUseCases, build_use_cases
from shared.adapters.dynamo.accounts.accounts import Accounts
from shared.adapters.dynamo.accounts.buckets import Buckets
from shared.adapters.dynamo.accounts.stats import Stats
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.credentials.credentials import CredentialStates
from shared.adapters.dynamo.listing import Listing
from shared.adapters.dynamo.people.keys import attempts
from shared.adapters.dynamo.recipients.stored_names import KeyedNames
from shared.bootstrap import Deployment
from shared.bootstrap.consoling import Consoling
from shared.contracts import ENV_PEOPLE_TABLE, Settings
from shared.contracts.console import GITHUB, ConsoleSettings
from shared.domain.sealing import Keys
from shared.engine.jobs.control import JobControl
from shared.engine.jobs.progress import ProgressReader
from shared.engine.jobs.rescheduling import Rescheduler
from shared.engine.reports.message_log import MessageLog
from shared.engine.reports.search import MessageSearch
from shared.frozen import dataclass
from shared.lazy import lazy
from shared.ports import Clock, Records
from shared.ports.people import Buttons, FirstAccounts, People, SignIn
from shared.web.sessions import Sessions

if TYPE_CHECKING:
    from shared.bootstrap import campaigning
    from shared.engine.campaigns.pictures import PictureService
else:
    (campaigning,) = lazy("shared.bootstrap", "campaigning")

GITHUB_NAME: Final = "GitHub"
READS: Final = 12
"""Reads of pages that are made at once: a page waits for the slowest, not for their sum."""


class CursorSeal(Protocol):
    """Seals places in lists, so that no address of a page can be made up."""

    def seal(self, use: str, text: str) -> str:
        """Return a text sealed for a use."""

    def unseal(self, use: str, sealed: str) -> str | None:
        """Return a text that was sealed for that use; None: it was not."""


@dataclass(frozen=True, slots=True)
class ConsoleServices:
    """Use cases and reads that pages call."""

    settings: Settings
    console: ConsoleSettings
    clock: Clock
    pages: Pages
    assets: Assets
    people: People
    sign_in: SignIn
    sessions: Sessions
    accounts: Accounts
    records: Records
    logs: MessageLog
    listing: Listing
    search: MessageSearch
    stats: Stats
    credentials: CredentialStates
    progress: ProgressReader
    control: JobControl
    rescheduler: Rescheduler
    use_cases: ConsoleUseCases
    """The stores and use cases of the other lists."""
    first_accounts: FirstAccounts | None
    """Makes an account for a person; None: they have to be invited."""
    names: KeyedNames
    """Names that addresses are stored under. The first account begins them."""
    buttons: Buttons | None
    """Does what operators press; None: the console shows their commands."""
    links: CursorSeal
    """Seals places in lists."""
    limits: SignInLimits
    reads: Executor
    """Makes reads side by side. A read submits nothing to it, or all of its threads could wait for one."""
    campaigns: Callable[[], "campaigning.CampaignService"]
    """Built by the first page of a campaign: others need not wait for it."""
    pictures: Callable[[], "PictureService"]
    """Likewise."""

    @property
    def now(self) -> int:
        """Unix milliseconds."""
        return int(self.clock.now() * 1000)

    @property
    def provider(self) -> str:
        """The name of the provider of identities, as people know it."""
        return GITHUB_NAME if self.console.provider == GITHUB else self.console.name


def build(deployment: Deployment) -> ConsoleServices:
    """Build the services of a deployment."""
    client, table, clock = deployment.dynamo.client, deployment.records_table, deployment.clock
    own = Consoling(deployment)
    assets = Assets()
    credentials = CredentialStates(client, deployment.ops_table, clock)
    listing, reads = Listing(client, table, clock), ThreadPoolExecutor(READS, "reads")
    accounts = Accounts(
        client,
        table,
        clock,
        audit_days=deployment.settings.audit_days,
        homes=deployment.homes,
        rules=deployment.rules,
    )
    return ConsoleServices(
        settings=deployment.settings,
        console=own.settings,
        clock=clock,
        pages=Pages(assets),
        assets=assets,
        people=own.people,
        sign_in=own.sign_in,
        sessions=own.sessions,
        accounts=accounts,
        records=deployment.records,
        logs=deployment.logs,
        listing=listing,
        search=deployment.search_in(listing, reads.map),
        stats=Stats(client, table, clock),
        credentials=credentials,
        progress=ProgressReader(
            records=deployment.records,
            logs=deployment.logs,
            credentials=credentials,
            settings=deployment.settings,
            clock=clock,
        ),
        use_cases=build_use_cases(deployment),
        first_accounts=own.first_accounts,
        names=deployment.names,
        buttons=own.buttons,
        links=own.links,
        limits=sign_in_limits(deployment.dynamo, deployment.env[ENV_PEOPLE_TABLE], clock, own.links.keys),
        reads=reads,
        control=deployment.control,
        rescheduler=deployment.rescheduler,
        campaigns=cache(lambda: campaigning.service(deployment, accounts)),
        pictures=lambda: deployment.pictures,
    )


def sign_in_limits(dynamo: Dynamo, people: str, clock: Clock, keys: Callable[[], Keys]) -> SignInLimits:
    """Return the allowances of sign-ins, which draw each try from the table.

    Args:
        people: the name of the table `people`.
        keys: returns what hashes networks and sign-ins.
    """
    networks = Buckets(dynamo, people, clock, rate=NETWORK_RATE, burst=NETWORK_BURST, block=1, key=attempts, keep=1)
    states = Buckets(dynamo, people, clock, rate=STATE_RATE, burst=STATE_BURST, block=1, key=attempts, keep=1)
    return SignInLimits(networks, states, keys)
