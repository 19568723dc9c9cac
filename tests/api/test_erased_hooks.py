"""An erased person is in no delivery of a webhook."""

import json
from dataclasses import replace

from shared.adapters.dynamo.hooks.queue import DynamoHookQueue
from shared.domain.hooks.delivery import DeliveryState, HookAttempt, attempted, ended
from tests.api.conftest import Api
from tests.api.test_erased_records import dynamo, erased, eraser
from tests.api.test_erasing import Bucket, bucket
from tests.domain.hooks.examples import HOOK, delivery
from tests.domain.ledgers import NOW

__all__ = ["bucket"]

ANN = "ann@example.org"
OURS = '{"address":"ann@example.org"}'
OTHERS = '{"address":"joann@example.org"}'


def test_a_person_is_in_no_delivery(api: Api, bucket: Bucket) -> None:
    queue = DynamoHookQueue(dynamo(api), records=api.tables.records)
    one = delivery(id="evt_1", kind="unsubscribed", cells=(), data=OURS)
    other = replace(one, id="evt_2", data=OTHERS)
    both = replace(one, id="evt_3", batch=True, data=f'[["evt_1",{OURS}],["evt_2",{OTHERS}]]')
    said = attempted(replace(delivery(), id="evt_4"), HookAttempt(NOW, 500, 9, f"no such user {ANN}"))
    queue.add(HOOK, [one, other, both, said], wake=NOW)
    queue.settle([(both, ended(both, DeliveryState.DELIVERED, NOW))])

    assert erased(eraser(api, bucket, key=ANN, dry=True)) == {"deliveries of webhooks blanked": 3}
    assert erased(eraser(api, bucket, key=ANN)) == {"deliveries of webhooks blanked": 3}
    assert erased(eraser(api, bucket, key=ANN)) == {}

    left = {x.id: x for x in (*queue.pending(HOOK, limit=9)[0], *queue.ended(HOOK, limit=9)[0])}
    assert [left[f"evt_{i}"].data for i in (1, 2)] == ["", OTHERS]
    assert json.loads(left["evt_3"].data) == [["evt_2", json.loads(OTHERS)]]
    assert left["evt_4"] == replace(said, attempts=(replace(said.attempts[0], answer=""),))
