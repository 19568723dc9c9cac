"""The relay's process, from its options to SIGTERM."""

import asyncio
import functools
import signal
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cli.client import installed_version
from cli.environment import Destination, is_loopback
from cli.errors import Misused
from cli.files import text_of
from cli.output import counted, say, tell
from cli.relay.api import MailApi
from cli.relay.delivering import AT_ONCE, HeldMail
from cli.relay.failures import FailedMails
from cli.relay.server import ROOM, RelayAccess, RelayServer
from cli.relay.spool import FileQueue
from cli.relay.taking import MailIntake
from shared.domain.recipients.addresses import Address, parse
from shared.ports import Clock

STOP_SECONDS: Final = 40.0
"""On SIGTERM, mails that are being taken get their answers within these."""
HIGHEST_PORT: Final = 65_535


@dataclass(frozen=True, slots=True)
class RelayOptions:
    """The options that the relay is started with.

    Attributes:
        listen: HOST:PORT.
        spool: a folder for mail while the API is out of reach.
        certificate: PEM, for STARTTLS.
        key: PEM; None: in the certificate's file.
        user: who logs in; empty: no login.
        password_file: holds the user's password.
        sender: an address in place of senders without a domain of their own.
    """

    listen: str
    spool: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    user: str = ""
    password_file: Path | None = None
    sender: str = ""


def run(options: RelayOptions, target: Callable[[], Destination], clock: Clock) -> None:
    """Run the relay until SIGTERM or SIGINT.

    Args:
        target: returns the API; asked for when the options are found to be right.
    """
    host, port = _address(options.listen)
    access, sender = _access(options), _sender(options.sender)
    if not is_loopback(host) and (access.tls is None or not access.user):
        raise Misused("beyond this machine, a relay needs --certificate, --user and --password-file")
    with ExitStack() as stack:
        api = MailApi(target(), clock, installed_version(), ROOM + AT_ONCE)
        stack.callback(api.close)
        held = None
        if options.spool is not None:
            queue = FileQueue(options.spool)
            stack.callback(queue.close)
            held = HeldMail(queue, FailedMails(options.spool / "failed"), api, clock, tell)
            waiting = sum(1 for _ in queue.list_queue()) + sum(1 for _ in queue.find_inflight())
            tell(f"{options.spool}: {counted(waiting, 'mail')} to post")
        intake = MailIntake(api, held, sender=sender, folder=options.spool, clock=clock)
        server = functools.partial(RelayServer, intake, access, options.spool, sender=sender)
        asyncio.run(_serve(_listener(host, port), server, held))


async def _serve(listener: socket.socket, made: Callable[[], RelayServer], held: HeldMail | None) -> None:
    """Serve until SIGTERM or SIGINT. `made`: makes the server, in its loop."""
    server = made()
    stopped, ended = asyncio.Event(), threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
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
        raise Misused("--listen takes HOST:PORT, like 127.0.0.1:2525")
    return host, int(port)


def _sender(given: str) -> str:
    """Return the address of --sender; empty if there is none."""
    if not given:
        return ""
    found = parse(given)
    if not isinstance(found, Address):
        raise Misused(f"--sender takes an address, like ops@example.com. {found.reason}")
    return found.address


def _listener(host: str, port: int) -> socket.socket:
    """Bind a socket; a machine of several addresses has one for each, and the first is taken."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(found[4][:2], family=found[0])
    except OSError as error:
        raise Misused(f"cannot listen on {host}:{port}: {error.strerror or error}") from None


def _access(options: RelayOptions) -> RelayAccess:
    certificate, user, file = options.certificate, options.user, options.password_file
    if options.key is not None and certificate is None:
        raise Misused("--key goes with --certificate")
    if bool(user) != (file is not None):
        raise Misused("--user and --password-file go together")
    password = text_of(file).strip("\r\n") if file else ""
    if user and not password:
        raise Misused(f"{file} is empty")
    return RelayAccess(_tls(certificate, options.key) if certificate else None, user, password)


def _tls(certificate: Path, key: Path | None) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key, password=lambda: "")  # no prompt for an encrypted key
    except (OSError, ssl.SSLError) as error:
        raise Misused(f"cannot use the certificate {certificate}: {error}") from None
    return context
