"""A visitor of the console without a browser: signs in by the simulator's GitHub, and opens pages."""

import gzip
import html
import http.client
import re
import time
from collections.abc import Mapping
from http.cookies import SimpleCookie
from typing import Final, Self
from urllib.parse import urlencode, urljoin, urlsplit

from infra.local.cloud import Cloud

FORM: Final = "application/x-www-form-urlencoded"
_FIELD: Final = re.compile(r'type="hidden" name="([^"]+)" value="([^"]*)"')
GZIP: Final = b"\x1f\x8b"
TIMEOUT: Final = 30.0
"""Seconds of a call: as long as the API has for one."""


class Visitor:
    """Somebody with a session of the console, on one connection that is kept, as a browser's is.

    Use as a context manager.

    Args:
        cloud: the running local cloud.
        login: whom the simulated GitHub says one is.
    """

    def __init__(self, cloud: Cloud, login: str) -> None:
        self.home = f"{cloud.api}/console"
        self._login = login
        self._cookies: SimpleCookie = SimpleCookie()
        self._wire = http.client.HTTPConnection(urlsplit(cloud.api).netloc, timeout=TIMEOUT)

    def __enter__(self) -> Self:
        status, there, _ = self._call("GET", f"{self.home}/begin")
        assert status == http.client.SEE_OTHER, status
        back = self._at_github(there)
        status, _, _ = self._call("GET", back)
        assert status == http.client.SEE_OTHER, status
        return self

    def __exit__(self, *_: object) -> None:
        self._wire.close()

    def open(self, path: str) -> tuple[float, bytes]:
        """Open a page; return the seconds until its last byte, and the page as sent: compressed by gzip.

        Args:
            path: below the console, without a slash before it; empty: the first page.
        """
        begun = time.perf_counter()
        status, _, body = self._call("GET", self._address(path))
        took = time.perf_counter() - begun
        assert status == http.client.OK, (path, status, body[:300])
        return took, body

    def fields(self, path: str) -> dict[str, str]:
        """Return the hidden fields of all forms of a page."""
        return {name: html.unescape(value) for name, value in _FIELD.findall(self.text(path))}

    def post(self, path: str, fields: Mapping[str, str]) -> str:
        """Send a form that answers with a page, and return the page.

        Args:
            path: below the console.
            fields: of the form.
        """
        status, _, body = self._call("POST", self._address(path), urlencode(fields))
        assert status == http.client.OK, (path, status)
        return gzip.decompress(body).decode()

    def text(self, path: str) -> str:
        """Return a page, or a file."""
        body = self.open(path)[1]
        return (gzip.decompress(body) if body.startswith(GZIP) else body).decode()

    def press(self, page: str, path: str, **fields: str) -> str:
        """Send a form of a page, whose answer leads to another page; return that one's address.

        Args:
            page: below the console.
            path: of the form, below the console.
            fields: of the form, besides the hidden ones.
        """
        status, there, body = self._call("POST", self._address(path), urlencode({**self.fields(page), **fields}))
        assert status == http.client.SEE_OTHER, (path, status, body[:300])
        return there

    def _address(self, path: str) -> str:
        return f"{self.home}/{path}".replace("/?", "?").rstrip("/")

    def _at_github(self, address: str) -> str:
        """Say who one is; return where the browser is sent back to."""
        parts = urlsplit(address)
        wire = http.client.HTTPConnection(parts.netloc, timeout=TIMEOUT)
        try:
            wire.request(
                "POST", f"{parts.path}?{parts.query}", urlencode({"other": self._login}), {"Content-Type": FORM}
            )
            answer = wire.getresponse()
            answer.read()
        finally:
            wire.close()
        return str(answer.headers["Location"])

    def _call(self, method: str, url: str, form: str | None = None) -> tuple[int, str, bytes]:
        """Return status, where the answer leads, and its body."""
        parts = urlsplit(url)
        headers = {"Accept-Encoding": "gzip"}
        if form is not None:
            headers["Content-Type"] = FORM
        if self._cookies:
            headers["Cookie"] = "; ".join(f"{name}={morsel.value}" for name, morsel in self._cookies.items())
        self._wire.request(method, parts.path + (f"?{parts.query}" if parts.query else ""), form, headers)
        answer = self._wire.getresponse()
        body = answer.read()
        for value in answer.headers.get_all("Set-Cookie", []):
            self._cookies.load(value)
        return answer.status, urljoin(url, answer.headers.get("Location", "")), body
