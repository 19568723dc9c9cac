"""A finished message by SMTP: byte for byte, or in a form that the relay takes."""

import logging

from shared.domain.content.content import Finished
from shared.domain.content.smtp import Mail, Relay, Reply
from shared.domain.mails.outgoing import Outgoing
from shared.domain.times import Seconds
from shared.ports import Smtp, Target, Unfit

_LOG = logging.getLogger(__name__)


def submit(
    smtp: Smtp, relay: Relay, envelope: Finished, message: Outgoing, target: Target, *, deadline: Seconds
) -> Reply:
    """Make one transaction. A relay that lacks an extension, and so has taken nothing, gets another form.

    Args:
        envelope: with the sender.
        deadline: Unix seconds; see `ports.Smtp`.

    Raises:
        NotSent, AnswerLost: as `ports.Smtp` does. Unfit if the message has no form that the relay takes.
    """
    to = target.recipient.address
    ascii_path = (envelope.mail_from + to).isascii()
    while True:
        utf8 = not (ascii_path and message.header.isascii())
        mail = Mail(envelope.mail_from, (to,), message, utf8, eight_bit=not message.ascii_body)
        try:
            return smtp.submit(relay, mail, deadline=deadline)
        except Unfit as error:
            other = _other_form(message, str(error), ascii_path=ascii_path)
            if other is None:
                raise
            _LOG.info("finished message encoded again", extra={"ref": target.ref, "reason": str(error)})
            message = other


def _other_form(message: Outgoing, reason: str, *, ascii_path: bool) -> Outgoing | None:
    """Return a form of a message without what a relay lacks; None if there is none."""
    if reason == "smtputf8_not_offered":
        return message.with_ascii_header() if ascii_path and not message.header.isascii() else None
    return message.seven_bit() if reason == "eight_bit_not_offered" else None
