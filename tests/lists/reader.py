"""The process that reads lists and may die at any moment: the ingest function's handler, called as AWS calls it."""

import os
import sys
from collections.abc import Mapping
from typing import Any

from functions.dispatch import ingest, services
from shared.adapters.clock import SystemClock
from shared.adapters.dynamo.campaigns import campaigns, uploads
from shared.adapters.dynamo.jobs import records
from shared.adapters.s3 import files
from shared.bootstrap import Deployment
from shared.engine.lists import ingest as engine

LOADED = (campaigns, records, uploads, engine)
"""What the deployment imports when it is asked for it, here once for all that are forked of this process."""


class AheadClock(SystemClock):
    """The system's clock, some seconds ahead: who comes after a dead process need not wait for its lease to end."""

    def __init__(self, ahead: float) -> None:
        self._ahead = ahead

    def now(self) -> float:
        return super().now() + self._ahead


class Context:
    """Lambda's."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def get_remaining_time_in_millis(self) -> int:
        return int(self._seconds * 1000)


def main(environment: Mapping[str, str], body: str, *, ahead: float, seconds: float, block: int) -> None:
    """Serve one message and exit with the number of failures.

    Args:
        environment: the function's.
        body: of the message.
        ahead: the clock's lead in seconds.
        seconds: the invocation's time.
        block: bytes of the file read at a time.
    """
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    os.environ.clear()
    os.environ.update(environment)
    here: Any = files
    here.BLOCK = block
    deployed = Deployment(os.environ, AheadClock(ahead))
    there: Any = services
    there.deployment = lambda: deployed
    event = {"Records": [{"messageId": "1", "body": body}]}
    sys.exit(len(ingest.handler(event, Context(seconds))["batchItemFailures"]))
