"""What of the index of open jobs is read at once."""

import pytest

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.jobs.open_index import OpenIndex
from shared.ports import OpenJob
from tests.adapters.test_dynamo_client import caller


@pytest.mark.parametrize("more", [False, True])
def test_an_index_that_one_read_does_not_end_is_not_read_at_once(*, more: bool) -> None:
    entries = [{"open_pk": {"S": slot}, "open_sk": {"S": keys.aged(7, "a")}} for slot in ("one#RUN", "doubt#3")]
    page = {"Items": entries} | ({"LastEvaluatedKey": entries[1]} if more else {})
    dynamo, client, _ = caller(page)
    found = OpenIndex(dynamo, records="records").open_at_once(["one#RUN", "one#READY"])
    assert found == (None if more else [OpenJob("a", running=True, not_before=0, created_at=7, credential="one")])
    assert client.calls == [("scan", {"TableName": "records", "IndexName": "open"})]
