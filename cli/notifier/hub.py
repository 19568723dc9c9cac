"""The hub's calls for notifiers, over a link that may end at any byte.

An upload goes out in small blocks, each with a time limit of its own, so a slow link carries a large payload. It is
known whether the last block was handed over: the hub takes no body that lacks its end.
"""

import base64
import io
import socket
import ssl
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

import urllib3
from urllib3.exceptions import ConnectTimeoutError, HTTPError, LocationValueError, NewConnectionError, SSLError
from urllib3.util import Timeout

from cli.client import connections, retry_after
from cli.environment import HubLogin
from cli.errors import CommandError, Failed, Misused, NotAuthorised, Unreachable
from cli.notifier.answers import next_range, partial_list, problem_of, read_update
from cli.notifier.mailbox import AnswerRead
from cli.output import clean
from shared.ports import Clock

BLOCK: Final = 4_096
"""Bytes that are handed over at once."""
TIMEOUT: Final = Timeout(connect=20.0, read=35.0)
"""Seconds: `connect` also for each block, `read` for each part of the answer. The API itself ends calls after 30 s."""
_SOCKET: Final = (
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    (socket.SOL_SOCKET, socket.SO_SNDBUF, 8 * BLOCK),  # what the system holds back is small, so the rest is known sent
    (socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)),  # a call that was given up does not go on by itself
)


class UploadFate(Enum):
    """The fate of an upload."""

    STORED = auto()
    UNREACHED = auto()
    """There is no connection."""
    HELD = auto()
    """The hub did not take it, for a reason other than its size; it does later."""
    CUT = auto()
    """The link did not carry all of it, or it is too large."""
    LOST = auto()
    """All of it was sent, and no answer came: the hub may have it."""
    FAULT = auto()
    """The hub failed, and may have it."""
    REFUSED = auto()
    """The hub never takes it so."""


@dataclass(frozen=True, slots=True)
class Uploaded:
    """An upload's fate, and what to do next.

    Attributes:
        fate: whether the hub has it, or why not.
        says: why not, for people.
        code: of a refusal.
        wait: seconds that the hub asks for; None if it does not.
        end: raised to end the command; None: it may be tried again.
    """

    fate: UploadFate
    says: str = ""
    code: str = ""
    wait: float | None = None
    end: CommandError | None = None


class Busy(Unreachable):
    """The hub is not ready, or the link broke: try again.

    Args:
        wait: seconds that the hub asks for; None if it does not.
        reached: whether there was a connection.
    """

    def __init__(self, text: str, wait: float | None = None, *, reached: bool = True) -> None:
        super().__init__(text)
        self.wait = wait
        self.reached = reached


class _Body(io.BytesIO):
    """A body that notes whether all of it was handed over: its end is read after its last block was."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.sent = False

    def read(self, size: int | None = -1, /) -> bytes:
        block = super().read(size)
        self.sent = not block
        return block


class Hub:
    """The hub, as one notifier.

    Args:
        login: address, user name and password.
    """

    def __init__(self, login: HubLogin, clock: Clock, version: str) -> None:
        self._login = login
        self._clock = clock
        word = base64.b64encode(f"{login.user}:{login.password}".encode()).decode()
        self._headers = {
            "Authorization": f"Basic {word}",
            "Accept": "application/json, application/problem+json",
            "User-Agent": f"posthaste-notifier/{version}",
        }
        self._pool = connections(login.url, blocksize=BLOCK, socket_options=_SOCKET)

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()

    def upload(self, payload: bytes, count: int) -> Uploaded:
        """Upload a payload, once.

        Args:
            payload: a JSON array.
            count: of its records.

        Raises:
            Misused: the address is none.
        """
        body = _Body(payload)
        more = {"Content-Type": "application/json", "Content-Length": str(len(payload))}
        try:
            answer = self._pool.request(
                "PUT",
                self._url("/messages"),
                body=body,
                headers={**self._headers, **more},
                timeout=TIMEOUT,
                retries=False,
                redirect=False,
            )
        except (LocationValueError, UnicodeError):
            raise _no_address() from None
        except HTTPError as error:
            return self._not_answered(error, sent=body.sent)
        return self._answered(answer, count)

    def _not_answered(self, error: HTTPError, *, sent: bool) -> Uploaded:
        if _untrusted(error):
            return Uploaded(UploadFate.HELD, end=self._no_secure_connection())
        if isinstance(error, NewConnectionError | ConnectTimeoutError):
            return Uploaded(UploadFate.UNREACHED, f"cannot reach {self._login.url}")
        if sent:
            return Uploaded(UploadFate.LOST, "no answer came")
        return Uploaded(UploadFate.CUT, "the connection was lost during the upload")

    def _answered(self, answer: urllib3.BaseHTTPResponse, count: int) -> Uploaded:
        status, wait = answer.status, retry_after(answer, self._clock.now())
        problem = problem_of(answer.data)
        code, says = self._said(problem, status)
        match status:
            case 200 if problem.get("received") == count:
                return Uploaded(UploadFate.STORED)
            case 401 | 403:
                return Uploaded(UploadFate.HELD, says, end=_not_authorised(says))
            case 408 | 413:
                return Uploaded(UploadFate.CUT, says)
            case 429:
                return Uploaded(UploadFate.HELD, "too many requests", wait=wait)
            case 400 | 422 if code:
                return Uploaded(UploadFate.REFUSED, says, code)
            case _ if status >= 500:  # noqa: PLR2004 - HTTP's own number
                return Uploaded(UploadFate.FAULT, f"the hub answered {status}", wait=wait)
            case _:
                fate = UploadFate.FAULT if status < 300 else UploadFate.HELD  # noqa: PLR2004
                return Uploaded(fate, end=self._stranger(status))

    def updates(self, span: str) -> AnswerRead:
        """Return the updates of a range, as many as arrive.

        Args:
            span: as `UpdateBox.range` returns it.

        Raises:
            Busy: the hub asks to wait, fails or cannot be reached; try again.
            CommandError: trying again is no use.
        """
        url = self._url(f"/message_updates/{span}")
        try:
            answer = self._pool.request(
                "GET",
                url,
                headers=self._headers,
                timeout=TIMEOUT,
                retries=False,
                redirect=False,
                preload_content=False,
            )
        except (LocationValueError, UnicodeError):
            raise _no_address() from None
        except HTTPError as error:
            raise self._no_answer(error) from None
        data, whole = _read(answer)
        if answer.status != 200:  # noqa: PLR2004
            raise self._no_updates(answer, data)
        return self._read_answer(answer, data, url, whole=whole)

    def _read_answer(self, answer: urllib3.BaseHTTPResponse, data: bytes, url: str, *, whole: bool) -> AnswerRead:
        found, complete = partial_list(data)
        updates = [read_update(each) for each in found or ()]
        if found is None or None in updates:
            raise self._stranger(answer.status)
        rest = next_range(answer.headers.get("Link", ""), url)
        return AnswerRead([x for x in updates if x], rest or "", whole=whole and complete and rest is not None)

    def _no_answer(self, error: HTTPError) -> CommandError:
        if _untrusted(error):
            return self._no_secure_connection()
        if isinstance(error, NewConnectionError | ConnectTimeoutError):
            return Busy(f"cannot reach {self._login.url}", reached=False)
        return Busy("the connection was lost")

    def _no_updates(self, answer: urllib3.BaseHTTPResponse, data: bytes) -> CommandError:
        code, says = self._said(problem_of(data), answer.status)
        wait = retry_after(answer, self._clock.now())
        match answer.status:
            case 401 | 403:
                return _not_authorised(says)
            case 429:
                return Busy("too many requests", wait)
            case status if status >= 500:  # noqa: PLR2004
                return Busy(f"the hub answered {status}", wait)
            case 400 if code:
                return Failed(f"the hub refuses to report updates: {says}", problem=code)
            case status:
                return self._stranger(status)

    def _said(self, problem: Mapping[str, Any], status: int) -> tuple[str, str]:
        """Return the code and the text of a problem, without the password."""
        code = str(problem.get("code") or "")
        text = str(problem.get("detail") or problem.get("title") or f"HTTP {status}") + (f" ({code})" if code else "")
        return code, clean(text.replace(self._login.password, "***"))

    def _url(self, path: str) -> str:
        return self._login.url + path

    def _stranger(self, status: int) -> Failed:
        return Failed(f"{self._login.url} does not answer like Posthaste ({status}): check POSTHASTE_URL")

    def _no_secure_connection(self) -> Unreachable:
        return Unreachable(f"no secure connection to {self._login.url}: check its certificate and the system's")


def _no_address() -> Misused:
    return Misused("POSTHASTE_URL must look like https://api.example.com")


def _not_authorised(says: str) -> NotAuthorised:
    return NotAuthorised(
        f"{says}: check POSTHASTE_NOTIFIER and POSTHASTE_NOTIFIER_PASSWORD; an operator makes another password with "
        "`posthaste notifier rotate`"
    )


def _untrusted(error: HTTPError) -> bool:
    """Tell whether an address could not prove whose it is; other faults of TLS are a link's."""
    cause = error.args[0] if isinstance(error, SSLError) and error.args else None
    return isinstance(cause, ssl.SSLCertVerificationError)


def _read(answer: urllib3.BaseHTTPResponse) -> tuple[bytes, bool]:
    """Return what arrives of an answer's body, and whether it is whole."""
    data = bytearray()
    try:
        while block := answer.read1(BLOCK):
            data += block
    except HTTPError:
        answer.close()
        return bytes(data), False
    answer.release_conn()
    return bytes(data), True
