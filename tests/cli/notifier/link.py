"""A hub that keeps the notifiers' contract, at the end of a bad link: it drops answers, cuts uploads and refuses."""

import base64
import json
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from zoneinfo import ZoneInfo

from shared.domain.notices.inbox import MAX_BYTES, MAX_RECORDS
from shared.domain.notices.records import unfit
from shared.domain.notices.updates import Span, UpdateEntry, cut, line, link_range, read_range, settled

USER, PASSWORD = "clinic", "ph_pass_" + "k3" * 20
ZONE = ZoneInfo("Australia/Sydney")
NOW_MS = 1_800_000_000_000


@dataclass(frozen=True)
class Mood:
    """What happens to one call.

    `status`: answered without being taken. `keep`: bytes of the answer that arrive, all if None. `carry`: bytes of
    the upload that arrive.
    """

    status: int = 200
    carry: int | None = None
    keep: int | None = None
    code: str = ""
    headers: dict[str, str] = field(default_factory=dict)


class _Handler(BaseHTTPRequestHandler):
    server: "_Server"

    def do_PUT(self) -> None:
        length = int(self.headers["Content-Length"])
        hub = self.server.hub
        mood = hub.mood("PUT", length)
        if mood.carry is not None and mood.carry < length:
            self.rfile.read(mood.carry)
            self._cut()
            return
        body = self.rfile.read(length)
        if len(body) < length:
            return
        self._answer(*hub.put(self.headers, body, mood), mood)

    def do_GET(self) -> None:
        hub = self.server.hub
        mood = hub.mood("GET", self.path)
        self._answer(*hub.get(self.headers, self.path, mood), mood)

    def _answer(self, status: int, document: Any, headers: dict[str, str], mood: Mood) -> None:
        data = document if isinstance(document, bytes) else json.dumps(document).encode()
        if mood.keep == 0:
            self._cut()
            return
        try:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(data)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data if mood.keep is None else data[: mood.keep])
        except ConnectionError:  # the client was killed
            self.close_connection = True
            return
        if mood.keep is not None:
            self.wfile.flush()
            self.close_connection = True

    def _cut(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


class _Server(ThreadingHTTPServer):
    def __init__(self, hub: "BadLink") -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.hub = hub

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients are killed."""

    def shutdown_request(self, request: Any) -> None:
        self.close_request(request)


class BadLink:
    """Serves PUT /messages and GET /message_updates. `mood(method, body or path)` decides about each call.

    `payloads`: bodies in the order in which they were taken. `puts`: every whole body, with the mood that it met.
    """

    def __init__(self, mood: Callable[[str, Any], Mood] = lambda *_: Mood()) -> None:
        self.mood = mood
        self.payloads: list[bytes] = []
        self.puts: list[tuple[bytes, Mood]] = []
        self.gets: list[str] = []
        self.updates: list[UpdateEntry] = []
        self.now_ms = NOW_MS
        self.page_bytes = 5_000_000
        self.lock = threading.Lock()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def put(self, headers: Any, body: bytes, mood: Mood) -> tuple[int, Any, dict[str, str]]:
        with self.lock:
            self.puts.append((body, mood))
            refusal = self._refusal(headers, mood)
            if refusal:
                return refusal
            records = json.loads(body)
            if len(body) > MAX_BYTES or unfit(records, limit=MAX_RECORDS):
                return 400, {"code": "invalid_request", "detail": "No."}, {}
            self.payloads.append(body)
            return 200, {"received": len(records)}, {}

    def get(self, headers: Any, path: str, mood: Mood) -> tuple[int, Any, dict[str, str]]:
        with self.lock:
            self.gets.append(path)
            refusal = self._refusal(headers, mood)
            if refusal:
                return refusal
            span = read_range(path.removeprefix("/message_updates/"), ZONE, self.now_ms)
            if not isinstance(span, Span):
                return 400, {"code": "bad_range", "detail": span.text}, {}
            end = min(span.end, settled(self.now_ms))
            found = [x for x in self.updates if span.start <= x.stamp < end]
            lines = [line(x, ZONE) for x in found]
            count = cut([x.stamp for x in found], [len(x.encode()) for x in lines], self.page_bytes)
            more = {}
            if count < len(found):
                second = found[count].stamp // 1000 * 1000
                begin = second if found[count - 1].stamp < second else found[count].stamp
                more = {"Link": f'<{link_range(Span(begin, span.end))}>; rel="next"'}
            return 200, f"[{','.join(lines[:count])}]".encode(), more

    def _refusal(self, headers: Any, mood: Mood) -> tuple[int, Any, dict[str, str]] | None:
        word = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if headers["Authorization"] != f"Basic {word}":
            return 401, {"code": "unauthorized", "detail": "Wrong password."}, {"WWW-Authenticate": "Basic"}
        if mood.status != 200:
            return mood.status, {"code": mood.code, "detail": "Not now."} if mood.code else {}, mood.headers
        return None

    @property
    def records(self) -> list[dict[str, Any]]:
        """All records in the order in which they were taken."""
        return [record for body in self.payloads for record in json.loads(body)]


def applied(records: list[dict[str, Any]]) -> dict[str, tuple[bool, dict[str, str]]]:
    """Return what the hub's rules make of records, in order: id → whether it is canceled, and its data."""
    stored: dict[str, tuple[bool, dict[str, str]]] = {}
    for record in records:
        name, action = record["id"], record["action"].removeprefix("MESSAGE_")
        data = {key: value for key, value in record.items() if key not in ("id", "action")}
        if action == "CANCEL":
            if name in stored:
                stored[name] = (True, stored[name][1])
        elif action == "UPDATE" or name not in stored:
            stored[name] = (False, data)
    return stored
