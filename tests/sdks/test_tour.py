"""Both SDKs against the real API in memory, and against webhooks that the product signs: they see the same."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shared.adapters.dynamo.notices.updates import log_actions
from shared.domain.hooks.signature import secret_of, signed_headers
from shared.domain.notices.updates import UpdateEntry
from tests.api.conftest import Api, build_api
from tests.cli.real import RealApi
from tests.fakes.clock import FakeClock
from tools.sdks.__main__ import PYTHON, TYPESCRIPT

pytestmark = pytest.mark.slow  # generates both SDKs

BODY = '{"type": "message.failed", "timestamp": "2026-11-23T09:00:00.000Z", "data": {"recipient": "é@example.org"}}'
SEEN = {
    "same": True,
    "listed": True,
    "codes": ["idempotency_mismatch", "from_not_allowed", "not_found"],
    "address": "o'hara+x/y@example.org",
    "lines": ["o'hara+x/y@example.org"],
    "events": ["evt_1"],
    "async": True,
    "updates": [f"A-{n}" for n in range(15)],
}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def api(moto_dynamo: Any, clock: FakeClock) -> Iterator[RealApi]:
    real = RealApi(build_api(moto_dynamo, clock))
    yield real
    real.close()


def updated(api: Api, clock: FakeClock) -> dict[str, str]:
    """Add what a notifier reads in several answers; return its login and the range."""
    name, password = api.notifier()
    for n in range(15):
        entry = UpdateEntry("clinic", f"{n:0>8}-0000-5000-8000-000000000000", f"A-{n}", clock.ms, "SUCCESS")
        api.client.transact_write_items(TransactItems=log_actions(api.tables.records, [entry]))
        clock.advance(1)
    clock.advance(60)
    api.services.notices().updates._limit = 1000
    return {"notifier": name, "password": password, "range": "20260922000000-20260923000000"}


@pytest.mark.parametrize(
    ("folder", "words"),
    [(PYTHON, ("python", "tests/tour.py")), (TYPESCRIPT, ("node", "test/tour.ts"))],
    ids=["python", "typescript"],
)
def test_a_tour_through_the_api_and_its_webhooks(
    api: RealApi, clock: FakeClock, folder: Path, words: tuple[str, ...]
) -> None:
    secrets = [secret_of("master", "hook_1", n) for n in (2, 1)]
    headers = signed_headers("evt_1", int(time.time()), BODY.encode(), secrets)
    given = {"secret": secrets[1], "body": BODY, "headers": json.dumps(headers)}
    given |= updated(api.api, clock)
    env = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": "src",
        "POSTHASTE_URL": api.url,
        "POSTHASTE_API_KEY": api.api.key,
    }
    done = subprocess.run(
        words, cwd=folder, env=env, input=json.dumps(given), capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == SEEN
    assert len([path for _, path in api.called if path.startswith("/message_updates/")]) > 1
