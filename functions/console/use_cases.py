"""The use cases behind the console's lists, each built by the first page that asks for it."""

from collections.abc import Callable

from shared import contracts
from shared.adapters.alarms import RaisedAlarm, RaisedAlarms
from shared.adapters.dynamo.accounts.claims import DynamoClaims
from shared.adapters.dynamo.credentials.known import OpenSlots
from shared.adapters.dynamo.credentials.switchboard import Setting, Switchboard
from shared.adapters.dynamo.recipients.suppressions import Suppressions
from shared.adapters.sqs import SqsQueue
from shared.bootstrap import Deployment
from shared.engine.digests.service import WindowService
from shared.engine.hooks.service import HookService
from shared.engine.intake.identities import IdentityService
from shared.engine.mails.moves import MailMoves
from shared.engine.reports.export import ExportService
from shared.engine.spender import Spender
from shared.frozen import dataclass
from shared.ports import Acceptances, Dns, Files, Journal, Mails, Notices, Notifiers, WaitingNotices
from shared.ports.digests import WindowPages

__all__ = [
    "ConsoleUseCases",
    "DigestUseCases",
    "MailUseCases",
    "NoticeUseCases",
    "RaisedAlarm",
    "ResultUseCases",
    "SenderUseCases",
    "Setting",
    "build_use_cases",
]


@dataclass(frozen=True, slots=True)
class DigestUseCases:
    """Use cases and lists that show and move windows of events."""

    service: WindowService
    pages: WindowPages


@dataclass(frozen=True, slots=True)
class MailUseCases:
    """Stores and use cases that show mails, and move their destinations."""

    mails: Mails
    moves: MailMoves


@dataclass(frozen=True, slots=True)
class NoticeUseCases:
    """What shows notices and notifiers."""

    notices: Notices
    notifiers: Notifiers
    waiting: WaitingNotices


@dataclass(frozen=True, slots=True)
class ResultUseCases:
    """Makes files of results, and knows where they are."""

    service: ExportService
    files: Files


@dataclass(frozen=True, slots=True)
class SenderUseCases:
    """Domains that accounts claim, what looks up their DNS, and what has providers sign for them."""

    claims: DynamoClaims
    dns: Callable[[], Dns]
    identities: Callable[[], IdentityService]


@dataclass(frozen=True, slots=True)
class ConsoleUseCases:
    """Use cases and reads."""

    suppressions: Suppressions
    journal: Journal
    acceptances: Acceptances
    hooks: Callable[[], HookService]
    digests: Callable[[], DigestUseCases]
    mails: Callable[[], MailUseCases]
    notices: Callable[[], NoticeUseCases]
    switches: Switchboard
    """The switches by which operators pause, slow and resume."""
    dead_letters: Callable[[str], int]
    """About how many dead letters a queue has, by its name without the prefix."""
    alarms: RaisedAlarms
    slots: OpenSlots
    """Partitions of the index of open jobs."""
    senders: Callable[[], SenderUseCases]
    results: Callable[[], ResultUseCases]
    spender: Spender
    """Knows limits of a day, and their use."""


def build_use_cases(deployment: Deployment) -> ConsoleUseCases:
    """Build the use cases of a deployment."""
    client, table, clock = deployment.dynamo.client, deployment.records_table, deployment.clock
    days, homes = deployment.settings.audit_days, deployment.homes
    return ConsoleUseCases(
        suppressions=deployment.suppressions,
        journal=deployment.journal,
        acceptances=deployment.acceptances,
        hooks=lambda: deployment.hooking.service,
        digests=lambda: DigestUseCases(deployment.digesting.service, deployment.digesting.pages),
        mails=lambda: MailUseCases(deployment.mailing.mails, deployment.mailing.moves),
        notices=lambda: NoticeUseCases(
            deployment.noticing.notices, deployment.noticing.notifiers, deployment.noticing.waiting
        ),
        switches=Switchboard(
            client, records=table, ops=deployment.ops_table, clock=clock, audit_days=days, homes=homes
        ),
        dead_letters=lambda name: _dead(deployment, name),
        alarms=_alarms(deployment),
        slots=deployment.slots,
        senders=lambda: SenderUseCases(deployment.claims, lambda: deployment.dns, lambda: deployment.identity_service),
        results=lambda: ResultUseCases(deployment.export_service, deployment.files),
        spender=deployment.spender,
    )


def _dead(deployment: Deployment, name: str) -> int:
    url = contracts.dead_queue_url(deployment.env[contracts.ENV_LANE_URL_PREFIX], name)
    return SqsQueue(deployment.sqs, url, deployment.clock).depth().total


def _alarms(deployment: Deployment) -> RaisedAlarms:
    """Return the deployment's alarms; the local cloud has none."""
    local = deployment.env.get(contracts.ENV_LOOPBACK)
    client = None if local else deployment.aws.later("cloudwatch")
    return RaisedAlarms(client, f"{contracts.prefix(deployment.settings.stage)}-", deployment.clock)
