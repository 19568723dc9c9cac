"""What team keys made is in the console of its account, and in no other account's."""

import re

import pytest

from shared.domain.namespaces import team_space
from shared.domain.people import Identity, Role
from tests.console.console import Console
from tests.console.team import GUEST, TeamThings, teamed

OLGA = Identity("github", "2", "Olga", "Olga Keeper")


@pytest.fixture
def things(console: Console) -> TeamThings:
    return teamed(console)


def jobs_of(page: str) -> set[str]:
    return set(re.findall(r"jobs/([0-9a-z]{26})[/\"]", page))


@pytest.mark.slow
def test_jobs_of_every_kind_of_keys_are_listed_and_filtered(console: Console, things: TeamThings) -> None:
    live = console.api.logged(("ann@example.org",))
    test = console.api.accepted(("ann@example.org",), key=console.api.test_key())
    console.member()
    assert {live, test, things.job} <= jobs_of(console.shown("/jobs"))
    for keys, job in (("live", live), ("test", test), ("team", things.job)):
        page = console.shown(f"/jobs?keys={keys}&kind=batch")
        assert jobs_of(page) == {job}
        assert (f"· {keys}</small>" in page) is (keys != "live")
    assert jobs_of(console.shown("/jobs?keys=nonsense")) == jobs_of(console.shown("/jobs"))


@pytest.mark.slow
def test_the_overview_and_the_question_about_a_pause_count_their_jobs(console: Console, things: TeamThings) -> None:
    job = console.api.accepted((GUEST,), key=console.api.keys["team"])
    console.api.world.plan()
    console.sign_in(OLGA)
    page = console.shown()
    assert job in jobs_of(page)
    assert "· team</small>" in page
    assert "Open jobs may send at most" in page
    assert "<b>2</b> messages of all its open jobs wait" in console.shown("/pause"), "the mail's and the batch's"


@pytest.mark.slow
def test_a_page_of_jobs_keeps_its_kind_of_keys(console: Console, things: TeamThings) -> None:
    for _ in range(51):
        console.api.accepted((GUEST,), key=console.api.keys["team"])
    console.member()
    assert re.search(r'href="\?keys=team&amp;cursor=[^"]+">Next page', console.shown("/jobs?keys=team"))


@pytest.mark.slow
def test_a_search_finds_messages_of_every_kind_of_keys(console: Console, things: TeamThings) -> None:
    live = console.api.logged((GUEST,))
    console.member()
    assert {live, things.job} <= jobs_of(console.shown(f"/messages?recipient={GUEST}"))
    assert things.job not in jobs_of(console.shown(f"/messages?recipient={GUEST}&keys=live"))
    assert live not in jobs_of(console.shown(f"/messages?recipient={GUEST}&keys=team"))
    assert "No job of these keys" in console.shown(f"/messages?recipient={GUEST}&keys=test")


@pytest.mark.slow
def test_a_team_job_is_stopped_and_resumed(console: Console, things: TeamThings) -> None:
    job = console.api.accepted((GUEST,), key=console.api.keys["team"])
    console.member(role=Role.SENDER)
    assert "only guests get it" in console.shown(f"/jobs/{job}")
    for action in ("stop", "resume"):
        assert console.get(f"/{console.account}/jobs/{job}/{action}").status == 200
        assert console.post(f"/{console.account}/jobs/{job}/{action}").status == 303
        console.api.world.settle()
    console.member(role=Role.ADMIN)
    shown = console.shown("/audit?keys=team")
    assert {"job.stopped", "job.resumed"} <= set(re.findall(r"job\.\w+", shown))
    assert f'/jobs/{job}"' in shown


def paths(things: TeamThings) -> tuple[str, ...]:
    """Return the pages of what team keys made, below their account."""
    job = f"jobs/{things.job}"
    hook = f"hooks/{things.hook}"
    return (
        *(f"{job}{part}" for part in ("", "?part=live", "/messages", "/messages/0.0", "/stop", "/resume", "/retry")),
        f"mails/{things.mail}",
        f"notices/{things.notice}",
        hook,
        f"{hook}/deliveries/{things.delivery}",
        f"digests/{things.window}/close?keys=team",
    )


@pytest.mark.slow
@pytest.mark.parametrize("operator", [False, True])
def test_another_account_shows_nothing_of_it(console: Console, things: TeamThings, *, operator: bool) -> None:
    other = console.services.accounts.create_account("Other", [])
    console.services.people.invite("github", "ann", other, Role.ADMIN)
    console.sign_in(OLGA) if operator else console.member()
    for path in paths(things):
        assert console.get(f"/{other}/{path}").status == 404, path
    for action in ("stop", "resume", "retry"):
        assert console.post(f"/{other}/jobs/{things.job}/{action}").status == 404
    seen = "".join(
        console.get(f"/{other}/{page}").text
        for page in ("jobs", "jobs?keys=team", f"messages?recipient={GUEST}", "audit?keys=team", "mails?keys=team")
    )
    assert things.job not in seen
    assert things.mail not in seen


def test_a_team_space_is_no_account_of_its_own(console: Console, things: TeamThings) -> None:
    console.sign_in(OLGA)
    assert console.get(f"/{team_space(console.account)}/jobs/{things.job}").status == 404
