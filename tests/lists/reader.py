"""The process that reads lists and may die at any moment: the ingest function's handler, called as AWS calls it."""

import os
import sys
from typing import Any

from functions.dispatch import ingest, services
from shared.adapters.clock import SystemClock
from shared.bootstrap import Deployment


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


def main() -> None:
    """Serve one message; arguments: its body, the clock's lead and the invocation's time, both in seconds."""
    body, ahead, seconds = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    deployed = Deployment(os.environ, AheadClock(ahead))
    here: Any = services
    here.deployment = lambda: deployed
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    event = {"Records": [{"messageId": "1", "body": body}]}
    sys.exit(len(ingest.handler(event, Context(seconds))["batchItemFailures"]))


if __name__ == "__main__":
    main()
