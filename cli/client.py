"""The HTTP API as the command line uses it: patient with a busy server, and safe to repeat.

A request that creates something carries an Idempotency-Key, chosen once per command. When the connection is lost or the
server fails, the same bytes are sent again under the same key. So nothing can be sent twice. 429 is honoured as
Retry-After says. Redirects are never followed: the API key is for one address.
"""

import json
import os
import secrets
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC
from email.utils import parsedate_to_datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode, urlsplit

import typer
import urllib3
from urllib3.exceptions import ConnectTimeoutError, HTTPError, LocationValueError, NewConnectionError, SSLError
from urllib3.util import Timeout

from cli.environment import LOCAL, URL, Destination, KeyOrigin, api_target, is_loopback, local_cloud
from cli.errors import CommandError, Failed, Misused, NotAuthorised, NotFound, Unreachable
from cli.output import clean, surroundings, tell

if TYPE_CHECKING:
    from shared.ports import Clock

TRIES: Final = 6
PAUSES: Final = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds before each repeat: a deployment or a failing-over address is back within about fifteen."""
LONGEST_WAIT: Final = 120.0
"""Seconds of Retry-After that a command waits in person."""
TIMEOUT: Final = Timeout(connect=5.0, read=35.0)
"""The API itself gives up after 30 s."""
PACKAGES: Final = ("posthaste", "posthaste-cli")
LARGEST_PAGE: Final = "1000"
"""Items of the largest page, as a query has them."""
MAX_SHOWN: Final = 3
"""Faults of a refused request that are shown."""
Body = Mapping[str, Any] | Sequence[Any] | bytes
"""The content of a request: JSON, or bytes as they are."""


class ApiClient:
    """A client of one API; a command makes one.

    Args:
        tell: shows why something takes longer.
    """

    def __init__(self, target: Destination, clock: "Clock", tell: Callable[[str], None], version: str) -> None:
        self._target = target
        self._clock = clock
        self._tell = tell
        self._headers = {
            "Accept": "application/json, application/problem+json",
            "User-Agent": f"posthaste-cli/{version}",
        }
        self._pool = connections(target.url)
        self._tries = TRIES
        self._met = False

    @property
    def place(self) -> str:
        """Where the API is, for people: the local cloud, or its host."""
        host = urlsplit(self._target.url).hostname or ""
        return "the local cloud" if is_loopback(host) else host

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()

    def get(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return a resource; repeated like every harmless request."""
        return self._call("GET", _asking(path, query), b"", {}, again=True)

    def pages(
        self, path: str, query: Mapping[str, str] | None = None, items: str = "items"
    ) -> Iterator[list[dict[str, Any]]]:
        """Yield the items of each page. With a filter, a page may be empty and still have a next one.

        Args:
            path: the collection's path, as in `/campaigns`.
            query: filters, and `limit` (items a page); None for the largest pages.
            items: the answer's field that holds the items.
        """
        wanted = {"limit": LARGEST_PAGE} if query is None else dict(query)
        while True:
            page = self.get(path, wanted)
            found = page.get(items)
            if not isinstance(found, list):
                raise Failed("the answer is not a list: does POSTHASTE_URL name a Posthaste API?")
            yield found
            cursor = page.get("next_cursor")
            if not cursor:
                return
            wanted["cursor"] = str(cursor)

    def put(self, path: str, body: Body, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Put a JSON body under a new Idempotency-Key; a repeat after a lost answer is harmless."""
        headers = {"Content-Type": "application/json", "Idempotency-Key": new_key()}
        return self._call("PUT", _asking(path, query), _encoded(body), headers, again=True)

    def delete(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Delete a resource; a repeat after a lost answer is harmless."""
        return self._call("DELETE", _asking(path, query), b"", {}, again=True)

    def patch(self, path: str, body: Body) -> dict[str, Any]:
        """Change a resource; a repeat after a lost answer is harmless."""
        return self._call("PATCH", path, _encoded(body), {"Content-Type": "application/json"}, again=True)

    def post(
        self,
        path: str,
        body: Body = b"{}",
        *,
        key: str | None = None,
        again: bool | None = None,
        media: str = "application/json",
    ) -> dict[str, Any]:
        """Post a body.

        Args:
            again: whether a repeat is harmless when the fate of the request is not known; None: if it has a key.
        """
        headers = {"Content-Type": media, **({"Idempotency-Key": key} if key else {})}
        return self._call("POST", path, _encoded(body), headers, again=bool(key) if again is None else again)

    def _call(self, method: str, path: str, body: bytes, headers: Mapping[str, str], *, again: bool) -> dict[str, Any]:
        answer: urllib3.BaseHTTPResponse | None = None
        for n in range(self._tries):
            answer, lost = self._request(method, path, body, headers)
            pause = self._pause(answer, n, repeatable=again or not lost) if n < self._tries - 1 else None
            if pause is None:
                break
            self._clock.sleep(pause)
        if answer is None:
            raise self._lost(method)
        return self._read(answer)

    def _request(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[urllib3.BaseHTTPResponse | None, bool]:
        """Make a request once; return the answer, and whether the server may have taken it.

        Raises:
            Misused: the address is none.
            Unreachable: this client never reached the server, or its certificate is refused.
        """
        url = self._target.url
        answer = None
        body = body if method != "GET" else b""
        try:
            answer = self._pool.request(
                method,
                url + path,
                body=body or None,
                headers={**self._headers, **headers, **self._authorization(method, url + path, headers, body)},
                timeout=TIMEOUT,
                retries=False,
                redirect=False,
            )
            lost = True
        except (LocationValueError, UnicodeError):
            raise Misused("POSTHASTE_URL must look like https://api.example.com") from None
        except SSLError:
            raise Unreachable(f"no secure connection to {url}: check its certificate and the system's") from None
        except HTTPError as error:
            lost = not isinstance(error, NewConnectionError | ConnectTimeoutError)
            if not lost and not self._met:
                raise self._unreachable() from None
        self._met = True
        return answer, lost

    def _authorization(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Mapping[str, str]:  # noqa: ARG002 - of others
        """Return the headers that say who makes a request."""
        return {"Authorization": f"Bearer {self._target.key}"}

    def _pause(self, answer: urllib3.BaseHTTPResponse | None, n: int, *, repeatable: bool) -> float | None:
        """Return the seconds until the next try, None if there is to be none."""
        plain = PAUSES[n]
        if answer is None:
            if not repeatable:
                return None
            self._tell(f"connection lost; trying again in {plain:g} s")
            return plain
        busy = answer.status == 429  # noqa: PLR2004 - HTTP's own numbers
        if not busy and not (answer.status >= 500 and repeatable):  # noqa: PLR2004
            return None
        wait = retry_after(answer, self._clock.now())
        if wait is not None and wait > LONGEST_WAIT:
            return None
        pause = plain if wait is None else wait
        why = "too many requests" if busy else f"the server answered {answer.status}"
        self._tell(f"{why}; trying again in {pause:g} s")
        return pause

    def _read(self, answer: urllib3.BaseHTTPResponse) -> dict[str, Any]:
        try:
            found = json.loads(answer.data)
        except (ValueError, RecursionError):
            found = None
        if 200 <= answer.status < 300 and isinstance(found, dict):  # noqa: PLR2004
            return found
        if answer.status < 400:  # noqa: PLR2004
            raise Failed(f"{self._target.url} does not answer like Posthaste ({answer.status}): check POSTHASTE_URL")
        raise self._refused(answer, found if isinstance(found, dict) else {})

    def _refused(self, answer: urllib3.BaseHTTPResponse, problem: Mapping[str, Any]) -> CommandError:
        """Return the error of an answer that is not 2xx (RFC 9457 problem details, if it is one).

        Its text has a line for the problem, one for each invalid field, one for the remedy, and one for the code.
        """
        code = str(problem.get("code") or "")
        title = _title(problem, answer.status)
        lines = [title, *_fields(problem.get("errors"), title)]
        wait = retry_after(answer, self._clock.now())

        def text(advice: str) -> str:
            found = [*lines, *([advice] if advice else []), *([f"code: {code}"] if code else [])]
            return "\n".join(clean(self._masked(line)) for line in found)

        match answer.status:
            case 401 | 403:
                return NotAuthorised(text(self._other_key()), problem=code)
            case 404:
                return NotFound(text(_elsewhere(code)), problem=code)
            case 429:
                return Failed(text("try again" + (f" in {wait:.0f} s" if wait else " later")))
            case 502 | 503 | 504:
                return Unreachable(f"{self._target.url} is temporarily unavailable ({answer.status}): try again later")
            case status if status >= 500:  # noqa: PLR2004
                lines[0] = f"the server failed: {lines[0]}"
                return Failed(text("try again; if this continues, inform its operator"))
            case _:
                advice = f"try again in {wait:.0f} s" if wait else ""
                return Failed(text(advice), problem=code)

    def _masked(self, text: str) -> str:
        """Return a text without the API key, which a server may have repeated."""
        return text.replace(self._target.key, "***") if self._target.key else text

    def _other_key(self) -> str:
        """Return what to do about a key that the API refuses."""
        stored = self._target.origin is KeyOrigin.LOGIN
        check = f"log in again with `posthaste login {self._target.url}`" if stored else "check POSTHASTE_API_KEY"
        return f"{check}; an operator makes keys with `posthaste key create`"

    def _unreachable(self) -> Unreachable:
        local = is_loopback(urlsplit(self._target.url).hostname or "")
        advice = "start the local cloud with `posthaste local up`" if local else "check POSTHASTE_URL and the network"
        return Unreachable(f"cannot reach {self._target.url}: {advice}")

    def _lost(self, method: str) -> Unreachable:
        done = "" if method == "GET" else "; the call may or may not have taken effect"
        return Unreachable(f"the connection to {self._target.url} was lost{done}: try again later")


def new_key() -> str:
    """Return an Idempotency-Key: a request that is repeated under it is done once."""
    return secrets.token_urlsafe(24)


def _encoded(body: Body) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode()


def _asking(path: str, query: Mapping[str, str] | None) -> str:
    """Return a path with a query, encoded as a signature of AWS takes it: a space is %20."""
    return path + (f"?{urlencode(query, quote_via=quote, safe='')}" if query else "")


def _elsewhere(code: str) -> str:
    """Return what to check after a 404: an answer without a code is none of Posthaste's."""
    return "" if code else "check POSTHASTE_URL and the id"


def _title(problem: Mapping[str, Any], status: int) -> str:
    """Return what a problem says first, or its status."""
    return str(problem.get("detail") or problem.get("title") or problem.get("message") or f"HTTP {status}")


def _fields(faults: object, title: str) -> list[str]:
    """Return a line for each of the first invalid fields; none for one that only repeats the `title`."""
    if not isinstance(faults, list) or [x.get("message") for x in faults if isinstance(x, dict)] == [title]:
        return []
    shown = [_field(f) for f in faults[:MAX_SHOWN] if isinstance(f, dict)]
    return shown + ([f"and {len(faults) - MAX_SHOWN} more"] if len(faults) > MAX_SHOWN else [])


def _field(fault: Mapping[str, Any]) -> str:
    """Return what is wrong with a field, and where in it."""
    line = f" (line {fault['line']})" if fault.get("line") else ""
    return f"{fault.get('field')}: {fault.get('message')}{line}"


def connect(ctx: typer.Context) -> ApiClient:
    """Return a client of the API that the option, the environment or the login names, closed when the command ends."""
    api = ApiClient(target_of(ctx), surroundings(ctx).clock, tell, installed_version())
    ctx.call_on_close(api.close)
    return api


def target_of(ctx: typer.Context) -> Destination:
    """Return the API that a command is for. A line says so if a login wins over a local cloud here."""
    named = str(ctx.find_root().params.get("url") or "")
    target = api_target(named=named)
    if target.origin is KeyOrigin.LOGIN and not named and not os.environ.get(URL) and local_cloud() is not None:
        tell(f"this command is for {target.url}, as you are logged in; for the local cloud: posthaste --url {LOCAL} …")
    return target


def installed_version() -> str:
    """Return the version of the installed package: the checkout's, or the command's own."""
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            return version(package)
    return "unknown"


def path_of(collection: str, name: str, rest: str = "") -> str:
    """Return the path of a resource.

    Raises Misused if the id cannot be one. The id always stays one segment of the path.

    Args:
        collection: the first segment, as in `campaigns`.
        name: the resource's id, as the user typed it.
        rest: what follows the id, from its slash on.
    """
    if name.strip(".") == "":
        raise Misused("this is not an id")
    return f"/{collection}/{quote(name, safe='')}{rest}"


def retry_after(answer: urllib3.BaseHTTPResponse, now: float) -> float | None:
    """Return Retry-After in seconds (RFC 9110 10.2.3: seconds or a date); None if it is absent or nonsense.

    Args:
        now: Unix seconds.
    """
    text = answer.headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, date.timestamp() - now)


def connections(url: str, **options: Any) -> urllib3.PoolManager:
    """Return connections by way of the system's proxy, if it has one for this address; never for this machine.

    Args:
        **options: of each connection, as urllib3 takes them.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    proxy = urllib.request.getproxies().get(parts.scheme)
    if proxy and not is_loopback(host) and not urllib.request.proxy_bypass(host):
        return urllib3.ProxyManager(proxy, **options)
    return urllib3.PoolManager(**options)
