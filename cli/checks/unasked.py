"""Checks that could not be made: what AWS refuses, or does not answer, becomes a finding of its own."""

from botocore import exceptions as sdk

from cli.checks import Finding, Level, account
from cli.deployment import FORBIDDEN, REFUSED
from cli.errors import CommandError, NotAuthorised
from shared.ports import Clock, Retriable

UNASKED = (sdk.BotoCoreError, sdk.ClientError, CommandError, Retriable)
"""The errors that a check may raise instead of returning findings."""
_NOBODY = (sdk.NoCredentialsError, sdk.PartialCredentialsError, sdk.TokenRetrievalError, sdk.SSOError)


def unasked(name: str, error: Exception) -> Finding:
    """Return why a check was not made.

    Raises:
        Exception: the same, where no other check could be made either: AWS does not know who asks.
    """
    if isinstance(error, _NOBODY) or code_of(error) in REFUSED - FORBIDDEN:
        raise error
    do = "try again; if this continues, check the AWS Health Dashboard"
    if isinstance(error, CommandError):
        says, do = str(error), ""
    elif isinstance(error, sdk.ClientError) and code_of(error) in FORBIDDEN:
        says, do = f"your identity may not call {error.operation_name} ({code_of(error)})", "use one that may"
    elif isinstance(error, sdk.ClientError):
        says = f"{error.operation_name} failed: {code_of(error)}"
    elif unreachable(error):
        says, do = "the service does not answer", "check the network and the region; try again"
    else:
        says = f"the AWS client failed: {type(error).__name__}"
    return Finding(name, Level.WARNING, f"not checked: {says}", do)


def unreachable(error: Exception) -> bool:
    """Tell whether AWS was not reached, or did not answer in time."""
    return isinstance(error, sdk.ConnectionError | sdk.HTTPClientError | Retriable)


def code_of(error: Exception) -> str:
    """Return AWS's code of an error, empty if it has none."""
    return str(error.response.get("Error", {}).get("Code", "")) if isinstance(error, sdk.ClientError) else ""


def blamed(error: sdk.ClientError, clock: Clock) -> NotAuthorised | None:
    """Return that this machine's clock is why AWS refuses all signed requests; None if it is not.

    The refusal has AWS's own time in its head.
    """
    date = error.response.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date", "")
    found = account.clock(date, clock.now()) if date else None
    return NotAuthorised(f"{found.says}: {found.do}") if found and found.level is Level.ERROR else None
