"""The relay's SMTP server: STARTTLS, AUTH, SIZE, 8BITMIME and SMTPUTF8."""

import asyncio
import contextlib
import hmac
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final
from weakref import WeakSet

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from cli.relay.receiving import DataFault, received
from cli.relay.taking import MailIntake
from shared.domain.mails.mail import MAX_DESTINATIONS
from shared.domain.mails.message import MAX_BYTES
from shared.domain.recipients.addresses import Address, parse

ROOM: Final = 8
"""Mails that are received at once; others wait."""
MOST_SESSIONS: Final = 200
IDLE_SECONDS: Final = 300.0
"""A session may be silent for so long (RFC 5321, 4.5.3.2.7)."""
DATA_SECONDS: Final = 900.0
"""A mail may take so long, with its post."""
MOST_LOGINS: Final = 5
"""Tries of AUTH in a session."""
NO_LIMIT: Final = 1_000_000
NULL: Final = "<>"
_FAULTS: Final = {
    DataFault.LINE_TOO_LONG: "500 Line too long (see RFC5321 4.5.3.1.6)",
    DataFault.TOO_LARGE: "552 Error: Too much mail data",
    DataFault.NO_ROOM: "452 4.3.1 no room for the mail",
}
Taking = Callable[[str, list[str], BinaryIO], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class RelayAccess:
    """Who may use the relay.

    Attributes:
        tls: for STARTTLS, which is required then; None: not offered.
        user: its login is required; empty: nobody logs in.
        password: of the user.
    """

    tls: ssl.SSLContext | None = None
    user: str = ""
    password: str = field(default="", repr=False)

    def admits(self, login: LoginPassword) -> bool:
        """Compare a login with the user's, in constant time."""
        user = hmac.compare_digest(login.login, self.user.encode())
        return hmac.compare_digest(login.password, self.password.encode()) and user


class _Smtp(SMTP):
    """aiosmtpd's server, with a bound on the mails that are received at once, and their contents in files.

    Args:
        room: for mails.
        folder: of the files.
        take: takes a mail, closes its content and returns the reply.
        more: of aiosmtpd.
    """

    def __init__(self, room: asyncio.Semaphore, folder: Path | None, take: Taking, *args: Any, **more: Any) -> None:
        self._room = room
        self._folder = folder
        self._take = take
        super().__init__(*args, **more)
        self._auth_require_tls = self.tls_context is not None  # as an argument, this would warn of every session

    async def smtp_DATA(self, arg: str) -> None:  # noqa: N802 - of aiosmtpd
        async with self._room:
            self._reset_timeout(DATA_SECONDS)
            if await self.check_helo_needed() or await self.check_auth_needed("DATA"):
                return
            envelope = self.envelope
            if arg or envelope is None or not envelope.rcpt_tos:
                await self.push("501 Syntax: DATA" if arg else "503 Error: need RCPT command")
                return
            await self.push("354 End data with <CR><LF>.<CR><LF>")
            await self.push(await self._received(envelope))
            self._set_rset_state()  # type: ignore[no-untyped-call]

    async def _received(self, envelope: Envelope) -> str:
        """Read a content and hand it on; return the reply."""
        found = await received(self._reader, self.data_size_limit or MAX_BYTES, self._folder)
        if isinstance(found, DataFault):
            return _FAULTS[found]
        sender = envelope.mail_from or NULL
        return await self._take("" if sender == NULL else sender, envelope.rcpt_tos, found)


class _Busy(asyncio.Protocol):
    """Refuses a session when there are too many."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.WriteTransport):
            transport.write(b"421 4.3.2 too many sessions, try again later\r\n")
        transport.close()


class _Handler:
    """What happens in a session; the names are aiosmtpd's."""

    async def handle_EHLO(  # noqa: N802
        self, _server: SMTP, session: Session, _envelope: Envelope, hostname: str, responses: list[str]
    ) -> list[str]:
        session.host_name = hostname
        return [line for line in responses if line != "250-AUTH "]

    async def handle_MAIL(  # noqa: N802
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address != NULL and not isinstance(parse(address), Address):
            return "553 5.1.7 this is no address"
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 2.1.0 OK"

    async def handle_RCPT(  # noqa: N802
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if not isinstance(parse(address), Address):
            return "553 5.1.3 this is no address"
        if len(envelope.rcpt_tos) >= MAX_DESTINATIONS:
            return "452 4.5.3 too many recipients"
        envelope.rcpt_tos.append(address)
        envelope.rcpt_options.extend(options)
        return "250 2.1.5 OK"

    async def handle_exception(self, error: Exception) -> str:
        """Answer a fault of ours so that the client tries again."""
        logging.getLogger(__name__).error("a session failed", exc_info=error)
        return "451 4.3.0 internal error"


class RelayServer:
    """An SMTP server in the running event loop.

    Args:
        intake: takes the mails, in threads.
        access: who may send.
        folder: for large mails while they are received; None: the system's for temporary files.
        room: mails that are received at once.
    """

    def __init__(self, intake: MailIntake, access: RelayAccess, folder: Path | None = None, room: int = ROOM) -> None:
        self._intake = intake
        self._access = access
        self._folder = folder
        self._room = asyncio.Semaphore(room)
        self._threads = ThreadPoolExecutor(room, thread_name_prefix="relay")
        self._places = room
        self._sessions: WeakSet[SMTP] = WeakSet()
        self._server: asyncio.Server | None = None

    async def start(self, listener: socket.socket) -> None:
        """Serve on a bound socket."""
        logging.getLogger("mail.log").setLevel(logging.ERROR)  # it warns of what it does itself
        self._server = await asyncio.get_running_loop().create_server(self._session, sock=listener)

    async def stop(self, seconds: float) -> None:
        """Take no further mail; give those that are being taken their answers, for some seconds at most."""
        if self._server is not None:
            self._server.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._places:
                    await self._room.acquire()  # for good
                    self._places -= 1
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _take(self, sender: str, recipients: list[str], content: BinaryIO) -> str:
        """Take a mail in a thread, which goes on if the client leaves."""

        def take() -> str:
            with content:
                return self._intake.take(sender, recipients, content)

        return await asyncio.get_running_loop().run_in_executor(self._threads, take)

    def _session(self) -> asyncio.BaseProtocol:
        if sum(1 for each in self._sessions if each.transport is not None) >= MOST_SESSIONS:
            return _Busy()
        access = self._access
        session = _Smtp(
            self._room,
            self._folder,
            self._take,
            _Handler(),
            data_size_limit=MAX_BYTES,
            enable_SMTPUTF8=True,
            hostname=socket.gethostname(),
            ident="Posthaste relay",
            tls_context=access.tls,
            require_starttls=access.tls is not None,
            timeout=IDLE_SECONDS,
            auth_required=bool(access.user),
            authenticator=self._authenticate if access.user else None,
            auth_exclude_mechanism=() if access.user else ("PLAIN", "LOGIN"),
            command_call_limit={"AUTH": MOST_LOGINS, "*": NO_LIMIT},
            loop=asyncio.get_running_loop(),
        )
        self._sessions.add(session)
        return session

    def _authenticate(
        self, _server: SMTP, _session: Session, _envelope: Envelope, _mechanism: str, login: Any
    ) -> AuthResult:
        good = isinstance(login, LoginPassword) and self._access.admits(login)
        return AuthResult(success=good, handled=False)
