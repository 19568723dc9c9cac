"""A small client of the control API, for tests, benchmarks and the local cloud. Standard library only."""

import http.client
import json
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

PAGE_LINES: Final = 10_000


class ControlError(Exception):
    """The simulator refused a control request; the text says why."""


class ControlClient:
    """Control of a running simulator. Safe to use from several threads: each request has a connection of its own.

    Args:
        url: of the simulator, `http://127.0.0.1:port`.
        timeout: of each request, in seconds.
    """

    def __init__(self, url: str, timeout: float = 60) -> None:
        self.url = url
        self._netloc = urlsplit(url).netloc
        self._timeout = timeout

    def request(self, method: str, path: str, body: Any = None) -> tuple[bytes, http.client.HTTPMessage]:
        """Return body and headers of the answer; ControlError if its status is not 2xx."""
        connection = http.client.HTTPConnection(self._netloc, timeout=self._timeout)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            response = connection.getresponse()
            data = response.read()
        finally:
            connection.close()
        if response.status >= 300:  # noqa: PLR2004 - not a 2xx
            raise ControlError(f"{method} {path}: {response.status} {data.decode(errors='replace')}")
        return data, response.headers

    def json(self, method: str, path: str, body: Any = None) -> Any:
        """Return the answer's JSON; None if it has no body."""
        data, _ = self.request(method, path, body)
        return json.loads(data) if data else None

    def faults(self, provider: str, credential: str, **faults: Any) -> Any:
        """Replace a credential's faults: `mode="503", count=3, latency_ms=50`; none: all is well."""
        return self.json("PUT", f"/_control/{provider}/{credential}/faults", faults)

    def webhooks(self, provider: str, credential: str, **changes: Any) -> Any:
        """Change webhook settings: `url="http://…", loss=0.1`; return them with their counters."""
        path = f"/_control/{provider}/{credential}/webhooks"
        return self.json("PUT", path, changes) if changes else self.json("GET", path)

    def keys(self, provider: str) -> dict[str, Any]:
        """Return accepted API keys, and what verifies the provider's webhooks."""
        found: dict[str, Any] = self.json("GET", "/_control/keys")[provider]
        return found

    def set_keys(self, provider: str, credential: str, *keys: str) -> None:
        """Replace the API keys a credential accepts."""
        self.json("PUT", f"/_control/{provider}/{credential}/keys", {"keys": list(keys)})

    def write(self, provider: str, credential: str, sender: str, text: str, to: str = "") -> str:
        """Have a phone write a text to a number of a credential; return the provider's id for the text.

        Args:
            sender: the phone's number, E.164.
            to: the number that is written to; empty: the provider's usual one.
        """
        body = {"from": sender, "text": text, "to": to}
        return str(self.json("POST", f"/_control/{provider}/{credential}/texts", body)["message_id"])

    def listen(self, provider: str, credential: str) -> str:
        """Give a credential a port of its own, on which it can refuse connections; return its base URL."""
        return str(self.json("POST", f"/_control/{provider}/{credential}/listener")["base_url"])

    def relay(self, name: str, **settings: Any) -> str:
        """Replace an SMTP relay's settings: `eight_bit=False, greylist_s=60`; return its base URL."""
        return str(self.json("PUT", f"/_control/relays/{name}", settings)["base_url"])

    def log(self, provider: str = "", credential: str = "", *, since: float = 0) -> list[dict[str, Any]]:
        """Return all accepted recipients, oldest first."""
        return list(self.pages("log", provider=provider, credential=credential, since=since))

    def calls(self, provider: str = "", credential: str = "", *, since: float = 0) -> list[dict[str, Any]]:
        """Return all calls, oldest first."""
        return list(self.pages("calls", provider=provider, credential=credential, since=since))

    def pages(self, what: str, *, cursor: int = 0, limit: int = PAGE_LINES, **query: Any) -> Iterator[dict[str, Any]]:
        """Iterate over the lines of `log` or `calls`, reading page by page."""
        while True:
            url = f"/_control/{what}?{urlencode({**query, 'cursor': cursor, 'limit': limit})}"
            data, headers = self.request("GET", url)
            lines = data.splitlines()
            yield from map(json.loads, lines)
            cursor = int(headers["x-next-cursor"])
            if len(lines) < limit:
                return

    def clear(self) -> None:
        """Forget the log and the inbox."""
        self.request("DELETE", "/_control/log")

    def stats(self, provider: str = "", credential: str = "", *, since: float = 0) -> dict[str, Any]:
        """Return counts by arrival; see `Log.stats`."""
        query = urlencode({"provider": provider, "credential": credential, "since": since})
        found: dict[str, Any] = self.json("GET", f"/_control/stats?{query}")
        return found

    def flush(self, *, now: bool = False, timeout_s: float = 30) -> dict[str, int]:
        """Wait until no webhook is pending; `now`: without waiting for delays. Return counts of events."""
        found: dict[str, int] = self.json("POST", "/_control/flush", {"now": now, "timeout_s": timeout_s})
        return found

    def reset(self) -> None:
        """Forget log, faults and undelivered webhooks."""
        self.request("POST", "/_control/reset")
