"""The parts of a deployment that deliver notices, each made when first asked for."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from shared.adapters.dynamo.notices.notices import DynamoNotices
from shared.adapters.dynamo.notices.notifiers import DynamoNotifiers
from shared.engine.notices.words import NoticeWords

if TYPE_CHECKING:
    from shared.bootstrap.deployment import Deployment
    from shared.engine.notices.due import DueNotices
    from shared.engine.notices.take import NoticeTaker
    from shared.engine.sweeper.sweep import Sweeper
    from shared.engine.walks import Walk


@dataclass(frozen=True)
class Noticing:
    """What delivers notices.

    Attributes:
        deployment: whose notices.
    """

    deployment: "Deployment"

    @cached_property
    def notices(self) -> DynamoNotices:
        """Notices."""
        return DynamoNotices(self.deployment.dynamo, records=self.deployment.records_table)

    @cached_property
    def notifiers(self) -> DynamoNotifiers:
        """Notifiers."""
        return DynamoNotifiers(self.deployment.dynamo, records=self.deployment.records_table)

    @cached_property
    def words(self) -> NoticeWords:
        """Passes the results of runs to their notices."""
        d = self.deployment
        return NoticeWords(
            notices=self.notices, notifiers=self.notifiers, records=d.records, ledgers=d.ledgers, clock=d.calendar
        )

    @cached_property
    def due(self) -> "DueNotices":
        """Begins runs of notices."""
        from shared.adapters.dynamo.campaigns.templates import DynamoTemplates  # noqa: PLC0415
        from shared.adapters.dynamo.notices.runs import DynamoRunStarts  # noqa: PLC0415
        from shared.engine.intake.accept import Acceptor  # noqa: PLC0415
        from shared.engine.notices.due import DueNotices  # noqa: PLC0415
        from shared.engine.notices.texts import StoredTexts  # noqa: PLC0415

        d = self.deployment
        starts = DynamoRunStarts(d.dynamo, records=d.records_table, ops=d.ops_table, blobs=d.blobs)
        acceptor = Acceptor(
            records=d.records,
            lanes=d.lanes,
            breaker_cache=d.breaker_cache,
            settings=d.settings,
            clock=d.clock,
        )
        return DueNotices(
            notices=self.notices,
            starts=starts,
            notifiers=self.notifiers,
            texts=StoredTexts(DynamoTemplates(d.dynamo, records=d.records_table)),
            records=d.records,
            acceptor=acceptor,
            lanes=d.lanes,
            settings=d.settings,
            words=self.words,
            clock=d.calendar,
        )

    @cached_property
    def taker(self) -> "NoticeTaker":
        """Takes records out of payloads."""
        from shared.adapters.dynamo.campaigns.templates import DynamoTemplates  # noqa: PLC0415
        from shared.engine.notices.take import NoticeTaker  # noqa: PLC0415

        d = self.deployment
        return NoticeTaker(
            inboxes=d.inboxes,
            notices=self.notices,
            templates=DynamoTemplates(d.dynamo, records=d.records_table),
            queue=d.inbox_queue,
            clock=d.calendar,
            at_once=self.due.at_once,
        )

    @property
    def walks(self) -> "list[Walk]":
        """The walks of the function that runs every minute, in order."""
        from shared.adapters.dynamo.notices.updates import DynamoUpdates  # noqa: PLC0415
        from shared.bootstrap.mailing import Mailing  # noqa: PLC0415
        from shared.engine.notices.look import NoticeRuns  # noqa: PLC0415
        from shared.engine.notices.purge import NoticePurge  # noqa: PLC0415
        from shared.engine.walks import simple, timed  # noqa: PLC0415

        d, due = self.deployment, self.due
        runs = NoticeRuns(
            records=d.records,
            ledgers=d.ledgers,
            notices=self.notices,
            words=self.words,
            asking=d.asking,
            clock=d.clock,
            feedback_timeout=d.settings.feedback_timeout,
        )
        purge = NoticePurge(
            log=DynamoUpdates(d.dynamo, records=d.records_table),
            notices=self.notices,
            notifiers=self.notifiers,
            clock=d.calendar,
        )
        return [
            timed("due notices", 65, lambda until: due.walk(d.calendar.at(until))),
            simple("runs of notices", 15, runs.walk),
            simple("mails", 10, Mailing(d).jobs.walk),
            timed("collected notices", 10, lambda until: purge.walk(d.calendar.at(until))),
        ]

    @cached_property
    def sweeper(self) -> "Sweeper":
        """Walks notices that are due, and their finished runs."""
        return self.deployment.sweeper_of(self.walks)
