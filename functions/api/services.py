"""What the API works with, built once per process."""

from dataclasses import dataclass

from shared.adapters.dynamo.accounts import Accounts
from shared.adapters.dynamo.answers import Answers
from shared.adapters.dynamo.credentials import CredentialStates
from shared.adapters.dynamo.listing import Listing
from shared.adapters.dynamo.stats import Stats
from shared.adapters.dynamo.suppressions import Suppressions
from shared.bootstrap import Deployment
from shared.contracts import ENV_OPS_TABLE, Settings
from shared.engine.accept import Acceptor
from shared.engine.circuits import Circuits
from shared.engine.control import JobControl
from shared.engine.logs import Logs
from shared.engine.schedules import Schedules
from shared.ports import Clock, Records


@dataclass(frozen=True, slots=True)
class ApiServices:
    """Use cases and reads that routes call."""

    settings: Settings
    clock: Clock
    accounts: Accounts
    suppressions: Suppressions
    stats: Stats
    listing: Listing
    answers: Answers
    credentials: CredentialStates
    records: Records
    acceptor: Acceptor
    control: JobControl
    schedules: Schedules
    logs: Logs
    circuits: Circuits


def build(deployment: Deployment) -> ApiServices:
    """Build the services of a deployment."""
    client, table, clock = deployment.dynamo.client, deployment.records_table, deployment.clock
    records, ledgers = deployment.records, deployment.ledgers
    return ApiServices(
        settings=deployment.settings,
        clock=clock,
        accounts=Accounts(client, table, clock, **_limits(deployment.settings)),
        suppressions=Suppressions(client, table, clock),
        stats=Stats(client, table, clock),
        listing=Listing(client, table, clock),
        answers=Answers(client, table, clock),
        credentials=CredentialStates(client, deployment.env[ENV_OPS_TABLE], clock),
        records=records,
        acceptor=Acceptor(
            records=records,
            lanes=deployment.lanes,
            circuits=deployment.circuits,
            settings=deployment.settings,
            clock=clock,
            schedules=deployment.schedules,
        ),
        control=JobControl(
            records=records,
            ledgers=ledgers,
            planner=deployment.planner,
            retrier=deployment.retrier,
            clock=clock,
            schedules=deployment.schedules,
        ),
        schedules=deployment.schedules,
        logs=Logs(records=records, ledgers=ledgers, clock=clock, feedback_timeout=deployment.settings.feedback_timeout),
        circuits=deployment.circuits,
    )


def _limits(settings: Settings) -> dict[str, int]:
    """Return the request buckets' settings, where the deployment has its own."""
    names = {"requests_per_second": "rate", "request_burst": "burst"}
    return {to: int(settings.extra[name]) for name, to in names.items() if name in settings.extra}
