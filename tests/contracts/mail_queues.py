"""The queues of mails that keep one contract, each in a factory: it takes the test's request and clock."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from cli.relay.spool import FileQueue
from shared.ports import MailQueue
from tests.engine.mails.mail_world import MailWorld
from tests.fakes.clock import FakeClock
from tests.fakes.stores import FakeStores
from tests.fakes.tables import MotoStores

Factory = Callable[[pytest.FixtureRequest, FakeClock], MailQueue]


def in_a_folder(request: pytest.FixtureRequest, _clock: FakeClock) -> MailQueue:
    folder: Path = request.getfixturevalue("tmp_path")
    queue = FileQueue(folder / "spool")
    request.addfinalizer(queue.close)
    return queue


def over_ledgers(_request: pytest.FixtureRequest, clock: FakeClock) -> MailQueue:
    return MailWorld(stores=FakeStores, clock=clock).queue()


def over_tables(request: pytest.FixtureRequest, clock: FakeClock) -> MailQueue:
    client = request.getfixturevalue("moto_dynamo")
    return MailWorld(stores=lambda each: MotoStores(client, each), clock=clock).queue()


QUEUES: Final[dict[str, Factory]] = {"folder": in_a_folder, "ledgers": over_ledgers, "tables": over_tables}
