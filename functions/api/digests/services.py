"""Services of the routes of events and digests, built when the first of them is called."""

from shared import contracts
from shared.adapters.dynamo.digests.keeping import DynamoWindowRetention
from shared.adapters.dynamo.digests.pages import DynamoWindowPages
from shared.adapters.dynamo.digests.policies import DynamoDigestPolicies
from shared.adapters.dynamo.digests.windows import DynamoWindows
from shared.adapters.sqs import SqsQueue
from shared.bootstrap import Deployment
from shared.engine.digests.add import DigestAdder
from shared.engine.digests.hints import AnnouncedHints
from shared.engine.digests.policies import PolicyService
from shared.engine.digests.service import WindowService
from shared.engine.pool import ThreadPool
from shared.frozen import dataclass
from shared.ports import Senders
from shared.ports.digests import DigestPolicies, WindowPages


@dataclass(frozen=True, slots=True)
class DigestServices:
    """Use cases and reads."""

    adder: DigestAdder
    service: WindowService
    pages: WindowPages
    policies: DigestPolicies
    policy_service: PolicyService


def build(deployment: Deployment, senders: Senders) -> DigestServices:
    """Build the services of a deployment. `senders`: who may send as whom."""
    records, clock = deployment.records_table, deployment.clock
    windows = DynamoWindows(deployment.dynamo, records=records)
    policies = DynamoDigestPolicies(deployment.dynamo, records=records)
    url = contracts.digest_queue_url(deployment.env[contracts.ENV_LANE_URL_PREFIX])
    hints = AnnouncedHints(SqsQueue(deployment.sqs, url, clock), deployment.minutes, clock)
    return DigestServices(
        adder=DigestAdder(
            windows=windows,
            keeping=DynamoWindowRetention(deployment.dynamo, records=records),
            policies=policies,
            hints=hints,
            clock=clock,
            pool=ThreadPool(),
        ),
        service=WindowService(windows=windows, hints=hints, clock=clock),
        pages=DynamoWindowPages(deployment.dynamo, records=records),
        policies=policies,
        policy_service=PolicyService(policies=policies, senders=senders, settings=deployment.settings, clock=clock),
    )
