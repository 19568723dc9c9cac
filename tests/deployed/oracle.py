"""The simulator's own log, read as it grows: what was accepted, of which job, when."""

import json
import time
from collections import Counter, defaultdict
from typing import Any
from urllib.parse import urlencode

from shared.domain.ids import Ref
from simulator.client import PAGE_LINES, ControlClient


class Oracle:
    """The accepted recipients of one credential from now on; not for several threads.

    Nothing is read twice: long answers would hold the simulator up.
    """

    def __init__(self, control: ControlClient, credential: str) -> None:
        self._control = control
        self._credential = credential
        self._rows: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        self._cursor = 0
        self._read(since=time.time() + 3600)  # nothing but where the log ends

    def of(self, job: str) -> list[dict[str, Any]]:
        """Return the accepted recipients of a job so far, in order of arrival."""
        self._read()
        return self._rows[job]

    def times(self, job: str) -> Counter[str]:
        """Return how often each recipient of a job was accepted."""
        return Counter(row["recipient"] for row in self.of(job))

    def _read(self, since: float = 0) -> None:
        more = True
        while more:
            query = {"credential": self._credential, "since": since, "cursor": self._cursor, "limit": PAGE_LINES}
            data, headers = self._control.request("GET", f"/_control/log?{urlencode(query)}")
            lines = data.splitlines()
            for row in map(json.loads, lines):
                self._rows[ref_of(row).job].append(row)
            self._cursor = int(headers["x-next-cursor"])
            more = len(lines) == PAGE_LINES


def ref_of(row: dict[str, Any]) -> Ref:
    """Return the ref of an accepted recipient; every message of a deployed test carries one."""
    ref = Ref.parse(row["ref"])
    assert ref is not None, row
    return ref
