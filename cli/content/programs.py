"""`posthaste program …`: schedules of notices that an account recommends to its notifiers."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from cli.client import ApiClient, connect, new_key, path_of
from cli.errors import Misused, NotFound
from cli.files import json_of
from cli.options import pairs
from cli.output import Json, counted, emit, emit_or_say, say, tables

app = typer.Typer(help="Programs: schedules of notices that notifiers copy.", no_args_is_help=True)

COLUMNS: Final = ("name", "version", "steps", "saved_at")
STEP: Final = ("template_id", "offset_days", "preferred_time", "delivery_method")
_STEP: Final = re.compile(r"([^@/+]+)\+([0-9]{1,5})(?:@([0-9-]+))?(?:/(SMS|IVR))?", re.ASCII)
Name = Annotated[str, typer.Argument(metavar="NAME", help="The program's name.")]


@app.command("list")
def list_programs(ctx: typer.Context, json: Json = False) -> None:
    """List the account's programs in the order of their names."""
    tables(COLUMNS, connect(ctx).pages("/programs", {}), json=json, empty="no programs", row=_row)


def _row(program: Mapping[str, Any]) -> dict[str, Any]:
    return {**program, "steps": len(program.get("steps") or ())}


@app.command()
def show(ctx: typer.Context, name: Name, json: Json = False) -> None:
    """Show a program with its steps."""
    found = connect(ctx).get(path_of("programs", name))
    if json:
        emit(found)
        return
    say(f"program {found.get('name')}, version {found.get('version')}, saved {found.get('saved_at')}")
    for key, value in (found.get("metadata") or {}).items():
        say(f"  {key}: {value}")
    tables(STEP, [found.get("steps") or []], json=False, empty="no steps")


@app.command()
def put(
    ctx: typer.Context,
    name: Name,
    *,
    step: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEMPLATE+DAYS[@HOURS][/METHOD]",
            help="A notice of this template, days after the first day: ID+28, ID+28@9-12/SMS. Repeatable, in order.",
        ),
    ] = None,
    metadata: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A text about the program. Repeatable.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="JSON body of PUT /programs instead; - for stdin.")
    ] = None,
    json: Json = False,
) -> None:
    """Store a program: a new one, or the next version of one. Notifiers that copied it keep their copies."""
    if (file is None) == (not step) or (file is not None and metadata):
        raise Misused("give the steps, either by --step or by --file")
    body = _of_file(file) if file is not None else _of_options(step or (), metadata or ())
    found = _stored(connect(ctx), name, body)
    amount = counted(len(found.get("steps") or ()), "step")
    emit_or_say(found, json=json, text=f"program {name}, version {found.get('version')}: {amount}")


@app.command()
def delete(ctx: typer.Context, name: Name, json: Json = False) -> None:
    """Delete a program. Notifiers that copied it keep their copies."""
    emit_or_say(connect(ctx).delete(path_of("programs", name)), json=json, text=f"program {name} is deleted")


def _stored(api: ApiClient, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Store the next version of a program, or a new one if there is none of this name."""
    try:
        return api.put(path_of("programs", name), body)
    except NotFound as error:
        if error.problem != "not_found":
            raise
    return api.post("/programs", {**body, "name": name}, key=new_key())


def _of_options(steps: Sequence[str], metadata: Sequence[str]) -> dict[str, Any]:
    body: dict[str, Any] = {"steps": [_step(text) for text in steps]}
    return body | ({"metadata": pairs("--metadata", metadata)} if metadata else {})


def _step(text: str) -> dict[str, Any]:
    form = _STEP.fullmatch(text)
    if form is None:
        raise Misused("--step has the form TEMPLATE+DAYS, with @HOURS and /SMS or /IVR behind it if needed")
    step = {"template_id": form[1], "offset_days": int(form[2]), "preferred_time": form[3], "delivery_method": form[4]}
    return {name: value for name, value in step.items() if value is not None}


def _of_file(file: Path) -> dict[str, Any]:
    found = json_of(file)
    if not isinstance(found, dict):
        raise Misused(f"{file} is not a JSON object with `steps`")
    found.pop("name", None)  # the command's argument is the name
    return found
