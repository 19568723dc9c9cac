"""A clock that can be put forward and stopped, and a certificate for loopback."""

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.adapters.http.guarded import GuardedClient
from tests import certificates
from tests.fakes.shifted import ShiftedClock


@pytest.fixture
def clock() -> ShiftedClock:
    return ShiftedClock()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificates.self_signed(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def server_tls(certificate: Path) -> ssl.SSLContext:
    return certificates.serving(certificate)


@pytest.fixture
def local(clock: ShiftedClock) -> Iterator[GuardedClient]:
    client = GuardedClient(clock, local=True)
    yield client
    client.close()
