"""DynamoDB calls with the errors and retries the engine expects.

botocore's own retries stay on for DynamoDB. Every write is conditional. If the answer of a write is lost, its caller
recognises the stored item (`shared.domain.jobs.queue`), so a repeat is harmless. Clients that *send* do not retry.
"""

import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any, Final, TypeVar
from uuid import uuid4

from botocore import exceptions as sdk
from botocore.exceptions import ClientError

from shared.adapters.aws import ClientOptions
from shared.adapters.dynamo.homes import IN_RECORDS, Homes
from shared.contracts import AUDIT_DAYS, INDEX_OPEN
from shared.domain.recipients.address_names import Names
from shared.domain.times import Millis
from shared.ports import Retriable

Item = dict[str, Any]
"""An item in DynamoDB's own form."""
T = TypeVar("T")

CONFIG: Final[ClientOptions] = {
    "connect_timeout": 2,
    "read_timeout": 5,
    "retries": {"mode": "standard", "total_max_attempts": 3},
    "max_pool_connections": 64,
}
TOGETHER: Final = "transact_write_items"
TRIES: Final = 6
"""Tries of a transaction that conflicts with another, after random pauses of up to 25, 50, 100 … ms."""
LONGEST_PAUSE: Final = 1.0
"""Seconds, in which a partition takes as much as it ever does."""
FAILED: Final = "ConditionalCheckFailed"
"""The code of an action whose condition does not hold, in a transaction that was cancelled."""
BATCH_WRITE: Final = 25
BATCH_READ: Final = 100

_BUSY: Final = frozenset(
    {
        "TransactionInProgressException",
        "TransactionConflictException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ThrottlingException",
        "InternalServerError",
        "ServiceUnavailable",
    }
)


class ConditionFailed(Exception):
    """A conditional write lost; `item` is what is stored, None if nothing is. `answer`: the whole answer."""

    def __init__(self, item: Item | None, answer: Mapping[str, Any] | None = None) -> None:
        super().__init__("condition failed")
        self.item = item
        self.answer = answer or {}


class Cancelled(Exception):
    """A transaction was cancelled; per action its reason's code, and the stored item where one was returned."""

    def __init__(self, codes: Sequence[str], items: Sequence[Item | None]) -> None:
        super().__init__(",".join(codes))
        self.codes = codes
        self.items = items


class Dynamo:
    """A thin caller around the low-level client; thread-safe.

    Args:
        sleep: waits some seconds.
        audit_days: for how long an entry of the audit log is kept, which any transaction may carry.
        homes: where such entries and identities are kept.
        names: what addresses are stored as; None: by no key.
    """

    def __init__(
        self,
        client: Any,
        *,
        sleep: Callable[[float], None] = time.sleep,
        audit_days: int = AUDIT_DAYS,
        homes: Homes = IN_RECORDS,
        names: Names | None = None,
    ) -> None:
        self.client = client
        self.audit_days = audit_days
        self.homes = homes
        self.names = names or Names()
        self._sleep = sleep

    def call(self, method: str, **kwargs: Any) -> Any:
        """Call a method; raises ConditionFailed, Cancelled, Retriable, or botocore's own error for a fault of ours."""
        operation = getattr(self.client, method)
        if method == TOGETHER:
            kwargs.setdefault("ClientRequestToken", uuid4().hex)  # so a try after a lost answer finds it made
        for n in range(TRIES):
            try:
                return operation(**kwargs)
            except ClientError as error:
                failure = _failure(error)
                if failure is not None:
                    raise failure from None
            except (sdk.ConnectionError, sdk.HTTPClientError):
                if n == TRIES - 1:
                    raise Retriable(f"{method}: no connection") from None
            self._sleep(random.random() * 0.025 * 2**n)  # noqa: S311 - jitter
        raise Retriable(f"{method}: busy")

    def attempt(self, method: str, **kwargs: Any) -> bool:
        """Make a conditional write; False, and nothing is written, if its condition does not hold."""
        try:
            self.call(method, **kwargs)
        except ConditionFailed:
            return False
        return True

    def together(self, actions: Sequence[Item]) -> bool:
        """Write in one transaction; False, and nothing is written, if one of its conditions does not hold."""
        try:
            self.call(TOGETHER, TransactItems=actions)
        except Cancelled as lost:
            if FAILED in lost.codes:
                return False
            raise
        return True

    def get(self, table: str, key: Mapping[str, Any], *, consistent: bool = True) -> Item | None:
        """Return one item, None if it does not exist.

        Args:
            key: the primary key, as DynamoDB's attribute values.
            consistent: whether the read is strongly consistent.
        """
        item: Item | None = self.call("get_item", TableName=table, Key=key, ConsistentRead=consistent).get("Item")
        return item

    def query(self, table: str, **kwargs: Any) -> Iterable[Item]:
        """Walk a query's pages."""
        while True:
            page = self.call("query", TableName=table, **kwargs)
            yield from page["Items"]
            if "LastEvaluatedKey" not in page:
                return
            kwargs["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def count(self, table: str, **kwargs: Any) -> int:
        """Return how many items a consistent query finds, page by page; none of them is returned."""
        request = {"TableName": table, "ConsistentRead": True, "Select": "COUNT", **kwargs}
        found = 0
        while True:
            page = self.call("query", **request)
            found += int(page["Count"])
            if "LastEvaluatedKey" not in page:
                return found
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def due(self, table: str, slot: str, now: Millis, **kwargs: Any) -> Iterable[Item]:
        """Walk the entries of a partition of the index `open` whose time has come by now, the oldest first.

        Args:
            **kwargs: further parameters of DynamoDB's Query.
        """
        return self.query(
            table,
            IndexName=INDEX_OPEN,
            KeyConditionExpression="open_pk = :pk AND open_sk < :end",
            ExpressionAttributeValues={":pk": {"S": slot}, ":end": {"S": f"{now + 1:015d}"}},
            **kwargs,
        )

    def partition(self, table: str, pk: str, sk_prefix: str = "", **kwargs: Any) -> Iterable[Item]:
        """Walk the items of a partition, consistently unless `kwargs` say otherwise.

        Args:
            sk_prefix: only items whose sort key starts with this; empty for all.
            **kwargs: further parameters of DynamoDB's Query.
        """
        condition = "pk = :pk AND begins_with(sk, :sk)" if sk_prefix else "pk = :pk"
        values = {":pk": {"S": pk}} | ({":sk": {"S": sk_prefix}} if sk_prefix else {})
        return self.query(
            table,
            KeyConditionExpression=condition,
            ExpressionAttributeValues=values,
            **{"ConsistentRead": True, **kwargs},
        )

    def batch_get(self, table: str, keys: Sequence[Mapping[str, Any]], *, consistent: bool = True) -> list[Item]:
        """Return the items that exist, in no order.

        Args:
            keys: primary keys, any number, each once.
            consistent: whether the reads are strongly consistent.
        """
        found: list[Item] = []
        for start in range(0, len(keys), BATCH_READ):
            part = list(keys[start : start + BATCH_READ])
            found += self.batch_get_from({table: {"Keys": part, "ConsistentRead": consistent}})
        return found

    def batch_get_any(self, wanted: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Item]:
        """Return the items that exist of tables and keys, each once, read consistently, in no order."""
        found: list[Item] = []
        for start in range(0, len(wanted), BATCH_READ):
            part: dict[str, Any] = {}
            for table, key in wanted[start : start + BATCH_READ]:
                part.setdefault(table, {"Keys": [], "ConsistentRead": True})["Keys"].append(key)
            found += self.batch_get_from(part)
        return found

    def batch_get_from(self, wanted: Mapping[str, Any]) -> list[Item]:
        """Return the existing ones of at most 100 items in several tables, in no order; `wanted` as in BatchGetItem."""
        return [item for items in self.batch_read(wanted).values() for item in items]

    def batch_read(self, wanted: Mapping[str, Any]) -> dict[str, list[Item]]:
        """Return the same by table; DynamoDB refuses a call for no key, so none is made."""
        found: dict[str, list[Item]] = {}
        if not wanted:
            return found
        left: Any = wanted
        for n in range(TRIES):
            answer = self.call("batch_get_item", RequestItems=left)
            for table, items in answer["Responses"].items():
                found.setdefault(table, []).extend(items)
            left = answer.get("UnprocessedKeys")
            if not left:
                return found
            self._sleep(random.random() * 0.025 * 2**n)  # noqa: S311 - jitter
        raise Retriable("batch_get_item: busy")

    def batch_put(self, puts: Sequence[tuple[str, Item]]) -> None:
        """Put items into tables, in any order, without conditions.

        A partition takes 1,000 units a second, and a batch may be more than that. So the count of tries begins anew
        whenever a part of the batch was stored.
        """
        self.batch_write([(table, {"PutRequest": {"Item": item}}) for table, item in puts])

    def batch_write(self, requests: Sequence[tuple[str, Item]]) -> None:
        """Put and delete items, each once, in any order, without conditions; requests as BatchWriteItem has them."""
        for start in range(0, len(requests), BATCH_WRITE):
            left: Any = {}
            for table, request in requests[start : start + BATCH_WRITE]:
                left.setdefault(table, []).append(request)
            tries = pauses = 0
            while rest := self.call("batch_write_item", RequestItems=left).get("UnprocessedItems"):
                tries = 0 if _items(rest) < _items(left) else tries + 1
                if tries == TRIES:
                    raise Retriable("batch_write_item: busy")
                left = rest
                self._sleep(random.random() * min(LONGEST_PAUSE, 0.025 * 2**pauses))  # noqa: S311 - jitter
                pauses += 1


def between(pk: str, first: str, last: str) -> Item:
    """Return the parameters of a consistent query for the items of a partition with sort keys in a range."""
    return {
        "KeyConditionExpression": "pk = :pk AND sk BETWEEN :first AND :last",
        "ExpressionAttributeValues": {":pk": {"S": pk}, ":first": {"S": first}, ":last": {"S": last}},
        "ConsistentRead": True,
    }


class InRecords:
    """A store in the table `records`."""

    def __init__(self, dynamo: Dynamo, *, records: str) -> None:
        self._db = dynamo
        self._table = records


def _items(requests: Mapping[str, Sequence[Any]]) -> int:
    return sum(map(len, requests.values()))


def answered_at(answer: Mapping[str, Any]) -> float | None:
    """Return when AWS gave an answer, by its own clock: Unix seconds, to the second; None if it does not say."""
    date = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date", "")
    try:
        return parsedate_to_datetime(date).timestamp() if date else None
    except ValueError:
        return None


def _failure(error: ClientError) -> Exception | None:
    """Return what a call has failed with; None if it met others', or was refused for the moment: it may be repeated."""
    code = error.response["Error"]["Code"]
    if code == "ConditionalCheckFailedException":
        return ConditionFailed(error.response.get("Item"), error.response)  # type: ignore[arg-type]
    if code == "TransactionCanceledException":
        reasons: Any = error.response.get("CancellationReasons", [])
        codes = [r.get("Code", "None") for r in reasons]
        if FAILED in codes or not _conflict(codes):
            return Cancelled(codes, [r.get("Item") for r in reasons])
        return None
    return None if code in _BUSY else error


def _conflict(codes: Sequence[str]) -> bool:
    return any(c in {"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"} for c in codes)
