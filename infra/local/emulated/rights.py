"""Has the emulator's IAM judge the rows and senders that a request names.

AWS puts the partitions that a request touches (`dynamodb:LeadingKeys`) and the sender of a mail (`ses:FromAddress`)
before the conditions of a policy; MiniStack does neither. Nor does it know which stream a request reads. Without them a
right that is missing on AWS is there on the local cloud, and no test can see it. So this module wraps the functions of
MiniStack that collect such values and ask for a verdict. It finds both in their modules at each request.
"""

import base64
import json
import re
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from email.utils import parseaddr
from typing import Any, Final

from ministack import app
from ministack.core import iam_actions, iam_evaluator
from ministack.services import dynamodb

KEYS: Final = "dynamodb:LeadingKeys"
SENDER: Final = "ses:FromAddress"
STREAMS: Final = "dynamodbstreams"
_EQUALS: Final = re.compile(r"([#\w.-]+)\s*=\s*(:\w+)")
_TABLE: Final = re.compile(r":table/([^/]+)(?:/index/([^/]+))?")
_sender: ContextVar[str] = ContextVar("sender", default="")

Hash = Callable[[str, str], str]
"""Name of a table, and of its index or "" → the attribute that is its partition key."""


def leading_keys(request: Mapping[str, Any], table: str, action: str, hash_of: Hash) -> list[str]:
    """Return the partitions of one table that a request of DynamoDB touches by one action; none: it names none.

    Args:
        action: as IAM has it; a transaction has several.
        hash_of: knows the keys of tables.
    """
    own, name = hash_of(table, ""), request.get("IndexName", "")
    if "KeyConditionExpression" in request:
        return _queried(request, hash_of(table, name) if name else own)
    return sorted({str(value) for item in _items(request, table, action) for value in item.get(own, {}).values()})


def _items(request: Mapping[str, Any], table: str, action: str) -> Iterable[Mapping[str, Any]]:
    """Yield keys, or whole items, of a table that a request names."""
    parts = (x for part in request.get("TransactItems", ()) for x in part.items())
    actions = iam_actions._DYNAMODB_TRANSACT_ITEM_ACTIONS  # noqa: SLF001
    transacted = (x for kind, x in parts if actions.get(kind) == action and x.get("TableName") == table)
    for named in (request, *_batched(request.get("RequestItems", {}).get(table, ())), *transacted):
        yield named.get("Key") or named.get("Item", {})


def _batched(many: Any) -> Iterable[Mapping[str, Any]]:
    """Yield what a batch reads or writes of a table, each with its key or item."""
    if isinstance(many, Mapping):
        return ({"Key": key} for key in many.get("Keys", ()))
    return (x for one in many for x in one.values())


def _queried(request: Mapping[str, Any], attribute: str) -> list[str]:
    """Return the partition that a query names."""
    names, values = request.get("ExpressionAttributeNames", {}), request.get("ExpressionAttributeValues", {})
    for name, value in _EQUALS.findall(request["KeyConditionExpression"]):
        if names.get(name, name) == attribute:
            return [str(x) for x in values.get(value, {}).values()]
    return []


def _hash_of(table: str, index: str) -> str:
    """Return the attribute that is the partition key of a table of the emulator, or of its index."""
    found = dynamodb._tables.get(table) or {}  # noqa: SLF001
    schema = found.get("KeySchema", ())
    if index:
        schema = next(
            (x["KeySchema"] for x in found.get("GlobalSecondaryIndexes") or () if x["IndexName"] == index), ()
        )
    return next((str(x["AttributeName"]) for x in schema if x["KeyType"] == "HASH"), "")


def install() -> None:
    """Wrap what the emulator asks."""
    place = iam_actions.extract_resource_arn
    collect, judge, mail = iam_actions.dynamodb_service_context, iam_evaluator.enforce, app._enforce_ses_v2  # noqa: SLF001

    def collected(body: bytes) -> dict[str, Any]:
        return {**collect(body), KEYS: body}

    def judged(
        access_key_id: str,
        iam_action: str,
        service: str,
        region: str,
        resource_arn: str = "*",
        service_context: dict[str, Any] | None = None,
    ) -> Any:
        context = {**(service_context or {})}
        body, place = context.pop(KEYS, b""), _TABLE.search(resource_arn)
        if body and place and (found := leading_keys(json.loads(body), place[1], iam_action, _hash_of)):
            context[KEYS] = found
        if iam_action.startswith("ses:") and _sender.get():
            context[SENDER] = _sender.get()
        return judge(access_key_id, iam_action, service, region, resource_arn, context)

    def placed(service: str, method: str, path: str, headers: Any, body: bytes, *rest: Any) -> Any:
        found = place(service, method, path, headers, body, *rest)
        return (stream(body) or found) if service == STREAMS else found

    def mailed(method: str, path: str, headers: Any, body: bytes, *rest: Any) -> Any:
        token = _sender.set(sender(body))
        try:
            return mail(method, path, headers, body, *rest)
        finally:
            _sender.reset(token)

    iam_actions.extract_resource_arn = placed
    iam_actions.dynamodb_service_context = collected
    iam_evaluator.enforce = judged
    app._enforce_ses_v2 = mailed  # noqa: SLF001


def stream(body: bytes) -> str:
    """Return the ARN of the stream that a request reads, by itself or by an iterator; empty: it names none."""
    try:
        request = json.loads(body or b"{}")
        place = request.get("ShardIterator", "")
        return str(request.get("StreamArn") or json.loads(base64.urlsafe_b64decode(place) or b"{}").get("arn", ""))
    except (ValueError, AttributeError, TypeError):
        return ""


def sender(body: bytes) -> str:
    """Return the address that a request of SES names as the sender; empty: it names none."""
    try:
        request = json.loads(body or b"{}")
    except ValueError:
        return ""
    return parseaddr(str(request.get("FromEmailAddress", "")))[1] if isinstance(request, dict) else ""
