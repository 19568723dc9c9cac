"""The relay's answers to a mail: 250 only when the API has it, or the queue has it durably."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Final

from cli.output import counted, tell
from cli.relay.api import MailAnswer, MailApi, PostFate
from cli.relay.delivering import HeldMail
from cli.relay.mail import RelayMail, blocks, relay_mails
from cli.relay.repeats import MailRounds, posted
from cli.relay.rewriting import lacks_domain, with_sender
from shared.domain.mails.message import MessageRefusal, check
from shared.ports import Clock, Retriable

LONGEST_REPLY: Final = 400
"""Characters of an answer's text: RFC 5321 allows 512 octets for the whole line."""


class MailIntake:
    """Takes mails; threads may share it.

    Args:
        held: keeps them while the API is out of reach; None: they are not taken then.
        clock: for what is a repetition.
        tell: takes a line about each mail.
        sender: in place of senders without a domain of their own; empty: they stay.
        folder: for a large mail with another sender; None: the system's for temporary files.
    """

    def __init__(
        self,
        api: MailApi,
        held: HeldMail | None,
        *,
        clock: Clock,
        tell: Callable[[str], None] = tell,
        sender: str = "",
        folder: Path | None = None,
    ) -> None:
        self._api = api
        self._held = held
        self._tell = tell
        self._sender = sender
        self._folder = folder
        self._rounds = MailRounds(clock)

    def take(self, sender: str, recipients: Sequence[str], content: BinaryIO, silent: Sequence[str] = ()) -> str:
        """Take a mail, and return the reply of SMTP.

        Recipients whose failures are not notified get it with a null return path: so no server notifies either. The
        reply is 250 only if the mail is taken for all. A program that repeats it repeats both parts under their keys.

        Args:
            sender: envelope sender, empty for a notification.
            recipients: whose failures are notified; with `silent` at least one.
            content: with CRLF at the ends of its lines, without the dots of SMTP; open until the reply is made.
            silent: whose failures are not notified, unless `recipients` also has the mailbox.
        """
        with ExitStack() as stack:
            if self._sender:
                try:
                    other = with_sender(content, self._sender, self._folder)
                except OSError:  # the disk is full, or fails
                    return self._told("452 4.3.1 no room for the mail", len(recipients) + len(silent))
                content = stack.enter_context(other) if other is not None else content
                sender = self._sender if sender and lacks_domain(sender) else sender
            reply, mails = "", list(relay_mails(sender, recipients, silent, content))
            for mail in mails:
                reply = self._told(self._answer(self._rounds.keyed(mail)), len(mail.recipients))
                if not reply.startswith("250 "):
                    return reply
            self._rounds.answered(reply, mails)
            return reply

    def confirmed(self, reply: str) -> None:
        """Note that the program has seen a reply: it continues its session."""
        self._rounds.confirmed(reply)

    def _told(self, reply: str, recipients: int) -> str:
        """Print a line about a mail: its fate, and none of its text."""
        fate = reply.removeprefix("250 2.0.0 ") if reply.startswith("250 ") else f"not taken: {reply}"
        self._tell(f"{counted(recipients, 'recipient')}: {fate}")
        return reply

    def _answer(self, mail: RelayMail) -> str:
        if self._held is None:
            return _reply(posted(self._api.post, mail))
        if not self._held.unready:
            answer = posted(self._api.post, mail)
            if answer.fate in (PostFate.TAKEN, PostFate.REFUSED, PostFate.TOO_LARGE):
                return _reply(answer)
        refusal = check(blocks(mail.content))
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
