"""A server of scripted TCP conversations: what real servers do, byte for byte."""

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

OK = b"HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\nX-Message-Id: abc\r\n\r\nok"


@contextmanager
def refusing() -> Iterator[int]:
    """A port that refuses connections: bound, so that nobody else can have it, and not listened on."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        yield sock.getsockname()[1]


class Conversation:
    """One accepted connection, seen by the server."""

    def __init__(self, server: "Server", sock: socket.socket) -> None:
        self.server = server
        self.sock = sock
        self.number = server.count()

    def hear(self) -> bytes:
        """Read one whole request; empty if the client closed."""
        data = b""
        while b"\r\n\r\n" not in data:
            more = self.sock.recv(65536)
            if not more:
                return b""
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        length = next(
            (int(x.split(b":")[1]) for x in head.split(b"\r\n") if x.lower().startswith(b"content-length")), 0
        )
        while len(body) < length:
            body += self.sock.recv(65536)
        whole = head + b"\r\n\r\n" + body
        self.server.requests.append(whole)
        return whole

    def say(self, data: bytes) -> None:
        self.sock.sendall(data)

    def reset(self) -> None:
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


Script = Callable[[Conversation], None]


def answering(answer: bytes = OK) -> Script:
    """Give the same answer to every request of a connection."""

    def script(c: Conversation) -> None:
        while c.hear():
            c.say(answer)

    return script


class Server:
    """Runs a script per connection; `requests`: whole requests in order of arrival."""

    def __init__(self, script: Script, context: ssl.SSLContext | None) -> None:
        self.script = script
        self.context = context
        self.requests: list[bytes] = []
        self.connections = 0
        self.over = threading.Event()
        self._lock = threading.Lock()
        self._sock = socket.create_server(("127.0.0.1", 0), backlog=512)
        self._open: list[socket.socket] = []
        self.port: int = self._sock.getsockname()[1]
        self.url = f"{'https' if context else 'http'}://127.0.0.1:{self.port}/v3/mail/send"
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def count(self) -> int:
        with self._lock:
            self.connections += 1
            return self.connections

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._sock.accept()
            except OSError:
                return
            self._open.append(sock)
            thread = threading.Thread(target=self._serve, args=(sock,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, sock: socket.socket) -> None:
        with contextlib.suppress(OSError):
            if self.context is not None:
                sock = self.context.wrap_socket(sock, server_side=True)
                self._open.append(sock)
            self.script(Conversation(self, sock))
        with contextlib.suppress(OSError):
            sock.close()

    def stop(self) -> None:
        self.over.set()
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        self._sock.close()
        for thread in self._threads:
            for _ in range(100):  # again and again: a connection may be accepted, or greeted, meanwhile
                self._hang_up()
                thread.join(0.1)
                if not thread.is_alive():
                    break
            assert not thread.is_alive()
        for sock in self._open:
            sock.close()

    def _hang_up(self) -> None:
        for sock in tuple(self._open):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)


@contextmanager
def serving(script: Script | None = None, *, context: ssl.SSLContext | None = None) -> Iterator[Server]:
    """Serve a script on loopback; all its threads end with it."""
    server = Server(script or answering(), context)
    try:
        yield server
    finally:
        server.stop()
