"""What routes of notifiers and notices work with, built when the first of them is called."""

from dataclasses import dataclass

from shared.adapters.dynamo.notices.notifiers import DynamoNotifiers
from shared.adapters.dynamo.notices.programs import DynamoPrograms
from shared.adapters.dynamo.notices.updates import DynamoUpdates
from shared.bootstrap import Deployment
from shared.engine.notices.notifiers import NotifierDesk
from shared.engine.notices.take import NoticeDesk
from shared.engine.notices.updates import UpdateReader
from shared.ports import Notifiers, Programs


@dataclass(frozen=True, slots=True)
class NoticeServices:
    """Use cases and reads."""

    notifiers: Notifiers
    desk: NotifierDesk
    updates: UpdateReader
    programs: Programs
    intake: NoticeDesk
    """Takes payloads."""


def build(deployment: Deployment) -> NoticeServices:
    """Build the services of a deployment."""
    notifiers = DynamoNotifiers(deployment.dynamo, records=deployment.records_table)
    return NoticeServices(
        notifiers=notifiers,
        desk=NotifierDesk(store=notifiers, settings=deployment.settings, clock=deployment.clock),
        updates=UpdateReader(
            log=DynamoUpdates(deployment.dynamo, records=deployment.records_table), clock=deployment.clock
        ),
        programs=DynamoPrograms(deployment.dynamo, records=deployment.records_table),
        intake=deployment.notice_desk,
    )
