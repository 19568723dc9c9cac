"""`posthaste image …`: pictures that messages show."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from cli.client import connect, path_of
from cli.errors import Misused
from cli.output import Json, emit, say, tables

app = typer.Typer(help="Pictures of messages, which everybody can see by their addresses.", no_args_is_help=True)

COLUMNS: Final = ("id", "size", "pixels", "alt", "url")
MOST: Final = 1_048_576
"""Bytes of a picture."""


@app.command()
def add(
    ctx: typer.Context,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="PNG, JPEG, GIF or WebP, up to 1 MB each.")],
    alt: Annotated[str, typer.Option(metavar="TEXT", help="What the picture shows, for those who do not see it.")] = "",
    json: Json = False,
) -> None:
    """Add pictures and print their addresses. The same picture is there once.

    Places, times and cameras that a file names are not kept.
    """
    bodies = [{"data": _data(file), **({"alt": alt} if alt else {})} for file in files]
    api = connect(ctx)
    for body in bodies:
        found = api.post("/images", body, again=True)
        if json:
            emit(found)
        else:
            say(str(found.get("url", "")))


@app.command("list")
def list_images(ctx: typer.Context, json: Json = False) -> None:
    """List the account's pictures, newest first."""
    tables(COLUMNS, connect(ctx).pages("/images", {}), json=json, empty="no pictures", row=_row)


@app.command()
def delete(
    ctx: typer.Context,
    images: Annotated[list[str], typer.Argument(metavar="IMAGE...", help="IDs of `image list`.")],
    json: Json = False,
) -> None:
    """Delete pictures: messages that were sent show them no more."""
    api = connect(ctx)
    for image in images:
        found = api.delete(path_of("images", image))
        if json:
            emit(found)
        else:
            say(f"image {image} is deleted")


def _data(file: Path) -> str:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise Misused(f"cannot read {file}: {error.strerror}") from None
    if len(data) > MOST:
        raise Misused(f"{file} has {len(data):,} bytes; a picture has at most {MOST:,}")
    return base64.b64encode(data).decode()


def _row(image: Mapping[str, Any]) -> dict[str, Any]:
    return {**image, "pixels": f"{image.get('width')} x {image.get('height')}"}
