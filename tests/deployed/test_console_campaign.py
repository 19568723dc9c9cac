"""A newcomer at the console of a local cloud: signs in by the simulator's GitHub, and sends a campaign by clicking."""

import uuid
from pathlib import Path

import pytest

from infra.local import sign_in
from infra.local.accounts import ACCOUNT
from infra.local.cloud import Cloud
from infra.local.processes import wait_for
from tests.deployed.api import Api
from tests.deployed.test_console import sign_in_as
from tests.fakes.browser import Browser

pytestmark = pytest.mark.browser
PEOPLE = 2_000
PATIENCE = 120.0
"""Seconds that a list is read in, and sent in, on a busy machine."""


@pytest.fixture(autouse=True)
def at_the_overview(browser: Browser, cloud: Cloud) -> None:
    """Sign in, and go to the Overview of the demo account."""
    sign_in_as(browser, cloud, sign_in.OPERATOR)
    browser.click(f"//main//table//a[.='{ACCOUNT}']")
    browser.shows("Overview")


def comes_to_show(browser: Browser, css: str, text: str) -> None:
    """Wait as long as the cloud may take until an element shows a text."""
    assert wait_for(lambda: text in browser.text(css), PATIENCE), f"{css} never shows {text!r}"


def job_of(browser: Browser) -> str:
    """Wait for the page of a job, and return its id."""
    browser.find("#live")
    return str(browser.do("GET", "/url")).rpartition("/")[2]


def test_a_newcomer_sends_the_sample_in_six_clicks(browser: Browser, api: Api) -> None:
    browser.click("nav.side a[href$='/campaigns']")  # 1
    browser.click("//a[.='Start with a sample']")  # 2
    browser.click("//button[.='Create campaign']")  # 3
    browser.click("//button[.='Use the sample list']")  # 4
    comes_to_show(browser, ".state", "10 messages to send")
    browser.click("//button[.='Continue to the summary']")  # 5
    browser.click("//button[.='Send 10 messages']")  # 6
    job = job_of(browser)
    comes_to_show(browser, "#live .badge", "sent")
    assert api.get(f"/jobs/{job}")["total"] == 10


def test_a_list_of_two_thousand_goes_straight_to_the_bucket_and_to_each_once(
    browser: Browser, api: Api, tmp_path: Path
) -> None:
    tag = uuid.uuid4().hex[:10]
    rows = "".join(f"p{i}-{tag}@example.org,Person {i},Turin\r\n" for i in range(PEOPLE))
    file = tmp_path / "people.csv"
    file.write_text(f"recipient,first_name,city\r\n{rows}nobody,Kim,Turin\r\n", "utf-8")
    browser.click("nav.side a[href$='/campaigns']")
    browser.click("//a[.='Start with a sample']")
    browser.click("//button[.='Create campaign']")
    browser.do("POST", f"{browser.find('#file')}/value", {"text": str(file)})
    comes_to_show(browser, ".state", "2,000 messages to send")
    assert "nobody" in browser.text("#problems ~ .scroll")
    browser.enter("#preview")
    browser.enter("iframe.mail")
    assert "Good morning, Person 0" in browser.text("h1")
    browser.do("POST", "/frame", {"id": None})
    browser.click("//button[.='Continue to the summary']")
    browser.click("//button[.='Send 2,000 messages']")
    job = job_of(browser)
    comes_to_show(browser, "#live .badge", "sent")
    found = api.get(f"/jobs/{job}")
    assert found["total"] == PEOPLE
    log = browser.do("POST", "/se/log", {"type": "browser"})
    assert [x["message"] for x in log if x["level"] == "SEVERE" and "favicon" not in x["message"]] == []


def test_a_test_message_goes_to_whom_the_form_names_and_not_to_the_list(browser: Browser, api: Api) -> None:
    tag = uuid.uuid4().hex[:10]
    browser.click("nav.side a[href$='/campaigns']")
    browser.click("//a[.='Start with a sample']")
    browser.click("//button[.='Create campaign']")
    browser.click("//button[.='Use the sample list']")
    comes_to_show(browser, ".state", "10 messages to send")
    browser.click("//summary[.='Send a test message']")
    browser.do("POST", f"{browser.find('#to')}/value", {"text": f"ann-{tag}@example.org"})
    browser.click("//button[.='Send the test']")
    job = job_of(browser)
    comes_to_show(browser, "#live .badge", "sent")
    assert api.get(f"/jobs/{job}")["total"] == 1
    (line,) = api.items(f"/jobs/{job}/logs")
    assert line["recipient"] == f"ann-{tag}@example.org"
    assert line["state"] in {"sent", "delivered"}
