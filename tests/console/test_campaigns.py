"""A campaign without a command line: written, given a list, checked, tried out and sent, by pages alone."""

import html
import json
import re

import pytest

from functions.console.pages.campaigns.samples import SAMPLES, people, sample
from functions.console.rendering import shown_time
from shared.adapters.dynamo.campaigns.campaigns import DynamoCampaigns
from shared.domain.campaigns.campaign import Campaign
from shared.domain.people import Identity, Role
from tests.api.test_lists import workbook
from tests.console.campaigns import ROWS, SAID, fields, made, sent, with_list
from tests.console.console import Console


@pytest.mark.slow
def test_the_column_of_the_recipients_can_be_named(console: Console) -> None:
    console.member(role=Role.SENDER)
    rows = "Kontakt,name\r\na@example.org,Ann\r\n"
    campaign = made(console)
    there = f"/{console.account}/campaigns/{campaign}/paste"
    for column, fits in (("", False), ("Telefon", False), (" kontakt ", True)):
        assert console.post(there, rows=rows, column=column).status == 303
        console.api.lists.read()
        page = console.shown(f"/campaigns/{campaign}")
        assert ("The list cannot be used" in page, "1 message to send" in page or "Will be sent" in page) == (
            not fits,
            fits,
        )


def test_an_account_without_campaigns_says_what_to_do_first(console: Console) -> None:
    console.member(role=Role.SENDER)
    page = console.shown("/campaigns")
    assert "No campaign yet" in page
    assert 'href="../' in page
    assert "campaigns/new?sample=1" in page
    assert "Campaigns</a>" in console.shown("")


@pytest.mark.slow
def test_a_newcomer_sends_the_sample_in_six_clicks(console: Console) -> None:
    console.member(role=Role.SENDER)
    there = f"/{console.account}/campaigns"
    console.shown("/campaigns")  # 1: the menu
    form = console.shown("/campaigns/new?sample=1")  # 2
    body = re.search(r'<textarea id="body"[^>]*>\n(.*?)</textarea>', form, re.DOTALL)
    assert body is not None
    said = {
        name: html.unescape(value)
        for name, value in re.findall(r'<input id="([a-z_]+)" name="[a-z_]+" type="text" value="([^"]*)"', form)
    }
    got = console.post(f"{there}/new", **said, channel="email", unsubscribe="1", body=html.unescape(body[1]))  # 3
    campaign = got.headers["location"].rpartition("/")[2]
    assert "Use the sample list" in console.shown(f"/campaigns/{campaign}")
    assert console.post(f"{there}/{campaign}/sample").status == 303  # 4
    assert "data-live" in console.shown(f"/campaigns/{campaign}")
    console.api.lists.read()
    assert "10 messages to send" in console.shown(f"/campaigns/{campaign}")
    summary = console.shown(f"/campaigns/{campaign}/send?when=now&rate=")  # 5
    assert "Send 10 messages?" in summary
    assert "1 not valid" in summary
    got = console.post(f"{there}/{campaign}/send", **fields(summary))  # 6
    job = got.headers["location"].rpartition("/")[2]
    console.api.world.jobs.append(job)
    console.api.world.settle()
    assert console.api.call("GET", f"/jobs/{job}").json["counts"]["sent"] == 10
    of_job = console.shown(f"/jobs/{job}")
    assert "The garden letter" in of_job
    assert re.search(rf'<dt>Campaign</dt><dd><a href="[^"]*/campaigns/{campaign}">{campaign}</a>', of_job)
    assert "sent" in console.shown("/campaigns")


@pytest.mark.slow
def test_a_page_made_while_its_list_becomes_ready_renews_itself(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    console.member(role=Role.SENDER)
    campaign = made(console)
    assert console.post(f"/{console.account}/campaigns/{campaign}/sample").status == 303
    get = DynamoCampaigns.get

    def get_then_finish(store: DynamoCampaigns, name: str) -> Campaign | None:
        found = get(store, name)
        monkeypatch.setattr(DynamoCampaigns, "get", get)
        console.api.lists.read()
        return found

    monkeypatch.setattr(DynamoCampaigns, "get", get_then_finish)
    page = console.shown(f"/campaigns/{campaign}")
    assert "The list is being read: 100 %" in page
    assert "data-live" in page
    assert console.get(f"/{console.account}/campaigns/{campaign}?part=list").headers["hx-refresh"] == "true"


@pytest.mark.slow
def test_the_sample_is_offered_to_accounts_that_have_campaigns(console: Console) -> None:
    console.member(role=Role.SENDER)
    made(console)
    assert "new?sample=1" in console.shown("/campaigns")
    for page in ("/campaigns/new", "/campaigns/new?sample=1"):
        assert re.findall(r"new\?sample=(\w+)", console.shown(page)) == [*SAMPLES], "any of them"
    assert "new?sample=" not in console.shown("/campaigns/new?channel=sms"), "samples are e-mails"
    got = console.post(f"/{console.account}/campaigns/new?sample=event", **{**SAID, "name": ""})
    assert "new?sample=" not in got.text, "what is typed is not replaced"


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLES)
def test_each_sample_fits_the_sample_list_and_says_how_to_leave_where_it_should(console: Console, name: str) -> None:
    console.member()
    for place in ("campaigns", "templates"):
        page = console.shown(f"/{place}/new?sample={name}")
        assert html.escape(SAMPLES[name].name) in page
        assert f'sample={name}" aria-current="page"' in page
    written = sample(name, ["example.com"])
    form = {"subject": written.subject, "body": written.body, "unsubscribe": "1" if written.unsubscribe else ""}
    campaign = with_list(console, people(), **form)
    page = console.shown(f"/campaigns/{campaign}")
    assert "10 messages to send" in page
    for fault in ("In the way", "left empty", "no link to unsubscribe"):
        assert fault not in page
    assert "{{" not in console.shown(f"/campaigns/{campaign}/preview?row=1")


@pytest.mark.slow
def test_what_is_wrong_is_said_at_its_field_and_nothing_typed_is_lost(console: Console) -> None:
    console.member(role=Role.SENDER)
    wrong = {**SAID, "name": "", "from": "ann@elsewhere.example", "body": "Hello\n{{ #if }}"}
    got = console.post(f"/{console.account}/campaigns/new", **wrong)
    assert got.status == 422
    assert "Give it a name" in got.text
    assert "{{ #if }}" in got.text
    assert 'value="ann@elsewhere.example"' in got.text
    assert re.search(r'id="from"[^>]*aria-invalid="true" aria-describedby="from-error"', got.text)
    got = console.post(f"/{console.account}/campaigns/new", **{**SAID, "body": "Hello\n{{ #if }}"})
    assert "Line 2, column 1" in got.text
    for field, value in (("subject", "a\nb"), ("from", ""), ("reply_to", "nobody"), ("credential", "theirs")):
        got = console.post(f"/{console.account}/campaigns/new", **{**SAID, field: value})
        expected = 303 if (field, value) == ("from", "") else 422
        assert got.status == expected, field
    assert console.api.call("GET", "/campaigns").json["items"][0]["name"] == "October"


@pytest.mark.slow
def test_a_form_that_is_sent_twice_makes_one_campaign(console: Console) -> None:
    console.member(role=Role.SENDER)
    once = re.search(r'name="once" value="([^"]+)"', console.shown("/campaigns/new"))
    assert once is not None
    first = made(console, once=once[1])
    assert made(console, once=once[1]) == first
    assert made(console, once=once[1], name="Another") != first
    assert len(console.api.call("GET", "/campaigns").json["items"]) == 2


def test_a_list_is_checked_and_its_bad_rows_can_be_downloaded(console: Console) -> None:
    console.member(role=Role.SENDER)
    campaign = with_list(console, ROWS + "=cmd()|x,Eve\r\n")
    page = console.shown(f"/campaigns/{campaign}")
    assert "2 messages to send" in page
    assert "Rows to check" in page
    assert "nobody" in page
    got = console.get(f"/{console.account}/campaigns/{campaign}/problems.csv")
    assert got.headers["content-type"].startswith("text/csv")
    assert got.headers["content-disposition"].startswith("attachment")
    assert "nobody" in got.text
    assert ",'=cmd()|x," in got.text, "no spreadsheet takes it for a formula"


TWICE = "recipient,name\r\nann@example.org,Ann\r\nANN@Example.org,Ann B.\r\nb@example.org,Ben\r\nnobody,Kim\r\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "addresses", "said", "happens", "exported"),
    [
        ({}, ["ann@example.org", "b@example.org"], "left out", "not sent", "no"),
        ({"duplicates": "keep"}, ["ann@example.org"] * 2 + ["b@example.org"], "sent again", "sent again", "again"),
    ],
    ids=["by default", "as asked"],
)
def test_what_becomes_of_a_recipient_who_is_listed_twice_is_what_the_pages_say(
    console: Console, form: dict[str, str], addresses: list[str], said: str, happens: str, exported: str
) -> None:
    console.member(role=Role.SENDER)
    campaign = made(console)
    got = console.post(f"/{console.account}/campaigns/{campaign}/paste", rows=TWICE, **form)
    assert got.status == 303, got.text
    console.api.lists.read()
    page = console.shown(f"/campaigns/{campaign}")
    assert f"Twice in the list, {said}</dt>" in page
    assert "1 row has the recipient of an earlier row." in page
    assert ("It is left out, so each recipient gets one message." in page) == (not form)
    assert ("this recipient gets the message more than once" in page) == bool(form)
    assert f"<small>duplicate</small></td><td>{happens}</td>" in page
    assert page.count("<td>not sent</td>") == (1 if form else 2), "the invalid row is not sent either way"
    file = console.get(f"/{console.account}/campaigns/{campaign}/problems.csv").text.splitlines()
    assert [line.rpartition(",")[2] for line in file if ",duplicate," in line] == [exported]
    assert f"1 twice in the list and {said}" in console.shown(f"/campaigns/{campaign}/send")
    job = sent(console, campaign)
    console.api.world.run()
    to = re.findall(r'class="address"><a href="messages/[^"]+">([^<]+)</a>', console.shown(f"/jobs/{job}/messages"))
    assert sorted(x.lower() for x in to) == addresses


def test_a_file_s_duplicates_are_left_out_unless_both_are_asked_for(console: Console) -> None:
    console.member(role=Role.SENDER)
    campaign = made(console)
    found = []
    for form in ({}, {"duplicates": "drop"}, {"duplicates": "keep"}):
        got = console.post(f"/{console.account}/campaigns/{campaign}/uploads", file="list.csv", **form)
        upload = console.services.campaigns().campaigns.uploads.get(campaign, json.loads(got.text)["upload"])
        assert upload is not None
        found.append(upload.drop_duplicates)
    assert found == [True, True, False]


@pytest.mark.parametrize(
    ("form", "accepted", "said"),
    [
        ({}, 1, ("2 rows are hidden in the sheet", "They are left out. To send", "2 hidden in the sheet and left out")),
        (
            {"hidden_rows": "keep"},
            3,
            ("2 rows are hidden in the sheet", "They are sent", "hidden in the sheet and sent"),
        ),
    ],
)
def test_rows_that_a_filter_hides_are_named_before_anything_is_sent(
    console: Console, form: dict[str, str], accepted: int, said: tuple[str, str, str]
) -> None:
    console.member(role=Role.SENDER)
    campaign = made(console)
    place = f"/{console.account}/campaigns/{campaign}/uploads"
    upload = json.loads(console.post(place, file="list.xlsx", **form).text)["upload"]
    blob = f"uploads/{console.account}/{campaign}/{upload}"
    console.api.lists.files.items[blob] = workbook("b@example.org", "c@example.org", sheet="")
    console.post(f"{place}/{upload}/complete")
    console.api.lists.read()
    page = console.shown(f"/campaigns/{campaign}")
    assert [words in page for words in said[:2]] == [True, True]
    summary = console.shown(f"/campaigns/{campaign}/send")
    assert said[2] in summary
    assert f"of {accepted} row" in summary


@pytest.mark.slow
def test_a_list_without_a_column_is_not_sent(console: Console) -> None:
    console.member(role=Role.SENDER)
    campaign = with_list(console, "recipient\r\na@example.org\r\n")
    assert "no column “name”" in console.shown(f"/campaigns/{campaign}")
    got = console.get(f"/{console.account}/campaigns/{campaign}/send")
    assert got.status == 422
    assert '<button class="primary">Send' not in got.text
    form = {**fields(got.text)}
    assert console.post(f"/{console.account}/campaigns/{campaign}/send", **form).status == 409


@pytest.mark.slow
def test_a_list_that_cannot_be_used_says_why_and_can_be_replaced(console: Console) -> None:
    console.member(role=Role.SENDER)
    campaign = with_list(console, "surname,city\r\nx,y\r\n")
    page = console.shown(f"/campaigns/{campaign}")
    assert "The list cannot be used" in page
    assert "Nothing was sent" in page
    assert 'id="upload"' in page
    assert console.post(f"/{console.account}/campaigns/{campaign}/paste", rows="").status == 409


@pytest.mark.slow
def test_what_is_sent_is_what_the_summary_has_shown(console: Console) -> None:
    console.member(role=Role.SENDER)
    campaign = with_list(console)
    there = f"/{console.account}/campaigns/{campaign}"
    seen = fields(console.shown(f"/campaigns/{campaign}/send"))
    edit = fields(console.shown(f"/campaigns/{campaign}/edit"))
    assert console.post(f"{there}/edit", **{**SAID, **edit, "credential": "one", "subject": "Changed"}).status == 303
    got = console.post(f"{there}/send", **seen)
    assert got.status == 409
    assert "Look at it again" in got.text
    job = sent(console, campaign)
    again = console.post(f"{there}/send", **{**seen, "upload": job})
    assert again.headers["location"].endswith(f"/jobs/{job}"), "pressed twice, it is sent once"
    back = console.get(f"{there}/send")
    assert (back.status, back.headers["location"].rpartition("/")[2]) == (303, campaign), "the step back shows what is"
    entry = next(e for e in console.api.call("GET", "/audit").json["items"] if e["action"] == "job.created")
    assert entry["actor"] == "user:Ann"


@pytest.mark.slow
def test_two_people_do_not_undo_each_other_s_changes(console: Console) -> None:
    console.member(role=Role.SENDER)
    campaign = made(console)
    old = fields(console.shown(f"/campaigns/{campaign}/edit"))
    there = f"/{console.account}/campaigns/{campaign}/edit"
    assert console.post(there, **{**SAID, **old, "name": "First"}).status == 303
    assert console.post(there, **{**SAID, **old, "name": "Second"}).status == 409
    assert "First" in console.shown(f"/campaigns/{campaign}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("when=later&at=2026-12-24T09:00&zone=Europe/Berlin", "Thursday, 24 December 2026, 09:00 (Europe/Berlin)"),
        ("when=later&at=2026-10-25T02:30&zone=Europe/Berlin", "comes twice"),
        ("when=later&at=2027-03-28T02:30&zone=Europe/Berlin", "does not exist"),
        ("when=later&at=2026-12-24T09:00&zone=Nowhere/Land", "time zone is unknown"),
        ("when=later&at=soon&zone=UTC", "This is no time"),
        ("when=later&at=2020-01-01T00:00&zone=UTC", "Choose a time from now on"),
        ("rate=fast", "The rate is no number"),
        ("rate=0.01", "The rate is too low"),
        ("rate=1000", "The rate is too high"),
        ("rate=2,5", "2.5 a second"),
    ],
)
def test_rate_and_time_are_read_in_the_owner_s_zone(console: Console, query: str, said: str) -> None:
    console.member(role=Role.SENDER)
    campaign = with_list(console)
    got = console.get(f"/{console.account}/campaigns/{campaign}/send?{query}")
    assert said in got.text


@pytest.mark.slow
def test_a_scheduled_list_waits_for_its_time(console: Console) -> None:
    console.member(role=Role.SENDER)
    campaign = with_list(console)
    job = sent(console, campaign, "?when=later&at=2026-10-01T09:00&zone=Europe/Berlin&rate=5")
    found = console.api.call("GET", f"/jobs/{job}").json
    assert found["scheduled_at"] == "2026-10-01T07:00:00.000Z"
    assert found["rate"] == 5
    begins = shown_time(console.api.world.job(job).not_before)
    assert f"The job waits for {begins}, as it was scheduled." in console.shown(f"/jobs/{job}/stop")


@pytest.mark.slow
def test_a_campaign_of_which_an_earlier_list_waits_is_not_sent(console: Console) -> None:
    console.member(role=Role.SENDER)
    campaign = with_list(console)
    waits = sent(console, campaign, "?when=later&at=2026-10-01T09:00&zone=Europe/Berlin&rate=5")
    console.api.world.jobs.remove(waits)
    console.post(f"/{console.account}/campaigns/{campaign}/paste", rows="email,name\nzoe@example.org,Zoe\n")
    console.api.lists.read()
    sent(console, campaign, "?when=now&rate=")
    console.api.world.settle()
    badge = '<span class="badge {0}">{0}</span>'
    listed = console.shown("/campaigns")
    assert badge.format("waiting") in listed
    assert badge.format("sent") not in listed
    page = console.shown(f"/campaigns/{campaign}")
    assert f'<p class="state">{badge.format("waiting")}' in page
    of_jobs = re.findall(r'<td><span class="badge \w+">(\w+)</span>(.*?)</td>', page)
    begins = shown_time(console.api.world.job(waits).not_before)
    assert of_jobs == [("sent", ""), ("waiting", f"<small>for {begins}</small>")]
    console.post(f"/{console.account}/jobs/{waits}/stop")
    assert badge.format("stopped") in console.shown(f"/campaigns/{campaign}"), "its messages can be resumed"


@pytest.mark.slow
def test_a_test_message_is_real_and_never_goes_to_the_list(console: Console) -> None:
    console.member(role=Role.SENDER)
    campaign = with_list(console)
    assert "It has the values below" in console.shown(f"/campaigns/{campaign}")
    there = f"/{console.account}/campaigns/{campaign}/test"
    got = console.post(there, to="me@example.org", **{"v.name": "Me"})
    job = got.headers["location"].rpartition("/")[2]
    assert console.api.call("GET", f"/jobs/{job}").json["total"] == 1
    refused = console.post(there, to="nobody")
    assert refused.status == 422
    assert "The test was not sent" in refused.text


@pytest.mark.slow
def test_a_list_that_is_taken_back_is_never_sent_and_a_draft_can_be_deleted(console: Console) -> None:
    console.member(role=Role.SENDER)
    campaign = with_list(console)
    there = f"/{console.account}/campaigns/{campaign}"
    asked = console.shown(f"/campaigns/{campaign}/withdraw")
    assert "<b>2</b> messages will never be sent" in asked
    assert console.post(f"{there}/delete").status == 409
    assert console.post(f"{there}/withdraw", **fields(asked)).status == 303
    assert "Next: upload a list" in console.shown(f"/campaigns/{campaign}")
    assert "Delete this campaign?" in console.shown(f"/campaigns/{campaign}/delete")
    assert console.post(f"{there}/delete").status == 303
    assert console.get(there).status == 404


@pytest.mark.slow
def test_a_viewer_and_other_accounts_send_nothing(console: Console) -> None:
    console.member(role=Role.SENDER)
    campaign = with_list(console)
    other = console.api.services.accounts.create_account("Other", ["example.com"])
    console.services.people.invite("github", "ann", other, Role.ADMIN)
    console.sign_in()
    for path in ("", "/send", "/edit", "/preview", "/problems.csv", "/withdraw", "/delete"):
        assert console.get(f"/{other}/campaigns/{campaign}{path}").status == 404, path
    console.member(Identity("github", "2", "ben"), Role.VIEWER)
    page = console.shown(f"/campaigns/{campaign}")
    for word in ("Continue to the summary", "Change the message", "Send the test", 'id="upload"'):
        assert word not in page
    for action in ("send", "test", "paste", "sample", "uploads", "withdraw", "delete", "edit"):
        assert console.post(f"/{console.account}/campaigns/{campaign}/{action}").status == 403
    assert console.get(f"/{console.account}/campaigns/new").status == 403
    assert console.api.call("GET", f"/campaigns/{campaign}").json["state"] == "ready"
