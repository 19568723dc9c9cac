"""The parts of a deployment that deliver notices, each made when first asked for."""

from typing import TYPE_CHECKING

from shared import contracts
from shared.adapters.dynamo.notices.notices import DynamoNotices
from shared.adapters.dynamo.notices.updates import DynamoUpdates
from shared.bootstrap.use_cases import Room
from shared.engine.notices.announced import AnnouncedNotices, NoticeTimes
from shared.engine.notices.words import NoticeWords
from shared.lazy import PartOf, lazy

if TYPE_CHECKING:
    from shared.adapters import joining
    from shared.adapters.dynamo.notices import runs
    from shared.adapters.dynamo.notices import waiting as stored
    from shared.bootstrap import mailing
    from shared.engine import walks as walking
    from shared.engine.notices import due, look, overdue, purge, take, texts
else:
    runs, stored = lazy("shared.adapters.dynamo.notices", "runs", "waiting")
    (mailing,) = lazy("shared.bootstrap", "mailing")
    (walking,) = lazy("shared.engine", "walks")
    due, look, overdue = lazy("shared.engine.notices", "due", "look", "overdue")
    purge, take, texts = lazy("shared.engine.notices", "purge", "take", "texts")
    (joining,) = lazy("shared.adapters", "joining")

part = PartOf["Noticing"]()


class Noticing(Room):
    """What delivers notices."""

    times = part(lambda r: NoticeTimes(r.deployment.minutes, r.deployment.calendar, r.deployment.calendar.when))
    """Announces when notices are due."""
    notices = part(
        lambda r: AnnouncedNotices(DynamoNotices(r.deployment.dynamo, records=r.deployment.records_table), r.times)
    )
    notifiers = part(lambda r: r.deployment.notifiers)
    waiting = part(lambda r: stored.DynamoWaiting(r.deployment.dynamo, records=r.deployment.records_table))
    """Notices as lists show them."""
    words = part(
        lambda r: NoticeWords(
            notices=r.notices,
            notifiers=r.notifiers,
            records=r.deployment.records,
            ledgers=r.deployment.ledgers,
            clock=r.deployment.calendar,
        )
    )
    """Passes the results of runs to their notices."""
    starts = part(
        lambda r: runs.DynamoRunStarts(
            r.deployment.dynamo,
            records=r.deployment.records_table,
            ops=r.deployment.ops_table,
            blobs=r.deployment.blobs,
        )
    )
    due = part(
        lambda r: due.DueNotices(
            notices=r.notices,
            starts=r.starts,
            notifiers=r.notifiers,
            texts=texts.StoredTexts(r.deployment.templates),
            records=r.deployment.records,
            acceptor=r.deployment.acceptor,
            lanes=r.deployment.lanes,
            settings=r.deployment.settings,
            words=r.words,
            clock=r.deployment.calendar,
        )
    )
    """Begins runs of notices."""
    taker = part(
        lambda r: take.NoticeIntake(
            inboxes=r.deployment.inboxes,
            notices=r.notices,
            templates=r.deployment.templates,
            queue=r.deployment.inbox_queue,
            clock=r.deployment.calendar,
            at_once=r.due.at_once,
            times=r.times,
        )
    )
    """Takes records out of payloads."""

    function = part(
        lambda r: joining.WokenFunction(
            r.deployment.aws.later("lambda", joining.WAKING), r.deployment.env[contracts.ENV_NOTICES_FUNCTION]
        )
    )
    """The function of notices, for the relay of minutes."""
    overdue = part(
        lambda r: overdue.OverdueNotices(
            r.notices,
            r.deployment.records,
            DynamoUpdates(r.deployment.dynamo, records=r.deployment.records_table),
            r.deployment.calendar,
        )
    )
    """Tells whether the function of notices has work that no schedule has brought."""

    @property
    def walks(self) -> "list[walking.Walk]":
        """The walks of the function that runs every minute, in order."""
        d, due = self.deployment, self.due
        runs = look.NoticeRuns(
            records=d.records,
            ledgers=d.ledgers,
            notices=self.notices,
            words=self.words,
            asking=d.asking,
            clock=d.clock,
            feedback_timeout=d.settings.feedback_timeout,
        )
        old = purge.NoticePurge(
            log=DynamoUpdates(d.dynamo, records=d.records_table),
            notices=self.notices,
            notifiers=self.notifiers,
            clock=d.calendar,
        )
        return [
            walking.timed("due notices", 65, lambda until: due.walk(d.calendar.at(until))),
            walking.simple("runs of notices", 15, runs.walk),
            walking.simple("mails", 10, mailing.Mailing(d).jobs.walk),
            walking.timed("collected notices", 10, lambda until: old.walk(d.calendar.at(until))),
        ]

    sweeper = part(lambda r: r.deployment.sweeper_of(r.walks))
    """Walks notices that are due, and their finished runs."""
