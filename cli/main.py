"""The `posthaste` command: the parts, what ends it early, and its exit codes.

Exit codes: 0 done, 1 the operation failed, 2 usage, 3 not found, 4 not authorised, 5 cannot reach, 130 interrupted.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from cli import local
from cli.account import domains, guests, quota, schedules, stats, suppressions, texts, timeline
from cli.client import installed_version
from cli.content import previewing, programs, updating, versions
from cli.digests import digests, events
from cli.doctor import doctor
from cli.errors import CommandError, ExitCode
from cli.groups import TITLES
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
    logs,
    members,
    notifier_changes,
    notifiers,
    queues,
    stopping,
    switches,
)
from cli.output import clean, tell
from cli.parts import missing_part
from cli.relay.command import relay
from cli.senders import identities
from cli.sending import approving, batches, campaigns, templates
from shared.contracts.faults import ANYTHING_ELSE, fault

EXIT_CODES: Final = (
    "Exit codes: 0 done, 1 the operation failed, 2 usage, 3 not found, 4 not authorised, 5 cannot reach, "
    "130 interrupted."
)
ENV_DEBUG: Final = "POSTHASTE_DEBUG"


class Commands(TyperGroup):
    """The whole command: every error is one line on stderr and an exit code of its own."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands, in the order of the groups of the help."""
        known = super().list_commands(ctx)
        return sorted(known, key=[*TITLES, *known].index)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, which the help shows in its group."""
        found = super().get_command(ctx, cmd_name)
        if found is not None and cmd_name in TITLES:
            found.rich_help_panel = TITLES[cmd_name]  # type: ignore[attr-defined]  # of typer's own commands
        return found

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
app.command("login")(login.login)
app.command("logout")(login.logout)
app.command("whoami")(login.whoami)
app.add_typer(batches.app, name="batch")
previewing.add_to(campaigns.app, templates.app)
campaigns.app.command("update")(updating.update)
approving.add_to(campaigns.app)
app.add_typer(campaigns.app, name="campaign")
app.add_typer(approving.app, name="approval-limit")
app.add_typer(mails.app, name="mail")
app.command("message")(timeline.message)
app.add_typer(hooks.app, name="hook")
versions.add_to(templates.app)
app.add_typer(templates.app, name="template")
app.add_typer(programs.app, name="program")
app.add_typer(suppressions.app, name="suppression")
app.add_typer(texts.app, name="text")
app.add_typer(domains.app, name="domain")
app.add_typer(guests.app, name="guest")
app.add_typer(schedules.app, name="schedule")
app.command("stats")(stats.stats)
app.command("quota")(quota.quota)
app.add_typer(events.app, name="event")
app.add_typer(digests.app, name="digest")
app.add_typer(accounts.account_app, name="account")
app.add_typer(keys.key_app, name="key")
identities.add_to(accounts.sender_app)
app.add_typer(accounts.sender_app, name="sender")
app.add_typer(members.member_app, name="member")
notifier_changes.add_to(notifiers.app)
notifiers.app.add_typer(spool.app, name="spool")
notifiers.app.command("sync")(spool.sync)
app.add_typer(notifiers.app, name="notifier")
app.add_typer(stopping.job_app, name="job")
credentials.app.command("close-breaker")(switches.close_breaker)
app.add_typer(credentials.app, name="credential")
app.command("relay")(relay)
app.command("audit")(audit.show)
app.command("erase")(erasing.erase)
app.command("pause")(switches.pause)
app.command("resume")(switches.resume)
app.add_typer(switches.rate_app, name="rate")
app.add_typer(queues.app, name="queue")
app.command("redrive")(queues.redrive)
app.command("doctor")(doctor.doctor)
app.command("logs")(logs.logs)
app.add_typer(local.app, name="local")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"posthaste {installed_version()}")
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
