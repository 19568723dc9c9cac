"""A clock that can be put forward, and a certificate for loopback."""

import ssl
from pathlib import Path

import pytest

from shared.adapters.clock import SystemClock
from tests import certificates


class ShiftedClock(SystemClock):
    """The system's clock, that a test can put forward."""

    ahead = 0.0

    def now(self) -> float:
        return super().now() + self.ahead


@pytest.fixture
def clock() -> ShiftedClock:
    return ShiftedClock()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificates.self_signed(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def server_tls(certificate: Path) -> ssl.SSLContext:
    return certificates.serving(certificate)
