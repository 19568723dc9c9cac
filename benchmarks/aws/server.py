"""`python -m benchmarks.aws.server PORT`: a quick DynamoDB, and moto for all else, with connections that last.

Moto's own server ends each connection after one request. Then a client pays for a connection at each call.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from threading import Lock
from typing import Any, Final
from zlib import crc32

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

from benchmarks.aws.tables import Refused, Tables

APP: Final = DomainDispatcherApplication(create_backend_app)
TABLES: Final = Tables()
LOCK: Final = Lock()
QUICK: Final = frozenset(
    {"GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "BatchGetItem", "BatchWriteItem", "TransactWriteItems"}
)


class Handler(BaseHTTPRequestHandler):
    """Passes the requests of one connection to moto, one after the other."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16
    """Head and body leave in one piece."""

    def do_POST(self) -> None:
        """Pass a call of a JSON or query protocol."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        service, _, operation = self.headers.get("X-Amz-Target", "").partition(".")
        if service.startswith("DynamoDB") and operation in QUICK:
            self._quick(operation, body)
        else:
            self._pass_on(body)

    def _pass_on(self, body: bytes) -> None:
        environ: dict[str, Any] = {
            "REQUEST_METHOD": self.command,
            "PATH_INFO": self.path,
            "QUERY_STRING": "",
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": sys.argv[1],
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": self.client_address[0],
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.input": BytesIO(body),
            "wsgi.errors": sys.stderr,
            "wsgi.multithread": True,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
        }
        environ |= {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in self.headers.items()}
        answer = b"".join(APP(environ, self._start))
        self.end_headers()
        self.wfile.write(answer)

    def _quick(self, operation: str, body: bytes) -> None:
        with LOCK:
            said = TABLES.answer(operation, json.loads(body))
        status = 200
        if isinstance(said, Refused):
            status, said = 400, _refusal(operation, said)
        answer = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(answer)))
        self.send_header("x-amzn-RequestId", "0" * 52)
        self.send_header("x-amz-crc32", str(crc32(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def _start(self, status: str, headers: list[tuple[str, str]], _fault: object = None) -> None:
        self.send_response(int(status[:3]))
        for name, value in headers:
            if name.lower() not in ("server", "date"):  # as are there already
                self.send_header(name, value)

    def log_message(self, *_: object) -> None:
        """Print no line for each request."""


def _refusal(operation: str, refused: Refused) -> dict[str, Any]:
    failed: dict[str, Any] = {"Item": refused.item} if refused.item is not None else {}
    prefix = "com.amazonaws.dynamodb.v20120810#"
    if operation == "TransactWriteItems":
        reasons = [{"Code": "ConditionalCheckFailed", **failed}]
        return {"__type": prefix + "TransactionCanceledException", "message": "no", "CancellationReasons": reasons}
    return {"__type": prefix + "ConditionalCheckFailedException", "message": "no", **failed}


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
