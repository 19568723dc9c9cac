"""The checks of one uploaded record, in a fixed order: the first that fails is its rejection."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import cached_property
from typing import Any, Final

from shared.domain.characters.invisible import ONE_LINE, first_invisible, seen
from shared.domain.jobs.labels import MAX_REFERENCE, MAX_TAG, MAX_TAGS, NO_LABELS, Labels
from shared.domain.notices.codes import Rejection
from shared.domain.notices.notice import DeliveryMethod, NoticeData, Verb
from shared.domain.notices.times import Hours, days_after, local_date, read_date, read_hours
from shared.domain.recipients.phones import InvalidPhone, PhoneReader
from shared.frozen import dataclass

MAX_ID: Final = 200
MAX_NAME: Final = 200
MAX_SENT: Final = 100
"""Characters of an action that a rejection repeats."""
_PREFIX: Final = "MESSAGE_"
_VERBS: Final = {prefix + verb.value: verb for verb in Verb for prefix in ("", _PREFIX)}


@dataclass(frozen=True, slots=True)
class NoticeAction:
    """The checked action of a record.

    Attributes:
        sent: the action as it was sent.
        data: None if it is a cancellation; `labels` are then not those of the record.
    """

    verb: Verb
    sent: str
    data: NoticeData | None = None
    labels: Labels = NO_LABELS


@dataclass(frozen=True, slots=True)
class RejectedRecord:
    """A record that is not carried out.

    Attributes:
        sent: its action as it was sent.
        message: a sentence; empty for the code's own.
    """

    code: Rejection
    sent: str
    message: str = ""


@dataclass(frozen=True)
class RecordReader:
    """Checks records of one notifier.

    Attributes:
        hours: its reasonable hours.
        days: days after the delivery date at which a notice expires that does not say when.
        region: the country of numbers without a country code, ISO 3166, or empty.
        known_template: tells whether there is a template of that id for SMS or voice.
    """

    hours: Hours
    days: int
    region: str
    known_template: Callable[[str], bool]

    def read(self, record: Mapping[str, Any], now: int) -> NoticeAction | RejectedRecord:
        """Check one record; `now`: Unix milliseconds."""
        sent = as_sent(record.get("action"))
        verb = _VERBS.get(sent)
        if verb is None:
            return RejectedRecord(Rejection.INVALID_ACTION, sent)
        if verb is Verb.CANCEL:
            return NoticeAction(verb, sent)
        found = self._data(record, local_date(self.hours.timezone, now))
        if isinstance(found, NoticeData):
            labels = _labels(record)
            if not isinstance(labels, Labels):
                return RejectedRecord(labels, sent)
            return NoticeAction(verb, sent, found, labels)
        code, message = found if isinstance(found, tuple) else (found, "")
        return RejectedRecord(code, sent, message)

    def _data(self, record: Mapping[str, Any], today: date) -> NoticeData | Rejection | tuple[Rejection, str]:
        first_name, number = _text(record, "first_name"), _text(record, "phone_number")
        if not first_name or len(first_name) > MAX_NAME:
            return Rejection.MISSING_FIRST_NAME
        if not number:
            return Rejection.MISSING_PHONE_NUMBER
        phone = self._phones.read(number)
        if isinstance(phone, InvalidPhone):
            return Rejection.INVALID_PHONE_NUMBER, phone.reason
        template, method = _text(record, "template_id"), _text(record, "delivery_method")
        if not template or not self.known_template(template):
            return Rejection.INVALID_TEMPLATE
        if method not in set(DeliveryMethod):
            return Rejection.INVALID_DELIVERY_METHOD
        dates = self._dates(record, today)
        if isinstance(dates, Rejection):
            return dates
        start, end = self._preferred(_text(record, "preferred_time"))
        return NoticeData(first_name, phone.e164, template, DeliveryMethod(method), *dates, start, end)

    def _dates(self, record: Mapping[str, Any], today: date) -> tuple[date, date] | Rejection:
        """Return the delivery date and the date of the expiry."""
        delivery = read_date(_text(record, "delivery_date"), today)
        if delivery is None:
            return Rejection.INVALID_DELIVERY_DATE
        text = _text(record, "delivery_expires")
        expires = read_date(text, max(today, delivery)) if text else days_after(delivery, self.days)
        if expires is None or expires <= delivery:
            return Rejection.INVALID_DELIVERY_EXPIRES
        return delivery, expires

    def _preferred(self, text: str) -> tuple[int | None, int | None]:
        """Return the preferred hours within the reasonable ones; None twice: all of these."""
        asked = read_hours(text)
        window = self.hours.preferred(*asked) if asked else self.hours.window
        return (None, None) if window == self.hours.window else (window.start // 60, window.end // 60)

    @cached_property
    def _phones(self) -> PhoneReader:
        return PhoneReader(self.region)


def _labels(record: Mapping[str, Any]) -> Labels | Rejection:
    """Return what a record calls its notice; what is missing, null or empty is none."""
    reference, tags = record.get("reference"), record.get("tags") or []
    if reference not in (None, "") and not is_label(_text(record, "reference"), MAX_REFERENCE):
        return Rejection.INVALID_REFERENCE
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags) or not are_tags(tags):
        return Rejection.INVALID_TAGS
    return Labels(_text(record, "reference"), tuple(tags))


def is_label(text: str, most: int) -> bool:
    """Tell whether a text can be a reference or a tag: one line of characters that can be seen.

    Args:
        most: characters.
    """
    fits = 0 < len(text) <= most and re.fullmatch(ONE_LINE, text) is not None
    return fits and not first_invisible(text) and seen(text)


def are_tags(tags: Sequence[str]) -> bool:
    """Tell whether texts can be the tags of one thing."""
    return len(set(tags)) == len(tags) <= MAX_TAGS and all(is_label(tag, MAX_TAG) for tag in tags)


def as_sent(action: object) -> str:
    """Return an action as a rejection repeats it: a text, cut; anything else as JSON, or empty if there is none."""
    text = "" if action is None else action if isinstance(action, str) else json.dumps(action)
    return text[:MAX_SENT].encode("utf-8", "replace").decode()


def _text(record: Mapping[str, Any], name: str) -> str:
    """Return a field without the blanks around it; a whole number counts as its digits, anything else as missing."""
    value = record.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value.strip() if isinstance(value, str) else ""


def blanked(
    records: Sequence[Mapping[str, Any]], is_theirs: Callable[[str], bool]
) -> tuple[list[Mapping[str, Any]], int]:
    """Return records in which those to a person have nothing but their id and action, and how many these are.

    Args:
        records: of a payload; each stays in its place.
        is_theirs: tells whether a number, as it was sent, is the person's.
    """
    out: list[Mapping[str, Any]] = []
    found = 0
    for record in records:
        theirs = is_theirs(_text(record, "phone_number"))
        found += theirs
        out.append({name: record[name] for name in ("id", "action") if name in record} if theirs else record)
    return out, found


def unfit(body: object, *, limit: int) -> str:
    """Return what is wrong with a payload as a whole, a sentence; empty if nothing is.

    Args:
        limit: the most records.
    """
    if not isinstance(body, list):
        return "The body is not an array of records."
    if len(body) > limit:
        return f"A payload has at most {limit:,} records."
    for n, record in enumerate(body):
        if not isinstance(record, dict):
            return f"Record {n} is not an object."
        name = record.get("id")
        if not isinstance(name, str) or not 0 < len(name) <= MAX_ID or not _encodable(name):
            return f"Record {n} has no id, a text of 1 to {MAX_ID} characters."
    return ""


def _encodable(text: str) -> bool:
    """Tell whether a text is Unicode; a lone surrogate, which JSON can escape, is not."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
