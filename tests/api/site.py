"""The API's pages at an address of this machine, for a browser."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from tests.api.conftest import Api, event

PASSED = ("authorization", "idempotency-key", "x-postmark-server-token", "x-batch-validation")
"""Headers that pages and doors read."""
PREFIX = "/below/a/path"
"""Pages must work wherever the API's address leads."""


class Quiet(WSGIRequestHandler):
    def log_message(self, *_args: Any) -> None:
        """Say nothing."""


class Threaded(ThreadingMixIn, WSGIServer):
    """Serves connections side by side: a browser opens some that it may never use."""

    daemon_threads = True


@contextmanager
def pages(api: Api) -> Iterator[str]:
    """Serve the API's pages; yields their address."""

    def serve(environ: dict[str, Any], start: Callable[[str, list[tuple[str, str]]], object]) -> Iterable[bytes]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)).decode()
        path = environ["PATH_INFO"].removeprefix(PREFIX)
        headers = {"content-type": environ.get("CONTENT_TYPE", "")}
        given = {name: environ.get(f"HTTP_{name.upper().replace('-', '_')}") for name in PASSED}
        headers |= {name: text for name, text in given.items() if text is not None}
        got = api.handle(
            event(environ["REQUEST_METHOD"], path, body=body, headers=headers, query=environ.get("QUERY_STRING", ""))
        )
        start(f"{got.status} X", list(got.headers.items()))
        return [got.text.encode()]

    with make_server("127.0.0.1", 0, serve, server_class=Threaded, handler_class=Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}{PREFIX}"
        server.shutdown()
