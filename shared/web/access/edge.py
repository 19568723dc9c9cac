"""Requests that came by the edge, the distribution before the API: only they are answered, where there is one.

The edge sends a key that no client has. CloudFront then also says who the client is: API Gateway sees CloudFront's own
address. Both are believed together or not at all. Source: CloudFront Developer Guide, "Add CloudFront request headers".
"""

from collections.abc import Callable, Iterable, Mapping
from hmac import compare_digest
from typing import Any, Final

from shared.contracts import EDGE_CLOSED, EDGE_HEADER

Event = Mapping[str, Any]
"""Of an HTTP API, payload 2.0."""
VIEWER: Final = "cloudfront-viewer-address"
_KEY: Final = EDGE_HEADER.lower()


class Edge:
    """Decides whether a request came by the edge.

    Args:
        keys: returns the valid keys by any name; None: there is no edge, and every request is as API Gateway saw it.
        closed: whether a request that did not come by the edge is refused; else it also is as API Gateway saw it.
    """

    def __init__(self, keys: Callable[[], Mapping[str, str]] | None = None, *, closed: bool = True) -> None:
        self._keys = keys
        self._closed = closed

    def passed(self, event: Event) -> Event | None:
        """Return an event with its client's address in place of the edge's, and without the key.

        None: the request did not come by the edge, and is refused. An address that is none is left empty, which no
        network has.
        """
        if self._keys is None:
            return event
        headers = {str(name).lower(): value for name, value in (event.get("headers") or {}).items()}
        given = str(headers.pop(_KEY, "")).encode()
        if not given or not _is_one(given, self._keys().values()):
            return None if self._closed else event
        context = event.get("requestContext") or {}
        http = {**(context.get("http") or {}), "sourceIp": _address(str(headers.get(VIEWER, "")))}
        return {**event, "headers": headers, "requestContext": {**context, "http": http}}


NO_EDGE: Final = Edge()


def edge_by(setting: str, keys: Callable[[], Mapping[str, str]]) -> Edge:
    """Return the edge of a function.

    Args:
        setting: of its environment: `closed` or `open` as the origin is, or nothing without an edge.
        keys: returns the valid keys by any name.
    """
    return Edge(keys, closed=setting == EDGE_CLOSED) if setting else NO_EDGE


def _is_one(given: bytes, keys: Iterable[str]) -> bool:
    return any(compare_digest(given, key.encode()) for key in keys)


def _address(viewer: str) -> str:
    """Return the address of a viewer, which comes with its port: `198.51.100.10:46532`."""
    from ipaddress import ip_address  # noqa: PLC0415 - a cold start without an edge need not load it

    address = viewer.rpartition(":")[0].strip("[]")
    try:
        return str(ip_address(address))
    except ValueError:
        return ""
