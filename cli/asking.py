"""One rule for questions: what cannot be taken back is asked about on a terminal, and needs --yes elsewhere.

A question names how much it is about, and where. Without a terminal, or with --json, a command that lacks --yes ends
before it does anything. Ctrl-C is a no: the command says what did not change, and ends as interrupted.
"""

from collections.abc import Sequence
from typing import Annotated, Final

import typer

from cli.errors import ExitCode, Misused
from cli.output import Surroundings, clean, tell

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask. Needed where there is no terminal, and by --json.")]
NOTHING: Final = "nothing was changed"


def check_can_ask(around: Surroundings, *, yes: bool, json: bool = False) -> None:
    """Refuse a command that would have to ask and cannot.

    Raises:
        Misused: there is no terminal, or a program reads the output.
    """
    if not yes and (json or not around.asks):
        raise Misused("not a terminal: add --yes to go on without a question")


def agreed(question: str, *, yes: bool) -> bool:
    """Return the answer to a question; `yes`: it was given beforehand.

    Raises:
        Abort: Ctrl-C, or the end of the input. The line of the question is ended.
    """
    try:
        return yes or typer.confirm(clean(question), err=True)
    except typer.Abort:
        typer.echo(err=True)
        raise


def confirm(
    around: Surroundings, question: str, *, yes: bool, json: bool = False, otherwise: Sequence[str] = (NOTHING,)
) -> None:
    """Ask; end the command with exit code 1 if the answer is no, as interrupted at Ctrl-C.

    Args:
        question: with the amount, and the stage or address.
        otherwise: the lines to print unless the answer is yes: that nothing was changed, and what continues.

    Raises:
        Misused: there is no terminal, or a program reads the output.
        Abort: Ctrl-C, or the end of the input.
    """
    check_can_ask(around, yes=yes, json=json)
    agrees = False
    try:
        agrees = agreed(question, yes=yes)
    finally:
        for line in () if agrees else otherwise:
            tell(line)
    if not agrees:
        raise typer.Exit(ExitCode.FAILED)
