"""The errors that end a command early: one line on stderr that says what to do next, and an exit code for scripts.

```
CommandError
├── Failed          1  the operation was understood and did not succeed
├── Misused         2  the command line, a file or a setting is not what it should be
├── NotFound        3  no such account, key, batch, credential or deployment
├── NotAuthorised   4  the API key or the AWS identity may not do this
└── Unreachable     5  no answer from the address
```
"""

from enum import IntEnum
from typing import ClassVar


class ExitCode(IntEnum):
    """What the shell sees. INTERRUPTED is the shell's own convention for Ctrl-C: 128 + SIGINT."""

    OK = 0
    FAILED = 1
    MISUSED = 2
    NOT_FOUND = 3
    NOT_AUTHORISED = 4
    UNREACHABLE = 5
    INTERRUPTED = 130


class CommandError(Exception):
    """Ends the command. The message is shown as it is: it must hold no secret.

    Args:
        problem: the code of the API's answer, such as `stopping`; empty if the error is not the API's.
    """

    code: ClassVar[ExitCode]

    def __init__(self, text: str, *, problem: str = "") -> None:
        super().__init__(text)
        self.problem = problem


class Failed(CommandError):
    """The operation was understood and did not succeed."""

    code = ExitCode.FAILED


class Misused(CommandError):
    """The command line, a file or a setting is not what it should be."""

    code = ExitCode.MISUSED


class NotFound(CommandError):
    """There is no such account, key, batch, credential or deployment."""

    code = ExitCode.NOT_FOUND


class NotAuthorised(CommandError):
    """The API key or the AWS identity may not do this."""

    code = ExitCode.NOT_AUTHORISED


class Unreachable(CommandError):
    """There is no answer from the address."""

    code = ExitCode.UNREACHABLE
