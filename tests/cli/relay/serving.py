"""The relay's server in a thread of its own, in front of an intake that a test writes."""

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from cli.relay.server import RelayAccess, RelayServer
from tests.certificates import self_signed

USER, PASSWORD = "ticket system", "correct hörse"
Taking = Callable[[str, list[str], bytes], str]


def secured(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return the contexts of a server and of its client."""
    file = self_signed(folder)
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(file)
    return server, ssl.create_default_context(cafile=str(file))


class Serving:
    """`with Serving(take, access) as relay: relay.port`.

    `buffer`: bytes of replies that the system keeps for a client that reads nothing; 0: as it likes.
    `taken`: what arrived; `silent`: the other recipients of each; `confirms`: replies that clients saw.
    """

    def __init__(
        self,
        access: RelayAccess | None = None,
        take: Taking | None = None,
        room: int = 2,
        folder: Path | None = None,
        sender: str = "",
        buffer: int = 0,
    ) -> None:
        self.taken: list[tuple[str, tuple[str, ...], bytes]] = []
        self.silent: list[tuple[str, ...]] = []
        self.confirms: list[str] = []
        self._access = access or RelayAccess()
        self._reply = take or (lambda *_: "250 2.0.0 accepted")
        self._room = room
        self._folder = folder
        self._sender = sender
        self._buffer = buffer
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)

    def take(self, sender: str, recipients: Sequence[str], content: BinaryIO, silent: Sequence[str]) -> str:
        content.seek(0)
        found = content.read()
        self.silent.append(tuple(silent))
        self.taken.append((sender, tuple(recipients), found))
        return self._reply(sender, list(recipients), found)

    def confirmed(self, reply: str) -> None:
        self.confirms.append(reply)

    def call(self, work: Any) -> Any:
        """Run a coroutine in the server's loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(30)

    def __enter__(self) -> Self:
        listener = socket.create_server(("127.0.0.1", 0))
        if self._buffer:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._buffer)
        self.port = listener.getsockname()[1]
        self._thread.start()
        self.server = self.call(self._made())
        self.call(self.server.start(listener))
        return self

    async def _made(self) -> RelayServer:
        intake: Any = self
        return RelayServer(intake, self._access, self._folder, self._room, self._sender)

    async def _end(self) -> None:
        await self.server.stop(5)
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.call(self._end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(30)
        self.loop.close()
