"""Calls of the tables, of each kind that functions and tests make, with what each of them may refuse."""

from typing import Any

RECORDS, OPS = "records-short", "ops-short"
Call = tuple[str, dict[str, Any]]


def key(pk: str, sk: str) -> dict[str, Any]:
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def of(pk: str, sk: str, table: str = RECORDS, **more: Any) -> dict[str, Any]:
    return {"TableName": table, "Key": key(pk, sk), **more}


def put(pk: str, sk: str, held: dict[str, Any] | None = None, table: str = RECORDS, **more: Any) -> Call:
    return "put_item", {"TableName": table, "Item": {**key(pk, sk), **(held or {})}, **more}


def update(expression: str, sk: str = "1", **more: Any) -> Call:
    return "update_item", of("one", sk, UpdateExpression=expression, **more)


def query(condition: str, *held: Any, table: str = RECORDS, **more: Any) -> Call:
    given = {f":{number}": value for number, value in enumerate(held)}
    return "query", {
        "TableName": table,
        "KeyConditionExpression": condition,
        "ExpressionAttributeValues": given,
        **more,
    }


def write(*operations: dict[str, Any], **more: Any) -> Call:
    return "transact_write_items", {"TransactItems": list(operations), **more}


def text(value: str) -> dict[str, Any]:
    return {"S": value}


def number(value: float) -> dict[str, Any]:
    return {"N": str(value)}


HELD: dict[str, Any] = {
    "n": number(7),
    "s": text("ä€😀"),
    "empty": text(""),
    "b": {"B": b"\x00\xff"},
    "t": {"BOOL": True},
    "f": {"BOOL": False},
    "nothing": {"NULL": True},
    "ss": {"SS": ["x", "y"]},
    "ns": {"NS": ["1", "2.5"]},
    "bs": {"BS": [b"\x01", b"\x02"]},
    "m": {"M": {"inner": {"L": [number(1), text("two"), {"M": {}}, {"B": b"deep"}]}}},
    "l": {"L": [number(1), number(2), number(3)]},
}
ITEMS: list[dict[str, Any]] = [
    {**key(pk, f"{row:02}"), **HELD, "n": number(row), "open_pk": text(f"o{row % 2}"), "open_sk": text(f"{9 - row}")}
    for pk in ("one", "two", "three")
    for row in range(6)
]
NAMES = {"#n": "n", "#m": "m"}
ONE = {":one": number(1)}
NEW = "attribute_not_exists(pk)"
OLD = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}

WRITES: list[Call] = [
    put("one", "1", HELD),
    put("one", "1", HELD, ConditionExpression=NEW),
    put("one", "1", HELD, ConditionExpression=NEW, **OLD),
    put("one", "1", HELD, ReturnValues="ALL_OLD", ReturnConsumedCapacity="TOTAL"),
    put("one", "1", HELD, ReturnConsumedCapacity="INDEXES", ReturnItemCollectionMetrics="SIZE"),
    put("one", "1", {"open_pk": {"NULL": True}}),
    put("one", ""),
    put("one", "1", {"large": text("x" * 300_000), "larger": text("y" * 105_000)}),
    put("one", "1", {"ns": {"NS": []}}),
    put("one", "1", table="none"),
    put("one", "1", ConditionExpression="#x = :one", ExpressionAttributeNames={"#x": "n", "#y": "m"}),
    put("one", "1", ConditionExpression="n = ", ExpressionAttributeValues=ONE),
    put("one", "1", ConditionExpression="name = :one", ExpressionAttributeValues=ONE),
    put("one", "1", ConditionExpression="n = :two", ExpressionAttributeValues=ONE),
    ("put_item", {"TableName": RECORDS, "Item": {"pk": text("one")}}),
    ("put_item", {"TableName": RECORDS, "Item": {**key("one", "1"), "n": 1}}),
    ("put_item", {"TableName": RECORDS}),
    *(
        update(
            "SET #n = #n + :one", ReturnValues=each, ExpressionAttributeNames={"#n": "n"}, ExpressionAttributeValues=ONE
        )
        for each in ("NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW", "WRONG")
    ),
    update("SET z = if_not_exists(z, :one), l[1] = :one REMOVE t, l[0]", ExpressionAttributeValues=ONE),
    update("SET l = list_append(l, :l), m.k = n", ExpressionAttributeValues={":l": {"L": [text("end")]}}),
    update(
        "ADD n :one, ss :ss DELETE ns :ns", ExpressionAttributeValues={**ONE, ":ss": HELD["ss"], ":ns": {"NS": ["1"]}}
    ),
    update("SET #m.#n = :one", ExpressionAttributeNames=NAMES, ExpressionAttributeValues=ONE, ReturnValues="ALL_NEW"),
    update("SET q.r = :one", ExpressionAttributeValues=ONE),
    update("SET pk = :one", ExpressionAttributeValues=ONE),
    update("SET n = n + s"),
    update("SET n = :one, n = :one", ExpressionAttributeValues=ONE),
    update("SET n = :one SET s = :one", ExpressionAttributeValues=ONE),
    update("SET n = :one", ExpressionAttributeValues={**ONE, ":two": number(2)}),
    update("SET n = :two", ExpressionAttributeValues=ONE),
    update("SET name = :one", ExpressionAttributeValues=ONE),
    update("SET"),
    update(" "),
    update("SET large = :large", ExpressionAttributeValues={":large": text("x" * 410_000)}),
    update("SET open_pk = :one", ExpressionAttributeValues=ONE),
    update("SET n = :one", "new", ExpressionAttributeValues=ONE, ReturnValues="ALL_NEW"),
    update("SET n = :one", "2", ConditionExpression="attribute_exists(pk)", ExpressionAttributeValues=ONE, **OLD),
    update("SET n = :one", ConditionExpression="n < :one OR NOT s = t", ExpressionAttributeValues=ONE, **OLD),
    update("SET n = :one", ConditionExpression="size(l) > :one AND (n IN (:one, n))", ExpressionAttributeValues=ONE),
    update(
        "REMOVE n", ConditionExpression="attribute_type(n, :one) AND contains(ss, s)", ExpressionAttributeValues=ONE
    ),
    ("delete_item", of("three", "00", ReturnValues="ALL_OLD", ConditionExpression="attribute_exists(pk)")),
    ("delete_item", of("three", "00", ConditionExpression="attribute_exists(pk)", **OLD)),
    ("delete_item", of("three", "01", ConditionExpression=NEW, **OLD)),
    ("delete_item", of("three", "99")),
]
BATCHES: list[Call] = [
    ("batch_write_item", {"RequestItems": {OPS: [{"PutRequest": {"Item": {**key("b", x), **HELD}}} for x in "abc"]}}),
    ("batch_write_item", {"RequestItems": {OPS: [{"DeleteRequest": {"Key": key("b", x)}} for x in "cc"]}}),
    ("batch_write_item", {"RequestItems": {OPS: [{"DeleteRequest": {"Key": key("b", x)}} for x in "cd"]}}),
    ("batch_write_item", {"RequestItems": {"none": [{"DeleteRequest": {"Key": key("b", "c")}}]}}),
    ("batch_get_item", {"RequestItems": {OPS: {"Keys": [key("b", x) for x in "abz"], "ConsistentRead": True}}}),
    ("batch_get_item", {"RequestItems": {OPS: {"Keys": [key("b", "a")] * 2}}}),
    ("batch_get_item", {"RequestItems": {OPS: {"Keys": [key("b", f"{x}") for x in range(101)]}}}),
    ("batch_get_item", {"RequestItems": {OPS: {"Keys": [key("b", "a")], "ProjectionExpression": "n, m.inner"}}}),
    write({"Put": {"TableName": OPS, "Item": {**key("t", "1"), **HELD}, "ConditionExpression": NEW}}),
    write(
        {"Update": of("t", "1", OPS, UpdateExpression="SET n = :one, m.k = :one", ExpressionAttributeValues=ONE)},
        {"Delete": of("b", "a", OPS)},
        {"ConditionCheck": of("t", "0", OPS, ConditionExpression=NEW)},
        ClientRequestToken="token",
        ReturnConsumedCapacity="TOTAL",
    ),
    write(
        {"Update": of("t", "1", OPS, UpdateExpression="SET n = n + :one", ExpressionAttributeValues=ONE)},
        {"Put": {"TableName": OPS, "Item": {**key("t", "1"), "n": number(2)}}},
    ),
    write(
        {"Update": of("t", "1", OPS, UpdateExpression="SET n = n + :one", ExpressionAttributeValues=ONE)},
        {"Put": {"TableName": OPS, "Item": key("t", "2"), "ConditionExpression": "attribute_exists(pk)"}},
        {"ConditionCheck": of("b", "b", OPS, ConditionExpression=NEW, **OLD)},
    ),
    write({"Put": {"TableName": "none", "Item": key("t", "2")}}),
    write({"Update": of("t", "1", OPS, UpdateExpression="SET name = :one", ExpressionAttributeValues=ONE)}),
    write(*({"Delete": of("t", f"{x}", OPS)} for x in range(101))),
    (
        "transact_get_items",
        {"TransactItems": [{"Get": of("t", x, OPS)} for x in "19"], "ReturnConsumedCapacity": "TOTAL"},
    ),
]
READS: list[Call] = [
    ("get_item", of("one", "1", ConsistentRead=True)),
    ("get_item", of("one", "none", ReturnConsumedCapacity="TOTAL")),
    ("get_item", of("one", "01", ProjectionExpression="#n, m.inner, ss", ExpressionAttributeNames={"#n": "n"})),
    ("get_item", of("one", "01", ProjectionExpression="name")),
    ("get_item", of("one", "01", ExpressionAttributeNames=NAMES)),
    ("get_item", of("one", "")),
    ("get_item", of("one", "01", "none")),
    ("get_item", {"TableName": RECORDS, "Key": {"pk": text("one"), "other": text("1")}}),
    query("pk = :0", text("one"), ConsistentRead=True),
    query("pk = :0", text("none")),
    query("pk = :0", number(1)),
    query("pk = :0 AND sk > :1", text("one"), text("02"), ScanIndexForward=False),
    query("pk = :0 AND begins_with(sk, :1)", text("two"), text("0"), Limit=2, ReturnConsumedCapacity="INDEXES"),
    query("pk = :0", text("two"), Limit=2, ExclusiveStartKey=key("two", "01")),
    query("pk = :0", text("two"), Limit=2, ExclusiveStartKey=key("two", "04"), ScanIndexForward=False),
    query("pk = :0 AND sk BETWEEN :1 AND :2", text("two"), text("01"), text("03"), ProjectionExpression="sk, n"),
    query("pk = :0", text("two"), number(3), FilterExpression="n >= :1"),
    query("#p = :0", text("two"), ExpressionAttributeNames={"#p": "pk"}, Select="COUNT"),
    query("#p = :0", text("two"), ExpressionAttributeNames={"#p": "pk", "#q": "sk"}),
    query("open_pk = :0", text("o1"), IndexName="open"),
    query("open_pk = :0 AND open_sk < :1", text("o1"), text("7"), IndexName="open", ScanIndexForward=False, Limit=3),
    query(
        "open_pk = :0",
        text("o1"),
        IndexName="open",
        Limit=2,
        ExclusiveStartKey={**key("two", "05"), "open_pk": text("o1"), "open_sk": text("4")},
    ),
    query("open_pk = :0", text("none"), IndexName="open"),
    query("open_pk = :0", text("o1"), IndexName="open", ConsistentRead=True),
    query("pk = :0", text("one"), IndexName="none"),
    query("sk = :0", text("one")),
    query("pk = :0 AND n = :1", text("one"), number(1)),
    query("pk = :0", text("one"), table="none"),
    ("query", {"TableName": RECORDS}),
    ("scan", {"TableName": RECORDS}),
    ("scan", {"TableName": RECORDS, "Limit": 4, "ExclusiveStartKey": key("one", "03"), "ConsistentRead": True}),
    ("scan", {"TableName": RECORDS, "FilterExpression": "n = :one", "ExpressionAttributeValues": ONE}),
    ("scan", {"TableName": RECORDS, "IndexName": "open", "Select": "COUNT"}),
    ("scan", {"TableName": RECORDS, "Segment": 1, "TotalSegments": 2}),
    ("scan", {"TableName": "none"}),
]
TABLES: list[Call] = [
    ("describe_table", {"TableName": RECORDS}),
    ("describe_table", {"TableName": "none"}),
    ("list_tables", {"Limit": 2}),
    ("update_time_to_live", {"TableName": OPS, "TimeToLiveSpecification": {"Enabled": True, "AttributeName": "ttl"}}),
    ("describe_time_to_live", {"TableName": OPS}),
    ("describe_continuous_backups", {"TableName": OPS}),
    ("delete_table", {"TableName": "none"}),
]
CALLS: list[Call] = [*WRITES, *BATCHES, *READS, *TABLES]
