"""A real SMTP server (aiosmtpd) that can be told to fail; its own list of deliveries is the oracle."""

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from types import TracebackType
from typing import Any, Self

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

USER, PASSWORD = "posthaste", "correct horse"
NEVER = 10.0
"""Seconds of silence; whoever waits gives up before."""


@dataclass(frozen=True)
class Delivery:
    """One accepted transaction."""

    sender: str
    recipients: tuple[str, ...]
    content: bytes

    @property
    def message(self) -> EmailMessage:
        found = message_from_bytes(self.content, policy=policy.default)
        assert isinstance(found, EmailMessage)
        return found

    @property
    def ref(self) -> str:
        return str(self.message["X-Posthaste-Ref"])


@dataclass
class Faults:
    """What goes wrong; an empty text: nothing.

    Attributes:
        mail, rcpt, data, end: the reply at that step.
        only: the address that `rcpt` is about; empty: every one.
        drop: the step before whose reply the connection is aborted.
        accept: with `end` or `drop` at the end: the message is delivered all the same.
        slow: seconds before the reply to the final dot.
    """

    greeting: str = ""
    mail: str = ""
    rcpt: str = ""
    data: str = ""
    end: str = ""
    only: str = ""
    drop: str = ""
    accept: bool = False
    slow: float = 0.0


class _Server(SMTP):
    """aiosmtpd's, with faults in the steps that its handlers do not see."""

    relay: "RelayServer"
    greeted = False

    async def push(self, status: Any) -> None:
        if not self.greeted:
            self.greeted = True
            self.relay.connections += 1
            faults = self.relay.chosen()
            if faults.drop == "greeting":
                self.relay.abort(self)
                return
            status = faults.greeting or status
        await super().push(status)

    async def smtp_DATA(self, arg: str) -> None:  # noqa: N802 - of aiosmtpd
        faults = self.relay.faults
        if faults.drop == "data":
            self.relay.abort(self)
        elif faults.data:
            await self.push(faults.data)
        else:
            await super().smtp_DATA(arg)


@dataclass
class RelayServer:
    """`with RelayServer(...) as relay: relay.port`; serves in a thread of its own.

    Attributes:
        tls: for STARTTLS, which is required then.
        implicit: TLS from the first byte.
        auth: AUTH is offered and required.
        utf8: SMTPUTF8 is offered.
        eight_bit: 8BITMIME is offered.
        choose: asked for the faults of each connection and transaction.
        options: of each MAIL.
        queued: the text of the reply to the final dot, with `{n}`.
    """

    tls: ssl.SSLContext | None = None
    implicit: ssl.SSLContext | None = None
    auth: bool = False
    utf8: bool = False
    eight_bit: bool = True
    pipelining: bool = True
    queued: str = "2.0.0 Ok: queued as 4F{n}"
    size: int = 33_554_432
    deliveries: list[Delivery] = field(default_factory=list)
    faults: Faults = field(default_factory=Faults)
    choose: Callable[[], Faults] | None = None
    connections: int = 0
    transactions: int = 0
    logins: int = 0
    options: list[tuple[str, ...]] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # so named, asyncio sets NODELAY
        sock.bind(("127.0.0.1", 0))
        self.port: int = sock.getsockname()[1]
        self._open: list[_Server] = []
        self._server = self._loop.run_until_complete(
            self._loop.create_server(self._make, sock=sock, ssl=self.implicit, backlog=512)
        )
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        assert not self._thread.is_alive()
        self._loop.run_until_complete(self._end())
        self._loop.close()

    async def _end(self) -> None:
        self._server.close()
        for server in self._open:
            self.abort(server)
        tasks = [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _make(self) -> SMTP:
        made = _Server(
            self,
            hostname="relay.example",
            ident="ESMTP",
            tls_context=self.tls,
            require_starttls=self.tls is not None,
            auth_require_tls=self.tls is not None,
            auth_exclude_mechanism=() if self.auth else ("PLAIN", "LOGIN"),
            authenticator=self._authenticate if self.auth else None,
            enable_SMTPUTF8=self.utf8,
            data_size_limit=self.size,
            loop=self._loop,
        )
        made.relay = self
        self._open.append(made)
        return made

    def chosen(self) -> Faults:
        """Return what goes wrong with the connection or transaction that begins."""
        if self.choose is not None:
            self.faults = self.choose()
        return self.faults

    def abort(self, server: SMTP) -> None:
        if server.transport is not None:
            server.transport.abort()  # type: ignore[attr-defined]

    def _authenticate(
        self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any
    ) -> AuthResult:
        self.logins += 1
        right = isinstance(data, LoginPassword) and (data.login, data.password) == (USER.encode(), PASSWORD.encode())
        return AuthResult(success=right, handled=False)

    # aiosmtpd's handler

    async def handle_EHLO(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, hostname: str, responses: list[str]
    ) -> list[str]:
        session.host_name = hostname
        if not self.eight_bit:
            responses = [line for line in responses if "8BITMIME" not in line]
        return [responses[0], *(["250-PIPELINING"] if self.pipelining else []), *responses[1:]]

    async def handle_MAIL(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        self.transactions += 1
        if self.chosen().drop == "mail":
            self.abort(server)
        if self.auth and not session.authenticated:
            return "530 5.7.0 Authentication required"
        self.options.append(tuple(options))
        if self.faults.mail:
            return self.faults.mail
        envelope.mail_from = address
        return "250 2.1.0 Ok"

    async def handle_RCPT(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if self.faults.drop == "rcpt":
            self.abort(server)
        if "@" not in address:
            return "550 5.1.3 Bad recipient address syntax"
        if self.faults.rcpt and self.faults.only in ("", address):
            return self.faults.rcpt
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 Ok"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        faults = self.faults
        if (not faults.end and faults.drop != "end") or faults.accept:
            assert isinstance(envelope.content, bytes)
            assert envelope.mail_from is not None
            self.deliveries.append(Delivery(envelope.mail_from, tuple(envelope.rcpt_tos), envelope.content))
        if faults.slow:
            await asyncio.sleep(faults.slow)
        if faults.drop == "end":
            self.abort(server)
        return faults.end or "250 " + self.queued.format(n=len(self.deliveries))
