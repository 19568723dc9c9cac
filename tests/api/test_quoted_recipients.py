"""Addresses in quotes, and those of mobile operators: each door takes them, as one mailbox, and hands the same over."""

from typing import Any
from urllib.parse import quote

import pytest

from shared.domain.accounts import sender_of
from tests.api.conftest import SENDER, Api
from tests.api.test_digests import event, put, windows
from tests.api.test_digests import post as post_events
from tests.api.test_doors import mail, taken
from tests.api.test_lists import CSV
from tests.api.test_lists import taken as listed
from tests.api.test_mails import ASCII, shown

SPELLINGS = ["a..b@docomo.ne.jp", '"A..b"@DOCOMO.ne.jp', r'"a\..b"@docomo.ne.jp']
KEY = '"a..b"@docomo.ne.jp'
SPACED = '"john doe"@example.com'

pytestmark = pytest.mark.promise(1)


def reached(api: Api) -> list[str]:
    """Return to whom providers sent, by key."""
    api.world.settle()
    return sorted(t.address.lower() for t in api.world.oracle.taken)


def path(address: str) -> str:
    return quote(address, safe="")


def test_a_batch_takes_them_and_names_each_mailbox_once(api: Api) -> None:
    got = api.batch([*SPELLINGS, SPACED, "a..b@example.com"])
    assert (got.status, got.json["skipped"], got.json["duplicates"]) == (202, 1, 2)
    api.world.jobs.append(got.json["job_id"])
    assert reached(api) == [KEY, SPACED]


@pytest.mark.slow
def test_a_batch_takes_them_in_one_text(api: Api) -> None:
    api.accepted(f'Ann <{SPELLINGS[0]}>, "doe, john"@example.com')
    assert reached(api) == [KEY, '"doe, john"@example.com']


def test_a_batch_takes_them_as_copy_and_for_answers(api: Api) -> None:
    job = api.accepted(["ann@example.org"], cc=[SPACED], reply_to=SPELLINGS[1])
    content = api.world.records.content(job)
    assert content is not None
    assert [box.address for box in content.cc] == [SPACED]
    assert content.reply_to is not None
    assert content.reply_to.address == '"A..b"@docomo.ne.jp'


@pytest.mark.parametrize("spelt", SPELLINGS)
def test_the_drop_in_door_takes_them(api: Api, spelt: str) -> None:
    taken(api, mail({"to": [{"email": spelt}]}))
    assert reached(api) == [KEY]


def test_a_list_takes_them_and_reports_the_others(api: Api) -> None:
    cells = [*SPELLINGS, SPACED, "a..b@example.com"]
    rows = "\n".join(["email,name", *('"' + cell.replace('"', '""') + '",Ann' for cell in cells)])
    name = api.campaign()
    found = listed(api, name, rows, **CSV)
    assert (found["state"], found["rows"], found["invalid"], found["duplicates"]) == ("ready", 5, 1, 2)
    (bad,) = [x for x in found["errors"] if x["code"] != "duplicate"]
    assert bad["detail"].endswith("write what is before the @ in quotes.")


def test_a_mail_takes_them(api: Api) -> None:
    to = [{"address": SPELLINGS[0]}, {"address": SPACED}]
    got = api.call("POST", "/mails", {"mail_from": SENDER, "destinations": to, "content": ASCII})
    assert got.status == 202, got.text
    found = got.json["mail_id"]
    assert [x["address"] for x in shown(api, found)["destinations"]] == [KEY, SPACED]
    dropped = api.call("DELETE", f"/mails/{found}/destinations/{path(SPELLINGS[0])}")
    assert dropped.status in (200, 204), dropped.text


def test_a_mail_to_one_mailbox_twice_is_refused(api: Api) -> None:
    to = [{"address": x} for x in SPELLINGS[:2]]
    got = api.call("POST", "/mails", {"mail_from": SENDER, "destinations": to, "content": ASCII})
    assert got.status == 422


@pytest.mark.slow
def test_events_take_them(api: Api) -> None:
    put(api)
    assert post_events(api, event(recipients=[SPELLINGS[0], SPACED])).status == 202
    assert len(windows(api)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("spelt", SPELLINGS)
def test_a_suppression_of_one_spelling_is_of_all(api: Api, spelt: str) -> None:
    assert api.call("PUT", f"/suppressions/{path(spelt)}", {}).status in (200, 201)
    for other in SPELLINGS:
        got: Any = api.call("GET", f"/suppressions/{path(other)}")
        assert (got.status, got.json["address"]) == (200, KEY)
    assert api.batch(SPELLINGS[:1]).status == 422
    got = api.batch([*SPELLINGS, SPACED])
    api.world.jobs.append(got.json["job_id"])
    assert reached(api) == [SPACED]


def test_a_sender_of_one_spelling_is_of_all() -> None:
    assert sender_of(SPELLINGS[0]) == sender_of(SPELLINGS[1]) == KEY
    assert sender_of('"News"@Example.com') == "news@example.com"
