"""The console's pages at an address of this machine, for a browser."""

import base64
import gzip
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from wsgiref.simple_server import make_server

from functions.console.handler import respond
from functions.pictures.serve import serve as serve_picture
from functions.pictures.services import KeptPictures
from shared.web.sessions import COOKIE
from tests.api.conftest import event
from tests.api.site import PREFIX, Quiet, Threaded
from tests.console.console import Console
from tests.fakes.browser import Browser


@contextmanager
def site(console: Console) -> Iterator[str]:
    """Serve the console and its pictures below a path, as the local cloud does; yields the console's address."""
    lock = threading.Lock()

    def serve(environ: dict[str, Any], start: Callable[[str, list[tuple[str, str]]], object]) -> Iterable[bytes]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        names = {"content-type": "CONTENT_TYPE", "cookie": "HTTP_COOKIE", "hx-request": "HTTP_HX_REQUEST"}
        names |= {"accept-encoding": "HTTP_ACCEPT_ENCODING", "referer": "HTTP_REFERER", "accept": "HTTP_ACCEPT"}
        headers = {name: environ[key] for name, key in names.items() if environ.get(key)}
        path = environ["PATH_INFO"].removeprefix(PREFIX)
        asked = event(environ["REQUEST_METHOD"], path, headers=headers, query=environ["QUERY_STRING"])
        asked |= {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}
        with lock:
            if path.startswith("/images/"):
                got = serve_picture(asked, KeptPictures(console.api.lists.files))
            else:
                got = respond(asked, "request-1", lambda: console.services)
        cookies = [("Set-Cookie", cookie) for cookie in got.get("cookies", ())]
        start(f"{got['statusCode']} X", [*got["headers"].items(), *cookies])
        return [base64.b64decode(got["body"]) if got.get("isBase64Encoded") else got["body"].encode()]

    with make_server("127.0.0.1", 0, serve, server_class=Threaded, handler_class=Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}{PREFIX}/console"
        server.shutdown()


def session_cookie(console: Console) -> dict[str, Any]:
    """Return the session of a console as a browser is given it by WebDriver."""
    return {"cookie": {"name": COOKIE, "value": console.cookies[COOKIE], "path": "/", "secure": True}}


def go(browser: Browser, url: str) -> None:
    """Open a page."""
    browser.do("POST", "/url", {"url": url})


def enter(browser: Browser, console: Console, address: str) -> None:
    """Let a browser have the session of a console. `address`: the console's."""
    go(browser, f"{address}/style")
    browser.do("POST", "/cookie", session_cookie(console))


def unpacked(got: dict[str, Any]) -> tuple[int, str]:
    """Return how many bytes an answer of the function takes on the wire, and its text."""
    data = base64.b64decode(got["body"]) if got["isBase64Encoded"] else got["body"].encode()
    return len(data), (gzip.decompress(data) if got["isBase64Encoded"] else data).decode()
