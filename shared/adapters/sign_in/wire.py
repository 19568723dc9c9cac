"""The HTTP session that Authlib's client needs, over the transport that everything here uses.

Authlib expects an object like a session of the library requests, of which it calls `post` for a token. Nothing here
repeats a request or follows a redirect.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

from shared.ports import AnswerLost, Clock, Http, NotSent, Response
from shared.ports.people import NotSignedIn

SECONDS: Final = 8.0
"""For one request, unless a provider needs more of them than three."""
MAX_BODY: Final = 1_000_000
"""Bytes of an answer."""
FAULT: Final = 500
OK: Final = 200
_CODE: Final = re.compile(r"[a-z0-9_.-]{1,60}")


class WireReply:
    """An answer, as Authlib reads it."""

    def __init__(self, got: Response) -> None:
        self.status_code = got.status
        self._body = got.body

    def json(self) -> Any:
        """Return its JSON.

        Raises:
            NotSignedIn: it is none.
        """
        if len(self._body) > MAX_BODY:
            raise NotSignedIn("provider_answer_too_large")
        try:
            return json.loads(self._body)
        except (ValueError, RecursionError):  # the latter for lists in lists without end
            raise NotSignedIn("provider_answer_malformed") from None

    def raise_for_status(self) -> None:
        """Raise NotSignedIn for a fault of the provider."""
        if self.status_code >= FAULT:
            raise NotSignedIn("provider_unavailable")


class WireSession:
    """Makes requests of one sign-in.

    Args:
        seconds: for one request.
    """

    def __init__(self, http: Http, clock: Clock, seconds: float = SECONDS) -> None:
        self._http = http
        self._clock = clock
        self._seconds = seconds

    def post(self, url: str, *, data: Mapping[str, str], headers: Mapping[str, str], auth: Any) -> WireReply:
        """Post a form.

        Args:
            headers: more than those of the transport.
            auth: Authlib's, which adds the client's secret.

        Raises:
            NotSignedIn: there is no answer.
        """
        url, more, body = auth.prepare("POST", url, dict(headers), urlencode(data))
        return self._ask("POST", url, more, str(body).encode())

    def read(self, url: str, *, headers: Mapping[str, str], token: str = "") -> Any:
        """Return the JSON of a resource.

        Args:
            headers: more than those of the transport.
            token: the bearer's; empty: the resource is public.

        Raises:
            NotSignedIn: the token is refused, or there is no answer.
        """
        bearer = {"Authorization": f"Bearer {token}"} if token else {}
        reply = self._ask("GET", url, {**headers, **bearer}, b"")
        if reply.status_code != OK:
            raise NotSignedIn("provider_refused")
        return reply.json()

    def _ask(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> WireReply:
        deadline = self._clock.now() + self._seconds
        try:
            got = self._http.request(method, url, headers=headers, body=body, deadline=deadline)
        except (NotSent, AnswerLost):
            raise NotSignedIn("provider_unavailable") from None
        return WireReply(got)


def refusal(code: object) -> NotSignedIn:
    """Return what a provider refused a code with. A text that is no short code is not repeated to anybody."""
    return NotSignedIn(code if isinstance(code, str) and _CODE.fullmatch(code) else "provider_refused")
