"""One rule for questions: what cannot be taken back is asked about on a terminal, and needs --yes elsewhere.

A question names how much it is about, and where. Without a terminal, or with --json, a command that lacks --yes ends
before it does anything.
"""

from typing import Annotated, Final

import typer

from cli.errors import ExitCode, Misused
from cli.output import Surroundings, tell

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask. Needed where there is no terminal, and by --json.")]
NOTHING: Final = "nothing was changed"


def check_can_ask(around: Surroundings, *, yes: bool, json: bool = False) -> None:
    """Refuse a command that would have to ask and cannot.

    Args:
        around: whether there is a terminal.
        yes: whether the answer was given beforehand.
        json: whether a program reads the output.

    Raises:
        Misused: there is no terminal, or a program reads the output.
    """
    if not yes and (json or not around.asks):
        raise Misused("not a terminal: add --yes to go on without a question")


def agreed(question: str, *, yes: bool) -> bool:
    """Return the answer to a question; `yes`: it was given beforehand."""
    return yes or typer.confirm(question, err=True)


def confirm(around: Surroundings, question: str, *, yes: bool, json: bool = False) -> None:
    """Ask; end the command with exit code 1 if the answer is no.

    Args:
        around: whether there is a terminal.
        question: with the amount, and the stage or address.
        yes: whether the answer was given beforehand.
        json: whether a program reads the output.

    Raises:
        Misused: there is no terminal, or a program reads the output.
    """
    check_can_ask(around, yes=yes, json=json)
    if not agreed(question, yes=yes):
        tell(NOTHING)
        raise typer.Exit(ExitCode.FAILED)
