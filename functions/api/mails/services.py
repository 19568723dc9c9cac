"""Services of the routes of mails, built when the first of them is called."""

from shared.bootstrap import Deployment
from shared.bootstrap.mailing import Mailing
from shared.contracts import Settings
from shared.engine.mails.moves import MailMoves
from shared.engine.mails.service import MailService, RawRules
from shared.frozen import dataclass
from shared.ports import Mails, Senders, SuppressionList
from shared.providers.instructing import INSTRUCTING
from shared.providers.needs import needs_of


@dataclass(frozen=True, slots=True)
class MailServices:
    """Use cases and reads."""

    mails: Mails
    service: MailService
    moves: MailMoves


def raw_rules(settings: Settings) -> RawRules:
    """Return what the providers of a deployment say of finished messages."""
    return RawRules(lambda name: needs_of(settings.credential(name).provider).finished_bytes, INSTRUCTING)


def build(deployment: Deployment, senders: Senders, unwanted: SuppressionList) -> MailServices:
    """Build the services of a deployment.

    Args:
        deployment: whose tables, bucket and lanes they use.
        unwanted: who is not to be sent to.
    """
    mailing = Mailing(deployment)
    service = MailService(
        mails=mailing.mails,
        files=mailing.files,
        places=deployment.open_places,
        queuer=mailing.queuer,
        senders=senders,
        unwanted=unwanted,
        settings=deployment.settings,
        rules=raw_rules(deployment.settings),
        clock=deployment.clock,
    )
    return MailServices(mailing.mails, service, mailing.moves)
