"""Lines that the functions of a stack logged.

Sources (docs.aws.amazon.com):

- AmazonCloudWatchLogs APIReference API_FilterLogEvents (a page has 1 MB at the most, and 10,000 lines)
- AWSCloudFormation APIReference API_ListStackResources
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, Final

from shared.domain.times import Millis
from shared.frozen import dataclass

GROUP: Final = "AWS::Logs::LogGroup"
NESTED: Final = "AWS::CloudFormation::Stack"
WORKERS: Final = 2
"""Groups that are read at once: FilterLogEvents allows 25 calls a second and region."""
MAX_BYTES: Final = 1_000_000
"""Bytes of lines after which no further page is read. Pages that are being read come on top: an answer has 6 MB."""


@dataclass(frozen=True, slots=True)
class WrittenLine:
    """A line as it was written.

    Attributes:
        id: distinguishes it from the others.
        group: the name of its log group.
    """

    id: str
    group: str
    at: Millis
    text: str


class _Budget:
    """Counts bytes of lines, for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken = 0

    def take(self, size: int) -> None:
        with self._lock:
            self._taken += size

    @property
    def spent(self) -> bool:
        return self._taken >= MAX_BYTES


class FunctionLogs:
    """Reads the log groups of a stack and of those nested in it. One per process: the groups are listed once.

    Args:
        logs: a client, as the other.
    """

    def __init__(self, logs: Any, cloudformation: Any, stack: str) -> None:
        self._logs = logs
        self._cloudformation = cloudformation
        self._stack = stack

    @cached_property
    def groups(self) -> Sequence[str]:
        """The names of the log groups."""
        return [name for kind, name in self._resources(self._stack) if kind == GROUP]

    def _resources(self, stack: str) -> Iterator[tuple[str, str]]:
        for page in self._cloudformation.get_paginator("list_stack_resources").paginate(StackName=stack):
            for row in page["StackResourceSummaries"]:
                kind, name = row["ResourceType"], row.get("PhysicalResourceId", "")
                if kind == NESTED and name:
                    yield from self._resources(name)
                elif name:
                    yield kind, name

    def read(
        self, places: Mapping[str, str], begin: Millis, pattern: str, over: Callable[[], bool]
    ) -> tuple[list[WrittenLine], dict[str, str]]:
        """Read groups until it is enough; return the lines, and the groups that have more, with the place of each.

        Args:
            places: name of a group → the place to continue from, empty at the beginning.
            pattern: of CloudWatch; empty: all lines.
            over: asked before each page whether the time is over.
        """
        budget = _Budget()

        def one(group: str) -> tuple[list[WrittenLine], str | None]:
            found: list[WrittenLine] = []
            place: str | None = places[group]
            while place is not None and not (budget.spent or over()):
                more = {"nextToken": place} if place else {}
                page = self._logs.filter_log_events(logGroupName=group, startTime=begin, filterPattern=pattern, **more)
                lines = [_line(group, event) for event in page["events"]]
                budget.take(sum(len(x.text) for x in lines))
                found += lines
                place = page.get("nextToken")
            return found, place

        with ThreadPoolExecutor(WORKERS) as pool:
            read = dict(zip(places, pool.map(one, places), strict=True))
        lines = [line for found, _ in read.values() for line in found]
        return lines, {group: place for group, (_, place) in read.items() if place is not None}


def _line(group: str, event: Mapping[str, Any]) -> WrittenLine:
    """Return a line. The local cloud's have no `eventId`, and invocations have no name in common."""
    name = event.get("eventId") or (event["logStreamName"], event["timestamp"], event["message"])
    return WrittenLine(str(name), group, int(event["timestamp"]), event["message"])
