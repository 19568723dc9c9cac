"""The parts of a deployment that collect events in windows and make digests, each made when first asked for."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from shared import contracts
from shared.adapters import metrics
from shared.adapters.dynamo.digests.keeping import DynamoWindowKeeping
from shared.adapters.dynamo.digests.policies import DynamoDigestPolicies
from shared.adapters.dynamo.digests.windows import DynamoWindows
from shared.domain.content.unsubscribe import PATH
from shared.metrics import Metric, Service

if TYPE_CHECKING:
    from shared.bootstrap.deployment import Deployment
    from shared.engine.digests.close import WindowCloser
    from shared.engine.digests.hints import QueuedHints
    from shared.engine.digests.make import DigestMaker
    from shared.engine.sweeper.sweep import Sweeper
    from shared.engine.walks import Walk


@dataclass(frozen=True)
class Digesting:
    """The services that collect events and make digests.

    Attributes:
        deployment: whose events.
    """

    deployment: "Deployment"

    @cached_property
    def windows(self) -> DynamoWindows:
        """Windows and parts."""
        return DynamoWindows(self.deployment.dynamo, records=self.deployment.records_table)

    @cached_property
    def keeping(self) -> DynamoWindowKeeping:
        """Windows as the digest function walks them."""
        return DynamoWindowKeeping(self.deployment.dynamo, records=self.deployment.records_table)

    @cached_property
    def policies(self) -> DynamoDigestPolicies:
        """Digest policies."""
        return DynamoDigestPolicies(self.deployment.dynamo, records=self.deployment.records_table)

    @cached_property
    def hints(self) -> "QueuedHints":
        """Messages to the digest function."""
        from shared.adapters.sqs import SqsQueue  # noqa: PLC0415
        from shared.engine.digests.hints import QueuedHints  # noqa: PLC0415

        d = self.deployment
        url = contracts.digest_queue_url(d.env[contracts.ENV_LANE_URL_PREFIX])
        return QueuedHints(SqsQueue(d.sqs, url, d.clock), d.clock)

    @cached_property
    def maker(self) -> "DigestMaker":
        """Makes closed windows into jobs."""
        from shared.adapters.dynamo.digests.jobs import DynamoDigestJobs  # noqa: PLC0415
        from shared.engine.digests.make import DigestMaker, DigestStores  # noqa: PLC0415
        from shared.engine.intake.accept import Acceptor  # noqa: PLC0415

        d = self.deployment
        stores = DigestStores(
            windows=self.windows,
            keeping=self.keeping,
            policies=self.policies,
            records=d.records,
            standings=d.standings,
            jobs=DynamoDigestJobs(d.dynamo, records=d.records_table, ops=d.ops_table, blobs=d.blobs),
        )
        acceptor = Acceptor(
            records=d.records, lanes=d.lanes, breaker_cache=d.breaker_cache, settings=d.settings, clock=d.clock
        )
        return DigestMaker(
            stores=stores,
            acceptor=acceptor,
            lanes=d.lanes,
            settings=d.settings,
            clock=d.clock,
            unsubscribe=d.address + PATH,
        )

    @cached_property
    def closer(self) -> "WindowCloser":
        """Closes windows and requests their digests."""
        from shared.engine.digests.close import WindowCloser  # noqa: PLC0415

        return WindowCloser(
            windows=self.windows,
            keeping=self.keeping,
            policies=self.policies,
            hints=self.hints,
            maker=self.maker,
            clock=self.deployment.clock,
            late=lambda _window: self.tell_late(),
        )

    @property
    def walks(self) -> "list[Walk]":
        """The walks of the function that runs every minute, in order."""
        from shared.engine.digests.clean import WindowCleaner  # noqa: PLC0415
        from shared.engine.walks import simple  # noqa: PLC0415

        cleaner = WindowCleaner(self.windows, self.keeping, self.deployment.clock)
        return [simple("windows", 80, self.closer.walk), simple("old windows", 20, cleaner.walk)]

    @cached_property
    def sweeper(self) -> "Sweeper":
        """Walks windows that are due, and those whose retention is over."""
        return self.deployment.sweeper_of(self.walks)

    def tell_late(self) -> None:
        """Report a late window at once, so that it is also reported when it then ends the process."""
        metrics.tell(self.deployment.settings.stage, Service.DIGEST, {Metric.DIGESTS_LATE: 1})
