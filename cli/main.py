"""The `posthaste` command: the parts, what ends it early, and its exit codes.

Exit codes: 0 done, 1 the operation failed, 2 usage, 3 not found, 4 not authorised, 5 cannot reach, 130 interrupted.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperGroup

from cli.errors import CommandError, ExitCode
from cli.groups import TITLES
from cli.loading import LISTED, LoadedCommands, Source
from cli.output import clean, tell
from cli.parts import missing_part
from shared.contracts.faults import ANYTHING_ELSE, fault
from shared.lazy import lazy

if TYPE_CHECKING:
    from cli import client, local
    from cli.account import domains, guests, quota, schedules, stats, suppressions, texts, timeline
    from cli.cells import moving
    from cli.content import images, previewing, programs, takedown, updating, versions
    from cli.digests import digests, events
    from cli.doctor import doctor
    from cli.hooks import commands as hooks
    from cli.keys import commands as keys
    from cli.login import commands as login
    from cli.mails import mails
    from cli.notifier import commands as spool
    from cli.operating import (
        accounts,
        audit,
        credentials,
        erasing,
        leaving,
        logs,
        members,
        notifier_changes,
        notifiers,
        queues,
        rehashing,
        stopping,
        switches,
    )
    from cli.relay import command as relay
    from cli.restoring import commands as restoring
    from cli.senders import identities
    from cli.sending import approving, batches, campaigns, templates
else:
    client, local = lazy("cli", "client", "local")
    domains, guests, quota, schedules = lazy("cli.account", "domains", "guests", "quota", "schedules")
    stats, suppressions, texts, timeline = lazy("cli.account", "stats", "suppressions", "texts", "timeline")
    (moving,) = lazy("cli.cells", "moving")
    images, previewing, programs = lazy("cli.content", "images", "previewing", "programs")
    takedown, updating, versions = lazy("cli.content", "takedown", "updating", "versions")
    digests, events = lazy("cli.digests", "digests", "events")
    (doctor,) = lazy("cli.doctor", "doctor")
    (hooks,) = lazy("cli.hooks", "commands")
    (keys,) = lazy("cli.keys", "commands")
    (login,) = lazy("cli.login", "commands")
    (mails,) = lazy("cli.mails", "mails")
    (spool,) = lazy("cli.notifier", "commands")
    accounts, audit, credentials, erasing = lazy("cli.operating", "accounts", "audit", "credentials", "erasing")
    leaving, logs, members = lazy("cli.operating", "leaving", "logs", "members")
    notifier_changes, notifiers = lazy("cli.operating", "notifier_changes", "notifiers")
    queues, rehashing = lazy("cli.operating", "queues", "rehashing")
    stopping, switches = lazy("cli.operating", "stopping", "switches")
    (relay,) = lazy("cli.relay", "command")
    (restoring,) = lazy("cli.restoring", "commands")
    (identities,) = lazy("cli.senders", "identities")
    approving, batches, campaigns, templates = lazy("cli.sending", "approving", "batches", "campaigns", "templates")

EXIT_CODES: Final = (
    "Exit codes: 0 done, 1 the operation failed, 2 usage, 3 not found, 4 not authorised, 5 cannot reach, "
    "130 interrupted."
)
ENV_DEBUG: Final = "POSTHASTE_DEBUG"


class Commands(TyperGroup):
    """The whole command: every error is one line on stderr and an exit code of its own."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.commands = LOADED  # type: ignore[assignment]  # the framework only reads them
        self._brief = False

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the signature is the framework's
        """Return the names of the commands, in the order of the groups of the help."""
        return list(TITLES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; while the help lists them, only its name and line."""
        return LISTED[cmd_name] if self._brief else super().get_command(ctx, cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        self._brief = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._brief = False

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: ARG002 - the signature is the framework's
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command line and exit with its code.

        Args:
            args: the words after the program's name; by default those of the process.
            prog_name: the program's name in help texts.
            complete_var: the variable that asks for shell completion; by default made from the program's name.
            standalone_mode: ignored, and always taken as set.
            windows_expand_args: whether patterns such as `*.csv` are expanded on Windows.
            **extra: passed to the context of the command.
        """
        try:
            result = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
            code = result if isinstance(result, int) else ExitCode.OK
        except CommandError as error:
            first, *others = str(error).splitlines() or [""]
            tell(f"error: {first}")
            for line in others:
                tell(f"  {line}")
            code = error.code
        except typer.TyperException as error:
            code = _usage(error)
        except typer.Abort:
            code = ExitCode.INTERRUPTED
        except Exception as error:  # a part that is not installed, or a fault of ours: one line, and exit code 1
            if os.environ.get(ENV_DEBUG):
                raise
            fault = f"an unexpected {type(error).__name__}: {ENV_DEBUG}=1 shows where; please report it"
            tell(f"error: {missing_part(error) or fault}")
            code = ExitCode.FAILED
        sys.exit(int(code))


def _usage(error: typer.TyperException) -> int:
    """Show a wrong command line. Superfluous words are not repeated: one may be a secret in the wrong place."""
    context = getattr(error, "ctx", None)
    message = error.format_message()
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(message, err=True)
        return ExitCode.MISUSED
    if message.startswith("Got unexpected extra argument"):
        message = "Too many arguments"
    if (cause := error.__cause__) is not None and hasattr(cause, "errors"):
        message = _wrong_value(message, cause.errors()[0])
    where = context.command_path if context else "posthaste"
    tell(f"error: {clean(message.rstrip('.'))}; see `{where} --help`")
    return error.exit_code


def _wrong_value(message: str, error: Mapping[str, Any]) -> str:
    """Return a sentence about the value of an option or an argument, without the sentences of pydantic.

    Args:
        message: the framework's own, `Invalid value for '--rate': …`.
        error: the first of pydantic's errors about the value.
    """
    name = message.removeprefix("Invalid value for ").partition(":")[0].strip("'")
    if text := fault(error):
        return f"{name} {text}, not {error['input']!r}"
    own = (error.get("ctx") or {}).get("error")
    return f"{name}: {own}" if own else f"{name} {ANYTHING_ELSE}"


app = typer.Typer(
    name="posthaste",
    cls=Commands,
    help="Posthaste: deliver mail and texts, each message once. Commands that operate a deployment need AWS "
    "credentials, most others an API key. `posthaste COMMAND --help` shows more.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@cache
def _sending() -> tuple[typer.Typer, typer.Typer]:
    """Return the commands of campaigns and of templates, whose parts are in several modules."""
    previewing.add_to(campaigns.app, templates.app)
    campaigns.app.command("update")(updating.update)
    approving.add_to(campaigns.app)
    versions.add_to(templates.app)
    return campaigns.app, templates.app


def _account_app() -> typer.Typer:
    leaving.add_to(accounts.account_app)
    takedown.add_to(accounts.account_app)
    moving.add_to(accounts.account_app)
    return accounts.account_app


def _sender() -> typer.Typer:
    identities.add_to(accounts.sender_app)
    return accounts.sender_app


def _notifier() -> typer.Typer:
    notifier_changes.add_to(notifiers.app)
    notifiers.app.add_typer(spool.app, name="spool")
    notifiers.app.command("sync")(spool.sync)
    return notifiers.app


def _credential() -> typer.Typer:
    credentials.app.command("close-breaker")(switches.close_breaker)
    return credentials.app


COMMANDS: Final[Mapping[str, Source]] = {
    "login": lambda: login.login,
    "logout": lambda: login.logout,
    "whoami": lambda: login.whoami,
    "batch": lambda: batches.app,
    "campaign": lambda: _sending()[0],
    "approval-limit": lambda: approving.app,
    "mail": lambda: mails.app,
    "message": lambda: timeline.app,
    "hook": lambda: hooks.app,
    "template": lambda: _sending()[1],
    "image": lambda: images.app,
    "program": lambda: programs.app,
    "suppression": lambda: suppressions.app,
    "text": lambda: texts.app,
    "domain": lambda: domains.app,
    "guest": lambda: guests.app,
    "schedule": lambda: schedules.app,
    "stats": lambda: stats.stats,
    "quota": lambda: quota.quota,
    "event": lambda: events.app,
    "digest": lambda: digests.app,
    "account": _account_app,
    "key": lambda: keys.key_app,
    "sender": _sender,
    "member": lambda: members.member_app,
    "notifier": _notifier,
    "job": lambda: stopping.job_app,
    "credential": _credential,
    "relay": lambda: relay.relay,
    "audit": lambda: audit.show,
    "erase": lambda: erasing.erase,
    "rehash": lambda: rehashing.rehash,
    "restore": lambda: restoring.app,
    "pause": lambda: switches.pause,
    "resume": lambda: switches.resume,
    "rate": lambda: switches.rate_app,
    "queue": lambda: queues.app,
    "redrive": lambda: queues.redrive,
    "doctor": lambda: doctor.doctor,
    "logs": lambda: logs.logs,
    "local": lambda: local.app,
}
"""Name → the command, or what is below the name. The first command of a module loads it."""
LOADED: Final = LoadedCommands(COMMANDS)
"""One for the process: parts join their commands once."""


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"posthaste {client.installed_version()}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    url: Annotated[
        str, typer.Option(metavar="URL", help="Use the API at this address, whose login is stored; or `local`.")
    ] = "",
) -> None:
    """Posthaste on the command line."""


def main() -> None:
    """Run the command: the entry point of the package."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # a narrow locale loses no output
    app()
