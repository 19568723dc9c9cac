"""Routing: `/{provider}/{credential}/…` to the provider, everything else to control and inbox. A raw ASGI app.

The order of a provider's call makes the log an oracle. It reads the whole request, lets the provider decide, lets a
fault interfere, and records what was accepted. Only then does it wait and answer.
"""

import asyncio
from dataclasses import dataclass
from typing import Any, Final

from simulator.control import Control
from simulator.dice import Dice, token
from simulator.faults import Rule
from simulator.log import AcceptedRows
from simulator.model import Answer, BadRequest, Call, Context, Mode, Reply, Request
from simulator.servers.listener import Connection
from simulator.world import DEFAULT_CREDENTIAL, Credential, World

REFUSED_BY_PROVIDER: Final = {Mode.UNAVAILABLE: 503, Mode.THROTTLED: 429, Mode.UNAUTHORIZED: 401}
NOT_ACCEPTABLE_BODY: Final = (
    b"<html>\r\n<head><title>406 Not Acceptable</title></head>\r\n<body>\r\n<center><h1>406 Not Acceptable</h1>"
    b"</center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
)
"""As users of SendGrid report it (github.com/sendgrid/sendgrid-php/issues/1054)."""
GATEWAY_BODY: Final = b"<html><head><title>Error</title></head><body><center><h1>Error</h1></center></body></html>"
NOT_ACCEPTABLE: Final = Reply(406, [(b"content-type", b"text/html")], NOT_ACCEPTABLE_BODY)
MAX_CACHED_PATHS: Final = 4096
MAX_CONTROL_BODY: Final = 2**20


@dataclass(frozen=True, slots=True)
class Target:
    """Whom a path is for, and the path as the provider knows it."""

    credential: Credential
    path: str


class App:
    """The ASGI application."""

    def __init__(self, world: World, control: Control) -> None:
        self._world, self._control = world, control
        self._targets: dict[str, Target] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request."""
        path = scope["path"]
        target = self._targets.get(path)
        if target is None:
            try:
                target = self._resolve(path)
            except BadRequest as e:
                await _answer(send, Reply(404, [(b"content-type", b"text/plain")], str(e).encode()))
                return
        if target is None:
            body, _ = await _read(receive, MAX_CONTROL_BODY)
            await _answer(send, await self._control.serve(scope, body))
            return
        await self._serve(target, scope, receive, send)

    def _resolve(self, path: str) -> Target | None:
        parts = path.split("/", 3)
        provider = self._world.providers.get(parts[1])
        if provider is None:
            return None
        if len(parts) == 2 or parts[2] in provider.roots:  # noqa: PLR2004 - "", provider
            target = Target(self._world.credential(parts[1], DEFAULT_CREDENTIAL), path[len(parts[1]) + 1 :])
        else:
            target = Target(self._world.credential(parts[1], parts[2]), "/" + (parts[3] if len(parts) > 3 else ""))  # noqa: PLR2004
        if len(self._targets) < MAX_CACHED_PATHS:
            self._targets[path] = target
        return target

    async def _serve(self, target: Target, scope: Any, receive: Any, send: Any) -> None:
        credential, world = target.credential, self._world
        provider, connection = credential.provider, scope["state"]["connection"]
        body, size = await _read(receive, provider.max_body)
        if size < 0:
            return
        now = world.clock.now()
        call = world.log.call(now, provider.name, credential.id)
        request = Request(scope["method"], target.path, scope["query_string"], scope["headers"], body, size)
        context = Context(
            credential.id,
            credential.keys,
            token(world.options.seed, provider.name, credential.id, call.n),
            now,
            AcceptedRows(world.log, provider.name, credential.id),
            credential.memory,
            credential.faults.faults.events_late_s,
        )
        answer = (
            provider.receive(request, context) if all(map(request.header, provider.wants)) else Answer(NOT_ACCEPTABLE)
        )
        rule = None
        if credential.faults.faults.rules:
            dice = Dice(world.options.seed, provider.name, credential.id, "fault", call.n)
            rule = credential.faults.pick(answer.messages, now, dice.roll)
        if rule is not None:
            call.fault = rule.mode
            answer = _interfere(rule, answer, credential)
        if answer.messages:
            world.log.accept(call, answer.messages)
            credential.courier.take(answer.messages)
        try:
            await _finish(call, answer.reply, rule, credential.faults.latency, connection, receive, send)
        finally:
            call.finished = True


def _interfere(rule: Rule, answer: Answer, credential: Credential) -> Answer:
    """Return what is answered and accepted under a fault; see the table in `faults.py`."""
    if rule.mode in REFUSED_BY_PROVIDER:
        status = REFUSED_BY_PROVIDER[rule.mode]
        return Answer(credential.provider.refusal(rule.mode, status, rule.retry_after_s))
    if rule.mode is Mode.NOT_ACCEPTABLE:
        return Answer(NOT_ACCEPTABLE)
    if rule.mode is Mode.GATEWAY:
        reply = Reply(rule.status, [(b"content-type", b"text/html")], GATEWAY_BODY)
        if rule.own:
            reply = credential.provider.refusal(rule.mode, rule.status, 0)
        return Answer(reply, answer.messages if rule.accept else [])
    if rule.mode in (Mode.RESET, Mode.REFUSE):
        return Answer(answer.reply)
    return answer


async def _finish(
    call: Call, reply: Reply, rule: Rule | None, latency: float, connection: Connection, receive: Any, send: Any
) -> None:
    if rule is not None and rule.mode is Mode.SLOW:
        latency += rule.after_s
    if latency:
        await asyncio.sleep(latency)
    if rule is not None and rule.mode in (Mode.ACCEPT_AND_DROP, Mode.RESET, Mode.REFUSE):
        if rule.mode is Mode.ACCEPT_AND_DROP:
            connection.hang_up()
        else:
            connection.reset()
        await _gone(receive)
        return
    if connection.closing:
        await _gone(receive)
        return
    call.status = reply.status
    call.answered = True
    await _answer(send, reply)


async def _answer(send: Any, reply: Reply) -> None:
    headers = [*reply.headers, (b"content-length", b"%d" % len(reply.body))]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})


async def _read(receive: Any, limit: int) -> tuple[bytes, int]:
    """Return the whole body and its size: no body if over the limit, size -1 if the client left before its end."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return b"", -1
        size += len(message["body"])
        if size <= limit:
            parts.append(message["body"])
        else:
            parts.clear()
        if not message["more_body"]:
            return (parts[0] if len(parts) == 1 else b"".join(parts)), size


async def _gone(receive: Any) -> None:
    """Wait until the server has noticed that the connection is closed; otherwise it would answer 500 itself."""
    while (await receive())["type"] != "http.disconnect":
        continue
