"""Records as a notifier's user gives them: what can be checked without the hub is checked when they are added."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from cli.errors import Misused
from shared.domain.jobs.labels import MAX_REFERENCE, MAX_TAG, MAX_TAGS
from shared.domain.notices.notice import DeliveryMethod
from shared.domain.notices.records import MAX_ID, MAX_NAME, are_tags, is_label, unfit
from shared.domain.notices.times import read_date, read_hours

REQUIRED: Final = ("first_name", "phone_number", "template_id", "delivery_method", "delivery_date")
OPTIONAL: Final = ("delivery_expires", "preferred_time", "reference")
TAGS: Final = "tags"
FIELDS: Final = ("id", *REQUIRED, *OPTIONAL, TAGS)
MAX_BYTES: Final = 8_192
"""Of one record."""

Record = dict[str, Any]
"""Field to text, `tags` to a list of texts; `id` and all that is REQUIRED are there, nothing is empty."""


def checked(given: Mapping[str, Any], now: float, where: str = "") -> Record:
    """Return a record with blanks removed and numbers as text.

    The hub checks each record again, and what only the hub knows: numbers, templates, and dates in its time zone.

    Args:
        given: field to value; None and empty values count as missing.
        now: Unix seconds.
        where: begins the message, such as `record 3: `.

    Raises:
        Misused: a field is missing, unknown or wrong.
    """
    unknown = sorted(set(given) - set(FIELDS))
    if unknown:
        raise Misused(f"{where}unknown field {unknown[0]}: fields are {', '.join(FIELDS)}")
    record = _filled(given, where)
    checked_id(record.get("id", ""), where)
    missing = [name for name in REQUIRED if name not in record]
    if missing:
        raise Misused(f"{where}{missing[0]} is missing")
    if len(record["first_name"]) > MAX_NAME:
        raise Misused(f"{where}first_name has more than {MAX_NAME} characters")
    if record["delivery_method"] not in set(DeliveryMethod):
        raise Misused(f"{where}delivery_method is {' or '.join(DeliveryMethod)}")
    _check_dates(record, now, where)
    if "preferred_time" in record and read_hours(record["preferred_time"]) is None:
        raise Misused(f"{where}preferred_time is an hour, as 9, or hours, as 9-12")
    _check_names(record, where)
    if len(json.dumps(record)) > MAX_BYTES:
        raise Misused(f"{where}a record has at most {MAX_BYTES:,} bytes")
    return record


def checked_id(text: str, where: str = "") -> str:
    """Return a message's id; Misused if it cannot be one."""
    if unfit([{"id": text}], limit=1):
        raise Misused(f"{where}id is a text of 1 to {MAX_ID} characters")
    return text


def _check_names(record: Record, where: str) -> None:
    if "reference" in record and not is_label(record["reference"], MAX_REFERENCE):
        raise Misused(f"{where}reference is a text of one line, up to {MAX_REFERENCE} characters")
    if not are_tags(record.get(TAGS, [])):
        raise Misused(f"{where}tags are up to {MAX_TAGS} different texts of one line, up to {MAX_TAG} characters each")


def _check_dates(record: Record, now: float, where: str) -> None:
    tomorrow = datetime.fromtimestamp(now, UTC).date() + timedelta(days=1)  # it is, in zones far to the east
    delivery = read_date(record["delivery_date"], tomorrow)
    if delivery is None:
        raise Misused(f"{where}delivery_date is YYYY-MM-DD or YYYYMMDD, at most two years ahead")
    if "delivery_expires" in record:
        expires = read_date(record["delivery_expires"], max(tomorrow, delivery))
        if expires is None or expires <= delivery:
            raise Misused(f"{where}delivery_expires is a date after delivery_date")


def _filled(given: Mapping[str, Any], where: str) -> Record:
    texts = (name for name in FIELDS if name != TAGS and given.get(name) is not None)
    record: Record = {name: _text(given[name], f"{where}{name}") for name in texts}
    return {name: value for name, value in {**record, TAGS: _tags(given.get(TAGS) or [], where)}.items() if value}


def _tags(tags: object, where: str) -> list[str]:
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise Misused(f"{where}tags are a list of texts")
    return tags


def _text(value: object, name: str) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise Misused(f"{name} is a text")
    return value.strip()


def read_records(text: str, name: str, now: float) -> list[Record]:
    """Return the records of a file: a JSON array of objects, or one object a line.

    Args:
        now: Unix seconds.

    Raises:
        Misused: the file is neither, or a record is wrong.
    """
    try:
        found = json.loads(text) if text.lstrip().startswith("[") else _lines(text)
    except (ValueError, RecursionError) as error:
        raise Misused(f"{name} is neither a JSON array nor one JSON object a line: {error}") from None
    for n, each in enumerate(found, 1):
        if not isinstance(each, dict):
            raise Misused(f"{name}: record {n}: not an object")
    return [checked(each, now, f"{name}: record {n}: ") for n, each in enumerate(found, 1)]


def _lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines() if line.strip()]
