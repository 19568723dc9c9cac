"""Jobs and messages: lists that filter and page, live figures, stop, resume and retry, and timelines."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from functions.console import lists
from functions.console.pages.jobs import routes
from functions.console.pages.overview import view
from functions.console.rendering import shown_time
from shared.contracts import TEST_CREDENTIAL
from shared.domain.jobs.outcomes import Rejected
from shared.domain.lanes.switches import Switch
from shared.domain.people import Role
from shared.engine.reports import message_log
from tests.console.campaigns import fields
from tests.console.console import Console
from tests.fakes.provider import TIMEOUT

PEOPLE = tuple(f"p{i}@example.org" for i in range(60))


@pytest.mark.slow
def test_an_account_without_jobs_says_what_to_do_first(console: Console) -> None:
    console.member()
    for path in ("", "/jobs"):
        assert "Nothing was sent yet" in console.shown(path)
        assert "posthaste batch send" in console.shown(path)
    assert "Which messages?" in console.shown("/messages")


def test_somebody_without_an_account_is_told_how_to_get_one(console: Console) -> None:
    console.sign_in()
    page = console.get("").text
    assert "You are not a member of an account yet" in page
    assert "<code>Ann</code>" in page


@pytest.mark.slow
def test_the_list_filters_and_pages_through_every_job(console: Console) -> None:
    jobs = [console.api.accepted((f"a{i}@example.org",)) for i in range(53)]
    console.member()
    page = console.shown("/jobs")
    seen = re.findall(r"/jobs/([0-9a-z]{26})\"", page)
    more = re.search(r'href="(\?[^"]+)">Next page', page)
    assert more is not None
    seen += re.findall(r"/jobs/([0-9a-z]{26})\"", console.shown("/jobs" + more[1].replace("&amp;", "&")))
    assert seen == sorted(jobs, reverse=True)
    assert "No such jobs here" in console.shown("/jobs?kind=campaign")
    assert "No such jobs here" in console.shown("/jobs?state=stopped")
    assert max(jobs) in console.shown("/jobs?kind=batch&state=open")
    assert max(jobs) in console.shown("/jobs?kind=nonsense")


def test_a_job_and_its_message_show_what_their_owner_calls_them(console: Console) -> None:
    given = {"reference": "order-4711", "tags": ["a", "<b>"], "metadata": {"shop": "7", "x": "<script>"}}
    to = [{"address": "a@example.org", "metadata": {"shop": "8"}}]
    job, plain = console.api.logged(to, **given), console.api.logged()
    console.member()
    page = console.shown(f"/jobs/{job}")
    for said in (
        "<dd>order-4711</dd>",
        "<dd>a, &lt;b&gt;</dd>",
        "<code>shop</code> 7",
        "<code>x</code> &lt;script&gt;",
    ):
        assert said in page
    message = console.shown(f"/jobs/{job}/messages/0.0")
    assert "<dd>order-4711</dd>" in message
    assert "<code>shop</code> 8" in message
    for other in (f"/jobs/{plain}", f"/jobs/{plain}/messages/0.0"):
        assert "Reference" not in console.shown(other)


def test_a_job_of_a_template_names_it(console: Console) -> None:
    api = console.api
    says = {"name": "Order", "channel": "email", "subject": "Hi {{ name }}", "body": "Hi", "from": "news@example.com"}
    template = api.call("POST", "/templates", says).json["template_id"]
    job = api.call("POST", "/batches", {"template_id": template, "to": "a@example.org", "params": {"name": "A"}}).json
    console.member()
    assert f'/templates/{template}">{template}</a>, version 1' in console.shown(f"/jobs/{job['job_id']}")


@pytest.mark.slow
def test_the_list_finds_jobs_by_what_became_of_their_messages(console: Console) -> None:
    sent = console.api.logged(("a@example.org",))
    world = console.api.world
    for credential in ("one", "two"):
        world.providers[credential].script("b@example.org", [Rejected("mailbox_gone", permanent=True)])
    failed = console.api.logged(("b@example.org",))
    waiting = console.api.accepted(("c@example.org",))
    console.member()

    def found(query: str) -> list[str]:
        return re.findall(r"/jobs/([0-9a-z]{26})\"", console.shown(f"/jobs?{query}"))

    assert set(found("")) == {sent, failed, waiting}
    assert found("with=failed") == [failed]
    assert found("with=failed&state=open") == []
    assert "No such jobs here" in console.shown("/jobs?with=skipped")
    assert found("with=nonsense") == found("")


@pytest.mark.slow
def test_the_list_says_what_jobs_wait_for_and_finds_those_that_do(console: Console) -> None:
    console.member()
    ended = console.api.logged(("a@example.org",))
    waiting = console.api.accepted(("a@example.org",), scheduled_at="2027-01-01T00:00:00Z")
    sending = console.api.accepted(PEOPLE)
    console.api.world.plan()

    def found(query: str) -> dict[str, str]:
        page = console.shown(f"/jobs?{query}")
        return dict(re.findall(r"/jobs/([0-9a-z]{26})\">.*?<small>waits for ([^<]+)</small>", page, re.DOTALL))

    def listed(query: str) -> list[str]:
        return re.findall(r"/jobs/([0-9a-z]{26})\"", console.shown(f"/jobs?{query}"))

    assert found("state=open") == {waiting: "its time", sending: "its turn within the rate"}
    assert listed("state=waiting") == [waiting], "what goes on within the rate does not wait"
    switch = Switch(account=console.account)
    console.services.use_cases.switches.pause(switch, by="op", reason="slow")
    assert found("state=waiting") == {waiting: "its time", sending: "the end of a pause"}
    assert "the end of a pause" in console.shown(f"/jobs/{sending}")
    assert ended in listed("")
    console.post(f"/{console.account}/jobs/{sending}/stop")
    assert listed("state=waiting") == [waiting], "what is stopped waits for nothing"


@pytest.mark.slow
def test_figures_renew_themselves_until_the_job_is_at_rest(console: Console) -> None:
    job = console.api.accepted(("a@example.org",))
    console.member()
    page = console.shown(f"/jobs/{job}")
    assert "data-live" in page
    part = console.shown(f"/jobs/{job}?part=live")
    assert part.lstrip().startswith('<section id="live"')
    assert "<html" not in part
    console.api.world.settle()
    part = console.shown(f"/jobs/{job}?part=live")
    assert re.search(r"state=sent\">1<", part)
    assert "Ended at <time" in part
    tried = part[part.index("Figures by credential") :]
    assert sorted(re.findall(r"<td class=\"number\"><a [^>]+>(\d+)</a></td>", tried)) == ["0"] * 6 + ["1"] * 2


@pytest.mark.slow
def test_figures_of_an_ended_job_renew_themselves_for_an_hour_if_some_are_unconfirmed(console: Console) -> None:
    world = console.api.world
    job = console.api.logged(("a@example.org", "b@example.org"))
    first, _ = world.oracle.taken
    world.track(first.provider, world.word(job, first.ref.index, "delivered", chunk=first.ref.chunk))
    world.settle()
    console.member()
    assert "data-live" in console.shown(f"/jobs/{job}")
    world.clock.advance(3_600)
    assert "data-live" not in console.shown(f"/jobs/{job}"), "a message of it is still unconfirmed"
    other = console.api.logged(("c@example.org",))
    last = world.oracle.taken[-1]
    world.track(last.provider, world.word(other, last.ref.index, "delivered", chunk=last.ref.chunk))
    world.settle()
    assert "data-live" not in console.shown(f"/jobs/{other}"), "nothing more is said about it"


@pytest.mark.slow
def test_a_job_is_stopped_and_resumed_by_hand_and_the_audit_log_says_by_whom(console: Console) -> None:
    job = console.api.accepted(PEOPLE)
    console.member(role=Role.SENDER)
    asked = console.shown(f"/jobs/{job}/stop")
    assert "Stop this job?" in asked
    assert "<b>60</b> of 60 messages" in asked
    assert console.api.call("GET", f"/jobs/{job}").json["state"] == "ENQUEUED", "a question changes nothing"
    got = console.post(f"/{console.account}/jobs/{job}/stop")
    assert (got.status, got.headers["location"]) == (303, f"../../../{console.account}/jobs/{job}")
    stopping = console.shown(f"/jobs/{job}")
    assert "Stopped by hand. What has begun ends first." in stopping
    assert "Resume" not in stopping
    console.api.world.settle()
    assert "What has begun" not in console.shown(f"/jobs/{job}")
    assert "<b>60</b> of 60 messages will be sent" in console.shown(f"/jobs/{job}/resume")
    assert console.post(f"/{console.account}/jobs/{job}/resume").status == 303
    console.api.world.settle()
    counts = console.api.call("GET", f"/jobs/{job}").json["counts"]
    assert counts["sent"] == 60
    entries = console.api.call("GET", "/audit").json["items"]
    assert {e["action"]: e["actor"] for e in entries if e["action"] in {"job.stopped", "job.resumed"}} == {
        "job.stopped": "user:Ann",
        "job.resumed": "user:Ann",
    }
    late = console.get(f"/{console.account}/jobs/{job}/stop")
    assert late.status == 409
    assert "no longer possible" in late.text


@pytest.mark.slow
def test_a_retry_counts_only_what_it_sends_again(console: Console) -> None:
    world = console.api.world
    people = ("a@example.org", "b@example.org", "c@example.org", "d@example.org")
    for provider in world.providers.values():
        provider.script("d@example.org", [TIMEOUT])
    job = console.api.logged(people, retry_on=[])
    for taken, fate in zip(list(world.oracle.taken), ("blocked", "bounced", "bounced"), strict=True):
        world.track(taken.provider, world.word(job, taken.ref.index, fate, chunk=taken.ref.chunk, code="5.1.1"))
    world.settle()
    console.member()
    page = console.shown(f"/jobs/{job}")
    assert re.search(r"state=failed\">3<", page)
    assert "Retry …" in page
    asked = console.shown(f"/jobs/{job}/retry")
    assert "<b>1</b> of 4 messages that failed, and can be repeated, will be sent again." in asked
    assert "Also the 1 of unknown fate" in asked
    assert console.post(f"/{console.account}/jobs/{job}/retry").status == 303
    world.settle()
    assert 'state=failed">2<' in console.shown(f"/jobs/{job}")
    nothing = console.post(f"/{console.account}/jobs/{job}/retry")
    assert nothing.status == 409
    assert "There is nothing to send again" in nothing.text
    assert "<b>0</b> of 4 messages that failed" in console.shown(f"/jobs/{job}/retry"), "the doubt is left"


@pytest.mark.slow
def test_a_job_of_which_all_bounced_offers_no_retry(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    world = console.api.world
    job = console.api.logged(PEOPLE[:2])
    for taken in list(world.oracle.taken):
        world.track(taken.provider, world.word(job, taken.ref.index, "bounced", chunk=taken.ref.chunk))
    world.settle()
    console.member()
    assert "Retry" not in console.shown(f"/jobs/{job}")
    assert console.get(f"/{console.account}/jobs/{job}/retry").status == 409
    monkeypatch.setattr(message_log, "LIVE_CHUNKS", 0)
    assert "Retry" not in console.shown(f"/jobs/{job}"), "the counts of a large job hold bounces apart"


@pytest.mark.slow
def test_a_retry_of_a_stopped_job_also_counts_what_the_stop_kept_back(console: Console) -> None:
    world = console.api.world
    job = console.api.logged(PEOPLE[:4], retry_on=[])
    console.member()
    first, second, third, _ = world.oracle.taken
    for taken in (first, second):
        world.track(taken.provider, world.word(job, taken.ref.index, "blocked", chunk=taken.ref.chunk))
    assert console.post(f"/{console.account}/jobs/{job}/retry").status == 303
    assert console.post(f"/{console.account}/jobs/{job}/stop").status == 303
    world.settle()
    world.track(third.provider, world.word(job, third.ref.index, "blocked", chunk=third.ref.chunk))
    asked = console.shown(f"/jobs/{job}/retry")
    assert "<b>1</b> of 4 messages that failed, and can be repeated, will be sent again." in asked
    assert "So will the 2 that a stop kept back." in asked


@pytest.mark.slow
def test_a_scheduled_job_that_was_stopped_and_resumed_waits_for_its_time_again(console: Console) -> None:
    later = datetime.fromtimestamp(console.services.now / 1000 + 3_600, UTC).isoformat()
    job = console.api.accepted(PEOPLE, scheduled_at=later)
    console.member(role=Role.SENDER)
    console.post(f"/{console.account}/jobs/{job}/stop")
    stopped = console.shown(f"/jobs/{job}")
    assert "Stopped by hand" in stopped
    assert "Resume …" in stopped, "it had not begun, so it is resumed at once"
    assert "What has begun" not in stopped
    asked = console.shown(f"/jobs/{job}/resume")
    begins = shown_time(console.api.world.job(job).not_before)
    assert f"messages will be sent. The job waits for {begins}, as it was scheduled." in asked
    assert console.post(f"/{console.account}/jobs/{job}/resume").status == 303
    shown = console.shown(f"/jobs/{job}")
    assert "Waits for its time" in shown
    assert "Stopped" not in shown
    console.post(f"/{console.account}/jobs/{job}/stop")
    console.api.world.clock.advance(7_200)
    asked = console.shown(f"/jobs/{job}/resume")
    assert "messages will be sent" in asked
    assert "as it was scheduled" not in asked, "that time is over"


def test_a_job_that_waits_gets_another_time_and_is_sent_now(console: Console) -> None:
    later = datetime.fromtimestamp(console.services.now / 1000 + 3_600, UTC).isoformat()
    job = console.api.accepted(PEOPLE, scheduled_at=later)
    console.member(role=Role.SENDER)
    shown = console.shown(f"/jobs/{job}")
    assert "Send now …" in shown
    assert "Change the time …" in shown
    was = shown_time(console.api.world.job(job).not_before)
    assert f"<b>60</b> of 60 messages wait for {was}" in console.shown(f"/jobs/{job}/time")
    page = console.shown(f"/jobs/{job}/time?at=2026-12-01T09:30&zone=Europe/Paris")
    assert "on Tuesday, 1 December 2026, 09:30 (Europe/Paris)" in page
    assert f"instead of at {was}." in page
    stale = fields(console.shown(f"/jobs/{job}/now"))
    assert console.post(f"/{console.account}/jobs/{job}/time", **fields(page)).status == 303
    moved = console.api.world.job(job)
    assert shown_time(moved.not_before) in console.shown(f"/jobs/{job}")
    late = console.post(f"/{console.account}/jobs/{job}/now", **stale)
    assert (late.status, "Somebody else has given the job another time" in late.text) == (409, True)
    page = console.shown(f"/jobs/{job}/now")
    assert f"<b>60</b> of 60 messages will be sent now, instead of at {shown_time(moved.not_before)}." in page
    assert console.post(f"/{console.account}/jobs/{job}/now", **fields(page)).status == 303
    console.api.world.settle()
    assert len(console.api.world.oracle.taken) == 60
    assert "Send now …" not in console.shown(f"/jobs/{job}")
    assert console.get(f"/{console.account}/jobs/{job}/now").status == 409


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("at=soon", "This is no time."),
        ("at=2026-12-01T09:30&zone=Mars", "This time zone is unknown."),
        ("at=2020-01-01T00:00", "Choose a time from now on"),
        ("at=9999-12-31T23:59&zone=UTC", "Choose a time from now on"),
    ],
)
def test_a_time_that_is_none_is_asked_for_again(console: Console, query: str, said: str) -> None:
    job = console.api.accepted(scheduled_at="2026-12-01T00:00:00Z")
    console.member(role=Role.SENDER)
    got = console.get(f"/{console.account}/jobs/{job}/time?{query}")
    assert (got.status, said in got.text) == (422, True)


@pytest.mark.parametrize("form", [{}, {"begin": "x"}, {"begin": "1"}, {"begin": "0", "was": "1"}])
def test_a_form_without_its_question_changes_nothing(console: Console, form: dict[str, str]) -> None:
    job = console.api.accepted(scheduled_at="2026-12-01T00:00:00Z")
    console.member(role=Role.SENDER)
    for action in ("time", "now"):
        assert console.post(f"/{console.account}/jobs/{job}/{action}", **form).status in (409, 422)
    assert console.api.world.job(job).not_before


@pytest.mark.slow
def test_a_suspended_account_resumes_nothing(console: Console) -> None:
    job = console.api.accepted(PEOPLE)
    console.member()
    console.post(f"/{console.account}/jobs/{job}/stop")
    console.api.world.settle()
    console.services.accounts.suspend(console.account)
    assert console.post(f"/{console.account}/jobs/{job}/resume").status == 403


@pytest.mark.slow
def test_messages_of_a_job_filter_page_and_lead_to_their_timeline(console: Console) -> None:
    job = console.api.logged(PEOPLE)
    console.member()
    page = console.shown(f"/jobs/{job}/messages")
    assert len(re.findall(r"messages/\d\.\d+\"", page)) == 50
    more = re.search(r'href="(\?[^"]+)">Next page', page)
    assert more is not None
    rest = console.shown(f"/jobs/{job}/messages" + more[1].replace("&amp;", "&"))
    assert len(re.findall(r"messages/\d\.\d+\"", rest)) == 10
    assert "p7@example.org" in console.shown(f"/jobs/{job}/messages?recipient=P7@EXAMPLE.org")
    assert "p8@example.org" not in console.shown(f"/jobs/{job}/messages?recipient=p7@example.org")
    assert "No such messages" in console.shown(f"/jobs/{job}/messages?state=failed")
    one = console.shown(f"/jobs/{job}/messages/0.7")
    assert "p7@example.org" in one
    assert "taken by Posthaste" in one
    assert re.search(r"<b>accepted</b> by (one|two) \(\w+\), attempt 1", one)
    for wrong in ("0.99", "2.0", "nonsense"):
        assert console.get(f"/{console.account}/jobs/{job}/messages/{wrong}").status == 404


@pytest.mark.slow
def test_a_recipient_is_found_in_all_jobs_newest_first(console: Console) -> None:
    first = console.api.logged(("a@example.org", "b@example.org"), subject="First")
    console.api.logged(("b@example.org",), subject="Second")
    third = console.api.logged(("a@example.org",), subject="Third")
    console.member()
    page = console.shown("/messages?recipient=A@example.org")
    assert re.findall(r"jobs/([0-9a-z]{26})/messages/", page) == [third, first]
    assert "Nothing was found" in console.shown("/messages?recipient=z@example.org")
    assert "Nothing was found" in console.shown("/messages?recipient=no+address")


@pytest.mark.slow
def test_messages_are_found_by_what_their_owner_calls_them_and_by_day(console: Console) -> None:
    order = console.api.logged(("a@example.org", "b@example.org"), reference="4711", tags=["order"])
    other = console.api.logged(("a@example.org",), tags=["order"])
    console.member()

    def found(query: str) -> list[str]:
        return re.findall(r"jobs/([0-9a-z]{26})/messages/", console.shown(f"/messages?{query}"))

    assert found("reference=4711") == [order, order]
    assert found("reference=4711&recipient=b@example.org") == [order]
    assert found("tag=order") == [other, order, order]
    assert found("tag=order&state=failed") == []
    assert found("tag=order&state=without+an+end") + found("tag=order&state=success") == [other, order, order]
    today = datetime.fromtimestamp(console.api.world.clock.now(), UTC).date()
    assert found(f"since={today}&until={today}") == [other, order, order]
    assert found(f"until={today - timedelta(days=1)}") == []
    assert "Which messages?" in console.shown("/messages?state=failed")


@pytest.mark.slow
def test_the_overview_adds_up_days_providers_and_credentials(console: Console) -> None:
    job = console.api.logged(PEOPLE)
    console.member()
    page = console.shown("")
    assert job in page
    assert "<h3>Today</h3>" in page
    assert "<h3>The last 14 days</h3>" in page
    assert "<polygon" in page
    assert re.findall(r"<th scope=\"row\">(one|two|theirs|texts)<", page) == ["one", "two", "texts"]
    assert "theirs" not in page, "a credential of others is none of its"


@pytest.mark.slow
def test_the_overview_counts_the_rate_of_a_credential_once(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    world, settings = console.api.world, console.services.settings
    both = sum(settings.credential(name).rate for name in ("one", "two"))

    def said() -> str:
        """Return what the page says under the sums of today."""
        found = re.search(r'</dl>\s*<p class="quiet">(.+?)</p>\s*<h3>The last', console.shown())
        return re.sub(r"<[^>]+>", "", found[1]) if found else ""

    def allowed(rate: float) -> str:
        return f"Open jobs may send at most {rate:,.0f} a second: a limit, not a measurement."

    console.member()
    assert said() == "", "there are no jobs"
    console.api.accepted(PEOPLE)
    world.plan()
    for _ in range(12):
        console.api.accepted(("a@example.org",), scheduled_at="2027-01-01T00:00:00Z")
    assert said() == allowed(both), "an open job counts, however many came after it"
    world.clock.advance(1)
    for _ in range(2):
        console.api.accepted(PEOPLE)
    world.plan()
    assert said() == allowed(both)
    monkeypatch.setattr(view, "LOOKED_AT", 2)
    assert said() == f"{allowed(both)} This is of the newest 2 jobs."
    monkeypatch.undo()
    switches = console.services.use_cases.switches
    switches.pause(Switch(credential="one"), by="op", reason="slow")
    assert said() == allowed(settings.credential("two").rate)
    switches.pause(Switch(account=console.account), by="op", reason="slow")
    assert said() == "No open job may send at present."


@pytest.mark.slow
def test_a_list_of_one_day_begins_at_its_end(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    world = console.api.world
    old = console.api.accepted(PEOPLE[:1])
    day = datetime.fromtimestamp(world.clock.now(), UTC).date()
    world.clock.advance(86_400)
    console.api.accepted(PEOPLE[:1])
    console.member()
    monkeypatch.setattr(lists, "PAGE", 1)
    monkeypatch.setattr(routes, "TURNS", 1)
    assert old in console.shown(f"/jobs?day={day}"), "later jobs are not read"


def test_a_job_of_a_test_key_raises_no_rate_of_others(console: Console) -> None:
    world, settings = console.api.world, console.services.settings
    name = console.api.accepted(PEOPLE)
    world.plan()
    slow = replace(world.job(name), rate=5)
    tried = replace(slow, route=(TEST_CREDENTIAL,), rate=None)
    states = console.services.credentials.read([c.id for c in settings.credentials])
    assert view.allowed([slow, tried], settings.credentials, states, world.clock.ms) == 5
    assert view.allowed([tried], settings.credentials, states, world.clock.ms) == 0


@pytest.mark.slow
def test_the_overview_draws_what_each_provider_accepted_by_day(console: Console) -> None:
    console.api.logged(PEOPLE)
    console.member()
    page = console.shown("")
    chart = re.search(r"aria-label=\"Messages that providers accepted, by day, [\d-]+ to [\d-]+: ([^\"]+)\"", page)
    assert chart is not None
    drawn = {name: int(count) for count, name in re.findall(r"(\d+) (\w+)", chart[1])}
    table = page[page.index("Figures of providers") :]
    rows = re.findall(r"<th scope=\"row\">(\w+)</th><td[^>]*><a [^>]*>\d+</a></td><td[^>]*><a [^>]*>(\d+)<", table)
    assert drawn == {name: int(count) for name, count in rows if int(count)}
    assert sum(drawn.values()) == len(PEOPLE)
    assert len(set(re.findall(r"fill-series-\d", page))) == len(drawn)


@pytest.mark.slow
def test_numbers_lead_to_what_they_count(console: Console) -> None:
    job = console.api.logged(PEOPLE)
    console.member()
    page = console.shown(f"/jobs/{job}")
    for target in set(re.findall(r"<dd><a href=\"([^\"]+)\"", page)):
        path = target.replace("../", "").removeprefix(console.account).replace("&amp;", "&")
        assert console.get(f"/{console.account}{path}").status == 200
