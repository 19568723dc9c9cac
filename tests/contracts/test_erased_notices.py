"""What an erasure leaves of a person's notices."""

import json
from dataclasses import replace

import pytest

from shared.adapters.dynamo.erasure.notices import erase_notices
from shared.adapters.dynamo.notices.notices import DynamoNotices
from shared.domain.notices.actions import ERASED_MESSAGE
from shared.domain.notices.notice import DeliveryMethod, Kept, NoticeChange, NoticeRun, NoticeStatus, Phase, Verb
from tests.domain.notices.examples import DATA, NOW, OTHER, OWNER, notice
from tests.fakes.stores import Stores
from tests.fakes.tables import MotoStores

RUN = NoticeRun("0123456789abcdefghjkmnpqrs", 0, 1, DeliveryMethod.SMS)


def uuid(i: int) -> str:
    return f"{i:08x}-2222-5333-8444-555555555555"


@pytest.mark.promise(9)
@pytest.mark.parametrize("stores", ["dynamo"], indirect=True)
def test_an_erased_number_is_in_no_notice(stores: Stores) -> None:
    assert isinstance(stores, MotoStores)
    table = stores.tables.records
    shelf = DynamoNotices(stores.dynamo, records=table)
    other = notice(uuid=uuid(3), id="n3", data=replace(OTHER, phone="+61400000000"))
    active = {"phase": Phase.ACTIVE, "run": RUN, "runs": (RUN,), "kept": Kept(Verb.UPDATE, "UPDATE", OTHER)}
    for x in (
        notice(uuid=uuid(1), id="n1"),
        notice(uuid=uuid(2), id="n2", phase=Phase.ENDED, status=NoticeStatus.SUCCESS, ttl=NOW // 1000 + 9),
        other,
        notice(uuid=uuid(4), id="n4", **active),
    ):
        assert shelf.write(None, NoticeChange(x))

    def erase(*, dry: bool) -> list[str]:
        found = erase_notices(stores.dynamo, table, [OWNER.account], DATA.phone, now=NOW, dry=dry)
        return [x.account for x in found if x.done]

    assert erase(dry=True) == erase(dry=False) == [OWNER.account] * 3
    found = shelf.read([uuid(i) for i in (1, 2, 3, 4)])
    assert [(found[uuid(i)].phase, found[uuid(i)].status) for i in (1, 2, 4)] == [
        (Phase.ENDED, NoticeStatus.CANCELED),
        (Phase.ENDED, NoticeStatus.SUCCESS),
        (Phase.ENDED, NoticeStatus.CANCELED),
    ]
    assert found[uuid(3)] == other
    assert found[uuid(1)].message == ERASED_MESSAGE
    items = json.dumps(stores.dynamo.call("scan", TableName=table)["Items"], default=str)
    assert DATA.phone not in items
    assert DATA.first_name not in items
    assert erase(dry=False) == []
