import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.adapters.clock import SystemClock
from shared.adapters.http import HttpClient
from shared.adapters.smtp import SmtpClient
from simulator.run import Simulator
from tests import certificates


@pytest.fixture(scope="session")
def simulator() -> Iterator[Simulator]:
    with Simulator(seed="providers") as running:
        yield running


@pytest.fixture
def http() -> Iterator[HttpClient]:
    client = HttpClient(SystemClock())
    yield client
    client.close()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificates.self_signed(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def server_tls(certificate: Path) -> ssl.SSLContext:
    return certificates.serving(certificate)


@pytest.fixture
def transport(certificate: Path) -> Iterator[SmtpClient]:
    made = SmtpClient(SystemClock(), context=certificates.trusting(certificate))
    yield made
    made.close()
