"""An example of a schema: values that read like an answer."""

from collections.abc import Mapping
from typing import Any, Final

from functions.api.examples import given
from shared.domain.channels.email import EMAIL

DEPTH: Final = 8
"""Levels of an example."""
_LINE: Final = {"recipient": given.ADDRESS}

BY_NAME: Final[Mapping[str, Any]] = {
    "batch_id": given.JOB,
    "job_id": given.JOB,
    "campaign_id": given.CAMPAIGN,
    "upload_id": given.UPLOAD,
    "approval_id": given.APPROVAL,
    "template_id": given.TEMPLATE,
    "mail_id": given.MAIL,
    "window_id": given.WINDOW,
    "id": given.HOOK,
    "text_id": "01m3250v00t5n8x2c7k4q9w1zd",
    "webhook_id": "msg_01m3250v00v3c8m1t6q2b9x4ga",
    "created_by": "key_7Yw2",
    "actor": "key_7Yw2",
    "action": "job.stopped",
    "subject": "News for Ada",
    "name": "October",
    "username": given.NOTIFIER,
    "password": "ph_pass_…",
    "secret": "whsec_…",
    "credential_id": "email-main",
    "provider": "example",
    "providers": {"example": True},
    "provider_message_id": "14c5d75ce93.dfd.64b469",
    "channel": EMAIL.name,
    "route": ["email-main"],
    "recipient": given.ADDRESS,
    "address": given.ADDRESS,
    "from": "Ann's shop <news@example.com>",
    "mail_from": "bounces@example.com",
    "batch_key": "acme/production",
    "prefix": given.PREFIX,
    "policy": given.PREFIX,
    "url": "https://…",
    "country": "AU",
    "timezone": "Australia/Sydney",
    "html": "<p>Hello Ada!</p>",
    "body": "<p>Hello {{ first_name }}!</p>",
    "text": "Hello Ada!",
    "say": "Hello {{ first_name }}.",
    "columns": ["recipient", "first_name"],
    "variables": ["first_name"],
    "events": ["message.failed", "message.bounced"],
    "retry_on": ["dropped", "blocked", "failed_temporarily"],
    "max_attempts": 6,
    "rate": 20,
    "declared_rate": 100,
    "message": "0.0",
    "outcome": "accepted",
    "word": "delivered",
    "kind": "batch",
    "type": "message.failed",
    "version": 1,
    "n": 1,
    "number": 1,
    "size": 34,
    "total": 2,
    "queued": 2,
    "missing": [],
    "destinations": 1,
    "description": "Orders",
    "recipients": 2,
    "exact": True,
    "row": 3,
    "sheet_row": 4,
    "detail": "The address has no @.",
    "code": "invalid_address",
    "value": "ann.example.org",
    "reason": "manual",
    "cause": "manual",
    "window": 300,
    "near": 30,
    "extend": 60,
    "max_age": 1800,
    "max_events": 1000,
    "max_lines": 100,
    "retention": 604800,
    "days_until_expiry": 7,
    "conflict_tries": 5,
    "line": None,
    "next_cursor": None,
    "data": {},
    "headers": {},
    "keys": {},
    "metadata": {},
    "preferred_time": "9-12",
    "offset_days": 28,
    "received": 1,
    "status": 200,
    "progress": 1.0,
    "accepted": 2,
    "character": "“",
}
"""Name of a field → its value, where the schema of the field takes it."""
OF_FAULTS: Final = frozenset({"code", "detail", "value"})
"""Fields that have a value only if something is wrong, where they may be null."""
_OF_TYPES: Final[Mapping[str, Any]] = {"integer": 0, "number": 0.0, "boolean": False, "string": "…", "null": None}
_OF_FORMATS: Final[Mapping[str, str]] = {"date-time": given.PAST, "date": given.PAST[:10]}
_TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "string": str,
    "null": type(None),
    "object": dict,
    "array": list,
}


def example(schema: Mapping[str, Any], schemas: Mapping[str, Mapping[str, Any]], name: str = "", depth: int = 0) -> Any:
    """Return a value that a schema takes.

    Args:
        schema: of JSON Schema, as the document has it.
        name: of the field whose schema it is; empty: none.
        depth: levels above it.
    """
    if "$ref" in schema:
        return example(schemas[schema["$ref"].rpartition("/")[2]], schemas, name, depth)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("examples"):
        return schema["examples"][0]
    either = schema.get("anyOf") or schema.get("oneOf") or _each_type(schema)
    if either:
        return _of_any(either, schemas, name, depth)
    if _takes(schema, name):
        return BY_NAME[name]
    return _of_type(schema, schemas, name, depth)


def _each_type(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return a schema of several types as a schema for each; none if it has one type."""
    return [{**schema, "type": kind} for kind in schema["type"]] if isinstance(schema.get("type"), list) else []


def _takes(schema: Mapping[str, Any], name: str) -> bool:
    """Check whether the value of a field's name is of the schema's type, and no object or array of other things."""
    if name not in BY_NAME or schema.get("format") in _OF_FORMATS:
        return False
    value, kind = BY_NAME[name], schema.get("type", "")
    if kind == "array" and schema.get("items", {}).get("type") != "string":
        return False
    if kind == "object" and ("properties" in schema or _of_objects(schema.get("additionalProperties"))):
        return False
    if isinstance(value, bool):
        return bool(kind == "boolean")
    return kind in _TYPES and isinstance(value, _TYPES[kind])


def _of_objects(inner: Any) -> bool:
    """Check whether the values of an object are objects."""
    return isinstance(inner, Mapping) and ("$ref" in inner or inner.get("type") == "object")


def _of_any(either: list[Mapping[str, Any]], schemas: Mapping[str, Mapping[str, Any]], name: str, depth: int) -> Any:
    """Return the example of the first schema that takes the name's value; else null, if that is one of them."""
    for schema in either:
        if _takes(schema, name) and name not in OF_FAULTS:
            return BY_NAME[name]
    if any(schema.get("type") == "null" for schema in either):
        return None
    return example(either[0], schemas, name, depth)


def _of_type(schema: Mapping[str, Any], schemas: Mapping[str, Mapping[str, Any]], name: str, depth: int) -> Any:
    match schema.get("type"):
        case "object" if depth < DEPTH:
            return {
                field: example(inner, schemas, field, depth + 1)
                for field, inner in schema.get("properties", {}).items()
            }
        case "array" if depth < DEPTH and schema.get("items"):
            return [example(schema["items"], schemas, name, depth + 1)]
        case "object":
            return {}
        case "array":
            return []
        case "string" if schema.get("format") in _OF_FORMATS:
            return _OF_FORMATS[schema["format"]]
        case kind:
            return _OF_TYPES.get(str(kind))
