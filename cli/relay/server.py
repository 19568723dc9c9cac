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
from pathlib import Path
from typing import Any, BinaryIO, Final

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from cli.output import tell
from cli.relay.smtp.guests import ConnectedSessions, LoginBrake, network_of
from cli.relay.smtp.session import IDLE_SECONDS, RelaySession, SessionHooks, SessionRoom
from cli.relay.taking import MailIntake
from shared.domain.mails.message import MAX_BYTES

ROOM: Final = 8
"""Mails that are received at once; others wait."""
MOST_LOGINS: Final = 5
"""Tries of AUTH in a session."""
NO_LIMIT: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class RelayAccess:
    """Who may use the relay.

    Attributes:
        tls: for STARTTLS, which is required then; None: not offered.
        user: its login is required; empty: no login is accepted.
        password: of the user.
    """

    tls: ssl.SSLContext | None = None
    user: str = ""
    password: str = field(default="", repr=False)

    def admits(self, login: LoginPassword) -> bool:
        """Compare a login with the user's, in constant time."""
        user = hmac.compare_digest(login.login, self.user.encode())
        return hmac.compare_digest(login.password, self.password.encode()) and user


class _Door(asyncio.Protocol):
    """A connection for which there may be no room. `enter`: makes its session, or returns None."""

    def __init__(self, enter: Callable[[asyncio.BaseTransport], asyncio.BaseProtocol | None]) -> None:
        self._enter = enter

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        session = self._enter(transport)
        if session is not None:
            transport.set_protocol(session)
            session.connection_made(transport)
            return
        if isinstance(transport, asyncio.WriteTransport):
            transport.write(b"421 4.3.2 too many sessions, try again later\r\n")
        transport.close()


class RelayServer:
    """An SMTP server in the running event loop.

    Args:
        intake: takes the mails, in threads.
        folder: for large mails while they are received; None: the system's for temporary files.
        room: mails that are received at once.
        sender: in place of senders without a domain of their own; empty: they are refused.
    """

    def __init__(
        self, intake: MailIntake, access: RelayAccess, folder: Path | None = None, room: int = ROOM, sender: str = ""
    ) -> None:
        self._intake = intake
        self._access = access
        self._threads = ThreadPoolExecutor(room, thread_name_prefix="relay")
        self._places = room
        self._guests = ConnectedSessions(asks=bool(access.user))
        self._room = SessionRoom(
            mails=asyncio.Semaphore(room),
            folder=folder,
            take=self._take,
            confirm=intake.confirmed,
            guests=self._guests,
            brake=LoginBrake(asyncio.get_running_loop().time, tell),
            tell=tell,
            sender=sender,
        )
        self._server: asyncio.Server | None = None

    async def start(self, listener: socket.socket) -> None:
        """Serve on a bound socket."""
        logging.getLogger("mail.log").setLevel(logging.ERROR)  # it warns of what it does itself
        self._server = await asyncio.get_running_loop().create_server(lambda: _Door(self._enter), sock=listener)

    async def stop(self, seconds: float) -> None:
        """Take no further mail; give those that are being taken their answers, for some seconds at most."""
        if self._server is not None:
            self._server.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._places:
                    await self._room.mails.acquire()  # for good
                    self._places -= 1
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _take(self, sender: str, recipients: list[str], silent: list[str], content: BinaryIO) -> str:
        """Take a mail in a thread, which continues if the client leaves.

        Args:
            sender: envelope sender, empty for a notification.
            content: it is closed at the end.
        """

        def take() -> str:
            with content:
                return self._intake.take(sender, recipients, content, silent)

        return await asyncio.get_running_loop().run_in_executor(self._threads, take)

    def _enter(self, transport: asyncio.BaseTransport) -> asyncio.BaseProtocol | None:
        """Return a session for a new connection; None: there is no room for it."""
        network = network_of(transport.get_extra_info("peername"))
        access = self._access
        session = RelaySession(
            self._room,
            network,
            SessionHooks(),
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
        return session if self._guests.enter(session, network) else None

    def _authenticate(
        self, _server: SMTP, _session: Session, _envelope: Envelope, _mechanism: str, login: Any
    ) -> AuthResult:
        good = isinstance(login, LoginPassword) and self._access.admits(login)
        return AuthResult(success=good, handled=False)
