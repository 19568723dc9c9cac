"""Queueing: a mail becomes a job with a chunk for each destination, all or nothing."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from itertools import groupby
from typing import Final

from shared.domain.audit import SYSTEM, Act
from shared.domain.channels.email import EMAIL
from shared.domain.content.content import Content
from shared.domain.jobs.job import MAIL
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.prepared import PreparedJob
from shared.domain.lanes.backoff import MAX_QUEUE_DELAY
from shared.domain.mails.destination import recipient
from shared.domain.mails.mail import StoredMail, committed
from shared.domain.mails.queue import NewDestination
from shared.domain.mails.retry import MAIL_POLICY
from shared.engine.intake.accept import Acceptor, BatchRequest, send_pointers
from shared.frozen import dataclass
from shared.ports import Acceptances, Clock, Idempotency, Lanes, Mails, Mismatch, Replay, Retriable, Stored

_SYSTEMS: Final = ("", SYSTEM)
"""Makers of mails that no account has asked for: reports to senders, which no limit of a day holds back."""
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OutgoingMail:
    """A mail that is to be queued.

    Attributes:
        mail: OPEN; as read, or new.
        content: names its bytes.
        destinations: in the order of the mail's hosts.
        route: credentials that take it.
        new: it is not stored yet.
        skip: code of each address, in lower case, that is not to be sent to.
    """

    mail: StoredMail
    content: Content
    destinations: Sequence[NewDestination]
    route: tuple[str, ...]
    new: bool = False
    skip: Mapping[str, str] = field(default_factory=dict)


class MailQueuer:
    """Queues mails.

    Args:
        acceptances: audit notes of accepted mails; None: no API key's requests are accepted here.
    """

    def __init__(
        self,
        *,
        mails: Mails,
        acceptor: Acceptor,
        lanes: Lanes,
        clock: Clock,
        acceptances: Acceptances | None = None,
    ) -> None:
        self._mails = mails
        self._acceptor = acceptor
        self._lanes = lanes
        self._clock = clock
        self._acceptances = acceptances

    def queue(self, asked: OutgoingMail, key: Idempotency | None) -> StoredMail | Replay | Mismatch | None:
        """Queue a mail to all its destinations, or to none.

        Returns:
            The mail as it is stored; None: it has moved on, and this call has queued nothing.

        Raises:
            Decline: a limit of its account would be exceeded.
            Retriable: nothing is queued; the call may be repeated.
        """
        finished = asked.content.finished
        if finished is None:
            raise ValueError("a mail has finished bytes")
        self._note(asked.mail)
        request = _request(asked)
        made = self._acceptor.prepare(request)
        new = committed(asked.mail, job=made.job.id, content=finished.name, size=finished.size)
        new = replace(new, version=1) if asked.new else new
        charge = self._acceptor.charge(request) if asked.mail.by not in _SYSTEMS else None
        stored = self._mails.commit(None if asked.new else asked.mail, new, made, asked.content, key)
        if not isinstance(stored, Stored):
            self._acceptor.give_back(charge)
            return stored
        self._point(made)
        return new

    def _note(self, mail: StoredMail) -> None:
        """Note in the audit log whose mail this is; reports to senders are the system's."""
        if self._acceptances is not None and mail.by not in _SYSTEMS:
            self._acceptances.note(mail.namespace, Act.MAILS_ACCEPTED, mail.by, mail.by)

    def _point(self, made: PreparedJob) -> None:
        """Send the pointers, each delayed until its destination is due, or for as long as a queue delays."""
        now = self._clock.now()

        def delay(x: Ledger) -> float:
            return min(max(0.0, x.not_before / 1000 - now), MAX_QUEUE_DELAY)

        try:
            for wait, some in groupby(sorted(made.ledgers, key=delay), key=delay):
                send_pointers(self._lanes, made.job, list(some), delay=wait)
        except Retriable:  # the job is accepted; the sweeper sends the pointers
            _LOG.warning("pointers not sent", extra={"job": made.job.id})


def _request(asked: OutgoingMail) -> BatchRequest:
    mail = asked.mail
    made = (recipient(x.address, x.address.lower(), x.metadata, mail.expires_at) for x in asked.destinations)
    some = [replace(x, skip=asked.skip.get(x.key, "")) for x in made]
    return BatchRequest(
        account=mail.account,
        test=mail.test,
        channel=EMAIL.name,
        route=asked.route,
        ordered=True,
        content=asked.content,
        recipients=tuple(some),
        duplicates=0,
        policy=MAIL_POLICY,
        name=mail.id,
        by=mail.by,
        kind=MAIL,
        labels=mail.labels,
        due=tuple(x.schedule.at for x in asked.destinations),
    )
