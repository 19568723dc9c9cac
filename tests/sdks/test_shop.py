"""The shops of both SDKs: a confirmation is sent once, and signed events change its state."""

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shared.domain.hooks.signature import secret_of, signed_headers
from tests.api.conftest import build_api
from tests.cli.real import RealApi
from tests.fakes.clock import FakeClock
from tools.sdks.__main__ import PYTHON, TYPESCRIPT

pytestmark = pytest.mark.slow  # generates both SDKs

SECRET = secret_of("master", "hook_1", 1)
SHOPS = [(PYTHON, ("python", "examples/shop.py")), (TYPESCRIPT, ("node", "examples/shop.ts"))]
of_each = pytest.mark.parametrize(("folder", "words"), SHOPS, ids=["python", "typescript"])


def environment(**more: str) -> dict[str, str]:
    beside = Path(sys.executable).parent
    return {**os.environ, "PATH": f"{beside}:{os.environ['PATH']}", "PYTHONPATH": "src", **more}


@pytest.fixture
def api(moto_dynamo: Any) -> Iterator[RealApi]:
    real = RealApi(build_api(moto_dynamo, FakeClock()))
    yield real
    real.close()


@of_each
def test_a_shop_confirms_an_order_once(api: RealApi, folder: Path, words: tuple[str, ...]) -> None:
    env = environment(POSTHASTE_URL=api.url, POSTHASTE_API_KEY=api.api.key)

    def confirm(order: str, address: str) -> Any:
        asked = [*words, "confirm", order, address, "news@example.com"]
        done = subprocess.run(asked, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    first = confirm("4711", "ben@example.org")
    assert confirm("4711", "ben@example.org") == first == {"order": "4711", "job": first["job"]}
    job = api.api.call("GET", f"/batches/{first['job']}").json
    assert (job["reference"], job["total"]) == ("4711", 1)
    refused = confirm("4712", "no address")
    assert (refused["error"], refused["fields"][0]["field"]) == ("no_valid_recipient", "to.0")


def post(port: int, name: str, kind: str, reference: str, secret: str = SECRET) -> int:
    event = {"type": kind, "timestamp": "2026-11-23T09:00:00.000Z", "data": {"reference": reference}}
    body = json.dumps(event).encode()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("POST", "/", body, signed_headers(name, int(time.time()), body, [secret]))
    status = connection.getresponse().status
    connection.close()
    return status


@of_each
def test_a_shop_believes_signed_events_once_and_in_any_order(folder: Path, words: tuple[str, ...]) -> None:
    env = environment(POSTHASTE_HOOK_SECRET=SECRET)
    with subprocess.Popen([*words, "listen", "0"], cwd=folder, env=env, stdout=subprocess.PIPE, text=True) as shop:
        try:
            assert shop.stdout is not None
            port = json.loads(shop.stdout.readline())["port"]
            seen = []
            for name, kind, order in (
                ("evt_1", "message.bounced", "4711"),
                ("evt_2", "message.delivered", "4711"),
                ("evt_3", "message.sent", "4712"),
                ("evt_3", "message.delivered", "4712"),
                ("evt_4", "job.logged", "4713"),
            ):
                assert post(port, name, kind, order) == 204
                seen.append(json.loads(shop.stdout.readline()))
            assert post(port, "evt_5", "message.complained", "4711", secret_of("master", "hook_2", 1)) == 401
            assert post(port, "evt_6", "message.delivered", "4712") == 204
            last = json.loads(shop.stdout.readline())
        finally:
            shop.kill()
    assert seen == [{"4711": "wrong address"}] * 2 + [{"4711": "wrong address", "4712": "sent"}] * 3
    assert last == {"4711": "wrong address", "4712": "delivered"}
