"""`posthaste hook listen`: fetch an account's events, print them and forward them to a program on this machine.

The machine needs no access from outside: the command fetches what is due, posts it, and reports the result.
"""

import json as codec
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

import typer
from urllib3.exceptions import HTTPError
from urllib3.util import Timeout

from cli.client import ApiClient, connect, connections, path_of
from cli.errors import CommandError, Misused
from cli.hooks.door import HOOKS, Document
from cli.hooks.endpoints import Events, app
from cli.output import Json, emit, say, surroundings, tell
from shared.ports import Clock

POLL: Final = 1.0
"""Seconds between two looks when nothing is due."""
TIMEOUT: Final = Timeout(connect=2.0, read=10.0)
MAX_ANSWER: Final = 1_000
"""Characters of the program's answer that are reported."""
MAX_SHOWN: Final = 200
"""Characters of an event that a line shows."""


@dataclass(frozen=True, slots=True)
class Forwarded:
    """How the program answered. `status`: 0 if it did not; `ms`: until then."""

    status: int = 0
    ms: int = 0
    answer: str = ""


class Forwarder:
    """Posts deliveries to a program.

    Args:
        url: its address; empty: nothing is posted, and every delivery counts as taken.
    """

    def __init__(self, url: str, clock: Clock) -> None:
        self._url = url
        self._clock = clock
        self._pool = connections(url) if url else None

    @property
    def forwards(self) -> bool:
        """Whether there is a program to post to."""
        return self._pool is not None

    def post(self, item: Document) -> Forwarded:
        """Post a delivery once, as an endpoint gets it."""
        if self._pool is None:
            return Forwarded(HTTPStatus.NO_CONTENT)
        began = self._clock.now()
        try:
            answer = self._pool.request(
                "POST",
                self._url,
                body=str(item["body"]).encode(),
                headers=dict(item["headers"]),
                timeout=TIMEOUT,
                retries=False,
                redirect=False,
            )
        except HTTPError:
            return Forwarded(0, self._since(began))
        text = answer.data.decode("utf-8", "replace")[:MAX_ANSWER]
        return Forwarded(answer.status, self._since(began), text)

    def close(self) -> None:
        """Close the connections."""
        if self._pool is not None:
            self._pool.clear()

    def _since(self, began: float) -> int:
        return max(0, int((self._clock.now() - began) * 1000))


@app.command()
def listen(
    ctx: typer.Context,
    *,
    forward_to: Annotated[
        str, typer.Option(metavar="URL", help="Post each delivery there: http://localhost:3000.")
    ] = "",
    events: Events = None,
    json: Json = False,
) -> None:
    """Print an account's events while this runs, and forward them to a program. Ctrl-C ends it.

    Deliveries are signed as those of any endpoint. The secret is shown at the start. Wait for `ready`, up to 12
    seconds: an event before it may be missed. Default: all events.
    """
    api, clock = connect(ctx), surroundings(ctx).clock
    forwarder = Forwarder(_address(forward_to), clock)
    ctx.call_on_close(forwarder.close)
    made = api.post(f"/{HOOKS}/listen", {"events": events or ["*"]})
    name = str(made.get("id"))
    tell(f"listening as {name}; Ctrl-C ends it")
    tell(f"secret: {made.get('secret')}")
    ready = _said_ready(made)
    try:
        while True:
            ready = ready or _said_ready(api.get(path_of(HOOKS, name)))
            if not _round(api, name, forwarder, json=json):
                clock.sleep(POLL)
    finally:
        with suppress(CommandError):  # the API removes it later by itself
            api.delete(path_of(HOOKS, name))


def _said_ready(endpoint: Document) -> bool:
    """Say that no event is missed from now on, if that is so, and return it. Each function looks for events by then."""
    ready = endpoint.get("state") == "enabled"
    if ready:
        tell("ready: from now on no event is missed")
    return ready


def _address(text: str) -> str:
    """Return an address that can be posted to, or empty; Misused if it is none."""
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if text and not (usable and text.isascii() and text.isprintable()):
        raise Misused("--forward-to must look like http://localhost:3000/hooks")
    return text


def _round(api: ApiClient, name: str, forwarder: Forwarder, *, json: bool) -> bool:
    """Fetch what is due, forward and report it; return whether there was anything."""
    items = api.get(path_of(HOOKS, name, "/pending")).get("items") or []
    for item in items:
        done = forwarder.post(item)
        body = {"status": done.status, "ms": done.ms, "answer": done.answer}
        api.post(path_of(HOOKS, name, path_of("pending", str(item["id"]), "/done")), body, again=True)
        _show(item, done, name, json=json)
        if forwarder.forwards:
            tell(f"{item['id']}: {_became(done, name, str(item['id']))}")
    return bool(items)


def _show(item: Document, done: Forwarded, hook: str, *, json: bool) -> None:
    body: Any = codec.loads(str(item["body"]))
    if json:
        answered = {"status": done.status, "ms": done.ms, "answer": done.answer}
        again = _again(hook, str(item["id"]))
        emit({"id": item["id"], "type": item["type"], **answered, "retry": again, "body": body})
        return
    events = body["data"] if body.get("type") == "batch" else [body]
    for event in events:
        shown = codec.dumps(event.get("data"), ensure_ascii=False, separators=(",", ":"))
        say(
            f"{event.get('timestamp')}  {event.get('type')}  {shown[:MAX_SHOWN]}{'…' if len(shown) > MAX_SHOWN else ''}"
        )


def _became(done: Forwarded, hook: str, delivery: str) -> str:
    """Return how the program took a delivery, for people; if it did not, with the command that posts it again."""
    said = f"answered {done.status} in {done.ms} ms" if done.status else "no answer"
    if HTTPStatus.OK <= done.status < HTTPStatus.MULTIPLE_CHOICES:
        return said
    return f"{said}; while this listens, post it again:  {_again(hook, delivery)}"


def _again(hook: str, delivery: str) -> str:
    """Return the command that posts a delivery again."""
    return f"posthaste hook retry {hook} {delivery}"
