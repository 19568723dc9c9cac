"""The way of a call to moto's tables without HTTP.

A call of botocore becomes a request, is signed, and finds moto among the addresses of all services. There it is taken
apart again, and its answer takes the same way back. Here moto's own operation gets the arguments that botocore has made
and validated. Botocore's own parser reads the text that moto has written. Calls that need HTTP keep it: those of an
emulator, and of clients whose calls a test changes on their way. So do those without plain keys, or where moto judges
rights.
"""

from functools import cache
from math import isinf
from random import getrandbits
from typing import Any, Final

from botocore import parsers
from botocore.awsrequest import AWSResponse
from botocore.client import BaseClient
from botocore.credentials import Credentials
from botocore.endpoint import convert_to_response_dict
from moto import settings
from moto.core import parse, responses
from moto.core.botocore_stubber import MockRawResponse
from moto.core.models import DEFAULT_ACCOUNT_ID, botocore_stubber
from moto.core.utils import get_service_model, utcnow
from moto.dynamodb.models import dynamodb_backends
from moto.dynamodb.responses import DynamoHandler
from moto.iam.models import mark_account_as_visited
from moto.utilities.utils import get_partition
from werkzeug.http import http_date

from quick_moto.calls import as_it_is

REQUEST: Final = BaseClient._make_request  # type: ignore[attr-defined]
SENT: Final = parse.BaseJSONParser._parse_structure
READ: Final = parsers.BaseJSONParser._handle_structure  # type: ignore[attr-defined]
_TABLES: Final = "dynamodb"
_FAILED: Final = 300
"""Status from which botocore takes an answer for an error."""
_ENDED: Final = frozenset(
    {
        "ConditionalCheckFailedException",
        "ResourceNotFoundException",
        "TransactionCanceledException",
        "ValidationException",
    }
)
"""Errors after which botocore asks no more."""


def install() -> None:
    """Have calls of tables go the short way in this process; a repeat changes nothing."""
    BaseClient._make_request = _make_request  # type: ignore[attr-defined]
    parse.BaseJSONParser._parse_structure = _sent  # type: ignore[method-assign]
    parsers.BaseJSONParser._handle_structure = _read  # type: ignore[attr-defined]
    vars(responses)["gen_amzn_requestid_long"] = _named


def _named(headers: dict[str, Any]) -> str:
    """Name a request as moto does, in letters and digits, without drawing each of them."""
    name = f"{getrandbits(208):052X}"
    headers["x-amzn-requestid"] = name
    return name


def _sent(self: Any, shape: Any, value: Any) -> Any:
    """Take a value of DynamoDB as it is, as moto does after looking for each of its ten types."""
    plain = as_it_is(value) if shape.name == "AttributeValue" else None
    return SENT(self, shape, value) if plain is None else plain  # type: ignore[no-untyped-call]


def _read(self: Any, shape: Any, value: Any) -> Any:
    """Take a value of DynamoDB as it is, as botocore does after looking for each of its ten types."""
    plain = as_it_is(value) if shape.name == "AttributeValue" else None
    return READ(self, shape, value) if plain is None else plain


def create_table(client: Any, **wanted: Any) -> None:
    """Create a table on demand, at once where moto answers: its answer takes most of the time, and has no readers.

    Args:
        client: a client of DynamoDB, or what wraps one and has its `meta`.
        wanted: as the operation `CreateTable` takes them: name, billing mode, attributes, keys, global indices.
    """
    meta = getattr(client, "meta", None)
    region = getattr(meta, "region_name", "")
    if not botocore_stubber.enabled or getattr(meta, "endpoint_url", "") != f"https://{_TABLES}.{region}.amazonaws.com":
        client.create_table(**wanted)
        return
    dynamodb_backends[DEFAULT_ACCOUNT_ID][region].create_table(
        name=wanted["TableName"],
        schema=wanted["KeySchema"],
        attr=wanted["AttributeDefinitions"],
        global_indexes=wanted.get("GlobalSecondaryIndexes"),
        billing_mode=wanted["BillingMode"],
        throughput=None,
        indexes=None,
        streams=None,
        sse_specification=None,
        tags=[],
        deletion_protection_enabled=False,
        warm_throughput=None,
    )


def _make_request(self: Any, operation: Any, request: dict[str, Any], context: Any) -> Any:
    address = f"https://{_TABLES}.{self.meta.region_name}.amazonaws.com/"
    keys = self._request_signer._credentials
    if (
        request["url"] != address
        or type(keys) is not Credentials
        or not isinf(settings.INITIAL_NO_AUTH_ACTION_COUNT)
        or not botocore_stubber.enabled
        or not _untouched(self.meta.events, operation.name)
    ):
        return REQUEST(self, operation, request, context)
    return _sent_again(self, operation, request, keys.access_key)


def _untouched(events: Any, operation: str) -> bool:
    """Say whether only moto answers what is sent."""
    emitter, event = events._emitter, f"before-send.{_TABLES}.{operation}"
    handlers = emitter._lookup_cache.get(event)
    if handlers is None:
        handlers = emitter._handlers.prefix_search(event)
    return all(handler is botocore_stubber for handler in handlers)


def _sent_again(client: Any, operation: Any, request: dict[str, Any], key: str) -> Any:
    """Return the response and what botocore reads in it, after as many attempts as botocore makes."""
    endpoint, attempts = client._endpoint, 1
    endpoint._update_retries_context(request["context"], attempts)
    answer = _answered(client, operation, request, key)
    while _may_be_repeated(answer) and endpoint._needs_retry(attempts, operation, request, answer):
        attempts += 1
        endpoint._update_retries_context(request["context"], attempts, answer)
        answer = _answered(client, operation, request, key)
    answer[1]["ResponseMetadata"]["RetryAttempts"] = attempts - 1
    return answer


def _may_be_repeated(answer: tuple[AWSResponse, Any]) -> bool:
    response, parsed = answer
    return response.status_code >= _FAILED and parsed.get("Error", {}).get("Code") not in _ENDED


def _answered(client: Any, operation: Any, request: dict[str, Any], key: str) -> tuple[AWSResponse, Any]:
    handler = _Handler(client.meta.region_name, request, key)
    handler.params = _parser(operation.name).parse({"body": request["body"], "headers": handler.headers})
    status, headers, body = handler.call_action()
    response = AWSResponse(request["url"], status, headers, MockRawResponse(body))
    found, parser = convert_to_response_dict(response, operation), client._response_parser
    parsed = parser.parse(found, operation.output_shape)
    if response.status_code >= _FAILED:
        client._endpoint._add_modeled_error_fields(found, parsed, operation, parser)
    return response, parsed


@cache
def _parser(operation: str) -> Any:
    return parse.PROTOCOL_PARSERS["json"](get_service_model(_TABLES).operation_model(operation), map_type=dict)


class _Handler(DynamoHandler):
    """moto's operations, with what moto takes of a request."""

    def __init__(self, region: str, request: dict[str, Any], key: str) -> None:
        """`key`: identifier of the access key that a signature names."""
        super().__init__()
        sent = request["headers"]
        self.headers = {
            "Authorization": f"AWS4-HMAC-SHA256 Credential={key}/",
            "Content-Type": sent["Content-Type"],
            "X-Amz-Target": sent["X-Amz-Target"],
        }
        self.querystring = self.data = {}
        self.uri_match = {}
        self.region = region
        self.partition = get_partition(region)
        self.response_headers = {"server": "amazon.com", "date": http_date(utcnow())}
        self.access_key = self.get_access_key()
        self.current_account = self.get_current_account()
        mark_account_as_visited(self.current_account, self.access_key, _TABLES, region)
