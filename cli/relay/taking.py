"""What the relay answers to a mail: 250 only when the API has it, or the queue has it durably."""

from collections.abc import Sequence
from typing import BinaryIO, Final

from cli.relay.api import MailAnswer, MailApi, PostFate
from cli.relay.delivering import HeldMail
from cli.relay.mail import blocks, relay_mail
from shared.domain.mails.message import MessageRefusal, check
from shared.ports import Retriable

LONGEST_REPLY: Final = 400
"""Characters of an answer's text: RFC 5321 allows 512 octets for the whole line."""


class MailIntake:
    """Takes mails; threads may share it.

    Args:
        api: where they go.
        held: keeps them while the API is out of reach; None: they are not taken then.
    """

    def __init__(self, api: MailApi, held: HeldMail | None) -> None:
        self._api = api
        self._held = held

    def take(self, sender: str, recipients: Sequence[str], content: BinaryIO) -> str:
        """Take a mail, and return the reply of SMTP.

        Args:
            sender: envelope sender, empty for a notification.
            recipients: at least one.
            content: with CRLF at the ends of its lines, without the dots of SMTP; open until the reply is made.
        """
        mail = relay_mail(sender, recipients, content)
        if self._held is None:
            return _reply(self._api.post(mail))
        if not self._held.unready:
            answer = self._api.post(mail)
            if answer.fate in (PostFate.TAKEN, PostFate.REFUSED, PostFate.TOO_LARGE):
                return _reply(answer)
        refusal = check(blocks(content))
        if isinstance(refusal, MessageRefusal):  # as the API will: the client learns it now
            return _line("550 5.6.0", _text(refusal))
        try:
            return f"250 2.0.0 kept as {self._held.take(mail)}"
        except Retriable as error:
            return _line("452 4.3.1", str(error))


def _reply(answer: MailAnswer) -> str:
    match answer.fate:
        case PostFate.TAKEN:
            return _line("250 2.0.0", f"accepted as {answer.says}")
        case PostFate.TOO_LARGE:
            return _line("552 5.3.4", answer.says)
        case PostFate.REFUSED:
            return _line("550 5.7.1" if answer.code == "from_not_allowed" else "550 5.6.0", answer.says)
        case PostFate.LATER | PostFate.UNREADY:
            return _line("451 4.3.0", answer.says)


def _text(refusal: MessageRefusal) -> str:
    return f"the message is refused: {refusal.code}" + (f" in line {refusal.line}" if refusal.line else "")


def _line(code: str, text: str) -> str:
    return f"{code} {text.encode('ascii', 'replace').decode()[:LONGEST_REPLY]}"
