"""Endpoints and deliveries, for tests."""

from dataclasses import replace
from typing import Any

from shared.domain.hooks.delivery import Cells, HookDelivery
from shared.domain.hooks.endpoint import Endpoint
from tests.domain.ledgers import NOW

ACCOUNT = "acc_000000000001"
HOOK = "hook_01j0000000000000000000000h"
JOB = "01j0000000000000000000000m"


def endpoint(**changes: Any) -> Endpoint:
    """Return an endpoint that has answered its `test` event."""
    one = Endpoint(
        id=HOOK, namespace=ACCOUNT, url="https://example.org/hooks", events=("*",), created_at=NOW, proven=True
    )
    return replace(one, **changes)


def delivery(**changes: Any) -> HookDelivery:
    """Return a delivery of one message's change, due at once."""
    one = HookDelivery(
        id="evt_1",
        endpoint=HOOK,
        kind="message.delivered",
        created_at=NOW,
        due=NOW,
        cells=(Cells(JOB, 0, ((0, 0x19),)),),
    )
    return replace(one, **changes)
