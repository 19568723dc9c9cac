"""A session of the relay: aiosmtpd's, with limits on what a client may hold."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, AnyStr, BinaryIO, Final

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session

from cli.relay.receiving import DataFault, received
from cli.relay.rewriting import lacks_domain
from cli.relay.smtp.envelope import MAIL, RCPT, EnvelopeFault, EnvelopePath, path_of
from cli.relay.smtp.guests import ConnectedSessions, LoginBrake
from shared.domain.mails.envelope import NULL, return_path
from shared.domain.mails.mail import MAX_DESTINATIONS
from shared.domain.mails.message import MAX_BYTES
from shared.domain.recipients.addresses import Address, parse
from shared.domain.times import Seconds

IDLE_SECONDS: Final[Seconds] = 300.0
"""A session may be silent for so long (RFC 5321, 4.5.3.2.7)."""
LOGIN_SECONDS: Final[Seconds] = 30.0
"""After its beginning, a session has to be logged in, where a login is required."""
MOST_LINES: Final = 100
"""Of replies to a session that has not logged in; a login takes about twenty."""
WRITE_SECONDS: Final[Seconds] = 30.0
"""A client that reads nothing for so long is dropped."""
DATA_SECONDS: Final[Seconds] = 900.0
"""A mail may take so long, with its post."""
LONGEST_COMMAND: Final = 2_048
"""Bytes of a line: a path of 256 with the longest parameters (RFC 3461 4: 500 more for RCPT, 231 for MAIL)."""
_FAULTS: Final = {
    DataFault.LINE_TOO_LONG: "500 Line too long (see RFC5321 4.5.3.1.6)",
    DataFault.TOO_LARGE: "552 Error: Too much mail data",
    DataFault.NO_ROOM: "452 4.3.1 no room for the mail",
}
_SILENT: Final = "NOTIFY=NEVER"
"""The option of a recipient whose failure is not notified; of others it is empty."""
Taking = Callable[[str, list[str], list[str], BinaryIO], Awaitable[str]]
"""Takes sender, recipients whose failures are notified, the others, and the content."""


@dataclass(frozen=True, slots=True)
class SessionRoom:
    """The settings and helpers that the sessions of a relay share.

    Attributes:
        mails: the mails that are received at once.
        folder: for large mails while they are received; None: the system's for temporary files.
        take: takes a mail, closes its content and returns the reply.
        confirm: takes a reply that a client has seen.
        guests: all sessions.
        brake: of failed logins.
        tell: takes lines for the relay's operator.
        sender: in place of senders without a domain of their own; empty: they are refused.
    """

    mails: asyncio.Semaphore
    folder: Path | None
    take: Taking
    confirm: Callable[[str], None]
    guests: ConnectedSessions
    brake: LoginBrake
    tell: Callable[[str], None] = field(repr=False)
    sender: str = ""


class RelaySession(SMTP):
    """A session; the names of its methods are aiosmtpd's."""

    line_length_limit = LONGEST_COMMAND

    def __init__(self, room: SessionRoom, network: str, *args: Any, **more: Any) -> None:
        self._room = room
        self._network = network
        super().__init__(*args, **more)
        self.command_size_limits = defaultdict(lambda: LONGEST_COMMAND)  # aiosmtpd's are shared by all sessions
        self._auth_require_tls = self.tls_context is not None  # as an argument, this would warn of every session
        self._lines = 0
        self._unseen = ""  # the reply to the last mail, until the client goes on
        self._login_by = self.loop.time() + LOGIN_SECONDS

    # The connection

    def drop(self) -> None:
        """Close the connection at once: a client that reads nothing cannot keep it."""
        transport = self._original_transport or self.transport
        if isinstance(transport, asyncio.WriteTransport):
            transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        """Note the end of the session."""
        self._room.guests.leave(self)
        super().connection_lost(error)

    def _timeout_cb(self) -> None:
        self.drop()

    def _reset_timeout(self, duration: float | None = None) -> None:
        """Set the time-out; before a login, nothing that the client sends makes it later."""
        seconds = duration or IDLE_SECONDS
        if self._is_stranger():
            seconds = min(seconds, max(self._login_by - self.loop.time(), 0.001))
        super()._reset_timeout(seconds)

    def _is_stranger(self) -> bool:
        return self._auth_required and not (self.session and self.session.authenticated)

    async def push(self, status: AnyStr) -> None:
        """Send a line of a reply, to a client that reads; a stranger gets few of them."""
        self._lines += self._is_stranger()
        if self._lines > MOST_LINES:
            self.drop()
            raise ConnectionResetError("the client only talks")
        try:
            async with asyncio.timeout(WRITE_SECONDS):
                await super().push(status)
        except TimeoutError:
            self.drop()
            raise ConnectionResetError("the client does not read") from None

    # The login

    async def smtp_AUTH(self, arg: str | None) -> None:  # noqa: N802 - of aiosmtpd
        """Log in; a mechanism's name has no case (RFC 4954 4)."""
        if self._room.brake.is_shut(self._network):
            await self.push("454 4.7.0 too many failed logins, try again later")
            return
        mechanism, blank, initial = (arg or "").partition(" ")
        await super().smtp_AUTH(f"{mechanism.upper()}{blank}{initial}")
        if not self._is_stranger():
            self._room.guests.logged_in(self)
            self._reset_timeout()

    async def auth_PLAIN(self, server: Any, args: list[str]) -> AuthResult:  # noqa: N802 - of aiosmtpd
        """Log in by PLAIN."""
        return await self._slowed(await super().auth_PLAIN(server, args))

    async def auth_LOGIN(self, server: Any, args: list[str]) -> AuthResult:  # noqa: N802 - of aiosmtpd
        """Log in by LOGIN."""
        return await self._slowed(await super().auth_LOGIN(server, args))

    async def _slowed(self, result: AuthResult) -> AuthResult:
        if not result.success:
            await asyncio.sleep(self._room.brake.failed(self._network))
        return result

    # Mails

    async def smtp_MAIL(self, arg: str | None) -> None:  # noqa: N802 - of aiosmtpd
        """Begin a mail."""
        self._goes_on()
        if await self.check_helo_needed() or await self.check_auth_needed("MAIL"):
            return
        envelope = self._begun()
        if envelope.mail_from:
            await self.push("503 Error: nested MAIL command")
            return
        found = path_of("FROM", arg, MAIL)
        await self.push(self._told(found.reply) if isinstance(found, EnvelopeFault) else self._from(found))

    def _from(self, found: EnvelopePath) -> str:
        """Note the envelope's sender; return the reply."""
        if found.size > (self.data_size_limit or MAX_BYTES):
            return self._told("552 5.3.4 the mail is too large")
        address = found.address
        if self._room.sender and address and lacks_domain(address):
            address = self._room.sender
        if address and not isinstance(return_path(address), Address):
            advice = "; --sender sets one in its place" if lacks_domain(address) else ""
            return self._told(f"553 5.1.7 the sender is no address{advice}")
        self._begun().mail_from = address or NULL
        return "250 2.1.0 OK"

    async def smtp_RCPT(self, arg: str | None) -> None:  # noqa: N802 - of aiosmtpd
        """Add a recipient."""
        if await self.check_helo_needed() or await self.check_auth_needed("RCPT"):
            return
        if not self._begun().mail_from:
            await self.push("503 Error: need MAIL command")
            return
        found = path_of("TO", arg, RCPT)
        await self.push(self._told(found.reply) if isinstance(found, EnvelopeFault) else self._to(found))

    def _to(self, found: EnvelopePath) -> str:
        """Note a recipient; return the reply."""
        if not isinstance(parse(found.address), Address):
            return self._told("553 5.1.3 a recipient is no address")
        if len(self._begun().rcpt_tos) >= MAX_DESTINATIONS:
            return "452 4.5.3 too many recipients"
        self._begun().rcpt_tos.append(found.address)
        self._begun().rcpt_options.append(_SILENT if found.is_silent else "")
        return "250 2.1.5 OK"

    async def smtp_DATA(self, arg: str | None) -> None:  # noqa: N802 - of aiosmtpd
        """Receive the content: it takes a place only now, when nothing but the client's bytes is missing."""
        if await self.check_helo_needed() or await self.check_auth_needed("DATA"):
            return
        envelope = self._begun()
        if arg or not envelope.rcpt_tos:
            await self.push("501 Syntax: DATA" if arg else "503 Error: need RCPT command")
            return
        async with self._room.mails:
            self._reset_timeout(DATA_SECONDS)
            await self.push("354 End data with <CR><LF>.<CR><LF>")
            reply = await self._received(envelope)
            await self.push(reply)
            self._unseen = reply
            self._set_rset_state()  # type: ignore[no-untyped-call]

    async def _received(self, envelope: Envelope) -> str:
        """Read a content and hand it on; return the reply."""
        found = await received(self._reader, self.data_size_limit or MAX_BYTES, self._room.folder)
        if isinstance(found, DataFault):
            return self._told(_FAULTS[found])
        sender = envelope.mail_from or NULL
        named = list(zip(envelope.rcpt_tos, envelope.rcpt_options, strict=True))
        told, silent = ([x for x, option in named if option == wanted] for wanted in ("", _SILENT))
        return await self._room.take("" if sender == NULL else sender, told, silent, found)

    def _goes_on(self) -> None:
        """Note that the client has read all replies: it sends another command (RFC 5321 4.1.4)."""
        if self._unseen:
            self._room.confirm(self._unseen)
            self._unseen = ""

    async def smtp_RSET(self, arg: str | None) -> None:  # noqa: N802 - of aiosmtpd
        """Leave a mail."""
        self._goes_on()
        await super().smtp_RSET(arg)

    async def smtp_NOOP(self, arg: str | None) -> None:  # noqa: N802 - of aiosmtpd
        """Do nothing."""
        self._goes_on()
        await super().smtp_NOOP(arg)

    async def smtp_QUIT(self, arg: str | None) -> None:  # noqa: N802 - of aiosmtpd
        """End the session."""
        self._goes_on()
        await super().smtp_QUIT(arg)

    def _begun(self) -> Envelope:
        if self.envelope is None:
            raise ConnectionResetError("the session has ended")
        return self.envelope

    def _told(self, reply: str) -> str:
        self._room.tell(f"refused a mail from {self._network}: {reply}")
        return reply


class SessionHooks:
    """The handlers of a session's events; the names are aiosmtpd's."""

    async def handle_EHLO(  # noqa: N802
        self, _server: SMTP, session: Session, _envelope: Envelope, hostname: str, responses: list[str]
    ) -> list[str]:
        """Offer AUTH only where there is a login.

        Args:
            hostname: the client's name, as it gives it.
            responses: the lines that aiosmtpd would answer.
        """
        session.host_name = hostname
        return [line for line in responses if line != "250-AUTH "]

    async def handle_exception(self, error: Exception) -> str:
        """Answer a fault of ours so that the client tries again."""
        logging.getLogger(__name__).error("a session failed", exc_info=error)
        return "451 4.3.0 internal error"
