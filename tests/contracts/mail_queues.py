"""The queues of mails that keep one contract, each in a factory: it takes the test's request and clock."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from cli.relay.spool import FileQueue
from shared.ports import MailQueue
from tests.fakes.clock import FakeClock

Factory = Callable[[pytest.FixtureRequest, FakeClock], MailQueue]


def in_a_folder(request: pytest.FixtureRequest, _clock: FakeClock) -> MailQueue:
    folder: Path = request.getfixturevalue("tmp_path")
    queue = FileQueue(folder / "spool")
    request.addfinalizer(queue.close)
    return queue


QUEUES: Final[dict[str, Factory]] = {"folder": in_a_folder}
