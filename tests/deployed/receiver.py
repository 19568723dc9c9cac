"""A receiver of webhooks in a process of its own: the oracle of what has arrived, with switches for what goes wrong.

Each path is an endpoint. `POST /-/switch` sets how one answers, `GET /-/log` returns what came to one.
"""

import argparse
import asyncio
import base64
import json
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import parse_qs, quote, urlsplit

from standardwebhooks import Webhook, WebhookVerificationError

from infra.local.paths import ROOT
from tests.certificates import serving, trusting

PIECE: Final = b"x" * 65_536
GIGABYTE: Final = 1 << 30
METADATA: Final = "http://169.254.169.254/latest/meta-data/"


class Mode(StrEnum):
    """How an endpoint answers."""

    OK = "ok"
    HANG = "hang"
    CLOSE = "close"
    ERROR = "500"
    BUSY = "429"
    REDIRECT = "301"
    GONE = "410"
    LARGE = "gigabyte"


@dataclass(frozen=True, slots=True)
class Switch:
    """How an endpoint answers, after how many seconds."""

    mode: Mode = Mode.OK
    seconds: float = 0.0


class _Server:
    def __init__(self) -> None:
        self.switches: dict[str, Switch] = {}
        self.log: list[dict[str, Any]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._exchange(reader, writer):
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the client went away
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        url = urlsplit(target)
        if url.path.startswith("/-/"):
            _answer(writer, 200, json.dumps(self._control(method, url.path, parse_qs(url.query), body)).encode())
            return True
        entry = {"at": time.time(), "path": url.path, "headers": headers, "body": base64.b64encode(body).decode()}
        switch = self.switches.get(url.path, Switch())
        self.log.append({**entry, "taken": switch.mode is Mode.OK})
        await asyncio.sleep(switch.seconds)
        return await self._react(switch.mode, writer)

    def _control(self, method: str, path: str, query: dict[str, list[str]], body: bytes) -> Any:
        if method == "POST":
            order = json.loads(body)
            self.switches[order["path"]] = Switch(Mode(order["mode"]), order["seconds"])
            return {}
        since = int(query.get("since", ["0"])[0])
        wanted = query.get("path")
        rows = self.log[since:]
        return {"next": len(self.log), "items": [r for r in rows if not wanted or r["path"] in wanted]}

    async def _react(self, mode: Mode, writer: asyncio.StreamWriter) -> bool:
        """Answer in a way; return whether the connection goes on."""
        match mode:
            case Mode.HANG:
                await asyncio.sleep(3600)
            case Mode.CLOSE:
                return False
            case Mode.REDIRECT:
                _answer(writer, 301, b"", f"Location: {METADATA}\r\n")
                return True
            case Mode.LARGE:
                writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {GIGABYTE}\r\n\r\n".encode())
                for _ in range(GIGABYTE // len(PIECE)):
                    writer.write(PIECE)
                    await writer.drain()
                return False
            case Mode.BUSY:
                _answer(writer, 429, b"", "Retry-After: 2\r\n")
                return True
        _answer(writer, int(mode.value) if mode is not Mode.OK else 200, b"noted")
        return True


def _answer(writer: asyncio.StreamWriter, status: int, body: bytes, more: str = "") -> None:
    writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode() + body)


async def _run(port: int, certificate: str) -> None:
    tls = serving(Path(certificate)) if certificate else None
    server = await asyncio.start_server(_Server().serve, "127.0.0.1", port, limit=1 << 20, backlog=1024, ssl=tls)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    async with server:
        await server.serve_forever()


@dataclass(frozen=True, slots=True)
class Received:
    """One request. `events`: id → type and data of each event in it."""

    at: float
    path: str
    headers: dict[str, str]
    body: bytes
    taken: bool

    @property
    def delivery(self) -> str:
        """The delivery's id."""
        return self.headers["webhook-id"]

    @property
    def events(self) -> dict[str, dict[str, Any]]:
        """Event's id → what it says."""
        raw = json.loads(self.body)
        if raw["type"] == "batch":
            return {x["id"]: x for x in raw["data"]}
        return {self.delivery: raw}

    def is_signed_by(self, *secrets: str) -> bool:
        """Tell whether the library of Standard Webhooks verifies it by one of these secrets."""
        for secret in secrets:
            try:
                Webhook(secret).verify(self.body, self.headers)
            except WebhookVerificationError:
                continue
            return True
        return False


class ReceiverProcess:
    """The receiver's process. Use as a context manager.

    Args:
        certificate: file with certificate and key, for TLS; None: plain HTTP.
    """

    def __init__(self, certificate: Path | None = None) -> None:
        self.port = 0
        self._certificate = certificate
        self._process: subprocess.Popen[str] | None = None
        self._rows: list[Received] = []

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "tests.deployed.receiver"]
        if self._certificate is not None:
            command += ["--certificate", str(self._certificate)]
        self._process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def url(self, path: str) -> str:
        """Return the URL of an endpoint."""
        return f"{'https' if self._certificate else 'http'}://127.0.0.1:{self.port}{path}"

    def switch(self, path: str, mode: Mode = Mode.OK, seconds: float = 0.0) -> None:
        """Set how an endpoint answers.

        Args:
            path: the endpoint.
            mode: how.
            seconds: after how many.
        """
        order = {"path": path, "mode": mode.value, "seconds": seconds}
        self._call("/-/switch", json.dumps(order).encode())

    def received(self, path: str = "") -> list[Received]:
        """Return what came, to all endpoints or to one, in its order."""
        answer = self._call(f"/-/log?since={quote(str(len(self._rows)))}")
        self._rows += [
            Received(x["at"], x["path"], x["headers"], base64.b64decode(x["body"]), x["taken"]) for x in answer["items"]
        ]
        return [x for x in self._rows if not path or x.path == path]

    def _call(self, path: str, body: bytes | None = None) -> Any:
        tls = trusting(self._certificate) if self._certificate else None
        request = urllib.request.Request(self.url(path), data=body)  # noqa: S310 - loopback
        with urllib.request.urlopen(request, timeout=30, context=tls) as answer:  # noqa: S310 - loopback
            return json.load(answer)


def main() -> None:
    """Serve until the process is killed; the first line of output is the port."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--certificate", default="", help="file with certificate and key: TLS")
    options = parser.parse_args()
    asyncio.run(_run(options.port, options.certificate))


if __name__ == "__main__":
    main()
