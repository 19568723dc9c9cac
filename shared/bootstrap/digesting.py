"""The parts of a deployment that collect events in windows and make digests, each made when first asked for."""

from typing import TYPE_CHECKING

from shared import contracts
from shared.adapters import metrics
from shared.adapters.dynamo.digests.keeping import DynamoWindowRetention
from shared.adapters.dynamo.digests.policies import DynamoDigestPolicies
from shared.adapters.dynamo.digests.windows import DynamoWindows
from shared.adapters.sqs import SqsQueue
from shared.bootstrap.use_cases import Room
from shared.domain.content.unsubscribe import PATH
from shared.lazy import PartOf, lazy
from shared.metrics import Metric, Service

if TYPE_CHECKING:
    from shared.adapters.dynamo.digests import jobs
    from shared.adapters.dynamo.digests import pages as listed
    from shared.engine import walks as walking
    from shared.engine.digests import clean, close, hints, make, overdue, service
else:
    jobs, listed = lazy("shared.adapters.dynamo.digests", "jobs", "pages")
    (walking,) = lazy("shared.engine", "walks")
    clean, close, service, hints = lazy("shared.engine.digests", "clean", "close", "service", "hints")
    make, overdue = lazy("shared.engine.digests", "make", "overdue")

part = PartOf["Digesting"]()


class Digesting(Room):
    """The services that collect events and make digests."""

    windows = part(lambda r: DynamoWindows(r.deployment.dynamo, records=r.deployment.records_table))
    """Windows and parts."""
    keeping = part(lambda r: DynamoWindowRetention(r.deployment.dynamo, records=r.deployment.records_table))
    """Windows as the digest function walks them."""
    pages = part(lambda r: listed.DynamoWindowPages(r.deployment.dynamo, records=r.deployment.records_table))
    """Windows as lists show them."""
    policies = part(lambda r: DynamoDigestPolicies(r.deployment.dynamo, records=r.deployment.records_table))
    jobs = part(
        lambda r: jobs.DynamoDigestJobs(
            r.deployment.dynamo,
            records=r.deployment.records_table,
            ops=r.deployment.ops_table,
            blobs=r.deployment.blobs,
        )
    )
    """Digests as jobs."""
    queue = part(
        lambda r: SqsQueue(
            r.deployment.sqs,
            contracts.digest_queue_url(r.deployment.env[contracts.ENV_LANE_URL_PREFIX]),
            r.deployment.clock,
        )
    )
    hints = part(lambda r: hints.QueuedHints(r.queue, r.deployment.clock))
    """Messages to the digest function."""
    overdue = part(lambda r: overdue.OverdueWindows(r.keeping, r.deployment.clock))
    """Tells whether the digest function has work that no hint has brought."""
    service = part(lambda r: service.WindowService(windows=r.windows, hints=r.hints, clock=r.deployment.clock))
    """Closes and discards windows for their owners."""
    maker = part(
        lambda r: make.DigestMaker(
            stores=make.DigestStores(
                windows=r.windows,
                keeping=r.keeping,
                policies=r.policies,
                records=r.deployment.records,
                standings=r.deployment.standings,
                jobs=r.jobs,
            ),
            acceptor=r.deployment.acceptor,
            lanes=r.deployment.lanes,
            settings=r.deployment.settings,
            clock=r.deployment.clock,
            unsubscribe=r.deployment.address + PATH,
        )
    )
    """Makes closed windows into jobs."""
    closer = part(
        lambda r: close.WindowCloser(
            windows=r.windows,
            keeping=r.keeping,
            policies=r.policies,
            hints=r.hints,
            maker=r.maker,
            clock=r.deployment.clock,
            late=lambda _window: r.tell_late(),
        )
    )
    """Closes windows and requests their digests."""

    @property
    def walks(self) -> "list[walking.Walk]":
        """The walks of the function that runs every minute, in order."""
        cleaner = clean.WindowCleaner(self.windows, self.keeping, self.deployment.clock)
        return [
            walking.simple("windows", 80, self.closer.walk),
            walking.simple("old windows", 20, cleaner.walk),
        ]

    sweeper = part(lambda r: r.deployment.sweeper_of(r.walks))
    """Walks windows that are due, and those whose retention is over."""

    def tell_late(self) -> None:
        """Report a late window at once, so that it is also reported when it then ends the process."""
        metrics.tell(self.deployment.settings.stage, Service.DIGEST, {Metric.DIGESTS_LATE: 1})
