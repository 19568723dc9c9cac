"""An erased person is in no record that a notifier has uploaded, and no run under way reaches them."""

from dataclasses import replace
from typing import Any

import pytest

from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.erasure.erasing import Eraser
from shared.adapters.dynamo.notices import inboxes
from shared.adapters.dynamo.notices.notices import DynamoNotices
from shared.adapters.s3.blobs import S3Blobs
from shared.domain.notices.inbox import pack, unpack
from shared.domain.notices.notice import DeliveryMethod, NoticeChange, NoticeRun, Phase
from tests.api.conftest import Api
from tests.api.test_erasing import Bucket, bucket
from tests.domain.notices.examples import DATA, NOW, notice

__all__ = ["bucket"]

OTHER = "0491 570 007"
UPLOADED: list[dict[str, Any]] = [
    {"id": "a", "action": "NEW", "first_name": "Ada", "phone_number": "0412 345 678"},
    {"id": "b", "action": "NEW", "first_name": "Grace", "phone_number": OTHER},
    {"id": "c", "action": "CANCEL", "phone_number": DATA.phone, "note": "Ada wants no call"},
    {"id": "d", "phone_number": 61412345678},
]
LEFT = [{"id": "a", "action": "NEW"}, UPLOADED[1], {"id": "c", "action": "CANCEL"}, {"id": "d"}]


def dynamo(api: Api) -> Dynamo:
    return Dynamo(api.client, sleep=api.world.clock.sleep)


def eraser(api: Api, where: Bucket, key: str = DATA.phone, **more: Any) -> Eraser:
    return Eraser(dynamo(api), api.tables.records, lambda: where.client, where.name, key=key, **more)


def erased(made: Eraser) -> dict[str, int]:
    made.scan("", lambda _after, _items: None)
    return dict(made.report.erased)


@pytest.mark.slow
def test_an_uploaded_record_keeps_only_its_id_and_action(api: Api, bucket: Bucket) -> None:
    api.basic("PUT", "/messages", api.notifier(country="AU"), UPLOADED)
    assert erased(eraser(api, bucket, key="ann@example.org")) == {}
    assert erased(eraser(api, bucket, dry=True)) == {"records of notifiers blanked": 3}
    made = eraser(api, bucket)
    assert erased(made) == {"records of notifiers blanked": 3}
    assert made.report.accounts == {api.account}
    (payload,) = (x for x in api.stored() if x["sk"]["S"].startswith("P#"))
    assert unpack(payload["body"]["B"]) == LEFT
    assert erased(eraser(api, bucket)) == {}


@pytest.mark.slow
def test_a_large_payload_is_erased_with_its_old_versions(
    api: Api, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inboxes, "MAX_INLINE", 0)
    name, _ = api.notifier(country="AU")
    files = S3Blobs(lambda: bucket.client, bucket.name)
    inboxes.DynamoInboxes(dynamo(api), records=api.tables.records, files=files).add(name, pack(UPLOADED), NOW)
    (file,) = bucket.names()
    files.put(file, pack(UPLOADED))
    assert erased(eraser(api, bucket, dry=True)) == erased(eraser(api, bucket)) == {"records of notifiers blanked": 3}
    assert unpack(files.get(file) or b"") == LEFT
    found = bucket.client.list_object_versions(Bucket=bucket.name)["Versions"]
    assert len(found) == 1


@pytest.mark.slow
def test_a_run_under_way_does_not_reach_an_erased_person(api: Api, bucket: Bucket) -> None:
    job = api.accepted([DATA.phone, "+61491570007"], channel="sms", from_=None, subject=None, route=["texts"])
    run = NoticeRun(job, 0, 1, DeliveryMethod.SMS)
    active = notice(account=api.account, phase=Phase.ACTIVE, run=run, runs=(run,))
    store = DynamoNotices(dynamo(api), records=api.tables.records)
    assert store.write(None, NoticeChange(active))
    made = eraser(api, bucket)
    made.notices([api.account], NOW)
    assert dict(made.report.erased) == {"notices blanked": 1, "recipients blanked": 1}
    api.world.settle()
    assert [x.address for x in api.world.oracle.taken] == ["+61491570007"]


def test_a_notice_that_keeps_changing_is_reported(api: Api, bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    store = DynamoNotices(dynamo(api), records=api.tables.records)
    assert store.write(None, NoticeChange(replace(notice(), account=api.account)))
    monkeypatch.setattr(DynamoNotices, "write", lambda *_: False)
    made = eraser(api, bucket)
    made.notices([api.account], NOW)
    assert made.report.kept == ["A notice kept changing: erase again."]
