"""Alarms of the deployment that CloudWatch raises at present."""

import threading
from collections.abc import Sequence
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from shared.domain.times import Millis, Seconds
from shared.frozen import dataclass
from shared.ports import Clock, Retriable

TOPIC: Final = "alarms"
"""Ends the name of the topic that the alarms of a deployment notify."""
KEPT: Final[Seconds] = 60
"""A process asks once a minute at the most."""


@dataclass(frozen=True, slots=True)
class RaisedAlarm:
    """An alarm that is raised.

    Attributes:
        name: without the deployment's prefix.
        says: what it watches, and what to do.
        since: Unix milliseconds.
    """

    name: str
    says: str
    since: Millis


class RaisedAlarms:
    """Alarms by the topic that they notify.

    Args:
        client: of CloudWatch; None where there is none, so that no alarm is ever raised.
        prefix: that the names of the deployment's alarms and topic have. Alarms of other stages can also have it.
    """

    def __init__(self, client: Any, prefix: str, clock: Clock) -> None:
        self._client = client
        self._prefix = prefix
        self._clock = clock
        self._lock = threading.Lock()
        self._until = 0.0
        self._found: Sequence[RaisedAlarm] = ()

    def read(self) -> Sequence[RaisedAlarm]:
        """Return the alarms that are raised, the newest first; up to KEPT seconds old. Raises Retriable."""
        if self._client is None:
            return ()
        with self._lock:
            if self._clock.now() >= self._until:
                self._found = sorted(self._raised(), key=lambda x: -x.since)
                self._until = self._clock.now() + KEPT
            return self._found

    def _raised(self) -> Sequence[RaisedAlarm]:
        asked = {
            "AlarmNamePrefix": self._prefix,
            "StateValue": "ALARM",
            "AlarmTypes": ["MetricAlarm", "CompositeAlarm"],
        }
        try:
            pages = list(self._client.get_paginator("describe_alarms").paginate(**asked))
        except (BotoCoreError, ClientError) as error:
            raise Retriable("cloudwatch") from error
        found = [x for page in pages for kind in ("MetricAlarms", "CompositeAlarms") for x in page.get(kind, [])]
        return [
            RaisedAlarm(
                x["AlarmName"].removeprefix(self._prefix),
                x.get("AlarmDescription", ""),
                int(x["StateUpdatedTimestamp"].timestamp() * 1000),
            )
            for x in found
            if any(action.endswith(f":{self._prefix}{TOPIC}") for action in x.get("AlarmActions", ()))
        ]
