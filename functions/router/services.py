"""The router's services, built once per process."""

import json
import os
from collections.abc import Mapping
from typing import Final

from functions.router.caller import Caller
from functions.router.directory import Directory
from shared import contracts
from shared.adapters.aws import Aws
from shared.adapters.clock import SystemClock
from shared.adapters.dynamo.cells.routes import DynamoCellRoutes
from shared.adapters.http import direct
from shared.adapters.http.transport import HttpClient
from shared.domain.times import Seconds
from shared.frozen import dataclass
from shared.ports import AnswerLost, Clock, Http, NotSent
from shared.ports.cells import CellRoutes

ASK_SECONDS: Final[Seconds] = 3
"""For a cell's word whether a caller is there."""
MAX_ANSWER: Final = 6 << 20
"""Bytes of a cell's answer: Lambda gives back no more."""
READ_SECONDS: Final = 28.0
HERE: Final = 204
"""A cell's word that a caller is there."""
ELSEWHERE: Final = 404


@dataclass(frozen=True, slots=True)
class RouterServices:
    """Ports and settings.

    Attributes:
        cells: name → base address, without a slash at its end.
    """

    cells: Mapping[str, str]
    routes: CellRoutes
    http: Http
    clock: Clock

    def directory(self) -> Directory:
        """Return a new directory of callers."""
        return Directory(self.cells, self.routes, self.ask, self.clock)

    def ask(self, address: str, caller: Caller) -> bool | None:
        """Ask a cell whether a caller is there; None: it does not answer."""
        until = self.clock.now() + ASK_SECONDS
        try:
            said = self.http.request("GET", address + caller.asked, headers={}, body=b"", deadline=until).status
        except (NotSent, AnswerLost):
            return None
        return {HERE: True, ELSEWHERE: False}.get(said)


def build(env: Mapping[str, str] = os.environ) -> RouterServices:
    """Build the services from a function's environment (`shared.contracts`)."""
    clock = SystemClock()
    quick = HttpClient(clock, connect_timeout=1, idle=direct.IDLE)
    client = direct.client(direct.DYNAMODB, Aws(), quick, clock, clock.sleep, timeout=2)
    return RouterServices(
        cells=json.loads(env[contracts.ENV_CELLS]),
        routes=DynamoCellRoutes(client, env[contracts.ENV_ROUTES_TABLE], clock),
        http=HttpClient(clock, read_timeout=READ_SECONDS, max_body=MAX_ANSWER),
        clock=clock,
    )
