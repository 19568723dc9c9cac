import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.adapters.http.transport import HttpClient
from shared.adapters.smtp.transport import SmtpClient
from simulator.run import Simulator
from tests import certificates
from tests.fakes.shifted import ShiftedClock


@pytest.fixture(scope="session")
def simulator() -> Iterator[Simulator]:
    with Simulator(seed="providers") as running:
        yield running


@pytest.fixture
def clock() -> ShiftedClock:
    return ShiftedClock()


@pytest.fixture
def http(clock: ShiftedClock) -> Iterator[HttpClient]:
    client = HttpClient(clock)
    yield client
    client.close()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificates.self_signed(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def server_tls(certificate: Path) -> ssl.SSLContext:
    return certificates.serving(certificate)


@pytest.fixture
def transport(clock: ShiftedClock, certificate: Path) -> Iterator[SmtpClient]:
    made = SmtpClient(clock, context=certificates.trusting(certificate))
    yield made
    made.close()
