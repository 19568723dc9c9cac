"""Mails by HTTP: uploads, commits, posts, destinations."""

import base64
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.api.conftest import SENDER, Api, event

BYTES = b"From: news@example.com\r\nSubject: Hello\r\n\r\nHello \xff!\r\n"
ASCII = "From: news@example.com\r\n\r\nHello!\r\n"
TO = [{"address": "ann@example.org", "metadata": {"ticket": 7}}, {"address": "Bob@example.net"}]


def raw(api: Api, data: bytes = BYTES, query: Any = None, **headers: str) -> Any:
    """Post a message as it is."""
    told = query or [("mail_from", SENDER), ("rcpt_to", "ann@example.org"), ("rcpt_to", "Bob@example.net")]
    sent = {"Authorization": f"Bearer {api.key}", "Content-Type": "message/rfc822", **headers}
    made = event("POST", "/mails", headers=sent, query=dict(told) if isinstance(told, dict) else None)
    if not isinstance(told, dict):
        made["rawQueryString"] = "&".join(f"{k}={v.replace('@', '%40')}" for k, v in told)
    made["isBase64Encoded"] = True
    made["body"] = base64.b64encode(data).decode()
    return api.handle(made)


def opened(api: Api, **changes: Any) -> Any:
    got = api.call("POST", "/mails/uploads", {"mail_from": SENDER, "destinations": TO, **changes})
    assert got.status == 201, got.text
    return got.json


def upload(api: Api, mail: str, data: bytes = BYTES) -> None:
    api.mail_files.items[f"mail-uploads/{mail}"] = data


def shown(api: Api, mail: str) -> Any:
    got = api.call("GET", f"/mails/{mail}")
    assert got.status == 200, got.text
    return got.json


def at(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def test_a_message_is_posted_as_it_is(api: Api) -> None:
    got = raw(api)
    assert got.status == 202, got.text
    mail = got.json["mail_id"]
    assert got.json == {"mail_id": mail, "destinations": 2}
    assert got.headers["location"] == f"/mails/{mail}"
    assert list(api.mail_files.items.values()) == [BYTES]
    found = shown(api, mail)
    assert (found["state"], found["mail_from"], found["total"], found["size"]) == ("committed", SENDER, 2, len(BYTES))
    assert [x["address"] for x in found["destinations"]] == ["ann@example.org", "Bob@example.net"]
    assert found["next_cursor"] is None


def test_a_message_is_posted_as_json(api: Api) -> None:
    body = {"mail_from": SENDER, "destinations": TO, "content": ASCII}
    got = api.call("POST", "/mails", body)
    assert got.status == 202, got.text
    first, second = shown(api, got.json["mail_id"])["destinations"]
    assert first == {
        "address": "ann@example.org",
        "state": "queued",
        "schedule_at": None,
        "attempts": 0,
        "end": None,
        "provider": None,
        "error": None,
        "error_meaning": None,
        "error_detail": None,
        "metadata": {"ticket": 7},
    }
    assert second["metadata"] == {}


def test_a_repeated_post_queues_one_mail(api: Api) -> None:
    headers = {"Idempotency-Key": "k" * 64}
    first, again = raw(api, BYTES, None, **headers), raw(api, BYTES, None, **headers)
    assert (again.status, again.json) == (202, first.json)
    assert again.headers["idempotency-replayed"] == "true"
    assert raw(api, ASCII.encode(), None, **headers).code == "idempotency_mismatch"
    assert len(api.call("GET", "/mails").json["items"]) == 1


def test_an_upload_is_committed_once(api: Api) -> None:
    place = opened(api)
    mail = place["mail_id"]
    assert place["method"] == "PUT"
    assert f"mail-uploads/{mail}" in place["url"]
    assert place["headers"] == {"Content-Type": "message/rfc822", "If-None-Match": "*"}
    assert shown(api, mail)["state"] == "open"
    assert shown(api, mail)["destinations"] == []
    assert api.call("POST", f"/mails/{mail}/commit").code == "upload_missing"
    upload(api, mail)
    assert api.call("POST", f"/mails/{mail}/commit", {"etag": "other"}).code == "etag_mismatch"
    for _ in range(2):
        got = api.call("POST", f"/mails/{mail}/commit", {})
        assert (got.status, got.json) == (202, {"mail_id": mail, "destinations": 2})
    assert len(shown(api, mail)["destinations"]) == 2


def test_an_upload_is_normalised_on_demand(api: Api) -> None:
    mail = opened(api)["mail_id"]
    upload(api, mail, ASCII.encode().replace(b"\r\n", b"\n"))
    refused = api.call("POST", f"/mails/{mail}/commit", {})
    assert (refused.code, refused.json["errors"][0]["code"]) == ("invalid_mail", "bare_lf")
    assert api.call("POST", f"/mails/{mail}/commit", {"normalise": True}).status == 202
    assert ASCII.encode() in api.mail_files.items.values()


def test_the_same_key_gives_the_same_place(api: Api) -> None:
    body = {"mail_from": SENDER, "destinations": TO}
    first = api.call("POST", "/mails/uploads", body, headers={"Idempotency-Key": "k"})
    again = api.call("POST", "/mails/uploads", body, headers={"Idempotency-Key": "k"})
    assert (again.status, again.json) == (201, first.json)


def test_a_message_that_cannot_be_sent_says_where(api: Api) -> None:
    got = raw(api, b"From: news@example.com\r\n\r\none\ntwo\r\n")
    assert (got.status, got.code) == (422, "invalid_mail")
    (error,) = got.json["errors"]
    assert (error["field"], error["code"], error["line"]) == ("content", "bare_lf", 3)
    told = [("mail_from", SENDER), ("rcpt_to", "ann@example.org"), ("normalise", "true")]
    assert raw(api, b"From: news@example.com\n\none\ntwo\n", told).status == 202
    assert list(api.mail_files.items.values()) == [b"From: news@example.com\r\n\r\none\r\ntwo\r\n"]
    assert raw(api, b"From: stranger@example.net\r\n\r\n").code == "from_not_allowed"


@pytest.mark.parametrize("left_out", ["mail_from", "rcpt_to"])
def test_a_message_as_it_is_needs_its_envelope(api: Api, left_out: str) -> None:
    told = [x for x in (("mail_from", SENDER), ("rcpt_to", "ann@example.org")) if x[0] != left_out]
    got = raw(api, BYTES, told)
    assert (got.code, got.fields) == ("validation_failed", [left_out])


def test_a_destination_is_dropped(api: Api) -> None:
    later = at(api.world.clock.ms + 3_600_000)
    place = opened(api, destinations=[{"address": "ann@example.org", "schedule_at": later}])
    mail, path = place["mail_id"], f"/mails/{place['mail_id']}/destinations/ANN@example.org"
    assert api.call("DELETE", path).code == "not_found", "it is not queued yet"
    upload(api, mail)
    api.call("POST", f"/mails/{mail}/commit")
    for _ in range(2):
        got = api.call("DELETE", path)
        assert (got.status, got.json["state"]) == (200, "dropped")
    assert api.call("POST", f"{path}/reschedule", {"at": later}).code == "in_flight"
    assert api.call("DELETE", f"/mails/{mail}/destinations/nobody@example.org").code == "not_found"


def test_a_destination_is_rescheduled(api: Api) -> None:
    now = api.world.clock.ms
    got = api.call("POST", "/mails", {"mail_from": SENDER, "destinations": TO, "content": ASCII})
    path = f"/mails/{got.json['mail_id']}/destinations/bob@example.net/reschedule"
    moved = api.call("POST", path, {"at": at(now + 3_600_000)})
    assert (moved.status, moved.json["schedule_at"]) == (200, at(now + 3_600_000))
    assert api.call("POST", path, {"at": at(now + 3 * 86_400_000)}).code == "validation_failed"


def test_destinations_come_in_pages(api: Api) -> None:
    many = [{"address": f"a{i}@example.org"} for i in range(5)]
    got = api.call("POST", "/mails", {"mail_from": SENDER, "destinations": many, "content": ASCII})
    path = f"/mails/{got.json['mail_id']}"
    first = api.call("GET", path, query={"limit": 3}).json
    rest = api.call("GET", path, query={"limit": 3, "cursor": first["next_cursor"]}).json
    assert [x["address"] for x in (*first["destinations"], *rest["destinations"])] == [x["address"] for x in many]
    assert rest["next_cursor"] is None


@pytest.mark.slow
def test_a_page_shows_a_hundred_destinations_at_the_most(api: Api) -> None:
    many = [{"address": f"a{i}@example.org"} for i in range(101)]
    got = api.call("POST", "/mails", {"mail_from": SENDER, "destinations": many, "content": ASCII})
    path = f"/mails/{got.json['mail_id']}"
    first = api.call("GET", path, query={"limit": 1000}).json
    rest = api.call("GET", path, query={"limit": 1000, "cursor": first["next_cursor"]}).json
    assert (len(first["destinations"]), len(rest["destinations"]), rest["next_cursor"]) == (100, 1, None)


@pytest.mark.slow
def test_a_destination_shows_its_end_its_provider_and_its_error(api: Api) -> None:
    mail = raw(api).json["mail_id"]
    api.world.run(seconds=60)  # its lanes have no messages
    ends = [(x["address"], x["end"], x["provider"], x["error"]) for x in shown(api, mail)["destinations"]]
    assert ends == [(x, "failed", "sendgrid", "content_gone") for x in ("ann@example.org", "Bob@example.net")]


def test_mails_are_listed_newest_first(api: Api) -> None:
    names = []
    for _ in range(3):
        api.world.clock.sleep(1)
        names.append(raw(api).json["mail_id"])
    first = api.call("GET", "/mails", query={"limit": 2}).json
    assert [x["mail_id"] for x in first["items"]] == names[:0:-1]
    rest = api.call("GET", "/mails", query={"limit": 2, "cursor": first["next_cursor"]}).json
    assert ([x["mail_id"] for x in rest["items"]], rest["next_cursor"]) == (names[:1], None)


def test_mails_of_others_and_of_test_keys_are_not_found(api: Api) -> None:
    mail = raw(api).json["mail_id"]
    for key in (api.other(), api.test_key()):
        for method, path, body in (
            ("GET", f"/mails/{mail}", None),
            ("POST", f"/mails/{mail}/commit", {}),
            ("DELETE", f"/mails/{mail}/destinations/ann@example.org", None),
        ):
            assert api.call(method, path, body, key=key).code == "not_found"
        assert api.call("GET", "/mails", key=key).json["items"] == []


def test_the_job_of_a_mail_cannot_be_stopped(api: Api) -> None:
    raw(api)
    (job,) = [x["pk"]["S"][2:] for x in api.stored() if x["sk"]["S"] == "JOB"]
    assert api.call("POST", f"/jobs/{job}/stop").status == 409


def test_too_many_destinations_in_the_query_are_refused(api: Api) -> None:
    told = [("mail_from", SENDER), *(("rcpt_to", f"{i}@b.de") for i in range(1001))]
    assert raw(api, BYTES, told).code == "validation_failed"


def test_mails_are_listed_by_their_state(api: Api) -> None:
    waits, queued = opened(api)["mail_id"], raw(api).json["mail_id"]
    for state, found in (("open", [waits]), ("committed", [queued]), ("cleaned", [])):
        assert [x["mail_id"] for x in api.call("GET", "/mails", query={"state": state}).json["items"]] == found
    assert api.call("GET", "/mails", query={"state": "lost"}).code == "validation_failed"


def test_the_job_of_a_mail_has_its_attempts(api: Api) -> None:
    place = opened(api)["mail_id"]
    assert shown(api, place)["job_id"] is None
    job = shown(api, raw(api).json["mail_id"])["job_id"]
    logged = api.call("GET", f"/jobs/{job}/logs").json["items"]
    assert [x["recipient"] for x in logged] == ["ann@example.org", "Bob@example.net"]


def test_a_message_may_have_a_null_return_path(api: Api) -> None:
    got = raw(api, query=[("mail_from", ""), ("rcpt_to", "ann@example.org")])
    assert got.status == 202, got.text
    assert shown(api, got.json["mail_id"])["mail_from"] == ""
