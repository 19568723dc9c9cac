"""The relay's options, and its process from start to SIGTERM."""

import asyncio
import signal
import socket
import ssl
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Final

import typer

from cli.client import installed_version
from cli.environment import api_target, is_loopback
from cli.errors import Misused
from cli.files import text_of
from cli.output import counted, say, surroundings, tell
from cli.relay.api import MailApi
from cli.relay.delivering import HeldMail
from cli.relay.failures import FailedMails
from cli.relay.server import ROOM, RelayAccess, RelayServer
from cli.relay.spool import FileQueue
from cli.relay.taking import MailIntake

LISTEN: Final = "127.0.0.1:2525"
STOP_SECONDS: Final = 40.0
"""On SIGTERM, mails that are being taken get their answers within these."""
HIGHEST_PORT: Final = 65_535


def _relay(
    ctx: typer.Context,
    *,
    listen: Annotated[str, typer.Option(metavar="HOST:PORT", help="Address to listen on.")] = LISTEN,
    spool: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep mail in this folder while the API is out of reach.")
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Certificate chain (PEM): STARTTLS is required.")
    ] = None,
    key: Annotated[Path | None, typer.Option(metavar="FILE", help="Its key; default: in the same file.")] = None,
    user: Annotated[str, typer.Option(metavar="NAME", help="User name: AUTH is required.")] = "",
    password_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Holds the user's password; - for stdin.")
    ] = None,
) -> None:
    """Take mail by SMTP and hand it to the API. A mail is answered with 250 only when the API, or the spool, has it."""
    host, port = _address(listen)
    access = _access(certificate, key, user, password_file)
    if not is_loopback(host) and (access.tls is None or not access.user):
        raise Misused("beyond this machine, a relay needs --certificate, --user and --password-file")
    target = api_target()
    clock = surroundings(ctx).clock
    with ExitStack() as stack:
        api = MailApi(target, clock, installed_version(), ROOM + 1)
        stack.callback(api.close)
        held = None
        if spool is not None:
            queue = FileQueue(spool)
            stack.callback(queue.close)
            held = HeldMail(queue, FailedMails(spool / "failed"), api, clock, tell)
            waiting = sum(1 for _ in queue.list_queue()) + sum(1 for _ in queue.find_inflight())
            tell(f"{spool}: {counted(waiting, 'mail')} to post")
        asyncio.run(_serve(_listener(host, port), MailIntake(api, held), access, held))


async def _serve(listener: socket.socket, intake: MailIntake, access: RelayAccess, held: HeldMail | None) -> None:
    """Serve until SIGTERM or SIGINT."""
    stopped, ended = asyncio.Event(), threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    server = RelayServer(intake, access)
    await server.start(listener)
    host, port = listener.getsockname()[:2]
    say(f"listening on {host}:{port}")
    delivery = asyncio.create_task(asyncio.to_thread(held.run, ended)) if held else None
    stop = asyncio.create_task(stopped.wait())
    try:
        await asyncio.wait([stop, *([delivery] if delivery else [])], return_when=asyncio.FIRST_COMPLETED)
        await server.stop(STOP_SECONDS)
    finally:
        ended.set()
        if delivery:
            await delivery


def _address(listen: str) -> tuple[str, int]:
    host, colon, port = listen.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isdecimal() or int(port) > HIGHEST_PORT:
        raise Misused(f"--listen takes HOST:PORT, like {LISTEN}")
    return host, int(port)


def _listener(host: str, port: int) -> socket.socket:
    """Bind a socket; a machine of several addresses has one for each, and the first is taken."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(found[4][:2], family=found[0])
    except OSError as error:
        raise Misused(f"cannot listen on {host}:{port}: {error.strerror or error}") from None


def _access(certificate: Path | None, key: Path | None, user: str, password_file: Path | None) -> RelayAccess:
    if key is not None and certificate is None:
        raise Misused("--key goes with --certificate")
    if bool(user) != (password_file is not None):
        raise Misused("--user and --password-file go together")
    password = text_of(password_file).strip("\r\n") if password_file else ""
    if user and not password:
        raise Misused(f"{password_file} is empty")
    return RelayAccess(_tls(certificate, key) if certificate else None, user, password)


def _tls(certificate: Path, key: Path | None) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key, password=lambda: "")  # no prompt for an encrypted key
    except (OSError, ssl.SSLError) as error:
        raise Misused(f"cannot use the certificate {certificate}: {error}") from None
    return context
