"""The parts of a deployment that take and end mails, each made when first asked for."""

from typing import TYPE_CHECKING

from shared import contracts
from shared.adapters import metrics
from shared.adapters.dynamo.mails.mails import DynamoMails
from shared.bootstrap.use_cases import Room
from shared.engine.mails.ends import MailCompletion, MailJobs
from shared.engine.mails.holds import DomainHolds, MailStream
from shared.engine.mails.queueing import MailQueuer
from shared.engine.mails.reports import MailReporter
from shared.frozen import dataclass
from shared.lazy import PartOf, lazy
from shared.metrics import Metric, Service

if TYPE_CHECKING:
    from shared.adapters.s3 import files
    from shared.adapters.s3 import mails as stored
    from shared.engine.mails import moves
    from shared.ports import MailFigures
else:
    files, stored = lazy("shared.adapters.s3", "files", "mails")
    (moves,) = lazy("shared.engine.mails", "moves")

part = PartOf["Mailing"]()


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


class Mailing(Room):
    """What takes and ends mails."""

    @property
    def figures(self) -> "MailFigures":
        """What operators hear of mails."""
        return ToldMailFigures(self.deployment.settings.stage)

    mails = part(
        lambda r: DynamoMails(
            r.deployment.dynamo,
            records=r.deployment.records_table,
            ops=r.deployment.ops_table,
            blobs=r.deployment.blobs,
        )
    )
    files = part(
        lambda r: stored.S3MailFiles(
            lambda: r.deployment.aws.client("s3", files.CONFIG),
            r.deployment.env[contracts.ENV_BUCKET],
            r.deployment.clock,
        )
    )
    """Their bytes."""
    queuer = part(
        lambda r: MailQueuer(
            mails=r.mails,
            acceptor=r.deployment.acceptor,
            lanes=r.deployment.lanes,
            clock=r.deployment.clock,
            acceptances=r.deployment.acceptances,
        )
    )
    """Queues mails."""
    moves = part(
        lambda r: moves.MailMoves(
            r.deployment.records,
            r.deployment.ledgers,
            r.deployment.recovery,
            r.deployment.logs,
            r.deployment.journal,
            r.deployment.clock,
        )
    )
    """Moves destinations that wait."""

    reporter = part(
        lambda r: MailReporter(
            r.mails, r.deployment.records, r.deployment.ledgers, r.files, r.queuer, r.deployment.clock, r.figures
        )
    )
    ends = part(lambda r: MailCompletion(r.mails, r.deployment.records, r.deployment.ledgers, r.files, r.reporter))
    """Ends mails."""
    holds = part(lambda r: DomainHolds(r.mails, r.deployment.records, r.deployment.ledgers))
    stream = part(lambda r: MailStream(r.deployment.records, r.ends, r.holds))
    """Does what follows of released ledgers."""
    jobs = part(
        lambda r: MailJobs(
            r.deployment.records,
            r.deployment.ledgers,
            r.mails,
            r.ends,
            r.deployment.asking,
            r.deployment.clock,
            r.figures,
        )
    )
    """The walk of finished jobs."""
