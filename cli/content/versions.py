"""`posthaste template versions | diff | delete`: what a stored template said before, and its end."""

import difflib
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

import typer

from cli.client import connect, path_of
from cli.errors import Misused
from cli.output import Json, emit, emit_or_say, say, tables, tell
from cli.sending.templates import TemplateId

COLUMNS: Final = ("version", "saved_at", "name")
LINES: Final = ("name", "from", "reply_to", "subject")
"""Fields of a template that are one line."""
VARIANT: Final = ("text", "say")
"""Fields of a variant for notices that hold what it says."""


def versions(ctx: typer.Context, template: TemplateId, json: Json = False) -> None:
    """List the versions of a template, newest first. `template show --version N` shows one."""
    pages = connect(ctx).pages(path_of("templates", template, "/versions"))
    tables(COLUMNS, pages, json=json, empty="no versions")


def diff(
    ctx: typer.Context,
    template: TemplateId,
    older: Annotated[
        int | None, typer.Option("--from", min=1, help="The older version; default: the one before the newer.")
    ] = None,
    newer: Annotated[int | None, typer.Option("--to", min=1, help="The newer version; default: the latest.")] = None,
    json: Json = False,
) -> None:
    """Show what changed between two versions of a template, line by line as `diff -u` does."""
    api = connect(ctx)
    path = path_of("templates", template)
    after = api.get(path, {"version": str(newer)} if newer else None)
    second = int(after.get("version") or 1)
    first = older or second - 1
    if not first:
        raise Misused("the template has one version: there is nothing to compare")
    before = api.get(path, {"version": str(first)})
    if json:
        emit({"from": before, "to": after})
        return
    lines = list(
        difflib.unified_diff(_lines(before), _lines(after), f"version {first}", f"version {second}", lineterm="")
    )
    for line in lines:
        say(line)
    if not lines:
        tell(f"versions {first} and {second} say the same")


def _lines(found: Mapping[str, Any]) -> list[str]:
    """Return a template as lines: its short fields, then each text line by line."""
    return [*_fields(found), *_texts(found)]


def _fields(found: Mapping[str, Any]) -> Iterator[str]:
    for name in LINES:
        if found.get(name):
            yield f"{name.replace('_', ' ')}: {found[name]}"


def _texts(found: Mapping[str, Any]) -> Iterator[str]:
    texts = {name: found.get(name) for name in ("body", "text")}
    variants = ((name, value) for name, value in found.items() if isinstance(value, dict))
    texts |= {name: value.get(field) for name, value in variants for field in VARIANT if field in value}
    for name, text in texts.items():
        for line in str(text or "").splitlines():
            yield f"{name} | {line}"


def delete(
    ctx: typer.Context,
    template: Annotated[list[str], typer.Argument(metavar="ID…", help="Ids of templates.")],
    json: Json = False,
) -> None:
    """Delete templates with all their versions. Campaigns that were made from them keep what they say."""
    api = connect(ctx)
    for name in template:
        api.delete(path_of("templates", name))
        emit_or_say({"template_id": name, "deleted": True}, json=json, text=f"template {name} is deleted")


def add_to(app: typer.Typer) -> None:
    """Add these commands to those of templates."""
    for command in (versions, diff, delete):
        app.command()(command)
