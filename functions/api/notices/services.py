"""Services of the routes of notifiers and notices, built when the first of them is called."""

from shared.adapters.dynamo.notices.notices import DynamoNotices
from shared.adapters.dynamo.notices.notifiers import DynamoNotifiers
from shared.adapters.dynamo.notices.programs import DynamoPrograms
from shared.adapters.dynamo.notices.updates import DynamoUpdates
from shared.adapters.dynamo.notices.waiting import DynamoWaiting
from shared.bootstrap import Deployment
from shared.engine.notices.days import NotifierDays
from shared.engine.notices.notifiers import NotifierService
from shared.engine.notices.take import NoticeService
from shared.engine.notices.updates import UpdateReader
from shared.frozen import dataclass
from shared.ports import Notices, Notifiers, Programs, Senders, WaitingNotices


@dataclass(frozen=True, slots=True)
class NoticeServices:
    """Use cases and reads."""

    notifiers: Notifiers
    service: NotifierService
    updates: UpdateReader
    days: NotifierDays
    programs: Programs
    intake: NoticeService
    """Takes payloads."""

    notices: Notices
    waiting: WaitingNotices


def build(deployment: Deployment, senders: Senders) -> NoticeServices:
    """Build the services of a deployment. `senders`: by which channels accounts may send."""
    notifiers = DynamoNotifiers(deployment.dynamo, records=deployment.records_table)
    log = DynamoUpdates(deployment.dynamo, records=deployment.records_table)
    return NoticeServices(
        notifiers=notifiers,
        service=NotifierService(store=notifiers, senders=senders, settings=deployment.settings, clock=deployment.clock),
        notices=DynamoNotices(deployment.dynamo, records=deployment.records_table),
        waiting=DynamoWaiting(deployment.dynamo, records=deployment.records_table),
        updates=UpdateReader(log=log, clock=deployment.calendar),
        days=NotifierDays(log=log, clock=deployment.calendar),
        programs=DynamoPrograms(deployment.dynamo, records=deployment.records_table),
        intake=deployment.notice_service,
    )
