from collections.abc import Iterator

import pytest

from tests.cli.notifier.link import PASSWORD, USER, BadLink


@pytest.fixture
def link(monkeypatch: pytest.MonkeyPatch) -> Iterator[BadLink]:
    """A hub behind a link, and an environment that names it."""
    found = BadLink()
    monkeypatch.setenv("POSTHASTE_URL", found.url)
    monkeypatch.setenv("POSTHASTE_NOTIFIER", USER)
    monkeypatch.setenv("POSTHASTE_NOTIFIER_PASSWORD", PASSWORD)
    yield found
    found.close()
