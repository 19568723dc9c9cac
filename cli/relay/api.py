"""The API's calls for finished mails, each made once; a repeat under the same key is harmless.

A mail of up to 4 MB is one call. A larger one is uploaded to a presigned address, then committed.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, BinaryIO, Final
from urllib.parse import urlencode

import urllib3
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError
from urllib3.util import Timeout

from cli.client import connections, path_of, retry_after
from cli.environment import Destination
from cli.errors import CommandError
from cli.output import clean
from cli.progress.transfer import trusted
from cli.relay.mail import RelayMail
from shared.ports import Clock

AT_ONCE: Final = 4_000_000
"""Bytes of a mail that is one call."""
QUERY: Final = 4_000
"""Bytes of its query: API Gateway takes about 10 KB of head."""
TIMEOUT: Final = Timeout(connect=5.0, read=35.0)
"""Seconds; the API itself ends calls after 30 s."""
UPLOAD_TIMEOUT: Final = Timeout(connect=5.0, read=120.0)
"""Seconds; the store answers when it has all of the content."""
UPLOADS: Final = 5
"""Uploads of one mail, each begun when the last one had expired without a commit."""
_ADVICE: Final = {401: "POSTHASTE_API_KEY", 404: "POSTHASTE_URL"}
_BY_FIELD: Final = frozenset({"invalid_mail", "validation_failed"})
"""Codes of problems whose reason is a field's."""
_GONE: Final = 404
"""Answers a commit whose upload has expired."""


class PostFate(Enum):
    """The fate of a post."""

    TAKEN = auto()
    REFUSED = auto()
    """The API never takes this mail."""
    TOO_LARGE = auto()
    LATER = auto()
    """The API fails on this mail; another may pass."""
    UNREADY = auto()
    """The API takes no mail now: it is out of reach, busy, or the relay's settings are wrong."""


@dataclass(frozen=True, slots=True)
class MailAnswer:
    """A post's fate, and what to do next.

    Attributes:
        fate: whether the API took the mail, or why not.
        says: the mail's id if it was taken; else why not, for people, on one line.
        code: of a refusal.
        wait: seconds that the API asks for; None if it does not.
        is_doubtful: the API or the store gave no answer of its own, perhaps only on this mail.
        is_replayed: the API had taken it under its key before.
    """

    fate: PostFate
    says: str
    code: str = ""
    wait: float | None = None
    is_doubtful: bool = False
    is_replayed: bool = False


class _NotDone(Exception):
    """A call had no answer that allows the next step."""

    def __init__(self, answer: MailAnswer, status: int = 0) -> None:
        super().__init__(answer.says)
        self.answer = answer
        self.status = status


class MailApi:
    """A client of the API for mails; threads may share it.

    Args:
        threads: how many use it at once.
    """

    def __init__(self, target: Destination, clock: Clock, version: str, threads: int) -> None:
        self._target = target
        self._clock = clock
        self._headers = {
            "Authorization": f"Bearer {target.key}",
            "Accept": "application/json, application/problem+json",
            "User-Agent": f"posthaste-relay/{version}",
        }
        self._pool = connections(target.url, maxsize=threads)

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()

    def post(self, mail: RelayMail) -> MailAnswer:
        """Post a mail, and return its fate; no fault of the network or the API is raised."""
        query = urlencode([("mail_from", mail.sender), *(("rcpt_to", x) for x in mail.recipients)])
        try:
            if mail.size <= AT_ONCE and len(query) <= QUERY:
                done, replayed = self._call(f"/mails?{query}", mail.content, mail.size, mail.key)
                return self._taken(done, replayed=replayed)
            return self._uploaded(mail)
        except _NotDone as error:
            return error.answer
        except CommandError as error:
            return MailAnswer(PostFate.UNREADY, clean(error))

    def _uploaded(self, mail: RelayMail) -> MailAnswer:
        """Upload and commit. An upload of an earlier try may be committed already, or have expired since."""
        envelope = {"mail_from": mail.sender, "destinations": [{"address": x} for x in mail.recipients]}
        for key in (mail.key, *(f"{mail.key}-{n}" for n in range(2, UPLOADS + 1))):
            place, replayed = self._json("/mails/uploads", envelope, key)
            name = place.get("mail_id")
            if not isinstance(name, str):
                raise self._stranger()
            stored, etag = self._put(place, mail)
            try:
                done, _ = self._json(path_of("mails", name, "/commit"), {"etag": etag} if stored else {})
                return self._taken(done, replayed=replayed)
            except _NotDone as error:
                if error.status != _GONE and (stored or error.answer.fate is PostFate.UNREADY):
                    raise
        return MailAnswer(PostFate.LATER, "the store of uploads refuses the content")

    def _put(self, place: Mapping[str, Any], mail: RelayMail) -> tuple[bool, str]:
        """Upload the content; return whether it is stored, and its ETag."""
        headers = place.get("headers")
        if place.get("method") != "PUT" or not isinstance(headers, dict):
            raise self._stranger()
        url = trusted(place.get("url"))
        fields = {str(name): str(value) for name, value in headers.items()} | {"Content-Length": str(mail.size)}
        mail.content.seek(0)
        store = connections(url)
        try:
            answer = store.request(
                "PUT", url, body=mail.content, headers=fields, timeout=UPLOAD_TIMEOUT, retries=False, redirect=False
            )
        except HTTPError as error:
            raise _NotDone(_silent("the upload was cut off", error)) from None
        finally:
            store.clear()
        if answer.status >= 500:  # noqa: PLR2004 - HTTP's own number
            raise _NotDone(_silent(f"the store of uploads answered {answer.status}"))
        return answer.status < 300, answer.headers.get("ETag", "").strip('"')  # noqa: PLR2004

    def _json(self, path: str, document: Mapping[str, Any], key: str = "") -> tuple[dict[str, Any], bool]:
        return self._call(path, json.dumps(document).encode(), 0, key)

    def _call(self, path: str, body: BinaryIO | bytes, size: int, key: str) -> tuple[dict[str, Any], bool]:
        """Post, and return the answer's document, and whether it is that of an earlier post.

        Raises:
            _NotDone: the call did not succeed, or may not have.
        """
        headers = {**self._headers, "Content-Type": "application/json"}
        if not isinstance(body, bytes):
            body.seek(0)
            headers |= {"Content-Type": "message/rfc822", "Content-Length": str(size)}
        if key:
            headers["Idempotency-Key"] = key
        try:
            answer = self._pool.request(
                "POST",
                self._target.url + path,
                body=body,
                headers=headers,
                timeout=TIMEOUT,
                retries=False,
                redirect=False,
            )
        except (HTTPError, UnicodeError) as error:
            raise _NotDone(_silent(f"cannot reach {self._target.url}", error)) from None
        document = _document(answer.data)
        if answer.status in (200, 201, 202):
            return document, answer.headers.get("Idempotency-Replayed") == "true"
        raise _NotDone(self._not_taken(answer, document), answer.status)

    def _taken(self, document: Mapping[str, Any], *, replayed: bool) -> MailAnswer:
        name = document.get("mail_id")
        if not isinstance(name, str) or not name:
            raise self._stranger()
        return MailAnswer(PostFate.TAKEN, clean(name), is_replayed=replayed)

    def _not_taken(self, answer: urllib3.BaseHTTPResponse, problem: Mapping[str, Any]) -> MailAnswer:
        status = answer.status
        code, text = _reason(problem, status)
        says = clean(text.replace(self._target.key, "***")) + (f" ({clean(code)})" if code else "")
        wait = retry_after(answer, self._clock.now())
        if status == 413 or code == "too_large":  # noqa: PLR2004 - HTTP's own number
            return MailAnswer(PostFate.TOO_LARGE, says, code)
        if status in (400, 422) and code:
            return MailAnswer(PostFate.REFUSED, says, code)
        if status in (409, 500):
            return MailAnswer(PostFate.LATER, says, code, wait)
        advice = _ADVICE.get(status)
        text = f"{says}: check {advice}" if advice else says
        return MailAnswer(PostFate.UNREADY, text, code, wait, is_doubtful=status >= 500)  # noqa: PLR2004

    def _stranger(self) -> _NotDone:
        text = f"{self._target.url} does not answer like Posthaste: check POSTHASTE_URL"
        return _NotDone(MailAnswer(PostFate.UNREADY, text))


def _silent(says: str, error: Exception | None = None) -> MailAnswer:
    """Return the answer for a call without one; a connection that is never made is no mail's fault."""
    unconnected = isinstance(error, NewConnectionError | ConnectTimeoutError | UnicodeError)
    return MailAnswer(PostFate.UNREADY, says, is_doubtful=not unconnected)


def _reason(problem: Mapping[str, Any], status: int) -> tuple[str, str]:
    """Return the code and the text of a problem: those of its first invalid field, if it names one."""
    code, text = problem.get("code"), problem.get("detail") or problem.get("title") or f"HTTP {status}"
    errors = problem.get("errors")
    first = errors[0] if isinstance(errors, list) and errors and isinstance(errors[0], dict) else {}
    if code in _BY_FIELD and first.get("message"):
        code, text = first.get("code") or code, first["message"]
        text = f"{text} (line {first['line']})" if first.get("line") else text
    return str(code or ""), str(text)


def _document(data: bytes) -> dict[str, Any]:
    """Return a JSON object, empty if it is none."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
