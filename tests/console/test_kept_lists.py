"""Lists read again in the console: by another row and column, or for another campaign, without another upload."""

import re

from shared.domain.people import Role
from tests.console.campaigns import made, sent, with_list
from tests.console.console import Console

REPORT = "Report of May\r\n\r\nName,E-Mail,Kontakt\r\nAnn,ann@example.org,ann@work.example\r\n"
DAY = 86_400


def again(console: Console, campaign: str, **form: str) -> None:
    got = console.post(f"/{console.account}/campaigns/{campaign}/header", **form)
    assert got.status == 303, got.text
    console.api.lists.read()


def chosen(page: str, name: str) -> str:
    """Return the option that a page has chosen in a select."""
    part = page[page.index(f'<select id="{name}"') :]
    found: list[str] = re.findall(r'<option value="([^"]*)" selected', part[: part.index("</select>")])
    return found[0]


def test_the_page_says_what_was_read_and_takes_another_column(console: Console) -> None:
    console.member(role=Role.SENDER)
    campaign = with_list(console, REPORT, subject="Hello")
    page = console.shown(f"/campaigns/{campaign}")
    assert "Row 3 has the names of columns. Recipients are in “E-Mail”. The rows above get nothing." in page
    (link,) = re.findall(r'href="[^"]*/(header\?upload=[^"]+)"', page)
    asked = console.shown(f"/campaigns/{campaign}/{link}")
    assert (chosen(asked, "row"), chosen(asked, "column")) == ("3", "E-Mail")
    assert "Row 1: Report of May" in asked
    again(console, campaign, row="3", column="Kontakt")
    page = console.shown(f"/campaigns/{campaign}")
    assert "Recipients are in “Kontakt”." in page
    assert "ann@work.example" in console.shown(f"/campaigns/{campaign}/recipients")


def test_a_list_that_was_not_recognised_is_read_by_the_row_that_is_chosen(console: Console) -> None:
    console.member(role=Role.SENDER)
    campaign = with_list(console, "Liste\r\nKunde;Adresse\r\nAnn;ann@example.org\r\n")
    page = console.shown(f"/campaigns/{campaign}")
    assert "Row 2 has `kunde`, `adresse`." in page.replace("&#39;", "'")
    (link,) = re.findall(r'href="[^"]*/(header\?upload=[^"]+)"', page)
    asked = console.shown(f"/campaigns/{campaign}/{link}&row=2")
    assert '<option value="Adresse">Adresse</option>' in asked
    again(console, campaign, row="2", column="Adresse")
    assert "Row 2 has the names of columns. Recipients are in “Adresse”." in console.shown(f"/campaigns/{campaign}")


def test_a_copy_takes_the_list_of_the_campaign_that_it_copies(console: Console) -> None:
    console.member(role=Role.SENDER)
    first = with_list(console)
    sent(console, first)
    second = made(console, name="Second")
    assert f'campaigns/{second}?others=1#others"' in console.shown(f"/campaigns/{second}")
    page = console.shown(f"/campaigns/{second}?others=1")
    assert f'<option value="{first}">October</option>' in page
    got = console.post(f"/{console.account}/campaigns/{second}/list-of", list_of=first)
    assert got.status == 303
    console.api.lists.read()
    page = console.shown(f"/campaigns/{second}")
    assert "Will be sent</dt>" in page
    assert "Use the list of another campaign" not in page


def test_a_file_that_is_no_longer_kept_says_since_when(console: Console) -> None:
    console.member(role=Role.SENDER)
    first = with_list(console)
    second = made(console)
    console.api.world.clock.advance(8 * DAY)
    console.member(role=Role.SENDER)
    for name in list(console.api.lists.files.items):
        del console.api.lists.files.items[name]
    assert "No other campaign has a list" in console.shown(f"/campaigns/{second}?others=1")
    got = console.post(f"/{console.account}/campaigns/{second}/list-of", list_of=first)
    assert got.status == 409
    assert "7 days after its upload" in got.text
    shown = console.get(f"/{console.account}/campaigns/{first}/header")
    assert (shown.status, "7 days after its upload" in shown.text) == (409, True)


def test_a_workbook_that_cannot_be_read_and_a_campaign_without_a_list_say_so(console: Console) -> None:
    console.member(role=Role.SENDER)
    campaign = with_list(console, "PK\x03\x04 no workbook")
    assert "cannot be shown" in console.shown(f"/campaigns/{campaign}/header")
    empty = made(console)
    assert console.get(f"/{console.account}/campaigns/{empty}/header").status == 409


def test_lists_of_other_accounts_and_of_test_keys_are_not_there(console: Console) -> None:
    console.member(role=Role.SENDER)
    tests = console.api.campaign(key=console.api.test_key())
    strange = console.api.campaign(key=console.api.other())
    campaign = made(console)
    for other in (tests, strange, "nothing"):
        got = console.post(f"/{console.account}/campaigns/{campaign}/list-of", list_of=other)
        assert got.status == 404
