"""The relay's SMTP server: STARTTLS, AUTH, SIZE, 8BITMIME and SMTPUTF8."""

import asyncio
import contextlib
import hmac
import logging
import socket
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final
from weakref import WeakSet

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from cli.relay.taking import MailIntake
from shared.domain.mails.mail import MAX_DESTINATIONS
from shared.domain.mails.message import MAX_BYTES
from shared.domain.recipients.addresses import Address, parse

ROOM: Final = 8
"""Mails that are received at once; others wait. Each is in memory, about three times while it is received."""
MOST_SESSIONS: Final = 200
IDLE_SECONDS: Final = 300.0
"""A session may be silent for so long (RFC 5321, 4.5.3.2.7)."""
DATA_SECONDS: Final = 900.0
"""A mail may take so long, with its post."""
MOST_LOGINS: Final = 5
"""Tries of AUTH in a session."""
NO_LIMIT: Final = 1_000_000
NULL: Final = "<>"


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
    """aiosmtpd's server, with a bound on the mails that are received at once."""

    def __init__(self, room: asyncio.Semaphore, *args: Any, **more: Any) -> None:
        self._room = room
        super().__init__(*args, **more)
        self._auth_require_tls = self.tls_context is not None  # as an argument, this would warn of every session

    async def smtp_DATA(self, arg: str) -> None:  # noqa: N802 - of aiosmtpd
        async with self._room:
            self._reset_timeout(DATA_SECONDS)
            await super().smtp_DATA(arg)


class _Busy(asyncio.Protocol):
    """Refuses a session when there are too many."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.WriteTransport):
            transport.write(b"421 4.3.2 too many sessions, try again later\r\n")
        transport.close()


class _Handler:
    """What happens in a session; the names are aiosmtpd's."""

    def __init__(self, take: Callable[[str, list[str], bytes], Any]) -> None:
        self._take = take

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

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802
        sender = envelope.mail_from or NULL
        content = envelope.original_content or b""
        reply: str = await self._take("" if sender == NULL else sender, envelope.rcpt_tos, content)
        return reply

    async def handle_exception(self, error: Exception) -> str:
        """Answer a fault of ours so that the client tries again."""
        logging.getLogger(__name__).error("a session failed", exc_info=error)
        return "451 4.3.0 internal error"


class RelayServer:
    """An SMTP server in the running event loop.

    Args:
        intake: takes the mails, in threads.
        access: who may send.
        room: mails that are received at once.
    """

    def __init__(self, intake: MailIntake, access: RelayAccess, room: int = ROOM) -> None:
        self._intake = intake
        self._access = access
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

    async def _take(self, sender: str, recipients: list[str], content: bytes) -> str:
        """Take a mail in a thread, which goes on if the client leaves."""
        take = self._intake.take
        return await asyncio.get_running_loop().run_in_executor(self._threads, take, sender, recipients, content)

    def _session(self) -> asyncio.BaseProtocol:
        if sum(1 for each in self._sessions if each.transport is not None) >= MOST_SESSIONS:
            return _Busy()
        access = self._access
        session = _Smtp(
            self._room,
            _Handler(self._take),
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
