"""What a batch's owner calls it and its messages: it comes back everywhere, and changes no message."""

import csv
import json
import logging
from typing import Any

import pytest

from shared.domain.hooks.delivery import Cells
from shared.domain.hooks.fields import JOB
from shared.domain.jobs.labels import MAX_METADATA, Labels
from shared.engine.hooks.render import HookBodies
from tests.api.conftest import SENDER, Api
from tests.api.test_erasing import Bucket, bucket, erase
from tests.domain.hooks.examples import delivery, endpoint

__all__ = ["bucket"]

ANN, BEN = "ann@example.org", "ben@example.org"
GIVEN: dict[str, Any] = {
    "reference": "order-4711",
    "tags": ["invoices", "Zürich"],
    "metadata": {"shop": "7", "line": "first\nsecond"},
}
OWN = [{"address": f"Ann <{ANN}>", "metadata": {"customer": "A1", "shop": "8"}}, {"address": BEN}]
NUMBERS = {"from_": None, "subject": None}


def labels(found: Any) -> dict[str, Any]:
    return {name: found[name] for name in GIVEN}


def test_they_come_back_in_the_batch_and_in_each_list(api: Api) -> None:
    job = api.accepted([ANN], **GIVEN)
    plain = api.accepted([BEN])
    assert labels(api.call("GET", f"/batches/{job}").json) == GIVEN
    assert labels(api.call("GET", f"/jobs/{job}").json) == GIVEN
    listed = {x["job_id"]: labels(x) for x in api.call("GET", "/batches").json["items"]}
    assert listed == {job: GIVEN, plain: {"reference": None, "tags": [], "metadata": {}}}


def test_a_recipient_s_own_metadata_come_before_those_of_the_batch(api: Api) -> None:
    job = api.accepted(OWN, **GIVEN)
    first, second = api.call("GET", f"/batches/{job}/logs").json["items"]
    assert labels(first) == {**GIVEN, "metadata": {"shop": "8", "line": "first\nsecond", "customer": "A1"}}
    assert (first["recipient"], labels(second)) == (ANN, GIVEN)
    one = api.call("GET", f"/batches/{job}/logs/0.0").json
    assert labels(one) == labels(first)


def test_no_message_has_them(api: Api) -> None:
    job = api.logged(OWN, **GIVEN)
    content = api.world.records.content(job)
    assert content is not None
    assert (content.merge, content.personal, content.headers) == (False, False, ())
    assert sorted(x.address for x in api.world.oracle.taken) == [ANN, BEN]


def test_webhooks_repeat_them(api: Api) -> None:
    job = api.logged(OWN, **GIVEN)
    bodies = HookBodies(api.world.records, api.world.clock)
    some = delivery(kind="message.sent", cells=tuple(Cells(job, n, ((0, 0x13),)) for n in (0, 1)), batch=True)
    events = json.loads(bodies(some, endpoint()))["data"]
    sent = {x["data"]["recipient"]: labels(x["data"]) for x in events}
    assert sent == {ANN: {**GIVEN, "metadata": {"shop": "8", "line": "first\nsecond", "customer": "A1"}}, BEN: GIVEN}
    assert labels(JOB.data(api.world.job(job))) == GIVEN


def test_an_export_has_them_as_its_last_columns(api: Api) -> None:
    job = api.logged(OWN, **GIVEN)
    assert api.call("GET", f"/batches/{job}/export").status == 202
    api.lists.export()
    rows = list(csv.DictReader(api.lists.files.items[api.lists.exported(job)].decode("utf-8-sig").splitlines(True)))
    assert [*rows[0]][-4:] == ["reference", "tags", "metadata", "row"]
    assert not [name for name in rows[0] if name.startswith("list.")], "what is kept beside the address is no column"
    assert [x["reference"] for x in rows] == ["order-4711"] * 2
    assert json.loads(rows[0]["tags"]) == GIVEN["tags"]
    assert [json.loads(x["metadata"])["shop"] for x in rows] == ["8", "7"]


def test_erasure_removes_a_recipient_s_own_and_all_of_a_message_alone(api: Api, bucket: Bucket) -> None:
    many, alone = api.logged(OWN, **GIVEN), api.logged([ANN], **GIVEN)
    erase(api, bucket)
    first, second = api.call("GET", f"/batches/{many}/logs").json["items"]
    assert labels(first) == labels(second) == GIVEN, "the batch's are of all its recipients"
    assert "A1" not in json.dumps(api.stored(), default=repr)
    assert labels(api.call("GET", f"/batches/{alone}").json) == {"reference": None, "tags": [], "metadata": {}}


def test_neither_logs_nor_the_audit_log_have_them(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        job = api.logged(OWN, **GIVEN)
        assert api.call("POST", f"/batches/{job}/stop").status == 200
    ours = [x for x in caplog.records if not x.name.startswith("botocore")]
    audit = [x for x in api.stored() if "AUDIT" in x["pk"]["S"]]
    assert audit
    assert any(job in repr(x.__dict__) for x in ours)
    said = repr([x.__dict__ for x in ours]) + repr(audit)
    assert not [x for x in ("order-4711", "invoices", "Zürich", "first\\nsecond", "customer") if x in said]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"reference": ""}, "reference"),
        ({"reference": "x" * 129}, "reference"),
        ({"reference": "a\nb"}, "reference"),
        ({"reference": "a\u200bb"}, "reference"),
        ({"reference": " "}, "reference"),
        ({"tags": ["x"] * 2}, "tags"),
        ({"tags": [str(n) for n in range(11)]}, "tags"),
        ({"tags": ["x" * 65]}, "tags.0"),
        ({"tags": [""]}, "tags.0"),
        ({"metadata": {"n": 7}}, "metadata.n"),
        ({"metadata": {str(n): "" for n in range(21)}}, "metadata"),
        ({"metadata": {str(n): "é" * 500 for n in range(5)}}, "metadata"),
        ({"metadata": {"n": "x" * 501}}, "metadata.n"),
        ({"to": [{"address": ANN, "metadata": {"n": None}}]}, "to.0.metadata.n"),
        ({"to": [{"address": ANN}, {"address": BEN, "name": "Ben"}]}, "to.1.name"),
        ({"to": [{"metadata": {}}]}, "to.0.address"),
        ({"to": [7]}, "to.0"),
        ({"to": [*OWN, {"address": ANN.upper(), "metadata": {"n": "1"}}]}, "to.2"),
        ({"to": [{"address": ANN}, BEN]}, "to.1"),
        (
            {
                "channel": "sms",
                "route": ["texts"],
                "to": [{"address": "+33612345678"}, {"address": "+33 6 12 34 56 78", "metadata": {"n": "1"}}],
            },
            "to.1",
        ),
    ],
)
def test_what_cannot_be_kept_is_refused_by_name(api: Api, given: dict[str, Any], field: str) -> None:
    before = api.stored()
    got = api.batch(**{"to": ANN, **given, **(NUMBERS if "channel" in given else {})})
    assert (got.status, got.code) == (422, "validation_failed"), got.text
    assert any(x.startswith(field) for x in got.fields), got.fields
    assert api.stored() == before


def test_a_recipient_twice_with_the_same_is_one_message(api: Api) -> None:
    same = {"address": ANN, "metadata": {"n": "1"}}
    got = api.batch([same, {"address": BEN}, {**same, "address": f"Ann <{ANN.upper()}>"}])
    assert (got.status, got.json["recipients"], got.json["duplicates"]) == (202, 2, 1)


def test_numbers_have_their_own_too(api: Api) -> None:
    own = [{"address": "+33612345678", "metadata": {"n": "1"}}, {"address": "nonsense"}]
    job = api.accepted(own, channel="sms", route=["texts"], reference="r", **NUMBERS)
    first, second = api.call("GET", f"/batches/{job}/logs").json["items"]
    assert (first["metadata"], second["metadata"], second["reference"]) == ({"n": "1"}, {}, "r")


def test_the_same_key_with_another_reference_is_another_request(api: Api) -> None:
    first = api.batch(http={"Idempotency-Key": "k"}, reference="a")
    again = api.batch(http={"Idempotency-Key": "k"}, reference="a")
    other = api.batch(http={"Idempotency-Key": "k"}, reference="b")
    assert (first.status, again.json, other.code) == (202, first.json, "idempotency_mismatch")


@pytest.mark.parametrize("given", [Labels(), Labels("r"), Labels("é", ("a", "b"), {"k": "v" * 500})])
def test_they_are_read_as_they_were_written(given: Labels) -> None:
    assert Labels.read(given.text()) == given
    assert len(given.text()) < MAX_METADATA


def test_a_request_in_another_service_s_form_has_them(api: Api) -> None:
    said = {"subject": "Hi", "content": [{"type": "text/plain", "value": "Hi"}], "from": {"email": SENDER}}
    args = {"categories": ["invoices", "november"], "custom_args": {"shop": "7", "case": "1"}}
    to = [
        {"to": [{"email": ANN}], "custom_args": {"case": "2"}},
        {"to": [{"email": BEN}]},
    ]
    got = api.call("POST", "/v3/mail/send", {**said, **args, "personalizations": to})
    assert got.status == 202, got.text
    [job] = api.call("GET", "/batches").json["items"]
    whole = {"reference": None, "tags": args["categories"], "metadata": args["custom_args"]}
    assert labels(job) == whole
    lines = api.call("GET", f"/batches/{job['job_id']}/logs").json["items"]
    assert [labels(x) for x in lines] == [{**whole, "metadata": {"shop": "7", "case": "2"}}, whole]
    large = {**said, "custom_args": {"big": "x" * 5_000}, "personalizations": [{"to": [{"email": ANN}]}]}
    assert api.call("POST", "/v3/mail/send", large).status == 202
    job = next(x for x in api.call("GET", "/batches").json["items"] if not x["tags"])
    [line] = api.call("GET", f"/batches/{job['job_id']}/logs").json["items"]
    assert (job["metadata"], line["metadata"]) == ({}, large["custom_args"])


def test_a_mail_has_a_reference_and_tags_in_each_form(api: Api, bucket: Bucket) -> None:
    content = f"From: {SENDER}\r\n\r\nHello!\r\n"
    given = {"reference": "ticket-7", "tags": ["tickets", "new"]}
    body = {"mail_from": SENDER, "destinations": [{"address": ANN}], "content": content, **given}
    first = api.call("POST", "/mails", body).json["mail_id"]
    query = {"mail_from": SENDER, "rcpt_to": BEN, "reference": "ticket-8", "tag": "tickets"}
    kind = {"Content-Type": "message/rfc822"}
    second = api.call("POST", "/mails", content, query=query, headers=kind).json["mail_id"]
    listed = {x["mail_id"]: (x["reference"], x["tags"]) for x in api.call("GET", "/mails").json["items"]}
    assert listed == {first: ("ticket-7", ["tickets", "new"]), second: ("ticket-8", ["tickets"])}
    shown = api.call("GET", f"/mails/{first}").json
    assert (shown["reference"], shown["tags"]) == ("ticket-7", ["tickets", "new"])
    whole = {**given, "metadata": {}}
    assert labels(api.call("GET", f"/jobs/{shown['job_id']}").json) == whole
    assert labels(api.call("GET", f"/jobs/{shown['job_id']}/logs/0.0").json) == whole
    for wrong, field in (({"reference": ""}, "reference"), ({"tags": ["x", "x"]}, "tags")):
        assert api.call("POST", "/mails", {**body, **wrong}).fields == [field]
    assert api.call("POST", "/mails", content, query={**query, "tag": ""}, headers=kind).fields == ["tags.0"]
    erase(api, bucket)
    after = {x["mail_id"]: (x["reference"], x["tags"]) for x in api.call("GET", "/mails").json["items"]}
    assert after == {first: (None, []), second: ("ticket-8", ["tickets"])}
    assert labels(api.call("GET", f"/jobs/{shown['job_id']}").json) == {"reference": None, "tags": [], "metadata": {}}


def test_a_job_without_them_is_stored_as_before(api: Api) -> None:
    job = api.accepted([ANN])
    [item] = [x for x in api.stored() if x.get("job") == {"S": job}]
    assert "labels" not in item
