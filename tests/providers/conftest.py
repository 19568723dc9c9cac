from collections.abc import Iterator

import pytest

from shared.adapters.clock import SystemClock
from shared.adapters.http import HttpClient
from simulator.run import Simulator


@pytest.fixture(scope="session")
def simulator() -> Iterator[Simulator]:
    with Simulator(seed="providers") as running:
        yield running


@pytest.fixture
def http() -> Iterator[HttpClient]:
    client = HttpClient(SystemClock())
    yield client
    client.close()
