"""An SMTP server of scripted conversations: what real servers do, byte for byte, and what broken ones do."""

import socket
import ssl
from collections.abc import Callable
from typing import IO

from tests.adapters.servers import Conversation, Script

Action = Callable[[Conversation], bytes | None]
"""Does something, and may return what is to be said."""
Say = bytes | Action


class Hangup(Exception):
    """The script ends the conversation."""


def drop(c: Conversation) -> None:
    raise Hangup


def reset(c: Conversation) -> None:
    c.reset()
    raise Hangup


def hang(c: Conversation) -> None:
    c.server.over.wait(10)
    raise Hangup


def drip(c: Conversation) -> None:
    while not c.server.over.wait(0.02):
        c.say(b"2")
    raise Hangup


def half(c: Conversation) -> None:
    c.say(b"250 2.0.0 o")
    raise Hangup


def relay(
    *,
    extensions: str = "",
    tls: ssl.SSLContext | None = None,
    say: dict[str, Say] | None = None,
    first: dict[str, Say] | None = None,
    commands: list[bytes] | None = None,
) -> Script:
    """Serve SMTP.

    Args:
        extensions: EHLO keywords, separated by commas.
        tls: for STARTTLS.
        say: verb, GREETING, BODY (after 64 bytes of it) or END → the reply, or what is done instead.
        first: the same, for the first connection alone.
        commands: where to keep what the client said.
    """

    def script(c: Conversation) -> None:
        lines = {
            "GREETING": b"220 relay.example ESMTP\r\n",
            "EHLO": "".join([f"250-{x}\r\n" for x in ["relay.example", *filter(None, extensions.split(","))]]).encode()
            + b"250 HELP\r\n",
            "DATA": b"354 go on\r\n",
            "END": b"250 2.0.0 Ok: queued as 4F0\r\n",
            **(say or {}),
            **((first or {}) if c.number == 1 else {}),
        }

        def answer(verb: str) -> bytes:
            found = lines.get(verb, b"250 2.0.0 Ok\r\n")
            said = found(c) or b"" if callable(found) else found
            c.say(said)
            return said

        c.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            answer("GREETING")
            _talk(c, answer, lines, tls, commands if commands is not None else [])
        except Hangup:
            return
        finally:
            c.sock.close()

    return script


def _talk(
    c: Conversation,
    answer: Callable[[str], bytes],
    lines: dict[str, Say],
    tls: ssl.SSLContext | None,
    commands: list[bytes],
) -> None:
    reader = c.sock.makefile("rb")
    try:
        while line := reader.readline():
            commands.append(line)
            verb = (line.split() or [b""])[0].decode("latin-1").upper()
            said = answer(verb)
            if verb == "QUIT":
                return
            if verb == "STARTTLS" and tls is not None and said.startswith(b"2"):
                reader.close()
                c.sock = tls.wrap_socket(c.sock, server_side=True)
                c.server._open.append(c.sock)
                reader = c.sock.makefile("rb")
            if verb == "DATA" and said.startswith(b"354"):
                c.server.requests.append(_message(reader, answer, told="BODY" in lines))
                answer("END")
    finally:
        reader.close()


def _message(reader: IO[bytes], answer: Callable[[str], bytes], *, told: bool) -> bytes:
    body = b""
    while not body.endswith(b"\r\n.\r\n"):
        more = reader.readline()
        if not more:
            raise Hangup
        body += more
        if told and len(body) > 64:
            answer("BODY")
    return body
