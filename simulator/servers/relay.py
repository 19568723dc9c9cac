"""An SMTP server that takes mail and says so in the log: provider `smtp`, by the name of the relay.

Each transaction is a call; its status is the code of the reply that decided it. Sources: RFC 5321, 6152 (8BITMIME),
6531 (SMTPUTF8) and 6647 (greylisting).
"""

import asyncio
from email import message_from_bytes
from fnmatch import fnmatchcase
from typing import Any, Final

from aiosmtpd.smtp import SMTP, Envelope, Session
from pydantic import BaseModel, ConfigDict, Field

from simulator.dice import token
from simulator.formats import finished
from simulator.log import Log
from simulator.model import Call, Clock, Message
from simulator.servers.listener import HOST

PROVIDER: Final = "smtp"
MAX_BYTES: Final = 41 * 2**20
REF_HEADER: Final = "X-Posthaste-Ref"


class RelaySettings(BaseModel):
    """How a relay behaves.

    Attributes:
        eight_bit: it offers 8BITMIME.
        utf8: it offers SMTPUTF8.
        greylist_s: seconds for which a recipient that is new to it gets 450.
        refuses_all: its greeting has the code 554.
        refused: patterns (`*`, `?`; lower case) of recipients that get 550.
    """

    model_config = ConfigDict(extra="forbid")

    eight_bit: bool = True
    utf8: bool = True
    greylist_s: float = Field(default=0, ge=0, le=86_400)
    refuses_all: bool = False
    refused: list[str] = []


class _Server(SMTP):
    """One connection. Its greeting may refuse, which aiosmtpd leaves to no handler."""

    def __init__(self, relay: "Relay", **options: Any) -> None:
        self._relay = relay
        self._greeted = False
        super().__init__(relay, **options)

    async def push(self, status: Any) -> None:
        """Write a reply."""
        if not self._greeted:
            self._greeted = True
            if self._relay.settings.refuses_all:
                await super().push("554 5.3.2 No service here")
                self.hang_up()
                return
        await super().push(status)

    @property
    def is_open(self) -> bool:
        """Whether a client is connected."""
        return self.transport is not None

    def hang_up(self) -> None:
        """Close the connection, once what was written is sent."""
        if self.transport is not None:
            self.transport.close()


class Relay:
    """A relay on a loopback port of its own. Lives in the event loop's thread.

    Args:
        name: of the relay, as a credential's id.
        log: where its transactions are noted.
        seed: of the ids of messages.
    """

    def __init__(self, name: str, log: Log, clock: Clock, seed: str) -> None:
        self.name = name
        self.settings = RelaySettings()
        self._log, self._clock, self._seed = log, clock, seed
        self._seen: dict[str, float] = {}
        self._server: asyncio.Server | None = None
        self._open: set[_Server] = set()

    async def open(self) -> str:
        """Listen, if it does not yet, and return the base URL."""
        if self._server is None:
            self._server = await asyncio.get_running_loop().create_server(self._connection, HOST, 0)
        return f"smtp+plain://{HOST}:{self._server.sockets[0].getsockname()[1]}"

    def change(self, settings: RelaySettings) -> None:
        """Behave otherwise from now on. If it offers other extensions, it hangs up, so that no client keeps the old."""
        offered = (self.settings.eight_bit, self.settings.utf8)
        self.settings = settings
        if offered != (settings.eight_bit, settings.utf8):
            self._hang_up()

    def reset(self) -> None:
        """Behave as at first, and know no recipient."""
        self.change(RelaySettings())
        self._seen.clear()

    def close(self) -> None:
        """Stop listening, and hang up."""
        if self._server is not None:
            self._server.close()
        self._hang_up()

    def _hang_up(self) -> None:
        for server in self._open:
            server.hang_up()

    def _connection(self) -> _Server:
        made = _Server(
            self,
            hostname="relay.example",
            ident="ESMTP",
            auth_exclude_mechanism=("PLAIN", "LOGIN"),
            enable_SMTPUTF8=self.settings.utf8,
            data_size_limit=MAX_BYTES,
            loop=asyncio.get_running_loop(),
        )
        self._open = {server for server in self._open if server.is_open} | {made}
        return made

    # The handler of aiosmtpd

    async def handle_EHLO(  # noqa: N802
        self, _server: SMTP, session: Session, _envelope: Envelope, hostname: str, responses: list[str]
    ) -> list[str]:
        """Leave out what is not offered."""
        session.host_name = hostname
        return [line for line in responses if self.settings.eight_bit or "8BITMIME" not in line]

    async def handle_RCPT(  # noqa: N802
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        """Refuse a recipient, for good or for now, or take it."""
        now, lower = self._clock.now(), address.lower()
        if any(fnmatchcase(lower, pattern) for pattern in self.settings.refused):
            return self._refused(550, "5.1.1 No such user here")
        if now < self._seen.setdefault(lower, now) + self.settings.greylist_s:
            return self._refused(450, "4.7.1 Greylisted, please try again later")
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 Ok"

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802
        """Take the message."""
        data = envelope.content
        if not isinstance(data, bytes):
            return self._refused(554, "5.6.0 Not a message")
        try:
            content, subject = finished.read(data, len(data))
        except ValueError as e:
            return self._refused(550, f"5.6.0 {e}")
        call = self._call(250)
        call.message_id = token(self._seed, PROVIDER, self.name, call.n)
        ref = str(message_from_bytes(data[: data.find(b"\r\n\r\n") + 2]).get(REF_HEADER, ""))
        messages = [
            Message(address, "to", ref, subject, call.message_id, index, content, {}, {})
            for index, address in enumerate(envelope.rcpt_tos)
        ]
        self._log.accept(call, messages)
        return f"250 2.0.0 Ok: queued as {call.message_id}"

    def _refused(self, code: int, text: str) -> str:
        self._call(code)
        return f"{code} {text}"

    def _call(self, status: int) -> Call:
        call = self._log.call(self._clock.now(), PROVIDER, self.name)
        call.status, call.answered, call.finished = status, True, True
        return call
