"""One message for a fault, an end by Ctrl-C, and the addresses of a cloud: commands on the local cloud share them."""

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType

from infra.local import sign_in
from infra.local.cloud import Cloud
from infra.local.console import LocalCloudError, say
from infra.local.paths import Paths, paths


def at_terminal(command: Callable[[Paths], int]) -> int:
    """Run a command; return the exit code. Errors a developer can act on are shown in one message."""
    _forget_the_developers_aws()
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return command(paths())
    except LocalCloudError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def show(running: Cloud) -> None:
    """Print the addresses of a cloud."""
    say(f"\nAPI        {running.api}")
    say(f"Console    {running.api}/console (sign in as {sign_in.OPERATOR})")
    say(f"Docs       {running.api}/docs")
    say(f"Inbox      {running.env['SIMULATOR_URL']}/")
    say(f"Settings   {running.paths.env}")
    say("Commands   .venv/bin/posthaste")


def _forget_the_developers_aws() -> None:
    """Drop profiles, keys and endpoints of the developer's own: nothing here may ever talk to real AWS."""
    for name in [n for n in os.environ if n.startswith("AWS_") and n != "AWS_CA_BUNDLE"]:
        del os.environ[name]
    os.environ["AWS_CONFIG_FILE"] = os.environ["AWS_SHARED_CREDENTIALS_FILE"] = os.devnull


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
