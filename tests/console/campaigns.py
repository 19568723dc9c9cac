"""What the tests of campaigns' pages share: forms, and a campaign on each of its steps."""

import html
import re

from tests.console.console import Console

SAID = {
    "name": "October",
    "channel": "email",
    "from": "Ann <news@example.com>",
    "subject": "Hello {{ name }}",
    "body": "<p>Dear {{ name }}</p>",
    "unsubscribe": "1",
}
ROWS = "recipient,name\r\na@example.org,Ann\r\nb@example.org,Ben\r\nnobody,Kim\r\n"


def made(console: Console, **changes: str) -> str:
    """Make a campaign by its form, and return its id."""
    got = console.post(f"/{console.account}/campaigns/new", **{**SAID, **changes})
    assert got.status == 303, got.text
    return got.headers["location"].rpartition("/")[2]


def with_list(console: Console, rows: str = ROWS, **changes: str) -> str:
    """Make a campaign with a list that is read, and return its id."""
    campaign = made(console, **changes)
    got = console.post(f"/{console.account}/campaigns/{campaign}/paste", rows=rows)
    assert got.status == 303, got.text
    console.api.lists.read()
    return campaign


def fields(page: str) -> dict[str, str]:
    """Return the hidden fields of a page's last form, but for the token."""
    form = page[page.rindex("<form") :]
    found = re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', form)
    return {name: html.unescape(value) for name, value in found if name != "csrf"}


def sent(console: Console, campaign: str, query: str = "") -> str:
    """Confirm a campaign's summary, and return its job's id."""
    page = console.shown(f"/campaigns/{campaign}/send{query}")
    got = console.post(f"/{console.account}/campaigns/{campaign}/send", **fields(page))
    assert got.status == 303, got.text
    job = got.headers["location"].rpartition("/")[2]
    console.api.world.jobs.append(job)
    return job


def stored(console: Console, **changes: str) -> str:
    """Store a template by its form, and return its id."""
    got = console.post(f"/{console.account}/templates/new", **{**SAID, **changes})
    assert got.status == 303, got.text
    return got.headers["location"].rpartition("/")[2]


def saved(console: Console, template: str, **changes: str) -> None:
    """Store the next version of a template."""
    form = fields(console.shown(f"/templates/{template}/edit"))
    got = console.post(f"/{console.account}/templates/{template}/edit", **{**SAID, **form, **changes})
    assert got.status == 303, got.text
