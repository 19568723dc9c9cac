"""Every number of a page leads to what it counts, or a reason says why it cannot."""

import html
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Final

import pytest

from functions.console import lists
from functions.console.pages.jobs.spans import FATES
from functions.console.pages.messages.routes import STATES
from shared.contracts import Settings
from shared.domain.jobs.states import COUNT_KEYS, COUNT_TABLE, Cell
from tests.console.campaigns import ROWS, sent, with_list
from tests.console.console import Console
from tests.console.examples import EXAMPLES, Example, pages

PEOPLE: Final = tuple(f"p{i}@example.org" for i in range(60))
SETTING: Final = "a setting, or an amount of something else than things"
LISTED: Final = "what it counts is on the same page"
UNLISTED: Final = {
    ("overview", "Rate"): SETTING,
    ("overview", "In flight"): "slots that are reserved: they name no message",
    ("credentials", "Rate"): SETTING,
    ("credentials", "In flight"): "slots that are reserved: they name no message",
    ("mails", "Bytes"): SETTING,
    ("mail", "Bytes"): SETTING,
    ("digests", "Events"): "events of an open window are read when their digest is made",
    ("dead letters", "Letters"): "without buttons, the console may not read what is in queues",
    ("warm-up", "Messages"): SETTING,
    ("recipients", "Row in the sheet"): "a place in the owner's own file",
    ("ask to redrive a queue", "Tries"): "what failed is in the logs, which the console may not read",
}
"""Numbers that lead nowhere, by page and name of their column or figure, and why: docs/console.md says so, too."""
NUMBER: Final = re.compile(r"\d[\d,]*(\.\d)?")


class Numbers(HTMLParser):
    """Numbers of tables and of figures that lead nowhere, by the name of their column or figure."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.seen = 0
        self._open: list[str] = []
        self._heads: list[str] = []
        self._name = ""
        self._column = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in {"td", "th", "dt", "dd", "a", "thead", "small"}:
            self._open.append(tag)
        if tag == "thead":
            self._heads = []
        elif tag == "tr":
            self._column = -1
        elif tag in {"td", "th"}:
            self._column += 1
        elif tag == "dt":
            self._name = ""

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        text = data.strip()
        if "thead" in self._open and text:
            self._heads.append(text)
        elif "dt" in self._open:
            self._name += text
        elif {"td", "dd"} & {*self._open} and NUMBER.fullmatch(text):
            self.seen += 1
            if "a" not in self._open:
                self.found.add(self._heads[self._column] if "td" in self._open else self._name)


def unlinked(example: Example) -> Iterator[tuple[str, str]]:
    """Give the pages and names of numbers that lead nowhere."""
    seen = 0
    for page in pages():
        for path in EXAMPLES[page](example) if page != "style" else ():
            numbers = Numbers()
            numbers.feed(example.console.get(f"/{path}".rstrip("/")).text)
            yield from ((page, name) for name in numbers.found)
            seen += numbers.seen
    assert seen > 100


@pytest.mark.slow
def test_every_number_leads_to_what_it_counts_or_has_a_reason(example: Example) -> None:
    assert {*unlinked(example)} == {*UNLISTED}


@pytest.mark.slow
def test_each_sum_of_the_overview_leads_to_jobs_that_add_up_to_it(console: Console) -> None:
    world = console.api.world
    old = console.api.logged(PEOPLE[:7])
    world.jobs.clear()
    world.clock.advance(15 * 86_400)
    console.api.logged(PEOPLE[:5])
    world.jobs.clear()
    world.clock.advance(86_400)
    job = console.api.logged(PEOPLE[:4])
    for taken, fate in zip(world.oracle.taken[-4:], ("bounced", "delivered", "delivered", ""), strict=True):
        if fate:
            world.track(taken.provider, world.word(job, taken.ref.index, fate, chunk=taken.ref.chunk))
    world.settle()
    console.api.accepted(PEOPLE[:3])
    assert console.api.batch(PEOPLE[:9], key=console.api.test_key()).status == 202
    console.member()
    found = {}
    for query, number in re.findall(r"/jobs\?(keys=live[^\"]+)\">([\d,]+)</a>", console.shown()):
        if "day=" in query and number == "0":
            continue
        page = console.shown(f"/jobs?{query.replace('&amp;', '&')}")
        assert old not in page
        listed = re.findall(r"</svg>\s*</td>\s*<td class=\"number\">(?:<a [^>]*>)?([\d,]+)<", page)
        assert sum(map(int, listed)) == int(number), query
        found[" ".join(part.partition("=")[2] for part in query.split("&amp;")[1:])] = int(number)
    one, two = (sum(x.provider == name for x in world.oracle.taken[-9:]) for name in ("one", "two"))
    sendgrid = {key: number for key, number in found.items() if "sendgrid" in key}
    mailgun = {key: number for key, number in found.items() if "mailgun" in key}
    assert sum(number for key, number in sendgrid.items() if key.endswith("sendgrid accepted")) == one
    assert sum(number for key, number in mailgun.items() if key.endswith("mailgun accepted")) == two
    assert sum(number for key, number in found.items() if key.endswith(" queued") and key[:2] == "20") == 8
    spans = {key: number for key, number in found.items() if key.count(" ") == 1 and key[:2] != "20"}
    assert spans == {
        "today success": 2,
        "today queued": 3,
        "today failed": 1,
        "today skipped": 1,
        "the%20last%2014%20days success": 2,
        "the%20last%2014%20days queued": 8,
        "the%20last%2014%20days failed": 1,
        "the%20last%2014%20days skipped": 1,
    }


@pytest.mark.slow
def test_numbers_by_credential_and_by_fate_lead_to_the_messages_that_they_count(console: Console) -> None:
    world = console.api.world
    job = console.api.logged(PEOPLE[:8])
    for taken, fate in zip(world.oracle.taken, ("bounced", "delivered", "delivered"), strict=False):
        world.track(taken.provider, world.word(job, taken.ref.index, fate, chunk=taken.ref.chunk))
    world.settle()
    console.member()
    pages = {f"/jobs/{job}": 0} | {f"/jobs?with={fate}": 0 for fate in ("success", "queued", "failed")}
    for page in pages:
        for address, number in re.findall(r"(jobs/\w+/messages\?[^\"]+)\">([\d,]+)</a>", console.shown(page)):
            found = console.shown(f"/{address.replace('&amp;', '&')}")
            assert len(re.findall(r'<a href="messages/\d+\.\d+">', found)) == int(number), address
            pages[page] += 1
    assert pages == {f"/jobs/{job}": 15, "/jobs?with=success": 1, "/jobs?with=queued": 1, "/jobs?with=failed": 1}


def test_the_messages_of_a_fate_are_those_that_the_figures_count() -> None:
    for filtered, fate in (
        ("success", "success"),
        ("without an end", "queued"),
        ("failed", "failed"),
        ("skipped", "skipped"),
    ):
        for cell in Cell:
            counted = COUNT_KEYS[COUNT_TABLE[cell]] in FATES[fate]
            assert STATES[filtered].wants(cell) == counted, (filtered, cell)


@pytest.mark.slow
def test_a_page_of_found_messages_keeps_its_filters(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "PAGE", 2)
    job = console.api.logged(PEOPLE[:8])
    console.member()
    page = console.shown(f"/jobs/{job}/messages?state=sent&credential=one&attempt=accepted")
    assert re.search(r'href="\?state=sent&amp;credential=one&amp;attempt=accepted&amp;cursor=', page)
    assert "<option selected>one</option>" in page


@pytest.mark.slow
def test_numbers_of_a_list_lead_to_its_recipients(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    console.member()
    console.services.use_cases.suppressions.put(console.account, "p1@example.org", "bounced")
    rows = "recipient,name\r\n" + "".join(f"p{n}@example.org,x\r\n" for n in range(5)) + "nonsense,x\r\n"
    campaign = with_list(console, rows)
    page = console.shown(f"/campaigns/{campaign}")
    figures = dict(re.findall(r'/recipients([^"]*)">([\d,]+)</a>', page))
    assert figures == {"": "6", "?shown=will+be+sent": "4", "?shown=suppressed": "1"}

    def found(query: str) -> list[str]:
        return re.findall(r"recipient=(p\d)%40", console.shown(f"/campaigns/{campaign}/recipients{query}"))

    assert found("") == ["p0", "p1", "p2", "p3", "p4"]
    assert found("?shown=will+be+sent") == ["p0", "p2", "p3", "p4"]
    assert found("?shown=suppressed") == ["p1"]
    monkeypatch.setattr(lists, "PAGE", 3)
    first = console.shown(f"/campaigns/{campaign}/recipients?shown=will+be+sent")
    more = re.search(r'href="(\?shown=will[^"]+)">Next page', first)
    assert more is not None
    assert found(html.unescape(more[1])) == ["p4"]


@pytest.mark.slow
def test_recipients_of_a_list_that_cannot_be_sent_are_refused_with_what_to_do(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    console.member()
    campaign, gone = with_list(console), with_list(console)

    def refused(name: str) -> str:
        got = console.get(f"/{console.account}/campaigns/{name}/recipients")
        assert got.status == 409, got.text
        return html.unescape(got.text)

    sent(console, gone)
    assert "The campaign has no list to send." in refused(gone)
    assert console.post(f"/{console.account}/campaigns/{gone}/paste", rows=ROWS).status == 303
    console.api.lists.read()
    monkeypatch.setattr(Settings, "credential", lambda _, name: {}[name])
    missing = "The campaign's credential is no longer there."
    assert f"{missing} Take the list back, then choose another one." in refused(campaign)
    assert f"{missing} Make a new campaign." in refused(gone)
