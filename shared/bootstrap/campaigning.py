"""The services for campaigns, of the API and of the console. Both build them on first use."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from shared import contracts
from shared.adapters.dynamo import keys
from shared.adapters.dynamo.accounts.accounts import Accounts
from shared.adapters.dynamo.accounts.api_keys import ApiKeys
from shared.adapters.dynamo.accounts.buckets import Buckets
from shared.adapters.dynamo.accounts.claims import DynamoClaims
from shared.adapters.dynamo.campaigns.approvals import DynamoApprovals
from shared.adapters.dynamo.client import Dynamo
from shared.bootstrap.carrying import message_bounds
from shared.bootstrap.use_cases import UseCases
from shared.domain.content.unsubscribe import PATH, Unsubscription
from shared.engine.campaigns.approving import ApprovalControl, ApprovalLimits, Kinship
from shared.engine.campaigns.campaigns import CampaignControl
from shared.engine.campaigns.preview import Previews
from shared.engine.campaigns.trials import Trials
from shared.engine.intake.accept import Acceptor
from shared.engine.intake.intake import Intake
from shared.engine.intake.proven import ProvenSenders
from shared.engine.jobs.control import JobControl
from shared.engine.lists.uploading import Uploading
from shared.frozen import dataclass
from shared.ports import Campaigns, Clock, Files, Links, Templates, Uploads


@dataclass(frozen=True, slots=True)
class CampaignServices:
    """Use cases and reads."""

    campaigns: Campaigns
    uploads: Uploads
    templates: Templates
    uploading: Uploading
    control: CampaignControl
    approvals: ApprovalControl
    previews: Previews
    trials: Buckets
    """How many tests an account may send."""


TRIALS: Final = 20
"""Test messages in one burst. A list is sent as a campaign instead, to which the bounce guard applies."""
TRIAL_SECONDS: Final = 60
"""Until there is another."""


def trials(dynamo: Dynamo, table: str, clock: Clock) -> Buckets:
    """Return the accounts' allowance of test messages, counted across all processes.

    Args:
        table: the name of the table that holds the buckets.
    """
    return Buckets(dynamo, table, clock, rate=1 / TRIAL_SECONDS, burst=TRIALS, block=1, key=keys.trials)


def approvals(deployment: UseCases, campaigns: CampaignControl) -> ApprovalControl:
    """Return what owners do with requests for approval."""
    return ApprovalControl(campaigns=campaigns, **_approving(deployment))


def approval_limits(deployment: UseCases) -> ApprovalLimits:
    """Return the part of that which operators use."""
    return ApprovalLimits(**_approving(deployment))


def _approving(deployment: UseCases) -> dict[str, Any]:
    dynamo, table, clock = deployment.dynamo, deployment.records_table, deployment.clock
    kinship = Kinship(ApiKeys(dynamo.client, table, clock, homes=deployment.homes), deployment.journal, clock)
    return {"approvals": DynamoApprovals(dynamo, table), "kinship": kinship, "clock": clock}


def build(deployment: UseCases, control: JobControl, links: Links | None = None) -> CampaignServices:
    """Build the services of a deployment.

    Args:
        control: what owners do with jobs.
        links: of previews; None: those of the deployment, as they are sent.
    """
    campaigns = CampaignControl(
        campaigns=deployment.campaigns,
        records=deployment.records,
        control=control,
        planner=deployment.planner,
        schedules=deployment.schedules,
        settings=deployment.settings,
        clock=deployment.clock,
        unsubscribe=deployment.address + PATH,
        spender=deployment.spender,
    )
    return CampaignServices(
        campaigns=deployment.campaigns,
        uploads=deployment.uploads,
        templates=deployment.templates,
        uploading=deployment.uploading,
        control=campaigns,
        approvals=approvals(deployment, campaigns),
        previews=Previews(
            records=deployment.records,
            ledgers=deployment.ledgers,
            links=links or deployment.links,
            settings=deployment.settings,
            clock=deployment.clock,
        ),
        trials=trials(deployment.dynamo, deployment.records_table, deployment.clock),
    )


@dataclass(frozen=True, slots=True)
class CampaignService:
    """The services for people who send a campaign through the console.

    Attributes:
        campaigns: use cases and reads.
        intake: the rules of acceptance.
        acceptor: takes test messages.
        trials: decides about test messages.
        files: where lists are put.
        senders: returns what an account may send from: domains and addresses.
        samples: no message leaves the deployment, so that a list of invented people does no harm.
    """

    campaigns: CampaignServices
    intake: Intake
    acceptor: Acceptor
    trials: Trials
    files: Files
    senders: Callable[[str], Sequence[str]]
    samples: bool


class PreviewLinks:
    """`ports.Links` of previews: a link that has the right form and leads nowhere, so that no key is needed."""

    def sign(self, wanted: Unsubscription) -> str:
        """Return the same token for each recipient."""
        del wanted
        return "example"

    def read(self, token: str) -> None:
        """Return None: nothing is signed here."""
        del token

    def seal(self, use: str, text: str) -> str:
        """Return an empty text: nothing is sealed here."""
        del use, text
        return ""

    def unseal(self, use: str, sealed: str) -> None:
        """Return None: nothing is sealed here."""
        del use, sealed


def service(deployment: UseCases, accounts: Accounts) -> CampaignService:
    """Build what the console's pages of campaigns work with."""
    clock = deployment.clock
    intake = Intake(
        settings=deployment.settings,
        senders=ProvenSenders(granted=accounts, proofs=deployment.proofs, clock=clock),
        unwanted=deployment.suppressions,
        clock=clock,
        address=deployment.address,
        bounds=message_bounds,
    )
    campaigns = build(deployment, deployment.control, PreviewLinks())
    acceptor = Acceptor(
        records=deployment.records,
        lanes=deployment.lanes,
        breaker_cache=deployment.breaker_cache,
        settings=deployment.settings,
        clock=clock,
        schedules=deployment.schedules,
        spender=deployment.spender,
    )
    return CampaignService(
        campaigns=campaigns,
        intake=intake,
        acceptor=acceptor,
        trials=Trials(intake=intake, previews=campaigns.previews),
        files=deployment.files,
        senders=lambda account: known_senders(accounts, deployment.claims, account),
        samples=bool(deployment.env.get(contracts.ENV_LOOPBACK)),
    )


def known_senders(accounts: Accounts, claims: DynamoClaims, account: str) -> Sequence[str]:
    """Return the domains and addresses that an account may send from: granted, and once proven by itself.

    Args:
        claims: have what owners have proven.
    """
    proven = (claim.domain for claim in claims.list(account) if claim.proven_at)
    return list(dict.fromkeys((*accounts.list_senders(account), *proven)))
