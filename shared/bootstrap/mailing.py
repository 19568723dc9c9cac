"""The parts of a deployment that take and end mails, each made when first asked for."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from shared import contracts
from shared.adapters import metrics
from shared.adapters.dynamo.mails.mails import DynamoMails
from shared.engine.mails.ends import MailEnds, MailJobs
from shared.engine.mails.holds import DomainHolds, MailStream
from shared.engine.mails.queueing import MailQueuer
from shared.engine.mails.reports import MailReporter
from shared.metrics import Metric, Service

if TYPE_CHECKING:
    from shared.adapters.s3.mails import S3MailFiles
    from shared.bootstrap.deployment import Deployment
    from shared.engine.mails.moves import MailMoves
    from shared.ports import MailFigures


@dataclass(frozen=True, slots=True)
class ToldMailFigures:
    """`ports.MailFigures` for CloudWatch, each sent at once, so that a mail that ends the process is also counted.

    Attributes:
        stage: the deployment's.
    """

    stage: str

    def late(self) -> None:
        """Count a mail that should have been cleaned hours before."""
        self._tell(Metric.MAILS_LATE, 1)

    def notified(self) -> None:
        """Count a notification that was queued."""
        self._tell(Metric.NOTIFICATIONS, 1)

    def given_up(self, count: int) -> None:
        """Count destinations that failed of mails without a return path."""
        self._tell(Metric.NOTIFICATIONS_GIVEN_UP, count)

    def _tell(self, metric: Metric, count: int) -> None:
        metrics.tell(self.stage, Service.MAILS, {metric: count})


@dataclass(frozen=True)
class Mailing:
    """What takes and ends mails.

    Attributes:
        deployment: whose mails.
    """

    deployment: "Deployment"

    @cached_property
    def mails(self) -> DynamoMails:
        """Mails."""
        d = self.deployment
        return DynamoMails(d.dynamo, records=d.records_table, ops=d.ops_table, blobs=d.blobs)

    @cached_property
    def files(self) -> "S3MailFiles":
        """Their bytes."""
        from shared.adapters.s3.files import CONFIG as OF_FILES  # noqa: PLC0415
        from shared.adapters.s3.mails import S3MailFiles  # noqa: PLC0415

        d = self.deployment
        return S3MailFiles(lambda: d.aws.client("s3", OF_FILES), d.env[contracts.ENV_BUCKET], d.clock)

    @cached_property
    def queuer(self) -> MailQueuer:
        """Queues mails."""
        from shared.engine.intake.accept import Acceptor  # noqa: PLC0415

        d = self.deployment
        acceptor = Acceptor(
            records=d.records,
            lanes=d.lanes,
            breaker_cache=d.breaker_cache,
            settings=d.settings,
            clock=d.clock,
        )
        return MailQueuer(mails=self.mails, acceptor=acceptor, lanes=d.lanes, clock=d.clock, acceptances=d.acceptances)

    @cached_property
    def moves(self) -> "MailMoves":
        """Moves destinations that wait."""
        from shared.adapters.dynamo.audit import DynamoJournal  # noqa: PLC0415
        from shared.engine.mails.moves import MailMoves  # noqa: PLC0415

        d = self.deployment
        journal = DynamoJournal(d.dynamo, d.records_table)
        return MailMoves(d.records, d.ledgers, d.recovery, d.logs, journal, d.clock)

    @property
    def figures(self) -> "MailFigures":
        """What operators hear of mails."""
        return ToldMailFigures(self.deployment.settings.stage)

    @cached_property
    def ends(self) -> MailEnds:
        """Ends mails."""
        d = self.deployment
        reporter = MailReporter(self.mails, d.records, d.ledgers, self.files, self.queuer, d.clock, self.figures)
        return MailEnds(self.mails, d.records, d.ledgers, self.files, reporter)

    @cached_property
    def stream(self) -> MailStream:
        """Does what follows of released ledgers."""
        d = self.deployment
        return MailStream(d.records, self.ends, DomainHolds(self.mails, d.records, d.ledgers))

    @property
    def jobs(self) -> MailJobs:
        """The walk of finished jobs."""
        d = self.deployment
        return MailJobs(d.records, d.ledgers, self.mails, self.ends, d.asking, d.clock, self.figures)
