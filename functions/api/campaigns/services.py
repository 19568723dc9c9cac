"""What routes of campaigns work with, built when the first of them is called: others need not wait for it."""

from dataclasses import dataclass
from typing import Final

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.accounts.buckets import Buckets
from shared.adapters.dynamo.campaigns.templates import DynamoTemplates
from shared.adapters.dynamo.client import Dynamo
from shared.bootstrap import Deployment
from shared.domain.content.unsubscribe import PATH
from shared.engine.campaigns.campaigns import CampaignControl
from shared.engine.campaigns.preview import Previews
from shared.engine.jobs.control import JobControl
from shared.engine.lists.uploading import Uploading
from shared.ports import Campaigns, Clock, Templates, Uploads


@dataclass(frozen=True, slots=True)
class CampaignServices:
    """Use cases and reads."""

    campaigns: Campaigns
    uploads: Uploads
    templates: Templates
    uploading: Uploading
    control: CampaignControl
    previews: Previews
    trials: Buckets
    """How many tests an account may send."""


TRIALS: Final = 20
"""Tests at once; a list is sent as a campaign, which heeds the bounce guard."""
TRIAL_SECONDS: Final = 60
"""Until there is another."""


def trials(dynamo: Dynamo, table: str, clock: Clock) -> Buckets:
    """Return the accounts' allowance of test messages, counted across all processes.

    Args:
        dynamo: a DynamoDB client.
        table: the name of the table that holds the buckets.
        clock: refills them.
    """
    return Buckets(dynamo, table, clock, rate=1 / TRIAL_SECONDS, burst=TRIALS, block=1, key=keys.trials)


def build(deployment: Deployment, control: JobControl) -> CampaignServices:
    """Build the services of a deployment; `control`: what owners do with jobs."""
    return CampaignServices(
        campaigns=deployment.campaigns,
        uploads=deployment.uploads,
        templates=DynamoTemplates(deployment.dynamo, records=deployment.records_table),
        uploading=deployment.uploading,
        control=CampaignControl(
            campaigns=deployment.campaigns,
            uploads=deployment.uploads,
            records=deployment.records,
            control=control,
            planner=deployment.planner,
            schedules=deployment.schedules,
            settings=deployment.settings,
            clock=deployment.clock,
            unsubscribe=deployment.address + PATH,
        ),
        previews=Previews(
            records=deployment.records,
            ledgers=deployment.ledgers,
            links=deployment.links,
            settings=deployment.settings,
            clock=deployment.clock,
        ),
        trials=trials(deployment.dynamo, deployment.records_table, deployment.clock),
    )
