"""The meter against moto: what each kind of call costs, by AWS's documentation."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from benchmarks.rig.meter import Meter, Unmetered
from benchmarks.rig.world import TABLES, World, world

KB = 1024


@pytest.fixture(scope="module")
def deployment() -> Iterator[World]:
    with world(rate=100) as made:
        yield made


@pytest.fixture
def meter(deployment: World) -> Meter:
    deployment.take()
    return deployment.meter


@pytest.fixture
def db(deployment: World) -> Any:
    return deployment.deployment.dynamo.client


def key(pk: str, sk: str = "X") -> dict[str, Any]:
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def item(pk: str, size: int = 10, **more: Any) -> dict[str, Any]:
    return {**key(pk), "data": {"B": b"x" * size}, **more}


def opened(pk: str, **more: Any) -> dict[str, Any]:
    return item(pk, **{"open_pk": {"S": "RUN"}, "open_sk": {"S": "1"}, **more})


def test_a_put_costs_the_larger_of_old_and_new(meter: Meter, db: Any) -> None:
    db.put_item(TableName=TABLES.ops, Item=item("put", 2500))
    assert meter.take().wru == 3
    db.put_item(TableName=TABLES.ops, Item=item("put", 10))
    assert meter.take().wru == 3
    db.put_item(TableName=TABLES.ops, Item=item("put", 10))
    assert meter.take().wru == 1


def test_an_update_costs_the_larger_of_before_and_after_not_what_it_changes(meter: Meter, db: Any) -> None:
    db.put_item(TableName=TABLES.ops, Item=item("update", 4000))
    meter.take()
    db.update_item(
        TableName=TABLES.ops,
        Key=key("update"),
        UpdateExpression="SET a = :a",
        ExpressionAttributeValues={":a": {"N": "1"}},
    )
    assert meter.take().wru == 4


def test_a_delete_costs_the_item_it_removes(meter: Meter, db: Any) -> None:
    db.put_item(TableName=TABLES.ops, Item=item("delete", 2500))
    meter.take()
    db.delete_item(TableName=TABLES.ops, Key=key("delete"))
    assert meter.take().wru == 3
    db.delete_item(TableName=TABLES.ops, Key=key("delete"))
    assert meter.take().wru == 1


def test_a_failed_condition_costs_the_item_that_is_there(meter: Meter, db: Any) -> None:
    db.put_item(TableName=TABLES.ops, Item=item("condition", 2500))
    meter.take()
    with pytest.raises(ClientError):
        db.put_item(TableName=TABLES.ops, Item=item("condition"), ConditionExpression="attribute_not_exists(pk)")
    with pytest.raises(ClientError):
        db.put_item(TableName=TABLES.ops, Item=item("nothing"), ConditionExpression="attribute_exists(pk)")
    assert meter.take().wru == 3 + 1


def test_a_request_that_is_refused_as_such_costs_nothing_but_the_call(meter: Meter, db: Any) -> None:
    with pytest.raises(ClientError):
        db.update_item(
            TableName=TABLES.ops,
            Key=key("refused"),
            UpdateExpression="SET pk = :x",
            ExpressionAttributeValues={":x": {"S": "y"}},
        )
    taken = meter.take()
    assert (taken.wru, taken.aws_calls) == (0, 1)


def test_a_transaction_doubles_the_tables_and_not_the_indices(meter: Meter, db: Any) -> None:
    db.transact_write_items(
        TransactItems=[
            {"Put": {"TableName": TABLES.records, "Item": opened("transaction", data={"B": b"x" * 1500})}},
            {"Put": {"TableName": TABLES.ops, "Item": item("transaction")}},
        ]
    )
    taken = meter.take()
    assert taken.writes["records X"] == 4
    assert taken.writes["records X, index open"] == 1
    assert taken.writes["ops X"] == 2


def test_each_partition_has_its_units(meter: Meter, db: Any) -> None:
    """An entry of an index that moves is a removal in one partition, and an insertion in another."""
    one = {**opened("parted"), "open_pk": {"S": "one"}}
    db.put_item(TableName=TABLES.records, Item=one)
    meter.take()
    db.put_item(TableName=TABLES.records, Item={**one, "open_pk": {"S": "other"}})
    db.get_item(TableName=TABLES.records, Key=key("parted"), ConsistentRead=True)
    db.query(
        TableName=TABLES.records,
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues={":pk": one["pk"]},
    )
    taken = meter.take()
    place = (TABLES.records, one["pk"]["S"])
    assert taken.written_at == {place: 1, ("records/open", "one"): 1, ("records/open", "other"): 1}
    assert taken.read_at == {place: 1.5}
    assert (sum(taken.written_at.values()), sum(taken.read_at.values())) == (taken.wru, taken.rru)


def test_a_cancelled_transaction_is_paid_for(meter: Meter, db: Any) -> None:
    put = {"TableName": TABLES.ops, "Item": item("cancelled"), "ConditionExpression": "attribute_exists(pk)"}
    with pytest.raises(ClientError):
        db.transact_write_items(TransactItems=[{"Put": put}])
    assert meter.take().wru == 2


def test_a_batch_costs_each_of_its_items(meter: Meter, db: Any) -> None:
    puts = [{"PutRequest": {"Item": item(f"batch{i}", size)}} for i, size in enumerate((10, 1500, 2500))]
    db.batch_write_item(RequestItems={TABLES.ops: puts})
    taken = meter.take()
    assert (taken.wru, taken.aws_calls) == (1 + 2 + 3, 1)


def test_an_index_is_written_only_when_its_entry_changes(meter: Meter, db: Any) -> None:
    def units(**names: Any) -> int:
        db.put_item(TableName=TABLES.records, Item=opened("index", **names))
        return meter.take().writes["records X, index open"]

    assert units() == 1
    assert units(data={"B": b"other"}) == 0
    assert units(not_before={"N": "5"}) == 1
    assert units(not_before={"N": "5"}, open_pk={"S": "READY"}) == 2
    db.update_item(TableName=TABLES.records, Key=key("index"), UpdateExpression="REMOVE open_pk, open_sk")
    assert meter.take().writes["records X, index open"] == 1


def test_reads_cost_half_if_eventually_consistent_and_one_unit_for_nothing(meter: Meter, db: Any) -> None:
    db.put_item(TableName=TABLES.ops, Item=item("read", 5 * KB))
    meter.take()
    db.get_item(TableName=TABLES.ops, Key=key("read"), ConsistentRead=True)
    assert meter.take().rru == 2
    db.get_item(TableName=TABLES.ops, Key=key("read"))
    assert meter.take().rru == 1
    db.get_item(TableName=TABLES.ops, Key=key("no such item"), ConsistentRead=True)
    assert meter.take().rru == 1


def test_a_batch_read_rounds_each_item_and_a_query_their_sum(meter: Meter, db: Any) -> None:
    sizes = (1500, 6500)  # AWS's example: 4 KB + 8 KB, where a query reads 8 KB
    for sk, size in zip("ab", sizes, strict=True):
        db.put_item(TableName=TABLES.ops, Item={**key("pages", sk), "data": {"B": b"x" * size}})
    meter.take()
    keys = [key("pages", "a"), key("pages", "b")]
    db.batch_get_item(RequestItems={TABLES.ops: {"Keys": keys, "ConsistentRead": True}})
    assert meter.take().rru == 3
    db.query(
        TableName=TABLES.ops,
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues={":pk": {"S": "pages"}},
        ConsistentRead=True,
    )
    assert meter.take().rru == 2


def test_a_projection_is_paid_for_by_what_it_reads(meter: Meter, db: Any) -> None:
    db.put_item(TableName=TABLES.ops, Item={**key("projected", "a"), "data": {"B": b"x" * 9 * KB}})
    meter.take()
    db.query(
        TableName=TABLES.ops,
        KeyConditionExpression="pk = :pk",
        ProjectionExpression="sk",
        ExpressionAttributeValues={":pk": {"S": "projected"}},
        ConsistentRead=True,
    )
    assert meter.take().rru == 3


def test_what_cannot_be_counted_is_refused(meter: Meter, db: Any) -> None:
    with pytest.raises(Unmetered):
        db.scan(TableName=TABLES.ops)
    with pytest.raises(Unmetered):
        db.query(
            TableName=TABLES.ops,
            KeyConditionExpression="pk = :pk",
            FilterExpression="attribute_exists(x)",
            ExpressionAttributeValues={":pk": {"S": "pages"}},
        )


def test_queue_requests_are_counted_by_64_kb_and_by_fairness(deployment: World, meter: Meter) -> None:
    lane = deployment.deployment.lanes["sendgrid-main"]
    lane.send(["x" * 100])
    assert (meter.tally.sqs, meter.tally.sqs_fair) == (1, 0)
    lane.send(["x" * 40_000] * 4, group="job")
    taken = meter.take()
    assert (taken.sqs, taken.sqs_fair, taken.aws_calls) == (1 + 3, 3, 2)
    assert taken.service("sqs", "SendMessageBatch") == 1
