"""A newcomer makes an account of their own in the console of a local cloud, and sends with its key."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from infra.local.cloud import Cloud
from simulator.client import ControlClient
from tests.deployed.api import Api
from tests.deployed.owner import mail_to
from tests.deployed.shell import checkout, typed
from tests.deployed.test_console import opened_console
from tests.deployed.visitor import Visitor
from tests.fakes.browser import Browser

pytestmark = pytest.mark.browser
KEY = re.compile(r"ph_live_[A-Za-z0-9_-]{43}")
ACCOUNT = re.compile(r"acc_[0-9a-z]{12}")
DOMAIN = "example.com"


@pytest.fixture
def login(tag: str) -> str:
    """Of a person whom the console has never seen."""
    return f"new-{tag}"


def sign_in_as_new(browser: Browser, cloud: Cloud, login: str) -> None:
    """Open the console, and be a person at the simulated GitHub whom it does not list."""
    opened_console(browser, cloud)
    browser.do("POST", f"{browser.find('input[name=other]')}/value", {"text": login})
    browser.click("#other")
    browser.shows("Accounts")


def test_a_newcomer_makes_an_account_and_sends_with_its_key(
    cloud: Cloud, control: ControlClient, browser: Browser, login: str, tmp_path: Path
) -> None:
    sign_in_as_new(browser, cloud, login)
    browser.reads("main", "You are not a member of an account yet")
    browser.click("//button[.='Make my account']")
    browser.shows("Your account")
    key = browser.text("#key")
    assert KEY.fullmatch(key)
    browser.click("//a[.='Go to my account']")
    browser.shows("Overview")
    (account,) = set(ACCOUNT.findall(str(browser.do("GET", "/url"))))
    assert key not in browser.script("return document.documentElement.outerHTML")

    typed(f".venv/bin/posthaste sender add {account} {DOMAIN}", checkout(cloud, tmp_path))
    api = Api(cloud.api, key)
    to = f"{login}@example.org"
    body = {"from": f"me@{DOMAIN}", "to": [to], "subject": f"Hello from {login}", "text": "It works."}
    answer = api.call("POST", "/batches", body)
    assert answer.status == 202, answer.body
    api.finished(answer.body["job_id"])
    assert mail_to(control, to)["subject"] == body["subject"]

    browser.click("//nav[@class='side']//a[.='Jobs']")
    browser.click(f"//a[.='{body['subject']}']")
    browser.reads("#live a[href$='state=delivered']", "1")
    browser.click("#live a[href$='state=delivered']")
    browser.click(f"//a[.='{to}']")
    browser.reads(".timeline", "delivered")


def test_a_second_tab_makes_no_second_account(cloud: Cloud, browser: Browser, login: str) -> None:
    sign_in_as_new(browser, cloud, login)
    first, address = browser.do("GET", "/window"), browser.do("GET", "/url")
    second = browser.do("POST", "/window/new", {"type": "tab"})["handle"]
    browser.do("POST", "/window", {"handle": second})
    browser.do("POST", "/url", {"url": address})
    browser.click("//button[.='Make my account']")
    browser.shows("Your account")
    assert KEY.fullmatch(browser.text("#key"))
    made = browser.attribute("//a[.='Go to my account']", "href")
    browser.do("POST", "/window", {"handle": first})
    browser.click("//button[.='Make my account']")
    browser.shows("Your account")
    browser.reads("main", "its key was shown then")
    assert browser.attribute("//a[.='Go to my account']", "href") == made


def test_two_tabs_at_once_make_one_account(cloud: Cloud, login: str) -> None:
    together = threading.Barrier(2, timeout=60)

    def join(_: int) -> str:
        with Visitor(cloud, login) as visitor:
            fields = visitor.fields("")
            together.wait()
            return visitor.post("join", fields)

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(join, range(2)))
    assert len({account for page in found for account in ACCOUNT.findall(page)}) == 1
    assert sorted(len(set(KEY.findall(page))) for page in found) == [0, 1]
