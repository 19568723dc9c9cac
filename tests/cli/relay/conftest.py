from collections.abc import Iterator

import pytest

from tests.cli.relay.api import KEY, FakeMailApi


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeMailApi]:
    """An API, and an environment that names it."""
    found = FakeMailApi()
    monkeypatch.setenv("POSTHASTE_URL", found.url)
    monkeypatch.setenv("POSTHASTE_API_KEY", KEY)
    yield found
    found.close()
