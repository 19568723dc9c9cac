"""An API that keeps the contract of mails, and fails as it is told."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

KEY = "ph_live_" + "k3" * 20
AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Mood:
    """What happens to one call.

    `status`: answered so, without being taken; 0: it is taken. `lost`: the connection ends instead of an answer.
    """

    status: int = 0
    code: str = ""
    detail: str = ""
    lost: bool = False
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Arrived:
    """A mail that was taken."""

    sender: str
    recipients: tuple[str, ...]
    content: bytes


@dataclass
class Upload:
    """A mail whose content is awaited."""

    sender: str
    recipients: tuple[str, ...]
    content: bytes | None = None
    expired: bool = False
    committed: bool = False


Reply = tuple[int, dict[str, Any] | None, dict[str, str]]


class _Handler(BaseHTTPRequestHandler):
    server: "_Server"
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self._answered(lambda api, body: api.post(self.path, self.headers, body))

    def do_PUT(self) -> None:
        self._answered(lambda api, body: api.put(self.path, self.headers, body))

    def _answered(self, call: Callable[["FakeMailApi", bytes], Reply]) -> None:
        api = self.server.api
        length = int(self.headers["Content-Length"])
        body = self.rfile.read(length)
        if len(body) < length:  # the client was killed: API Gateway passes no such call on
            self.close_connection = True
            return
        mood = api.mood(self.path.partition("?")[0])
        status, document, headers = (
            (mood.status, {"code": mood.code, "detail": mood.detail}, mood.headers) if mood.status else call(api, body)
        )
        if mood.lost:
            self.close_connection = True
            return
        data = b"" if document is None else json.dumps(document).encode()
        try:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(data)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)
        except ConnectionError:  # the client was killed
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


class _Server(ThreadingHTTPServer):
    def __init__(self, api: "FakeMailApi", port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.api = api

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients are killed."""


class FakeMailApi:
    """Serves POST /mails, /mails/uploads and commits. `mood(path)` decides about each call.

    `mails`: what was taken, each once. `calls`: path and Idempotency-Key of each call that was answered.
    """

    def __init__(self, mood: Callable[[str], Mood] = lambda _: Mood()) -> None:
        self.mood = mood
        self.mails: list[Arrived] = []
        self.uploads: dict[str, Upload] = {}
        self.calls: list[tuple[str, str]] = []
        self._replies: dict[str, tuple[bytes, Reply]] = {}
        self._lock = threading.Lock()
        self._server = _Server(self, 0)
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._serve()

    def _serve(self) -> None:
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def reopen(self) -> None:
        """Serve again at the same address after `close`."""
        self._server = _Server(self, self.port)
        self._serve()

    def post(self, path: str, headers: Any, body: bytes) -> Reply:
        with self._lock:
            key = headers.get("Idempotency-Key", "")
            self.calls.append((path.partition("?")[0], key))
            if headers["Authorization"] != f"Bearer {KEY}":
                return 401, {"code": "unauthorized", "detail": "This key is not known."}, {}
            seen, reply = self._replies.get(key, (b"", None))
            if key and reply:
                same = seen == path.encode() + body
                return reply if same else (422, {"code": "idempotency_mismatch", "detail": "Another body."}, {})
            reply = self._posted(path, headers, body)
            if key and reply[0] < 300:
                self._replies[key] = (path.encode() + body, reply)
            return reply

    def _posted(self, path: str, headers: Any, body: bytes) -> Reply:
        parts = urlsplit(path)
        if parts.path == "/mails":
            assert headers["Content-Type"] == "message/rfc822"
            assert len(body) <= AT_ONCE
            query = parse_qs(parts.query, keep_blank_values=True, strict_parsing=True)
            return self._take(query["mail_from"][0], tuple(query["rcpt_to"]), body)
        document = json.loads(body)
        if parts.path == "/mails/uploads":
            name = f"mail{len(self.uploads)}"
            recipients = tuple(x["address"] for x in document["destinations"])
            self.uploads[name] = Upload(document["mail_from"], recipients)
            place = {"mail_id": name, "url": f"{self.url}/store/{name}", "method": "PUT", "headers": {"X-Store": "1"}}
            return 201, place, {}
        return self._commit(parts.path.split("/")[2], document.get("etag"))

    def _commit(self, name: str, etag: str | None) -> Reply:
        upload = self.uploads[name]
        if upload.committed:
            return 202, {"mail_id": name}, {}
        if upload.content is None:
            return 409, {"code": "not_uploaded", "detail": "There is no content."}, {}
        assert etag in (None, md5(upload.content, usedforsecurity=False).hexdigest())
        upload.committed = True
        return self._take(upload.sender, upload.recipients, upload.content, name)

    def _take(self, sender: str, recipients: tuple[str, ...], content: bytes, name: str = "") -> Reply:
        if b"\n" in content.replace(b"\r\n", b""):
            return 422, {"code": "bare_lf", "detail": "Line 3 ends with a bare LF."}, {}
        self.mails.append(Arrived(sender, recipients, content))
        return 202, {"mail_id": name or f"m{len(self.mails)}", "destinations": []}, {}

    def put(self, path: str, headers: Any, body: bytes) -> Reply:
        with self._lock:
            upload = self.uploads[path.rpartition("/")[2]]
            assert headers["X-Store"] == "1"
            assert "Authorization" not in headers
            if upload.expired:
                return 403, None, {}
            upload.content = body
            return 200, None, {"ETag": f'"{md5(body, usedforsecurity=False).hexdigest()}"'}
