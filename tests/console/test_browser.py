"""The console in a real browser: figures that renew themselves, and reading and stopping without scripts."""

from collections.abc import Iterator

import pytest

from shared.domain.jobs.outcomes import Rejected
from tests.console.console import Console
from tests.console.examples import heard
from tests.console.site import enter, site
from tests.fakes.browser import browsing

RENEWALS = "return performance.getEntriesByType('resource').filter((x) => x.name.includes('part=live')).length"
"""How many renewals the page got."""
RESTS = "return !document.querySelector('.htmx-request, .htmx-swapping, .htmx-settling')"
"""Whether the page hears its clock: figures that were just replaced do not, until they have settled."""
FLASHES = """
window.flashes = 0;
const look = () => {
  for (const time of document.querySelectorAll('time')) flashes += time.textContent.includes('UTC');
  requestAnimationFrame(look);
};
addEventListener('load', look);
"""
"""Counts times of another zone in each frame."""


BY_HAND = """
window.asked = 0;
window.away = false;
window.ticks = [];
window.setInterval = (tick) => ticks.push(tick);
Object.defineProperty(document, "hidden", {get: () => away});
addEventListener("htmx:beforeRequest", () => { asked += 1; });
"""
"""Has the test be the clock and the window's manager of a page, and counts what the page asks for by itself."""
TICK = "ticks[0]();"
"""Has such a page's clock strike."""
OLD = "window.old = document.querySelector('#live');"
"""Remembers the figures that are shown."""
WIDE = "document.styleSheets[0].insertRule('#live table { min-width: 200rem; }');"
"""Makes their table one that scrolls."""
SPOKEN = """
window.region = document.getElementById("said");
window.spoken = [];
new MutationObserver(() => spoken.push(region.textContent)).observe(region, {childList: true, characterData: true});
"""
"""Collects what is read out to people who do not see the page."""


@pytest.fixture
def address(console: Console) -> Iterator[str]:
    with site(console) as found:
        yield found


@pytest.mark.browser
def test_figures_renew_themselves_and_times_are_the_viewers(console: Console, address: str) -> None:
    job = console.api.accepted(("a@example.org",), subject="Waits")
    with browsing(scripts=True) as browser:
        console.member()
        enter(browser, console, address)
        browser.devtools("Emulation.setTimezoneOverride", timezoneId="Australia/Sydney")
        browser.do("POST", "/url", {"url": f"{address}/{console.account}/jobs/{job}"})
        assert "UTC" not in browser.text(".facts time")
        assert browser.attribute(".facts time", "title").endswith(" UTC")
        console.api.world.settle()
        sent = "#live a[href$='state=sent']"
        browser.until(lambda: browser.text(sent) == "1", "the figures do not renew themselves")
        log = browser.do("POST", "/se/log", {"type": "browser"})
        assert [x["message"] for x in log if x["level"] == "SEVERE" and "favicon" not in x["message"]] == []


@pytest.mark.browser
def test_a_renewal_leaves_focus_pointer_and_times_as_they_are(console: Console, address: str) -> None:
    job = console.api.accepted(tuple(f"p{i}@example.org" for i in range(60)), subject="Waits")
    with browsing(scripts=True) as browser:

        def renew() -> None:
            wanted = browser.script(RENEWALS) + 1
            browser.script(TICK)
            browser.until(lambda: browser.script(RENEWALS) >= wanted, "the figures do not renew themselves")
            browser.until(lambda: browser.script(RESTS), "the figures do not settle")

        def replaced() -> bool:
            return bool(browser.script("return !old.isConnected"))

        console.member()
        enter(browser, console, address)
        for script in (FLASHES, BY_HAND):
            browser.devtools("Page.addScriptToEvaluateOnNewDocument", source=script)
        browser.do("POST", "/url", {"url": f"{address}/{console.account}/jobs/{job}"})
        for css in ("#live a.danger", "#live dd a[href$='state=queued']", "#live .scroll"):
            browser.script(f"{OLD} document.querySelector({css!r}).focus()")
            renew()
            browser.until(replaced, "the figures are not replaced")
            assert browser.script(f"return document.activeElement === document.querySelector({css!r})"), css
        browser.script(f"{OLD} {WIDE} document.activeElement.scrollLeft = 40;")
        renew()
        browser.until(replaced, "the figures are not replaced")
        assert browser.script("return document.activeElement.scrollLeft") == 40
        assert browser.script("return flashes") == 0, "no frame shows a time of another zone"
        browser.hold("#live a.danger")
        browser.script(OLD)
        renew()
        renew()
        assert not replaced(), "nothing is taken from under a pointer"
        browser.release()
        browser.shows("Stop this job?")


@pytest.mark.browser
def test_a_page_that_is_not_looked_at_asks_for_nothing(console: Console, address: str) -> None:
    job = console.api.accepted(("a@example.org",), subject="Waits")
    with browsing(scripts=True) as browser:
        console.member()
        enter(browser, console, address)
        browser.devtools("Page.addScriptToEvaluateOnNewDocument", source=BY_HAND)
        browser.do("POST", "/url", {"url": f"{address}/{console.account}/jobs/{job}"})
        browser.until(lambda: browser.script("return ticks.length") == 1, "the page has no clock")
        browser.script(TICK)
        browser.until(lambda: browser.script(RENEWALS) == 1, "the figures do not renew themselves")
        browser.until(lambda: browser.script(RESTS), "the figures do not settle")
        browser.script("away = true; document.dispatchEvent(new Event('visibilitychange')); ticks[0](); ticks[0]();")
        assert browser.script("return asked") == 1
        browser.script("away = false; document.dispatchEvent(new Event('visibilitychange'));")
        assert browser.script("return asked") == 2, "it is up to date at once when it is looked at again"


@pytest.mark.browser
def test_a_new_state_is_read_out_and_new_figures_are_not(console: Console, address: str) -> None:
    job = console.api.accepted(tuple(f"p{i}@example.org" for i in range(3)), subject="Waits")
    with browsing(scripts=True) as browser:
        console.member()
        enter(browser, console, address)
        browser.do("POST", "/url", {"url": f"{address}/{console.account}/jobs/{job}"})
        browser.script(SPOKEN)
        assert browser.attribute("#said", "role") == "status"
        console.api.world.settle()
        browser.until(lambda: browser.text("#live a[href$='state=sent']") == "3", "the figures do not renew themselves")
        browser.until(lambda: browser.script("return spoken") == ["Sent."], "the end is not read out once")
        heard(console, job, bounced=0)
        browser.until(lambda: browser.text("#live a[href$='state=delivered']") == "3", "no figures of delivery")
        assert browser.script("return spoken") == ["Sent."]
        assert browser.script("return region.isConnected"), "a region that is replaced is not read out"


@pytest.mark.browser
def test_what_providers_and_recipients_are_called_runs_nothing(console: Console, address: str) -> None:
    evil = "<img/src=x/onerror=document.title='run'><script>document.title='run'</script>"
    for provider in console.api.world.providers.values():
        provider.script("ann@example.org", [Rejected(evil, permanent=True)])
    job = console.api.logged((f'"{evil}" <ann@example.org>',), subject=evil)
    line = console.services.logs.line(console.api.world.job(job), 0, 0)
    assert line is not None
    (attempt,) = line.attempts
    world = console.api.world
    world.track(attempt.credential_id, world.word(job, 0, "bounced", code=evil))
    world.settle()
    with browsing(scripts=True) as browser:
        console.member()
        enter(browser, console, address)
        for path in (f"jobs/{job}/messages/0.0", f"jobs/{job}/messages", f"jobs/{job}"):
            browser.do("POST", "/url", {"url": f"{address}/{console.account}/{path}"})
            assert evil in browser.text("main"), path
            assert browser.script("return [document.images.length - 1, document.title === 'run']") == [0, False], path
        browser.do("POST", "/url", {"url": f"{address}/{console.account}/jobs/{job}/messages/0.0"})
        assert evil in browser.text(".timeline")
        log = browser.do("POST", "/se/log", {"type": "browser"})
        assert [x["message"] for x in log if x["level"] == "SEVERE" and "favicon" not in x["message"]] == []


@pytest.mark.browser
def test_reading_and_stopping_work_without_scripts(console: Console, address: str) -> None:
    job = console.api.accepted(tuple(f"p{i}@example.org" for i in range(60)), subject="Waits")
    with browsing(scripts=False) as browser:
        console.member()
        enter(browser, console, address)
        browser.do("POST", "/url", {"url": f"{address}/{console.account}"})
        browser.shows("Overview")
        browser.click("tbody th a")
        browser.shows("Waits")
        browser.click("a.danger")
        browser.shows("Stop this job?")
        browser.click("main button.danger")
        browser.shows("Waits")
        assert "Stopped by hand" in browser.text(".state")
    assert console.api.call("GET", f"/jobs/{job}").json["stop_reason"] == "user"
