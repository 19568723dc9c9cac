"""The README's story, as a newcomer follows it: a campaign from its commands, a mail in the inbox, the link in it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from examples.demo import newsletter
from infra.local.cloud import Cloud
from infra.local.paths import ROOT
from tests.deployed.api import Api
from tests.deployed.shell import checkout, typed
from tests.fakes.browser import Browser, browsing

pytestmark = pytest.mark.browser

ROWS: Final = 30
READER: Final = f"reader{ROWS}@example.com"
BLOCKS: Final[list[str]] = re.findall(
    r"^```sh\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
)


def block(word: str) -> str:
    """Return the commands of the README among which one is."""
    (found,) = [text for text in BLOCKS if word in text]
    return found


@pytest.fixture
def browser() -> Iterator[Browser]:
    with browsing(scripts=True) as opened:
        yield opened


@pytest.fixture
def folder(cloud: Cloud, tmp_path: Path) -> Path:
    return checkout(cloud, tmp_path)


@pytest.mark.promise(11)
@pytest.mark.timeout(600)
def test_a_newcomer_sends_a_campaign_reads_it_in_the_inbox_and_unsubscribes(
    cloud: Cloud, api: Api, browser: Browser, folder: Path
) -> None:
    sent = newsletter.send(cloud)  # what `make run` does first
    newsletter.watch(cloud, sent)
    assert '"job_id"' in typed(block("/batches"), folder)

    campaign = block("campaign run").replace("i <= 200", f"i <= {ROWS}").rstrip() + " --yes\n"
    said = typed(campaign, folder)
    assert "invalid_address" in said
    assert f"{ROWS} recipients of {ROWS + 1} rows" in said

    browser.do("POST", "/url", {"url": f"{api.url}/docs"})
    browser.reads("body", "Posthaste")

    browser.do("POST", "/url", {"url": cloud.env["SIMULATOR_URL"] + "/"})
    browser.click(f"//li/button[contains(., '{READER}')]")
    browser.enter("iframe")
    browser.reads("h1", f"News for Reader {ROWS}")
    browser.follow("a")
    browser.shows("Unsubscribe")
    where = f"/suppressions/{READER}?scope=campaigns"
    assert api.call("GET", where).status == 404, "a look at the page changes nothing"
    browser.press()
    browser.shows("You are unsubscribed")
    assert api.call("GET", where).status == 200

    assert "unsubscribed" in typed(campaign, folder)
    (newest,) = api.get("/campaigns?limit=1")["items"]
    messages = api.items(f"/campaigns/{newest['campaign_id']}/messages")
    reached = {line["recipient"] for line in messages if line["state"] != "skipped"}
    assert len(reached) == ROWS - 1
    assert READER not in reached
