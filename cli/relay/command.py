"""`posthaste relay`: an SMTP server for programs that make their own mail."""

from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from cli.client import target_of
from cli.output import surroundings

LISTEN: Final = "127.0.0.1:2525"


def relay(
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
    sender: Annotated[
        str,
        typer.Option(metavar="ADDRESS", help="Put it in place of senders such as root@localhost."),
    ] = "",
) -> None:
    """Take mail by SMTP and hand it to the API. A mail is answered with 250 only when the API, or the spool, has it."""
    from cli.relay.process import RelayOptions, run  # noqa: PLC0415 - loads an SMTP server, which needs POSIX

    options = RelayOptions(listen, spool, certificate, key, user, password_file, sender)
    run(options, partial(target_of, ctx), surroundings(ctx).clock)
