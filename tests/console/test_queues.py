"""Windows of events, finished mails and notices in the console: listed, searched, and moved after a question."""

import re
from dataclasses import replace
from urllib.parse import quote

import pytest

from shared.domain.digests.window import WindowState
from shared.domain.jobs.labels import Labels
from shared.domain.notices.notice import Phase
from shared.domain.people import Role
from tests.api.test_digests import event, post, put
from tests.api.test_notice_status import store
from tests.console.console import Console
from tests.fakes.clock import FakeClock

EVIL = "<script>alert(1)</script>"


def audited(console: Console) -> set[tuple[str, str]]:
    return {(e["action"], e["actor"]) for e in console.api.call("GET", "/audit").json["items"]}


def collected(console: Console, key: str = "acme/production", count: int = 2) -> str:
    """Collect events in a window, and return its id."""
    put(console.api)
    got = post(console.api, *(event(n, batch_key=key) for n in range(count)))
    assert got.status == 202, got.text
    window: str = got.json["items"][0]["window_id"]
    return window


def state(console: Console, window: str) -> str:
    found: str = console.api.call("GET", f"/digests/{window}").json["state"]
    return found


def handed_over(console: Console, *to: str, **changes: str) -> str:
    destinations = [{"address": x} for x in to or ("ann@example.org", "bob@example.net")]
    body = {
        "mail_from": "news@example.com",
        "destinations": destinations,
        "content": "From: news@example.com\r\n\r\nHello!\r\n",
    }
    got = console.api.call("POST", "/mails", {**body, **changes})
    assert got.status == 202, got.text
    mail: str = got.json["mail_id"]
    return mail


def test_a_mail_shows_what_its_owner_calls_it(console: Console) -> None:
    console.member(role=Role.VIEWER)
    mail = handed_over(console, reference="ticket-<7>")
    assert "<dt>Reference</dt><dd>ticket-&lt;7&gt;</dd>" in console.shown(f"/mails/{mail}")


@pytest.mark.slow
def test_the_job_of_a_mail_is_titled_by_its_subject_or_its_sender(console: Console) -> None:
    console.member(role=Role.VIEWER)
    nameless = handed_over(console)
    console.api.world.clock.advance(1)
    named = handed_over(console, content="From: news@example.com\r\nSubject: Your order\r\n\r\nHello!\r\n")
    page = console.shown("/jobs?kind=mail")
    assert re.findall(r'/jobs/[0-9a-z]{26}">([^<]+)</a><small>mail', page) == [
        "Your order",
        "Mail from news@example.com",
    ]
    found = console.shown("/messages?recipient=ann%40example.org")
    assert re.findall(r'/messages/0.0">([^<]+)</a>', found) == ["Your order", "Mail from news@example.com"]
    for name in (nameless, named):
        assert name not in page
        assert f">{name}<" not in found


def test_lists_without_entries_say_what_to_do_first(console: Console) -> None:
    console.member()
    for path, says in (
        ("/digests", "No events were collected yet"),
        ("/mails", "No mail was handed over yet"),
        ("/notices", "posthaste notifier create"),
    ):
        assert says in console.shown(path)


@pytest.mark.slow
def test_open_windows_are_shown_with_counts_and_filtered(console: Console) -> None:
    window = collected(console)
    other = collected(console, "acme/other", 3)
    console.member()
    page = console.shown("/digests")
    counts = re.findall(r'class="number"[^>]*>(\d+)<', page.partition("<tbody>")[2])
    assert sorted(counts) == ["2", "3"], "of one moment, in any order"
    assert window in console.shown("/digests?key=acme/production")
    assert other not in console.shown("/digests?key=acme/production")
    assert other in console.shown("/digests?state=open")
    assert "No such digests" in console.shown("/digests?state=cancelled")
    assert "No events were collected yet" in console.shown("/digests?keys=test")


@pytest.mark.slow
def test_a_window_is_closed_or_cancelled_after_its_events_were_counted(console: Console) -> None:
    window, other = collected(console), collected(console, "acme/other", 3)
    console.member(role=Role.SENDER)
    assert "<b>2</b> events become a digest at once" in console.shown(f"/digests/{window}/close")
    assert "<b>3</b> events are in no digest" in console.shown(f"/digests/{other}/cancel")
    assert {state(console, x) for x in (window, other)} == {"open"}
    assert console.post(f"/{console.account}/digests/{window}/close").status == 303
    assert console.post(f"/{console.account}/digests/{other}/cancel").status == 303
    assert (state(console, window), state(console, other)) == (WindowState.CLOSED, WindowState.CANCELLED)
    assert {("digest.closed", "user:Ann"), ("digest.cancelled", "user:Ann")} <= audited(console)
    got = console.post(f"/{console.account}/digests/{window}/cancel")
    assert got.status == 409
    for wrong in ("nonsense", f"{window}0"):
        assert console.get(f"/{console.account}/digests/{wrong}/close").status == 404
    assert console.get(f"/{console.account}/digests/{window}/close?keys=test").status == 404


@pytest.mark.slow
def test_a_destination_that_waits_is_dropped_or_tried_now(console: Console) -> None:
    mail = handed_over(console)
    console.member(role=Role.SENDER)
    assert f'/mails/{mail}"' in console.shown("/mails")
    assert "No such mails" in console.shown("/mails?state=open")
    page = console.shown(f"/mails/{mail}")
    assert re.findall(r"/messages/(\d)\.0\">([^<]+)<", page) == [("0", "ann@example.org"), ("1", "bob@example.net")]
    assert "Drop bob@example.net?" in console.shown(f"/mails/{mail}/drop?address=bob%40example.net")
    asked = console.shown(f"/mails/{mail}/hurry?address=ann%40example.org")
    assert "Try ann@example.org now?" in asked
    assert "<b>1</b> destination, ann@example.org, gets the mail at once" in asked
    for question in ("hurry", "drop"):
        assert f'/mails/{mail}/{question}?address=ann%40example.org"' in page
    where = f"/{console.account}/mails/{mail}"
    assert console.post(f"{where}/drop", address="bob@example.net").status == 303
    assert console.post(f"{where}/hurry", address="ann@example.org").status == 303
    found = console.api.call("GET", f"/mails/{mail}").json["destinations"]
    assert [x["state"] for x in found] == ["queued", "dropped"]
    assert {("mail.destination_dropped", "user:Ann"), ("mail.destination_rescheduled", "user:Ann")} <= audited(console)
    assert console.post(f"{where}/hurry", address="bob@example.net").status == 409
    for wrong in ("nonsense", "z@example.org"):
        assert console.post(f"{where}/drop", address=wrong).status == 404
    assert console.get(f"/{console.account}/mails/{'0' * 26}").status == 404


@pytest.mark.slow
def test_destinations_page(console: Console) -> None:
    mail = handed_over(console, *(f"p{i}@example.org" for i in range(60)))
    console.member()
    page = console.shown(f"/mails/{mail}")
    more = re.search(r'href="(\?[^"]+)">Next page', page)
    assert more is not None
    page += console.shown(f"/mails/{mail}{more[1]}".replace("&amp;", "&"))
    assert len(set(re.findall(r">(p\d+@example.org)</a>", page))) == 60


@pytest.mark.slow
def test_notices_are_found_by_id_and_by_number(console: Console, clock: FakeClock) -> None:
    console.api.notifier()
    first = store(console.api, clock, "A/1", labels=Labels("visit-4711", ("reminders", "<b>")))
    store(console.api, clock, "A/2", data=replace(first.data, phone="+61491570157"))
    console.member()
    by_id = console.shown("/notices?search=A/1")
    assert re.findall(r"/notices/([0-9a-f-]{36})\"", by_id) == [first.uuid]
    by_number = console.shown(f"/notices?search={quote('+61 491 570 156')}")
    assert re.findall(r"/notices/([0-9a-f-]{36})\"", by_number) == [first.uuid]
    for nothing in ("A/3", "+61491570199"):
        assert "No notice was found" in console.shown(f"/notices?search={quote(nothing)}")
    one = console.shown(f"/notices/{first.uuid}")
    assert "A/1" in one
    assert "waits for its next run" in one
    assert "<dt>Reference</dt><dd>visit-4711</dd>" in one
    assert "<dt>Tags</dt><dd>reminders, &lt;b&gt;</dd>" in one
    for wrong in ("nonsense", "0" * 8 + "-0000-0000-0000-" + "0" * 12):
        assert console.get(f"/{console.account}/notices/{wrong}").status == 404


@pytest.mark.slow
def test_notifiers_are_listed_with_when_they_were_seen(console: Console, clock: FakeClock) -> None:
    login = console.api.notifier()
    store(console.api, clock)
    console.member()
    assert ">never seen<" in console.shown("/notices")
    assert console.api.basic("GET", "/messages/A/1", login).status == 200
    page = console.shown("/notices")
    assert ">in use<" in page
    assert page.count("<time") == 2
    assert "posthaste notifier create" in console.shown("/notices?keys=test")


@pytest.mark.slow
def test_what_waits_of_a_notifier_is_listed_in_pages(console: Console, clock: FakeClock) -> None:
    console.api.notifier()
    waiting = [store(console.api, clock, f"A/{n}", next_at=clock.ms + 1000 + n) for n in range(52)]
    ended = store(console.api, clock, "B/1", phase=Phase.ENDED, next_at=0)
    console.member()
    assert re.search(r'href="\?waiting=clinic">52</a>', console.shown("/notices"))
    page = console.shown("/notices?waiting=clinic")
    found = re.findall(r"/notices/([0-9a-f-]{36})\"", page)
    more = re.search(r'href="(\?waiting=clinic[^"]+)">Next page', page)
    assert more is not None
    found += re.findall(r"/notices/([0-9a-f-]{36})\"", console.shown(f"/notices{more[1].replace('&amp;', '&')}"))
    assert found == [x.uuid for x in waiting]
    assert ended.uuid not in found
    for wrong in ("other", "no name"):
        assert console.get(f"/{console.account}/notices?waiting={quote(wrong)}").status == 404


@pytest.mark.slow
def test_notifiers_filter_by_state(console: Console) -> None:
    login = console.api.notifier()
    console.api.notifier("ward")
    assert console.api.basic("GET", "/messages/A/1", login).status == 404
    console.member()
    for state, names in (("in use", ["clinic"]), ("never seen", ["ward"]), ("nonsense", ["ward", "clinic"])):
        page = console.shown(f"/notices?state={quote(state)}")
        assert sorted(re.findall(r"<th scope=\"row\">(\w+)<", page)) == sorted(names)
    assert "No such notifiers" in console.shown("/notices?state=disabled")


@pytest.mark.slow
def test_destinations_filter_by_state(console: Console) -> None:
    mail = handed_over(console)
    console.member()
    assert console.post(f"/{console.account}/mails/{mail}/drop", address="bob@example.net").status == 303
    for state, address in (("queued", "ann@example.org"), ("dropped", "bob@example.net")):
        page = console.shown(f"/mails/{mail}?state={state}")
        assert re.findall(r"/messages/\d\.0\">([^<]+)<", page) == [address]
    assert "No such destinations" in console.shown(f"/mails/{mail}?state=gone")


@pytest.mark.slow
def test_another_account_s_things_are_not_there(console: Console, clock: FakeClock) -> None:
    window, mail = collected(console), handed_over(console)
    console.api.notifier()
    notice = store(console.api, clock)
    other = console.services.accounts.create_account("Other", [])
    console.services.people.invite("github", "ann", other, Role.ADMIN)
    console.member()
    for path in (
        f"digests/{window}/close",
        f"mails/{mail}",
        f"mails/{mail}/drop?address=a%40b.org",
        f"notices/{notice.uuid}",
        "notices?waiting=clinic",
    ):
        assert console.get(f"/{other}/{path}").status == 404
    assert "No notice was found" in console.get(f"/{other}/notices?search=A/1").text
    assert "No notice was found" in console.get(f"/{other}/notices?search=%2B61491570156").text
    for path in (f"digests/{window}/cancel", f"mails/{mail}/drop", f"mails/{mail}/hurry"):
        assert console.post(f"/{other}/{path}", address="ann@example.org").status == 404
    assert state(console, window) == "open"


@pytest.mark.slow
def test_a_viewer_changes_nothing(console: Console) -> None:
    window, mail = collected(console), handed_over(console)
    console.member(role=Role.VIEWER)
    assert "Cancel …" not in console.shown("/digests")
    assert "Drop …" not in console.shown(f"/mails/{mail}")
    for path in (f"digests/{window}/close", f"digests/{window}/cancel", f"mails/{mail}/drop", f"mails/{mail}/hurry"):
        assert console.post(f"/{console.account}/{path}", address="ann@example.org").status == 403
    assert state(console, window) == "open"


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", ["/digests", "/notices", "/notices?search=EVIL", "/notices?search=%2B61491570156", "notice"]
)
def test_what_strangers_write_is_text(console: Console, clock: FakeClock, path: str) -> None:
    collected(console, f"acme/{EVIL}")
    console.api.notifier()
    made = store(console.api, clock, EVIL, message=EVIL, error=EVIL)
    made = replace(made, data=replace(made.data, first_name=EVIL))
    console.member()
    where = f"/notices/{made.uuid}" if path == "notice" else path.replace("EVIL", quote(EVIL))
    page = console.shown(where)
    assert "<script>alert" not in page
    assert ("&lt;script&gt;" in page) is (path != "/notices")
