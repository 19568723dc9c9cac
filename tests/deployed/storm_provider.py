"""A SendGrid of its own for `make storm`: the provider that fails, and the oracle of what it has taken.

It shares no code with the product or the simulator, so that a mistake in these cannot hide in it. It serves
`POST /v3/mail/send`, `GET /v3/scopes` and the Email Logs, and posts signed `delivered` events. A seed draws which
request fails, and how. Each recipient of a request is a line of its log.

`python tests/deployed/storm_provider.py --log FILE` prints its port and the key that verifies its events, and serves
until it is killed.
"""

import argparse
import asyncio
import base64
import http.client
import json
import random
import re
import sys
import time
import urllib.parse
import uuid
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

THROTTLED, DROPPED, GATEWAY, UNAVAILABLE, HUNG, FINE = "429", "dropped", "502", "503", "hung", "fine"
WEATHER: Final = ((THROTTLED, 0.03), (DROPPED, 0.07), (GATEWAY, 0.06), (UNAVAILABLE, 0.05), (HUNG, 0.01))
"""How a request fails, and how often: 3 % are throttled, and 19 % fail otherwise."""
FAILS: Final = sum(share for _, share in WEATHER)
"""Share of the requests that fail, unless the program is started with another one."""
TAKEN: Final = 0.5
"""How often a message is taken although its answer is dropped, comes from a gateway, or comes too late."""
HANG_SECONDS: Final = 10.0
LATENCY_SECONDS: Final = 0.03
SILENT: Final = "silent"
"""No events come of recipients that begin so."""
POST_SECONDS: Final = 0.5
"""Between two posts of events."""
MOST_EVENTS: Final = 500
PATIENCE_SECONDS: Final = 60.0
"""Of a post of events."""
_SEARCHED: Final = re.compile(r'to_email = "([^"]+)"')


class Provider:
    """What it has taken, and the weather.

    Args:
        seed: of the weather.
        log: gets a line for each recipient of a request.
        webhook: where events go; empty: there are none.
        fails: share of the requests that fail, 0 to 1.
    """

    def __init__(self, seed: int, log: Path, webhook: str, fails: float = FAILS) -> None:
        self._rng = random.Random(seed)  # noqa: S311 - weather
        self._log = log.open("a", encoding="utf-8")
        self._fails = fails
        self._webhook = urllib.parse.urlsplit(webhook)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._taken: list[dict[str, Any]] = []
        self._to: dict[str, list[dict[str, Any]]] = {}
        self._events: list[dict[str, Any]] = []

    @property
    def public_key(self) -> str:
        """The key that verifies its events, as SendGrid's settings page shows it."""
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        return base64.b64encode(self._key.public_key().public_bytes(serialization.Encoding.DER, form)).decode()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of a connection."""
        try:
            while await self._exchange(reader, writer):
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client went away
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer a request; return whether the connection goes on."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        weather = draw(self._rng, self._fails)
        answer = self._answer(method, path, body, weather)
        await asyncio.sleep(HANG_SECONDS if weather == HUNG else LATENCY_SECONDS)
        if answer is None:
            return False
        status, more, content = answer
        lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(content)}", *more]
        writer.write("\r\n".join((*lines, "", "")).encode() + content)
        return True

    def _answer(self, method: str, path: str, body: bytes, weather: str) -> tuple[int, list[str], bytes] | None:
        """Return status, header lines and body; None to close the connection instead."""
        taken = weather == FINE or (weather in (DROPPED, GATEWAY, HUNG) and self._rng.random() < TAKEN)
        sends = (method, path) == ("POST", "/v3/mail/send")
        name = self._receive(json.loads(body), weather, taken=taken) if sends else ""
        match weather:
            case "429":
                return _refused(429, "too many requests", "Retry-After: 1")
            case "502":
                return 502, ["Content-Type: text/html"], b"<html><h1>502 Bad Gateway</h1></html>"
            case "503":
                return _refused(503, "Service Unavailable")
            case "dropped":
                return None
        if sends:
            return (202, [f"X-Message-Id: {name}"], b"") if taken else None
        return self._found(method, path, body)

    def _receive(self, mail: dict[str, Any], weather: str, *, taken: bool) -> str:
        """Note a request that sends; return the id of what it sends."""
        now, name = time.time(), uuid.uuid4().hex
        for index, person in enumerate(mail["personalizations"]):
            to = person["to"][0]["email"]
            line = {"at": now, "to": to, "weather": weather, "taken": taken}
            self._log.write(json.dumps(line) + "\n")
            if taken:
                arguments = person.get("custom_args", {})
                row = {"id": f"{name}.filter-{index}-{len(self._taken)}", "to": to, "at": now, "args": arguments}
                self._taken.append(row)
                self._to.setdefault(to, []).append(row)
                if not to.startswith(SILENT):
                    self._events.append(_delivered(row))
        self._log.flush()
        return name

    def _found(self, method: str, path: str, body: bytes) -> tuple[int, list[str], bytes]:
        """Answer a question that sends nothing."""
        if (method, path) == ("GET", "/v3/scopes"):
            return _json(200, {"scopes": ["mail.send"]})
        if (method, path) == ("POST", "/v3/logs"):
            searched = _SEARCHED.search(json.loads(body)["query"])
            rows = self._to.get(searched[1], []) if searched else []
            return _json(200, {"messages": [{"sg_message_id": row["id"], "to_email": row["to"]} for row in rows]})
        wanted = urllib.parse.unquote(path.removeprefix("/v3/logs/"))
        number = wanted.rpartition("-")[2]
        if number.isdecimal() and int(number) < len(self._taken) and self._taken[int(number)]["id"] == wanted:
            row = self._taken[int(number)]
            return _json(200, {"sg_message_id": wanted, "to_email": row["to"], "custom_args": row["args"]})
        return _refused(404, "Not Found")

    async def report(self) -> None:
        """Post events, each until it is taken."""
        while True:
            await asyncio.sleep(POST_SECONDS)
            if self._webhook.netloc and (events := self._events[:MOST_EVENTS]):
                del self._events[: len(events)]
                if not await asyncio.to_thread(self._posted, events):
                    self._events += events

    def _posted(self, events: list[dict[str, Any]]) -> bool:
        """Post events once, signed; return whether they were taken."""
        body, stamp = json.dumps(events).encode(), str(int(time.time()))
        signature = self._key.sign(stamp.encode() + body, ec.ECDSA(hashes.SHA256()))
        headers = {
            "Content-Type": "application/json",
            "X-Twilio-Email-Event-Webhook-Signature": base64.b64encode(signature).decode(),
            "X-Twilio-Email-Event-Webhook-Timestamp": stamp,
        }
        connection = http.client.HTTPConnection(self._webhook.netloc, timeout=PATIENCE_SECONDS)
        try:
            connection.request("POST", self._webhook.path, body, headers)
            answer = connection.getresponse()
            answer.read()
        except OSError:
            return False
        finally:
            connection.close()
        return answer.status // 100 == 2


def draw(rng: random.Random, fails: float) -> str:
    """Return how a request fares. `fails`: share of the requests that fail, 0 to 1."""
    drawn = rng.random()
    for weather, share in WEATHER:
        drawn -= share * fails / FAILS
        if drawn < 0:
            return weather
    return FINE


def _delivered(row: dict[str, Any]) -> dict[str, Any]:
    return {
        **row["args"],
        "email": row["to"],
        "timestamp": int(row["at"]),
        "event": "delivered",
        "response": "250 2.0.0 OK",
        "sg_event_id": uuid.uuid4().hex,
        "sg_message_id": row["id"],
    }


def _json(status: int, body: object, *more: str) -> tuple[int, list[str], bytes]:
    return status, ["Content-Type: application/json", *more], json.dumps(body).encode()


def _refused(status: int, message: str, *more: str) -> tuple[int, list[str], bytes]:
    return _json(status, {"errors": [{"message": message, "field": None, "help": None}]}, *more)


async def _run(options: argparse.Namespace) -> None:
    provider = Provider(options.seed, options.log, options.webhook, options.fails)
    server = await asyncio.start_server(provider.serve, "127.0.0.1", 0, limit=1 << 20, backlog=1024)
    port = server.sockets[0].getsockname()[1]
    sys.stdout.write(json.dumps({"port": port, "public_key": provider.public_key}) + "\n")
    sys.stdout.flush()
    await asyncio.gather(server.serve_forever(), provider.report())


def main() -> None:
    """Serve until the process is killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log", type=Path, required=True, help="file that gets a line for each recipient")
    parser.add_argument("--seed", type=int, default=0, help="of the weather")
    parser.add_argument("--webhook", default="", help="URL that events go to")
    parser.add_argument("--fails", type=float, default=FAILS, help="share of the requests that fail")
    asyncio.run(_run(parser.parse_args()))


if __name__ == "__main__":
    main()
