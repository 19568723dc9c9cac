"""Listening sockets, and what HTTP servers do not offer: refused connections, resets, closing without an answer.

A credential that refuses connections has a port of its own. Refusing closes the listening socket, so that the kernel
answers SYN with RST. The client gets ECONNREFUSED before any byte is sent; connections kept alive are reset. A second
socket stays bound to the port without listening, so no other process can take it meanwhile.

uvicorn's protocol class is used without `uvicorn.Server`, which owns its sockets and signals and stops by polling.
"""

import asyncio
import logging
import os
import socket
import struct
from collections.abc import Callable
from typing import Any, Final

from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

HOST: Final = "127.0.0.1"
BACKLOG: Final = 2048
KEEP_ALIVE_S: Final = 300
"""Long, so that idle clients do not meet a connection that is about to be closed."""


class _Ends(logging.Filter):
    """Drops what uvicorn logs of calls that end with the simulator: a cancelled call is no fault."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is about anything else."""
        return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


_ENDS: Final = _Ends()


class Connection(HttpToolsProtocol):
    """One client's connection; a request finds it in `scope["state"]["connection"]`."""

    def __init__(self, config: Config, state: ServerState, open_now: set["Connection"]) -> None:
        super().__init__(config=config, server_state=state, app_state={"connection": self})
        self._open_now = open_now

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Remember the connection."""
        self._open_now.add(self)
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._open_now.discard(self)
        super().connection_lost(exc)
        self.app_state = {}

    @property
    def closing(self) -> bool:
        """Whether the client has disconnected."""
        return self.transport.is_closing()

    def hang_up(self) -> None:
        """Close the connection without an answer."""
        self.transport.close()

    def reset(self) -> None:
        """Reset the connection: RST instead of FIN, unread data and answers are lost."""
        found: Any = self.transport.get_extra_info("socket")
        if found is not None and not self.closing:
            with socket.socket(fileno=os.dup(found.fileno())) as twin:
                twin.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()


class Listener:
    """A port on loopback that can stop listening and start again. Lives in the event loop's thread."""

    def __init__(self, config: Config, port: int = 0) -> None:
        self._config, self._state = config, ServerState()
        logging.getLogger("uvicorn.error").addFilter(_ENDS)  # once: a logger keeps no filter twice
        self._loop = asyncio.get_running_loop()
        self._holder = _bound(port)
        self.port: int = self._holder.getsockname()[1]
        self._server: asyncio.Server | None = None
        self._connections: set[Connection] = set()
        self._reopen: asyncio.TimerHandle | None = None
        self._opening = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """`http://127.0.0.1:port`."""
        return f"http://{HOST}:{self.port}"

    async def open(self) -> None:
        """Listen, from the moment this returns; nothing if it does already."""
        if self._reopen is not None:
            self._reopen.cancel()
            self._reopen = None
        async with self._opening:
            if self._server is not None:
                return
            sock = _bound(self.port)
            sock.listen(BACKLOG)
            self._server = await self._loop.create_server(
                lambda: Connection(self._config, self._state, self._connections), sock=sock
            )

    def _open_later(self, opening: Callable[[], None]) -> None:
        opening()
        task = self._loop.create_task(self.open())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def close(self, seconds: float | None = None, opening: Callable[[], None] = lambda: None) -> None:
        """Refuse connections from now on and reset those there are.

        Args:
            seconds: open again after that time; None: when somebody calls `open`.
            opening: called just before it opens by itself.
        """
        if self._server is not None:
            self._server.close()
            self._server = None
        for connection in list(self._connections):
            connection.reset()
        if self._reopen is not None:
            self._reopen.cancel()
        self._reopen = self._loop.call_later(seconds, self._open_later, opening) if seconds else None

    def shut(self) -> None:
        """Close for good and let go of the port."""
        self.close()
        self._holder.close()


def _bound(port: int) -> socket.socket:
    """Return a socket bound to a loopback port that does not listen; several may be bound to the same port."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    sock.bind((HOST, port))
    return sock
