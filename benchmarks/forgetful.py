"""Far ends that take messages of any size and keep none: `python -m benchmarks.forgetful` prints its ports and serves.

They are a relay (SMTP), an API that answers as Mailgun and SES do, and a bucket. The bucket's files (`GET`) have the
size that their name ends in.
"""

import json
import socketserver
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

HEADER: Final = b"From: ann@sender.example\r\n\r\n"
LINES: Final = b".234567890123456789012345678901234567890123456789012345678901234567890123456\r\n" * 12_800
"""Each begins with a dot, which SMTP doubles."""
ANSWER: Final = b'{"id":"m1","MessageId":"m1"}'
_READ: Final = 65_536


def message(size: int) -> Iterator[bytes]:
    """Walk a finished message of so many bytes, in blocks of about 1 MB."""
    yield HEADER
    left = size - len(HEADER)
    while left > 0:
        yield LINES[:left]
        left -= min(left, len(LINES))


class SmtpEnd(socketserver.StreamRequestHandler):
    """A relay that forgets."""

    def handle(self) -> None:
        """Serve a connection."""
        self.wfile.write(b"220 relay.example\r\n")
        for line in self.rfile:
            if line.startswith(b"EHLO"):
                self.wfile.write(b"250-relay.example\r\n250 8BITMIME\r\n")
            elif line == b"DATA\r\n":
                self.wfile.write(b"354 go on\r\n")
                while self.rfile.readline() != b".\r\n":
                    pass
                self.wfile.write(b"250 2.0.0 Ok: queued as 4F1\r\n")
            else:
                self.wfile.write(b"250 2.0.0 Ok\r\n")


class HttpEnd(socketserver.StreamRequestHandler):
    """An API that forgets, and a bucket that makes its files while they are read."""

    def handle(self) -> None:
        """Serve one request."""
        method, path, _ = self.rfile.readline().decode().split()
        length = 0
        while (line := self.rfile.readline().lower()) != b"\r\n":
            if line.startswith(b"content-length:"):
                length = int(line.split()[1])
        while length:
            length -= len(self.rfile.read(min(length, _READ)))
        size = int(path.rpartition("-")[2]) if method == "GET" else len(ANSWER)
        head = f'HTTP/1.1 200 OK\r\nContent-Length: {size}\r\nETag: "etag"\r\nConnection: close\r\n\r\n'
        self.wfile.write(head.encode())
        for block in message(size) if method == "GET" else (ANSWER,):
            self.wfile.write(block)


@contextmanager
def serving(handler: type[socketserver.StreamRequestHandler]) -> Iterator[int]:
    """Serve at a port of this machine, for a `with`. `handler`: of a connection."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join(10)


def main() -> None:
    """Serve until stdin ends."""
    with serving(SmtpEnd) as smtp, serving(HttpEnd) as http:
        print(json.dumps({"smtp": smtp, "http": http}), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
