"""Hours of campaigns at the console: typed, mended, shown, and kept to."""

from datetime import UTC, datetime, timedelta

from shared.domain.hours.openings import DAYS
from shared.domain.people import Role
from tests.console.campaigns import SAID, fields, made, sent, with_list
from tests.console.console import Console

ALL = {f"day_{day}": "1" for day in DAYS}


def later(console: Console) -> dict[str, str]:
    """Return the fields of hours that begin two hours from now."""
    begin = datetime.fromtimestamp(console.api.world.clock.now(), UTC) + timedelta(hours=2)
    return {"hours_from": f"{begin:%H:%M}", "hours_to": f"{begin + timedelta(hours=1):%H:%M}", "hours_zone": "UTC"}


def test_a_campaign_with_hours_shows_them_and_its_job_waits_for_them(console: Console) -> None:
    console.member(role=Role.SENDER)
    hours = later(console)
    campaign = with_list(console, **hours, **ALL)
    said = f"{hours['hours_from']} to {hours['hours_to']} in UTC, every day"
    assert said in console.shown(f"/campaigns/{campaign}")
    assert said in console.shown(f"/campaigns/{campaign}/send")
    opens = datetime.fromtimestamp(console.api.world.clock.now(), UTC) + timedelta(hours=2)
    summary = console.shown(f"/campaigns/{campaign}/send")
    assert f'the last one at <time datetime="{opens:%Y-%m-%dT%H:%M}' in summary
    job = sent(console, campaign)
    page = console.shown(f"/jobs/{job}")
    assert said in page
    assert "Waits for its hours, until" in page
    assert "Scheduled for" not in page


def test_the_form_has_the_hours_again_and_empty_times_take_them_away(console: Console) -> None:
    console.member(role=Role.SENDER)
    campaign = made(console, hours_from="22:00", hours_to="00:00", hours_zone="Europe/Paris", day_fri="1", day_sat="1")
    page = console.shown(f"/campaigns/{campaign}/edit")
    assert 'name="hours_from" type="time" value="22:00"' in page
    assert 'name="hours_to" type="time" value="00:00"' in page
    assert page.count("checked") >= 2
    assert "22:00 to 24:00 in Europe/Paris, Friday, Saturday" in console.shown(f"/campaigns/{campaign}")
    form = {**SAID, **fields(page), "hours_from": "", "hours_to": "", **ALL}
    assert console.post(f"/{console.account}/campaigns/{campaign}/edit", **form).status == 303
    assert "Europe/Paris" not in console.shown(f"/campaigns/{campaign}")


def test_hours_that_make_no_sense_are_said_at_their_field(console: Console) -> None:
    console.member(role=Role.SENDER)
    for typed, said in (
        ({"hours_from": "09:00", "hours_to": "", "hours_zone": "UTC", **ALL}, "A time of day has the form HH:MM"),
        ({"hours_from": "09:00", "hours_to": "20:00", "hours_zone": "Mars", **ALL}, "This time zone is unknown"),
        ({"hours_from": "09:00", "hours_to": "20:00", "hours_zone": "UTC"}, "Hours need a day"),
    ):
        got = console.post(f"/{console.account}/campaigns/new", **{**SAID, **typed})
        assert got.status == 422
        assert said in got.text
        assert 'id="hours_from-error"' in got.text


def test_each_recipients_own_zone_can_be_chosen_until_there_is_a_list(console: Console) -> None:
    console.member(role=Role.SENDER)
    own = {"hours_from": "09:00", "hours_to": "20:00", "hours_zone": "Europe/Paris", "hours_own": "1", **ALL}
    campaign = made(console, **own)
    page = console.shown(f"/campaigns/{campaign}/edit")
    assert 'name="hours_own" value="1" checked' in page
    assert 'name="hours_zone" value="Europe/Paris"' in page
    assert "each recipient&#39;s own time zone, or else Europe/Paris" in console.shown(f"/campaigns/{campaign}")
    late = with_list(console)
    form = {**SAID, **fields(console.shown(f"/campaigns/{late}/edit")), **own}
    assert console.post(f"/{console.account}/campaigns/{late}/edit", **form).status == 409
