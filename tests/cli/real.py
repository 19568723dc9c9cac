"""The real API in memory behind a loopback server, so that a command can be run against it as a user runs it."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from functions.api.jobs.routes import KINDS
from tests.api.conftest import Api, event

FILES: Final = "/files/"
_Answer = tuple[int, dict[str, str], bytes]


class RealApi:
    """Serves an `Api`, and its files' presigned addresses; one request at a time."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.called: list[tuple[str, str]] = []
        """Method and path of each request to the API, in their order."""
        real = self

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, headers, data = real.answer(self.command, self.path, dict(self.headers), body)
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(data))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = handle_any  # noqa: N815

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        files = api.lists.files
        api.mail_files.items = files.items
        for each in (files, api.mail_files):
            each.place = self._place  # type: ignore[method-assign]
        files.link = lambda name, **_: f"{self.url}{FILES}{name}"  # type: ignore[method-assign]

    def answer(
        self, method: str, target: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        """Answer one request: status, headers, body."""
        parts = urlsplit(target)
        if parts.path.startswith(FILES):
            return self._file(method, unquote(parts.path.removeprefix(FILES)), body)
        self.called.append((method, parts.path))
        asked = event(method, parts.path, body=body.decode("latin-1") or None, query=parts.query, headers=headers)
        reply = self.api.handle(asked)
        kept = {name: value for name, value in reply.headers.items() if name != "content-length"}
        return reply.status, kept, reply.text.encode()

    def move(self) -> None:
        """Let time do its work: lists are read, jobs are sent, exports are written."""
        self.api.lists.read()
        found, _ = self.api.services.listing.page(self.api.account, KINDS, limit=100)
        self.api.world.jobs = [job.id for job in found]
        self.api.world.settle()
        self.api.lists.export()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _place(self, name: str, **_: Any) -> tuple[str, dict[str, str]]:
        return f"{self.url}{FILES}{name}", {"Content-Type": "text/csv"}

    def _file(self, method: str, name: str, body: bytes) -> _Answer:
        files = self.api.lists.files
        if method == "PUT":
            files.put(name, body)
            facts = files.facts(name)
            assert facts is not None
            return 200, {"ETag": f'"{facts.etag}"'}, b""
        data = files.get(name)
        return (200, {}, data) if data is not None else (404, {}, b"")
