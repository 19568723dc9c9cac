"""What an operator of dead letters reads of a function's log: `posthaste redrive QUEUE --dry-run`."""

import pytest

from shared.adapters import logs
from shared.domain.queues.dead_letters import errors_of


def errors(caplog: pytest.LogCaptureFixture) -> dict[str, str]:
    """Return message id → error of all lines that were logged."""
    formatter = logs.lines().registered_handler.formatter
    assert formatter is not None
    found: dict[str, str] = {}
    for record in caplog.records:
        found |= errors_of(formatter.format(record))
    return found
