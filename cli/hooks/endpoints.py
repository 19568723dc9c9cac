"""`posthaste hook create | list | show | update | delete | rotate | test`."""

from typing import Annotated, Any, Final

import typer

from cli.errors import Misused
from cli.hooks.door import Document
from cli.hooks.opening import HookOwner, of_owner
from cli.output import Json, emit, emit_all, emit_or_say, say, table, tell

app = typer.Typer(help="Hooks: endpoints that events are posted to.", no_args_is_help=True)

COLUMNS: Final = ("id", "state", "batch", "format", "created_at", "url")
HookId = Annotated[str, typer.Argument(metavar="ID", help="The endpoint's id, hook_….")]
Events = Annotated[
    list[str] | None, typer.Option("--event", metavar="KIND", help="Such as message.failed. Repeatable.")
]
Form = Annotated[str, typer.Option("--format", metavar="FORMAT", help="standard, slack, teams or discord.")]


@of_owner(app)
def create(
    owner: HookOwner,
    url: Annotated[str, typer.Argument(metavar="URL", help="Where events are posted, https.")],
    *,
    events: Events = None,
    description: Annotated[str, typer.Option(help="For people.")] = "",
    batch: Annotated[bool, typer.Option("--batch", help="Up to 100 events of one kind in a request.")] = False,
    form: Form = "",
    json: Json = False,
) -> None:
    """Create an endpoint. Its secret is shown once, here. Default: all events.

    A `test` event is posted first. The endpoint gets others when it has answered that with 2xx.
    """
    given = {"description": description, "batch": batch, "format": form}
    body = {"url": url, "events": events or ["*"], **{name: value for name, value in given.items() if value}}
    with owner.door() as door:
        made = door.create(body)
    if json:
        emit(made)
        return
    say(str(made.get("secret")))
    tell(f"secret of {made.get('id')}: shown once, keep it now. It verifies what is posted")
    tell(
        f"a test event is posted now; when it is answered with 2xx, others follow: posthaste hook show {made.get('id')}"
    )


@of_owner(app, "list")
def list_hooks(owner: HookOwner, *, json: Json = False) -> None:
    """List endpoints, oldest first."""
    with owner.door() as door:
        found = door.every()
    if json:
        emit_all(found)
        return
    rows = [{**x, "batch": "yes" if x["batch"] else "", "url": x["url"] or "(fetched)"} for x in found]
    table(COLUMNS, rows, empty="no endpoints: make one with `posthaste hook create URL`")


@of_owner(app)
def show(owner: HookOwner, hook: HookId, *, json: Json = False) -> None:
    """Show an endpoint, and how it does."""
    with owner.door() as door:
        found = door.read(hook)
    if json:
        emit(found)
        return
    say(f"{found.get('id')} is {_state(found)}")
    for name, value in found.items():
        if name not in ("id", "hook_id", "state", "reason", "disabled_at") and value not in (None, "", False):
            say(f"  {name.replace('_', ' ')}: {_shown(value)}")


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} {x}" for name, x in value.items() if x is not None)
    return "yes" if value is True else str(value)


def _state(found: Document) -> str:
    if not found.get("disabled_at"):
        return str(found.get("state"))
    return f"disabled since {found['disabled_at']}: {found.get('reason') or 'unknown'}"


@of_owner(app)
def update(
    owner: HookOwner,
    hook: HookId,
    *,
    url: Annotated[str, typer.Option(metavar="URL", help="It has to answer a test event first.")] = "",
    events: Events = None,
    description: Annotated[str | None, typer.Option(help="For people.")] = None,
    batch: Annotated[bool | None, typer.Option("--batch/--no-batch", help="Several events in a request.")] = None,
    form: Form = "",
    disable: Annotated[bool, typer.Option("--disable", help="Post nothing to it.")] = False,
    enable: Annotated[bool, typer.Option("--enable", help="Post a test event, then others, once it answers.")] = False,
    json: Json = False,
) -> None:
    """Change an endpoint. Settings that no option names stay as they are. --event replaces all events."""
    options: dict[str, Any] = {
        "url": url or None,
        "events": events or None,
        "description": description,
        "batch": batch,
        "format": form or None,
        "disabled": _is_disabled(disable=disable, enable=enable),
    }
    body = {name: value for name, value in options.items() if value is not None}
    if not body:
        raise Misused("say what to change; see `posthaste hook update --help`")
    with owner.door() as door:
        changed = door.change(hook, body)
    emit_or_say(changed, json=json, text=f"{hook} is {_state(changed)}")


def _is_disabled(*, disable: bool, enable: bool) -> bool | None:
    """Return what the options make of an endpoint; None: they leave it as it is."""
    if disable and enable:
        raise Misused("give --disable or --enable, not both")
    return disable if disable or enable else None


@of_owner(app)
def delete(owner: HookOwner, hook: HookId, *, json: Json = False) -> None:
    """Delete an endpoint with what waits for it."""
    with owner.door() as door:
        done = door.delete(hook)
    emit_or_say(done, json=json, text=f"{hook} is deleted")


@of_owner(app)
def rotate(owner: HookOwner, hook: HookId, *, json: Json = False) -> None:
    """Give an endpoint a second secret. For 24 hours deliveries are signed with both."""
    with owner.door() as door:
        made = door.rotate(hook)
    if json:
        emit(made)
        return
    say(str(made.get("secret")))
    tell(f"new secret of {hook}: shown once, keep it now; the old one signs until {made.get('previous_secret_until')}")


@of_owner(app, "test")
def post_test(owner: HookOwner, hook: HookId, *, json: Json = False) -> None:
    """Post a test event."""
    with owner.door() as door:
        made = door.test(hook)
    if json:
        emit(made)
        return
    say(f"test event {made.get('id')} is posted now")
    say(f"what became of it:  posthaste hook deliveries {hook}")
