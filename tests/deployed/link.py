"""A bad link before a running local cloud: it refuses calls, cuts uploads in the middle, and loses or cuts answers."""

import http.client
import random
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self
from urllib.parse import urlsplit

KINDS: Final = {"refused": 0.1, "upload cut": 0.25, "answer lost": 0.45, "answer cut": 0.55}
"""What becomes of a call → below which number of the dice. The first calls suffer each of them once."""
TIMEOUT: Final = 60.0
"""Seconds of a call behind the link: more than the API takes for one."""
_RESET: Final = struct.pack("ii", 1, 0)
"""SO_LINGER: a connection ends with a reset, as one does that broke."""
_OF_THE_CONNECTION: Final = frozenset({"host", "connection", "content-length", "transfer-encoding", "keep-alive"})


class LossyLink:
    """A proxy that carries calls badly. Use as a context manager.

    Args:
        target: the API's base address, `http://host:port/path`.
        rng: decides what becomes of calls.
        during: called with the method of each call just before the API gets it.

    Attributes:
        url: the base address before the link.
        calm: nothing is lost any more.
        fates: how often each thing happened.
    """

    def __init__(self, target: str, rng: random.Random, during: Callable[[str], None]) -> None:
        parts = urlsplit(target)
        self.host, self.port = str(parts.hostname), int(parts.port or 80)
        self.calm = False
        self.fates: Counter[str] = Counter()
        self._rng = rng
        self._during = during
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.link = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}{parts.path}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def fate(self, upload: int) -> tuple[str, int]:
        """Return what becomes of a call, and how many bytes of it arrive if it is cut. `upload`: bytes of its body."""
        with self._lock:
            dice = 1.0 if self.calm else self._rng.random()
            kind = next((name for name, limit in KINDS.items() if dice < limit), "carried")
            due = [name for name in KINDS if not self.fates[name] and (upload or name != "upload cut")]
            kind = due[0] if due and not self.calm else kind
            kind = "refused" if kind == "upload cut" and not upload else kind
            self.fates[kind] += 1
            return kind, self._rng.randrange(upload) if upload else self._rng.randrange(80)

    def carry(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        """Make a call of the API; return its status, headers and body.

        Args:
            method: the HTTP method.
            path: as the client sent it.
            headers: likewise.
            body: the whole body.
        """
        self._during(method)
        connection = http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT)
        try:
            connection.request(method, path, body or None, headers)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def cut(self, method: str, path: str, headers: dict[str, str], part: bytes, length: int) -> None:
        """Send the API a part of a call's body, and break off.

        Args:
            method: the HTTP method.
            path: as the client sent it.
            headers: likewise.
            part: of the body.
            length: of the whole body.
        """
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.host}:{self.port}", f"Content-Length: {length}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        with socket.create_connection((self.host, self.port), timeout=TIMEOUT) as wire:
            wire.sendall("\r\n".join([*lines, "", ""]).encode() + part)
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)


class _Handler(BaseHTTPRequestHandler):
    server: "_Server"
    protocol_version = "HTTP/1.1"

    def do_PUT(self) -> None:
        self._call()

    def do_GET(self) -> None:
        self._call()

    def _call(self) -> None:
        link = self.server.link
        length = int(self.headers.get("Content-Length", 0))
        kind, some = link.fate(length)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _OF_THE_CONNECTION}
        if kind == "refused":
            self._reset()
            return
        part = self.rfile.read(some if kind == "upload cut" else length)
        if len(part) < length:  # or the client died in the middle
            link.cut(self.command, self.path, headers, part, length)
            self._reset()
            return
        status, told, answer = link.carry(self.command, self.path, headers, part)
        if kind == "answer lost":
            self._reset()
            return
        try:
            self.send_response_only(status)
            for name, value in told.items():
                if name.lower() not in _OF_THE_CONNECTION:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer[:some] if kind == "answer cut" else answer)
        except ConnectionError:  # the client was killed
            self.close_connection = True
        if kind == "answer cut":
            self.close_connection = True

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing: calls are counted."""


class _Server(ThreadingHTTPServer):
    link: LossyLink

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients are killed."""

    def shutdown_request(self, request: Any) -> None:
        self.close_request(request)
