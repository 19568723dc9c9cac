"""The checks of uploaded records: their order, and what counts as the same data."""

from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.jobs.labels import Labels
from shared.domain.notices.codes import SAYS, Failure, Rejection
from shared.domain.notices.notice import DeliveryMethod, Verb
from shared.domain.notices.records import NoticeAction, RecordReader, RejectedRecord, as_sent, unfit
from tests.domain.notices.examples import DATA, HOURS, NOW, record

READER = RecordReader(HOURS, 7, "AU", {"reminder"}.__contains__)


def read(**changes: Any) -> NoticeAction | RejectedRecord:
    return READER.read(record(**changes), NOW)


def test_a_record_becomes_normalised_data() -> None:
    assert read() == NoticeAction(Verb.NEW, "MESSAGE_NEW", DATA)
    assert read(action="UPDATE", phone_number="+61412345678", first_name=" Ada ", delivery_date="20261124T08:00") == (
        NoticeAction(Verb.UPDATE, "UPDATE", DATA)
    )
    assert read(delivery_expires="2026-12-01", preferred_time="9-21", unknown=[1]) == read()
    assert read(preferred_time="3") == read(preferred_time="soon") == read(preferred_time="") == read()
    found = read(preferred_time="8-11", delivery_method="IVR", delivery_expires="20261125")
    assert found == NoticeAction(
        Verb.NEW,
        "MESSAGE_NEW",
        replace(DATA, start=9, end=11, method=DeliveryMethod.IVR, expires=date(2026, 11, 25)),
    )
    assert read(preferred_time=14) == read(preferred_time="14-15")


def test_a_cancellation_needs_no_more_than_id_and_action() -> None:
    for action in ("CANCEL", "MESSAGE_CANCEL"):
        assert READER.read({"id": "n1", "action": action}, NOW) == NoticeAction(Verb.CANCEL, action)


FAULTS: dict[Rejection, list[dict[str, Any]]] = {
    Rejection.INVALID_ACTION: [
        {"action": None},
        {"action": "DELETE"},
        {"action": "new"},
        {"action": 5},
        {"action": ["NEW"]},
        {"action": "MESSAGE_"},
    ],
    Rejection.MISSING_FIRST_NAME: [
        {"first_name": None},
        {"first_name": " "},
        {"first_name": ["Ada"]},
        {"first_name": "x" * 201},
    ],
    Rejection.MISSING_PHONE_NUMBER: [{"phone_number": None}, {"phone_number": ""}, {"phone_number": {}}],
    Rejection.INVALID_PHONE_NUMBER: [
        {"phone_number": "abc"},
        {"phone_number": "000"},
        {"phone_number": "+61 1"},
        {"phone_number": "1" * 300},
    ],
    Rejection.INVALID_TEMPLATE: [{"template_id": None}, {"template_id": "other"}],
    Rejection.INVALID_DELIVERY_METHOD: [
        {"delivery_method": None},
        {"delivery_method": "EMAIL"},
        {"delivery_method": "sms"},
    ],
    Rejection.INVALID_DELIVERY_DATE: [
        {"delivery_date": None},
        {"delivery_date": "tomorrow"},
        {"delivery_date": "2028-11-25"},
        {"delivery_date": "2026-02-30"},
    ],
    Rejection.INVALID_DELIVERY_EXPIRES: [
        {"delivery_expires": "soon"},
        {"delivery_expires": "2026-11-24"},
        {"delivery_expires": "2026-11-23"},
        {"delivery_expires": "2029-11-24"},
    ],
    Rejection.INVALID_REFERENCE: [
        {"reference": "x" * 129},
        {"reference": ["visit"]},
        {"reference": " "},
        {"reference": "a\nb"},
        {"reference": "a\u200bb"},
    ],
    Rejection.INVALID_TAGS: [
        {"tags": "reminders"},
        {"tags": ["a", "a"]},
        {"tags": [str(n) for n in range(11)]},
        {"tags": ["x" * 65]},
        {"tags": [""]},
        {"tags": [1]},
        {"tags": ["a\x00"]},
    ],
}


def test_a_record_has_its_notifier_s_names() -> None:
    found = read(reference=" visit-4711 ", tags=["reminders", "Zoë"])
    assert found == NoticeAction(Verb.NEW, "MESSAGE_NEW", DATA, Labels("visit-4711", ("reminders", "Zoë")))
    assert read(reference=4711) == NoticeAction(Verb.NEW, "MESSAGE_NEW", DATA, Labels("4711"))
    assert read(reference="", tags=[]) == read(reference=None, tags=None) == read()


@pytest.mark.parametrize(("code", "changes"), [(code, x) for code, every in FAULTS.items() for x in every])
def test_each_fault_has_its_code(code: Rejection, changes: dict[str, Any]) -> None:
    found = read(**changes)
    assert isinstance(found, RejectedRecord)
    assert found.code is code


def test_of_several_faults_the_first_in_order_is_the_rejection() -> None:
    codes = list(FAULTS)
    for i, code in enumerate(codes):
        changes = {k: v for later in reversed(codes[i:]) for k, v in FAULTS[later][0].items()}
        found = read(**changes)
        assert isinstance(found, RejectedRecord)
        assert found.code is code


def test_an_expiry_may_be_two_years_after_the_delivery() -> None:
    found = read(delivery_date="2028-11-20", delivery_expires="2030-11-20")
    assert isinstance(found, NoticeAction)


def test_every_code_has_its_sentence() -> None:
    assert set(SAYS) == {*Rejection, *Failure}


def test_an_action_is_repeated_as_it_was_sent_but_cut_and_storable() -> None:
    assert as_sent("Delete ") == "Delete "
    assert as_sent(None) == ""
    assert as_sent({"a": [1]}) == '{"a": [1]}'
    assert as_sent("x" * 500) == "x" * 100
    assert as_sent("\ud800") == "?"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


FIELDS = sorted(record(delivery_expires="", preferred_time="", reference="", tags=[]))


@given(st.dictionaries(st.sampled_from(FIELDS), json_values))
def test_no_record_raises(changes: dict[str, Any]) -> None:
    assert isinstance(READER.read(record() | changes, NOW), NoticeAction | RejectedRecord)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ([], True),
        ([{"id": "a"}, {"id": "x" * 200}], True),
        ({}, False),
        ("text", False),
        (None, False),
        ([{"id": ""}], False),
        ([{"id": "x" * 201}], False),
        ([{"id": 5}], False),
        ([{}], False),
        ([["id"]], False),
        ([{"id": "\ud800"}], False),
        ([{"id": "a"}] * 4, False),
    ],
)
def test_a_payload_is_an_array_of_records_with_ids(body: object, expected: object) -> None:
    assert (unfit(body, limit=3) == "") is expected
