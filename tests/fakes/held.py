"""What moto's tables hold in this process, read at once: a scan copies, measures and translates each item, in pages."""

from base64 import b64decode
from collections.abc import Iterable
from typing import Any

from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.dynamodb.models import dynamodb_backends
from moto.dynamodb.models.dynamo_type import DynamoType

REGION = "us-east-1"


def items_of(tables: Iterable[str], pk: str = "") -> list[dict[str, Any]]:
    """Return items of tables as a client of DynamoDB gives them, in no order that counts. `pk`: of one partition."""
    held = dynamodb_backends[DEFAULT_ACCOUNT_ID][REGION].tables
    return [
        {name: _plain(value) for name, value in item.attrs.items()}
        for table in tables
        for key, partition in held[table].items.items()
        if not pk or key.value == pk
        for item in partition.values()
    ]


def _plain(value: DynamoType) -> dict[str, Any]:
    kind, held = value.type, value.value
    if kind == "L":
        held = [_plain(each) for each in held]
    elif kind == "M":
        held = {name: _plain(each) for name, each in held.items()}
    elif kind == "B":
        held = _raw(held)
    elif kind == "BS":
        held = [_raw(each) for each in held]
    return {kind: held}


def _raw(held: str | bytes) -> bytes:
    return held if isinstance(held, bytes) else b64decode(held)
