"""The content of a campaign or a template, as options of a command and as the API takes it."""

from pathlib import Path
from typing import Annotated, Any

import typer

from cli.files import text_of
from shared.domain.channels.lookup import CHANNELS


def channel_option(text: str) -> Any:
    """Return an option that names a channel; `text`: its help."""
    return typer.Option(parser=_channel, metavar=f"[{'|'.join(CHANNELS)}]", help=text)


def _channel(name: str) -> str:
    if name not in CHANNELS:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(CHANNELS)}")
    return name


Subject = Annotated[str, typer.Option(help="The subject, which may have {{ placeholders }}.")]
From = Annotated[str, typer.Option("--from", metavar="ADDRESS", help="The sender.")]
ReplyTo = Annotated[str, typer.Option(metavar="ADDRESS", help="The address for replies.")]
TextFile = Annotated[
    Path | None, typer.Option("--text", metavar="FILE", help="An e-mail's plain text; without it, it is derived.")
]


def saying(body: str, *, subject: str, sender: str, reply_to: str, text: Path | None) -> dict[str, str]:
    """Return a message as POST /campaigns and POST /templates take it; what is not given is left out.

    Args:
        body: the text or HTML, with its placeholders.
        subject: the subject line; empty if not given.
        sender: the sender's address; empty if not given.
        reply_to: the address for replies; empty if not given.
        text: the file with the plain text of an HTML message; None if not given.
    """
    said = {"body": body, "from": sender, "subject": subject, "reply_to": reply_to}
    if text is not None:
        said["text"] = text_of(text)
    return {name: value for name, value in said.items() if value}
