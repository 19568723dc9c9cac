"""A bucket at an address of its own, to which pages of the console put files, by the stack's rule for origins."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from wsgiref.simple_server import make_server

import pytest

from tests.api.site import Quiet, Threaded
from tests.console.console import Console
from tests.fakes.files import FakeFiles


class Bucket:
    """Files that browsers can put.

    Attributes:
        files: where they are kept.
        address: where it is.
        page: the only origin whose pages may put files.
        broken: it refuses every file.
    """

    def __init__(self, files: FakeFiles, page: str) -> None:
        self.files = files
        self.address = ""
        self.page = page
        self.broken = False

    def place(self, name: str, *, content_type: str, seconds: int, size: int = 0) -> tuple[str, Mapping[str, str]]:
        """Return a place that is here."""
        return f"{self.address}/{name}?seconds={seconds}", {"Content-Type": content_type}

    def __call__(
        self, environ: dict[str, Any], start: Callable[[str, list[tuple[str, str]]], object]
    ) -> Iterable[bytes]:
        allowed = environ.get("HTTP_ORIGIN") == self.page
        headers = [("Access-Control-Allow-Origin", self.page), ("Vary", "Origin")] if allowed else []
        if environ["REQUEST_METHOD"] == "OPTIONS":
            asked = environ.get("HTTP_ACCESS_CONTROL_REQUEST_HEADERS", "")
            fits = environ.get("HTTP_ACCESS_CONTROL_REQUEST_METHOD") == "PUT" and asked in ("", "content-type")
            more = [("Access-Control-Allow-Methods", "PUT"), ("Access-Control-Allow-Headers", "content-type")]
            start("200 OK" if allowed and fits else "403 Forbidden", [*headers, *more] if allowed and fits else [])
            return [b""]
        size = int(environ.get("CONTENT_LENGTH") or 0)
        data = environ["wsgi.input"].read(size)
        if self.broken or len(data) < size:
            start("503 Slow Down", headers)
            return [b""]
        name = environ["PATH_INFO"].removeprefix("/")
        self.files.put(name, data)
        facts = self.files.facts(name)
        etag = facts.etag if facts else ""
        start("200 OK", [*headers, ("ETag", f'"{etag}"'), ("Access-Control-Expose-Headers", "ETag")])
        return [b""]


@contextmanager
def bucket(console: Console, page: str, patch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """Give a console a bucket that browsers reach.

    Args:
        console: whose files are put there.
        page: the origin of its pages.
        patch: takes it back after the test.
    """
    made = Bucket(console.api.lists.files, page)
    patch.setattr(made.files, "place", made.place)
    with make_server("127.0.0.1", 0, made, server_class=Threaded, handler_class=Quiet) as server:
        made.address = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield made
        server.shutdown()
