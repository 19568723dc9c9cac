"""A clock that can be put forward and stopped, and a certificate for loopback."""

import ssl
from pathlib import Path

import pytest

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
