"""How a call is made: its request, its repeats, its answer. Sync and async differ only in how they send and wait."""

import base64
import ipaddress
import json
import os
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import quote, urljoin, urlsplit

import httpx

from posthaste_sdk._generated import VERSION
from posthaste_sdk.errors import ApiError, ConnectionFailedError, NotFoundError, api_error
from posthaste_sdk.retries import BUSY, RetryPolicy, retry_after

JSON: Final = "application/json"
UNSENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
"""Faults before the server could take the call."""
SAFE: Final = frozenset({"GET", "PUT", "PATCH", "DELETE"})
"""Methods that are safe to repeat by their nature."""
ENDLESS: Final = "the list does not end: its next page is one that was there before"
NOT_FOUND: Final = "not_found"
STRANGE: Final = "the answer is not Posthaste's: check the address"
REQUEST_ID: Final = "X-Request-Id"
"""The header that names the call in every answer."""
DOTS: Final = frozenset({"", ".", ".."})


@dataclass(frozen=True, slots=True)
class Access:
    """Where the API is, and how the client logs in.

    Attributes:
        url: without trailing slash.
        authorization: the header, which is never shown.
    """

    url: str
    authorization: str = field(repr=False)


def access(url: str | None, key: str | None, notifier: tuple[str, str] | None) -> Access:
    """Return the API to call, what is missing taken from POSTHASTE_URL and POSTHASTE_API_KEY.

    Args:
        url: the address.
        key: the API key.
        notifier: name and password of a notifier, in place of a key.

    Raises:
        ValueError: address or key is missing, or the key would travel in plain text.
    """
    if url is None and key is None and notifier is None:
        url, key = os.environ.get("POSTHASTE_URL"), os.environ.get("POSTHASTE_API_KEY")
    elif url is None:
        raise ValueError("a key without its address: give both, or set POSTHASTE_URL and POSTHASTE_API_KEY")
    if not url or not (key or notifier):
        raise ValueError("no address or key: give both, or set POSTHASTE_URL and POSTHASTE_API_KEY")
    _check_address(url)
    login = base64.b64encode(":".join(notifier).encode()).decode() if notifier else ""
    return Access(url.rstrip("/"), f"Basic {login}" if notifier else f"Bearer {key}")


def _check_address(url: str) -> None:
    """Refuse what is no address, and one to which the key would travel in plain text."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        host, parts = "", urlsplit("")
    if not host or parts.scheme not in {"http", "https"} or parts.query or parts.fragment or parts.username is not None:
        raise ValueError("the address must look like https://api.example.com")
    if parts.scheme == "http" and not _is_here(host):
        raise ValueError("the key would travel unencrypted: use https://")


def _is_here(host: str) -> bool:
    """Return whether a host is this machine."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Request:
    """A call of one operation.

    Attributes:
        method: of HTTP.
        path: with parameters in braces.
        places: values of these parameters.
        query: parameters; None is left out, a list is joined with commas.
        body: a document; text or bytes are sent as they are.
        media: the type of text and bytes.
        keyed: whether the operation takes an idempotency key.
        key: the caller's key; by default a random one.
        array: whether the answer is an array; the rest of a long one is behind a link.
        gone: what a delete answers; None if a repeated one finds its thing again.
    """

    method: str
    path: str
    places: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, object] = field(default_factory=dict)
    body: object = None
    media: str = JSON
    keyed: bool = False
    key: str | None = None
    array: bool = False
    gone: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request as it is sent, and sent again."""

    method: str
    path: str
    headers: Mapping[str, str]
    query: Mapping[str, str]
    content: bytes | None
    repeatable: bool


@dataclass(frozen=True, slots=True)
class Found:
    """What an answer brought.

    Attributes:
        document: its JSON.
        address: that was asked.
        link: where the rest of it is, relative to the address; empty if this is all.
    """

    document: Any
    address: str
    link: str

    @property
    def items(self) -> Any:
        """The items of a page."""
        return self.document if isinstance(self.document, list) else self.document["items"]


Talk = Generator[Prepared | float, httpx.Response | httpx.HTTPError | None, Found]
"""A call: it yields what to send, or the seconds to wait, and returns what the answer brought."""


def prepare(request: Request) -> Prepared:
    """Return a request as it is sent. An operation that takes a key and was given none gets a random one.

    Raises:
        ValueError: an id is empty or consists of dots, so that it would be another path.
    """
    path = request.path
    for name, value in request.places.items():
        if value in DOTS:
            raise ValueError(f"{name} is not an id: {value!r}")
        path = path.replace(f"{{{name}}}", quote(value, safe=""))
    headers: dict[str, str] = {}
    content = None
    if isinstance(request.body, str | bytes):
        content = request.body.encode() if isinstance(request.body, str) else request.body
        headers["Content-Type"] = request.media
    elif request.body is not None or request.method == "POST":
        content = json.dumps({} if request.body is None else request.body).encode()
        headers["Content-Type"] = JSON
    if request.keyed:
        headers["Idempotency-Key"] = request.key if request.key is not None else uuid.uuid4().hex
    query = {name: _text(value) for name, value in request.query.items() if value is not None}
    repeatable = request.keyed or request.method in SAFE
    return Prepared(request.method, path, headers, query, content, repeatable)


def _text(value: object) -> str:
    """Return a parameter's value as the query has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(map(str, value)) if isinstance(value, list | tuple | set | frozenset) else str(value)


def talk(request: Request, policy: RetryPolicy) -> Talk:
    """Make a call, and again where that does no harm; return what its answer brought.

    A delete that finds nothing has succeeded if an earlier try may have deleted the thing.

    Raises:
        ApiError: the API refused it.
        ConnectionFailedError: no answer came.
    """
    prepared = prepare(request)
    key = prepared.headers.get("Idempotency-Key")
    made, taken = 0, False
    while True:
        made += 1
        answer = yield prepared
        if isinstance(answer, httpx.Response):
            wait = retry_after(answer.headers, time.time())
            status: int | None = answer.status_code
        else:
            wait, status = None, None
        sent = not isinstance(answer, UNSENT)
        pause = policy.pause(made, status=status, wait=wait, repeatable=prepared.repeatable, sent=sent)
        if pause is not None:
            taken = taken or (sent and status != BUSY)
            yield pause
        elif isinstance(answer, httpx.Response):
            try:
                return read(answer, list if request.array else dict)
            except NotFoundError as error:
                if request.gone is None or not taken or error.code != NOT_FOUND:
                    raise
                return Found(dict(request.gone), str(answer.url), "")
        else:
            raise lost(answer, key) from answer


def lost(fault: httpx.HTTPError | None, key: str | None = None) -> ConnectionFailedError:
    """Return the error of a call without an answer; `key`: its idempotency key, None if it takes none."""
    return ConnectionFailedError(f"no answer: {type(fault).__name__}", sent=not isinstance(fault, UNSENT), key=key)


def read(answer: httpx.Response, kind: type[dict[str, Any] | list[Any]]) -> Found:
    """Return what an answer brought, if it is of that kind; ApiError if it is a problem, or not the API's."""
    try:
        found = json.loads(answer.content)
    except ValueError:
        found = None
    if answer.is_success and isinstance(found, kind):
        return Found(found, str(answer.url), answer.links.get("next", {}).get("url", ""))
    request = {"request_id": answer.headers[REQUEST_ID]} if REQUEST_ID in answer.headers else {}
    if answer.is_success or answer.is_redirect:
        raise ApiError(answer.status_code, {"detail": STRANGE, **request})
    problem = found if isinstance(found, dict) else {}
    raise api_error(answer.status_code, {**problem, **request}, retry_after(answer.headers, time.time()))


def headers(access: Access) -> dict[str, str]:
    """Return the headers of every call."""
    return {
        "Authorization": access.authorization,
        "Accept": f"{JSON}, application/problem+json",
        "User-Agent": f"posthaste-python/{VERSION}",
    }


def following(request: Request, page: Found, seen: set[str]) -> Request | None:
    """Return the request of the page after this one, None if it is the last.

    Args:
        request: of this page.
        page: what it answered.
        seen: cursors and addresses of the pages so far; this one and the next are added.

    Raises:
        ApiError: the page after this one was there before, or the link leads to another address than this list's,
            which must not get the key.
    """
    place = urljoin(page.address, page.link) if page.link else ""
    further = replace(request, path=place, places={}, query={})
    if not request.array:
        place = page.document.get("next_cursor") or ""
        further = replace(request, query={**request.query, "cursor": place})
    elif place and not place.startswith(urljoin(page.address, ".")):
        raise ApiError(httpx.codes.OK, {"detail": STRANGE})
    if not place:
        return None
    seen.add(page.address)
    if place in seen:
        raise ApiError(httpx.codes.OK, {"detail": ENDLESS})
    seen.add(place)
    return further


class Caller:
    """Makes calls, and waits for each."""

    _http: httpx.Client
    _policy: RetryPolicy
    _sleep: Callable[[float], None]

    def _call(self, request: Request) -> Any:
        return self._found(request).document

    def _found(self, request: Request) -> Found:
        steps = talk(request, self._policy)
        found: httpx.Response | httpx.HTTPError | None = None
        while True:
            try:
                step = steps.send(found)
            except StopIteration as end:
                done: Found = end.value
                return done
            found = None
            if isinstance(step, float):
                self._sleep(step)
            else:
                found = self._send(step)

    def _each(self, request: Request) -> Iterator[Any]:
        further: Request | None = request
        seen: set[str] = set()
        while further is not None:
            page = self._found(further)
            yield from page.items
            further = following(further, page, seen)

    def _send(self, prepared: Prepared) -> httpx.Response | httpx.HTTPError:
        try:
            return self._http.request(
                prepared.method,
                prepared.path,
                params=dict(prepared.query) or None,  # none would remove those of a link
                headers=dict(prepared.headers),
                content=prepared.content,
            )
        except httpx.HTTPError as error:
            return error


class AsyncCaller:
    """Makes calls that a task awaits."""

    _http: httpx.AsyncClient
    _policy: RetryPolicy
    _sleep: Callable[[float], Awaitable[None]]

    async def _call(self, request: Request) -> Any:
        return (await self._found(request)).document

    async def _found(self, request: Request) -> Found:
        steps = talk(request, self._policy)
        found: httpx.Response | httpx.HTTPError | None = None
        while True:
            try:
                step = steps.send(found)
            except StopIteration as end:
                done: Found = end.value
                return done
            found = None
            if isinstance(step, float):
                await self._sleep(step)
            else:
                found = await self._send(step)

    async def _each(self, request: Request) -> AsyncIterator[Any]:
        further: Request | None = request
        seen: set[str] = set()
        while further is not None:
            page = await self._found(further)
            for item in page.items:
                yield item
            further = following(further, page, seen)

    async def _send(self, prepared: Prepared) -> httpx.Response | httpx.HTTPError:
        try:
            return await self._http.request(
                prepared.method,
                prepared.path,
                params=dict(prepared.query) or None,  # none would remove those of a link
                headers=dict(prepared.headers),
                content=prepared.content,
            )
        except httpx.HTTPError as error:
            return error
