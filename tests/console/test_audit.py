"""The audit log in the console: by who, what and when, for those who may read it."""

import re

import pytest

from functions.console.pages.audit.words import SAID
from shared.domain.audit import EVERYONE, Act, Event, Log, audited
from shared.domain.people import Role
from tests.console.campaigns import made, stored
from tests.console.console import Console
from tests.fakes.clock import FakeClock

DAY = 86_400


def kinds(page: str) -> list[str]:
    return re.findall(r'<th scope="row">([a-z_.]+)<', page)


@pytest.mark.slow
def test_the_log_is_filtered_by_who_what_and_when(console: Console, clock: FakeClock) -> None:
    console.member()
    post = f"/{console.account}/suppressions/add"
    console.post(post, address="a@example.org", list="all", sure="1")
    clock.advance(2 * DAY)
    console.sign_in()
    job = console.api.accepted(("a@example.org", "b@example.org"))
    console.post(f"/{console.account}/jobs/{job}/stop")
    page = console.shown("/audit")
    assert {"job.stopped", "suppression.added", "member.invited"} <= set(kinds(page))
    assert f'/jobs/{job}"' in page, "a job is linked"
    assert "a@example.org" not in page
    assert kinds(console.shown("/audit?action=suppression.added")) == ["suppression.added"]
    assert set(kinds(console.shown("/audit?actor=user:Ann"))) == {"job.stopped", "suppression.added", "member.joined"}
    assert kinds(console.shown("/audit?actor=user:Ann&action=job.stopped")) == ["job.stopped"]
    then, now = (re.findall(r'datetime="(\d{4}-\d\d-\d\d)', page)[i] for i in (-1, 0))
    assert kinds(console.shown(f"/audit?actor=user:Ann&since={now}")) == ["job.stopped"]
    assert kinds(console.shown(f"/audit?actor=user:Ann&until={then}")) == ["suppression.added", "member.joined"]
    assert kinds(console.shown(f"/audit?since={then}&until={now}")) == kinds(page)
    assert kinds(console.shown("/audit?since=nonsense&action=nonsense")) == kinds(page)
    assert "No such entries" in console.shown("/audit?actor=user:nobody")
    assert "Nothing was done yet" in console.shown("/audit?keys=team")


@pytest.mark.slow
def test_the_log_pages_and_keeps_its_filter(console: Console, clock: FakeClock) -> None:
    journal = console.services.use_cases.journal
    for i in range(60):
        actor = "user:ben" if i % 10 else "user:eve"
        journal.write(audited(console.account, clock.ms + i, "x", Act.JOB_STOPPED, actor))
    console.member()
    page = console.shown("/audit?actor=user:ben")
    assert len(kinds(page)) == 50
    more = re.search(r'href="(\?[^"]+)">Next page', page)
    assert more is not None
    page = console.shown("/audit" + more[1].replace("&amp;", "&"))
    assert len(kinds(page)) == 4
    assert "user:eve" not in page


@pytest.mark.slow
def test_what_strangers_write_is_text(console: Console, clock: FakeClock) -> None:
    evil = "<script>alert(1)</script>"
    data: dict[str, str | int] = {"reason": evil}
    console.services.use_cases.journal.write(audited(console.account, clock.ms, evil, Act.JOB_STOPPED, evil, data))
    console.member()
    page = console.shown("/audit")
    assert "<script>alert" not in page
    assert page.count("&lt;script&gt;") == 3


@pytest.mark.parametrize("role", [Role.VIEWER, Role.SENDER])
def test_only_an_admin_reads_it(console: Console, role: Role) -> None:
    console.member(role=role)
    assert console.get(f"/{console.account}/audit").status == 403


def test_what_concerns_everybody_is_not_in_it(console: Console, clock: FakeClock) -> None:
    console.services.use_cases.journal.write(audited(EVERYONE, clock.ms, "x", Act.ALL_PAUSED, "operator"))
    console.member()
    assert "deployment.paused" not in kinds(console.shown("/audit"))


@pytest.mark.slow
def test_each_kind_of_entry_is_said_in_plain_words(console: Console, clock: FakeClock) -> None:
    assert set(SAID) == set(Act)
    assert len(set(SAID.values())) == len(SAID)
    journal = console.services.use_cases.journal
    for act in Act:
        clock.advance(1)
        journal.write(audited(console.account, clock.ms, "x", act, "user:ben"))
    journal.write(Event(console.account, clock.ms, "x", "moon.landed", "user:ben", {}, logs=(Log.AUDIT,)))
    console.member()
    page = console.shown("/audit?actor=user:ben") + console.shown("/audit?actor=user:ben&action=campaign.tested")
    assert "a test message" in page
    assert "moon.landed<" in page, "what a newer version wrote is shown as it is"


@pytest.mark.slow
def test_what_is_still_there_is_linked(console: Console, clock: FakeClock) -> None:
    console.member()
    kept, gone = made(console), made(console)
    clock.advance(1)
    assert console.post(f"/{console.account}/campaigns/{gone}/delete").status == 303
    template = stored(console)
    page = console.shown("/audit?actor=user:Ann")
    for there in (f"/campaigns/{kept}", f"/campaigns/{gone}", f"/templates/{template}"):
        assert page.count(f'{there}"') == 1
    deleted = console.shown("/audit?action=campaign.deleted")
    assert gone in deleted
    assert f'/campaigns/{gone}"' not in deleted


@pytest.mark.parametrize("day", ["9999-12-31", "0001-01-01", "1969-12-31", "2026-13-01", "' or 1"])
def test_a_day_that_no_log_has_filters_nothing(console: Console, day: str) -> None:
    console.member()
    assert kinds(console.shown(f"/audit?since={day}&until={day}")) == kinds(console.shown("/audit"))
