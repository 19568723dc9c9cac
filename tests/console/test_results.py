"""After sending: files of results, copies of campaigns, and what leads from a campaign to what failed."""

import html
import re
from dataclasses import replace

import pytest

from functions.console.pages.campaigns import routes
from functions.console.pages.campaigns.drafting import Written, Wrong
from shared.domain.audit import Act
from shared.domain.campaigns.campaign import Message
from shared.domain.content.content import Speech
from shared.domain.exports import AGAIN_MS
from shared.domain.ids import new_id
from shared.domain.jobs.outcomes import Rejected
from shared.domain.people import Role
from shared.engine.work import MAX_STARTS
from shared.ports import TurnKind
from tests.console.campaigns import fields, made, sent, with_list
from tests.console.console import Console
from tests.console.examples import heard


def posted(console: Console, bounced: int = 0) -> tuple[str, str]:
    """Have a campaign sent to two people; return it and its job."""
    campaign = with_list(console)
    job = sent(console, campaign)
    console.api.world.settle()
    heard(console, job, bounced=bounced)
    return campaign, job


def link(page: str) -> str:
    """Return where a page's button leads that downloads the file."""
    found = re.search(r'<a class="button primary" href="([^"]+)" download>', page)
    assert found is not None, page
    return html.unescape(found[1])


def test_a_file_that_waits_for_another_says_so(console: Console) -> None:
    console.member(role=Role.VIEWER)
    console.member(role=Role.SENDER)
    _, job = posted(console)
    place = f"/jobs/{job}/results"
    assert "It waits" not in console.shown(place)
    console.api.lists.occupy(console.account, TurnKind.EXPORTS)
    console.api.lists.export()
    assert "It waits: another file of this account is made first." in console.shown(place)


def test_the_results_of_a_campaign_and_of_a_job_are_files(console: Console) -> None:
    console.member(role=Role.VIEWER)
    console.member(role=Role.SENDER)
    campaign, job = posted(console)
    for place, name, kind in ((f"/campaigns/{campaign}", campaign, "campaign"), (f"/jobs/{job}", job, "job")):
        assert f'{name}/results">Results' in console.shown(place)
        assert ('href="#sent">Figures and results' in console.shown(place)) is (kind == "campaign")
        assert "0 % so far" in console.shown(f"{place}/results")
        assert "hx-refresh" not in console.get(f"/{console.account}{place}/results?part=live").headers
        console.api.lists.export()
        assert console.get(f"/{console.account}{place}/results?part=live").headers["hx-refresh"] == "true"
        assert f"get={kind}-{name}-" in link(console.shown(f"{place}/results"))
        rows = console.api.lists.files.items[console.api.lists.exported(name)].decode("utf-8-sig").splitlines()
        assert [row.split(",")[2] for row in rows] == ["recipient", "a@example.org", "b@example.org"]
    noted = [x for x in console.api.call("GET", "/audit").json["items"] if x["action"] == Act.EXPORTED]
    assert sorted(x["subject"] for x in noted) == sorted((campaign, job))
    assert {x["actor"] for x in noted} == {"user:Ann"}


def test_a_viewer_gets_results_and_a_campaign_that_sent_nothing_has_none(console: Console) -> None:
    console.member(role=Role.SENDER)
    campaign, _ = posted(console)
    draft = made(console)
    console.member(role=Role.VIEWER)
    assert console.get(f"/{console.account}/campaigns/{campaign}/results").status == 200
    assert console.get(f"/{console.account}/campaigns/{draft}/results").status == 409
    assert "/results" not in console.shown(f"/campaigns/{draft}")
    console.api.world.clock.advance(70 * 86_400)
    console.sign_in()
    assert "no longer kept" in console.get(f"/{console.account}/campaigns/{campaign}/results").text


def test_results_that_were_given_up_say_so_and_are_made_anew_later(console: Console) -> None:
    console.member(role=Role.SENDER)
    campaign, _ = posted(console)
    console.shown(f"/campaigns/{campaign}/results")
    exports = console.api.lists.exporter.exports
    found = exports.get(campaign)
    assert found is not None
    assert exports.save(found, found.changed(starts=MAX_STARTS))
    console.api.lists.export()
    assert console.get(f"/{console.account}/campaigns/{campaign}/results").status == 409
    console.api.world.clock.advance(AGAIN_MS / 1000 + 1)
    assert "0 % so far" in console.shown(f"/campaigns/{campaign}/results")


def test_a_campaign_and_the_list_of_campaigns_show_what_became_of_it(console: Console) -> None:
    console.member(role=Role.SENDER)
    campaign, job = posted(console, bounced=1)
    there = f"/console/{console.account}/jobs/{job}"
    for path in (f"/campaigns/{campaign}", "/campaigns"):
        page = console.shown(path)
        for ending, count in (("", 2), ("?state=delivered", 1), ("?state=failed", 1)):
            found = re.search(rf'href="[./]*{console.account}/jobs/{job}/messages{re.escape(ending)}">(\d+)<', page)
            assert found is not None, (there, ending)
            assert int(found[1]) == count
    assert "Retry failed" not in console.shown(f"/campaigns/{campaign}"), "a bounce is final"


def test_messages_that_failed_can_be_sent_again_from_their_campaign(console: Console) -> None:
    console.member(role=Role.SENDER)
    console.api.world.providers["one"].script("a@example.org", [Rejected("mailbox_busy", permanent=False)] * 10)
    campaign = with_list(console)
    job = sent(console, campaign)
    console.api.world.settle()
    assert f'jobs/{job}/retry">Retry failed …' in console.shown(f"/campaigns/{campaign}")
    assert "<b>1</b> of 2 messages that failed" in console.shown(f"/jobs/{job}/retry")
    console.member(role=Role.VIEWER)
    assert "Retry failed" not in console.shown(f"/campaigns/{campaign}")


def test_a_copy_begins_with_the_message_of_a_campaign_and_without_its_list(console: Console) -> None:
    console.member(role=Role.SENDER)
    campaign, _ = posted(console)
    assert f'new?campaign={campaign}">Copy campaign' in console.shown(f"/campaigns/{campaign}")
    page = console.shown(f"/campaigns/new?campaign={campaign}")
    for value in ("Copy of October", "Hello {{ name }}", "&lt;p&gt;Dear {{ name }}&lt;/p&gt;"):
        assert value in page
    hidden = fields(page)
    got = console.post(
        f"/{console.account}/campaigns/new?campaign={campaign}",
        **{**hidden, "name": "Copy of October", "subject": "Hello", "body": "<p>Dear {{ name }}</p>"},
    )
    copy = got.headers["location"].rpartition("/")[2]
    assert "Next: upload a list" in console.shown(f"/campaigns/{copy}")
    assert console.get(f"/{console.account}/campaigns/new?campaign={'0' * 26}").status == 404


def test_a_copied_call_keeps_how_it_is_said(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    console.member(role=Role.SENDER)
    service = console.services.campaigns().campaigns
    found = service.campaigns.get(made(console))
    assert found is not None
    speech = Speech(language="en-AU", keys=(("2", "confirmed"),))
    call = replace(found, id=new_id(1), channel="voice", message=Message(body="Hello.", speech=speech))
    assert service.control.create(call, None, by="user:Ann") is not None
    asked: list[Written] = []

    def made_of(_: object, said: Written) -> Wrong:
        asked.append(said)
        return Wrong({})

    monkeypatch.setattr(routes, "_made", made_of)
    for channel in ("voice", "sms"):
        console.post(f"/{console.account}/campaigns/new?campaign={call.id}", channel=channel, body="Hello again.")
    assert [said.speech for said in asked] == [speech, None]
