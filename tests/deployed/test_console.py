"""The console of a local cloud, by clicking: the newsletter that failed over, stop and resume, and who is kept out."""

from collections.abc import Callable
from typing import Any

import pytest

from examples.demo import newsletter
from examples.demo.api import call
from infra.local import deploy, processes, sign_in
from infra.local.accounts import ACCOUNT
from infra.local.cloud import Cloud
from shared.contracts import ENV_PEOPLE_TABLE
from tests.deployed.api import FINAL_SECONDS, Api
from tests.deployed.test_main_path import batch, in_a_day
from tests.fakes.browser import Browser

pytestmark = pytest.mark.browser
HOURS_12 = 12 * 3_600_000
"""Milliseconds that a session lasts."""
CAN_RESUME = "return [...document.querySelectorAll('#live a')].some(a => a.textContent.startsWith('Resume'))"


def opened_console(browser: Browser, cloud: Cloud) -> None:
    """Open the console, and go to the simulated provider of identities."""
    browser.do("POST", "/url", {"url": f"{cloud.api}/console"})
    browser.shows("Sign in to Posthaste")
    browser.click("main a.button")
    browser.shows("Who are you?")


def sign_in_as(browser: Browser, cloud: Cloud, login: str) -> None:
    """Open the console, and be somebody at the simulated provider of identities."""
    opened_console(browser, cloud)
    browser.click(f"button[value='{login}']")


@pytest.mark.timeout(600)
def test_a_newcomer_sees_the_newsletter_that_failed_over_down_to_the_mail_in_the_inbox(
    cloud: Cloud, api: Api, browser: Browser
) -> None:
    newsletter.strike(cloud)  # what `make run` does first
    sent = newsletter.send(cloud)
    newsletter.watch(cloud, sent)
    moved = next(
        line
        for line in api.items(f"/jobs/{sent.job_id}/logs")
        if sum(line["providers"].values()) > 1 and line["state"] == "delivered"
    )

    sign_in_as(browser, cloud, sign_in.OPERATOR)
    browser.shows("Accounts")
    browser.click(f"//main//table//a[.='{ACCOUNT}']")
    browser.shows("Overview")
    browser.click(f"//a[contains(@href, '{sent.job_id}') and not(contains(@href, 'messages'))]")
    browser.shows("newsletter")
    delivered = call(cloud, "GET", f"/jobs/{sent.job_id}")["counts"]["delivered"]
    browser.reads("#live a[href$='state=delivered']", f"{delivered:,}")

    browser.click("//nav[@class='side']//a[.='Messages']")
    browser.shows("Messages")
    browser.do("POST", f"{browser.find('#recipient')}/value", {"text": moved["recipient"]})
    browser.click("//form[@role='search']//button")
    browser.click(f"//main//table//a[contains(@href, '{sent.job_id}')]")
    browser.find(f"//h1[contains(., '{moved['recipient']}')]")  # an internationalised one is also shown as written
    timeline = browser.text(".timeline")
    assert newsletter.OUTAGE[1] in timeline
    assert timeline.rindex("delivered by") > timeline.index(newsletter.OUTAGE[1])
    browser.click("//ol[@class='timeline']//a[contains(., 'inbox')]")
    browser.reads("article dl", sent.job_id)
    assert moved["recipient"].lower() in browser.text("article dl").lower()
    browser.enter("iframe")
    browser.reads("body", "Gazette")


def test_a_job_is_stopped_and_resumed_by_a_person_whom_the_audit_log_names(
    cloud: Cloud, api: Api, browser: Browser, tag: str
) -> None:
    body = batch(f"ann+{tag}@example.com", f"ben+{tag}@example.com", scheduled_at=in_a_day(), name=f"Later {tag}")
    job = api.call("POST", "/batches", body).body["job_id"]
    sign_in_as(browser, cloud, sign_in.OPERATOR)
    browser.click(f"//main//table//a[.='{ACCOUNT}']")
    browser.click("//nav[@class='side']//a[.='Jobs']")
    browser.click(f"//a[.='Later {tag}']")
    browser.reads("#live", "scheduled")
    browser.click("//a[.='Stop …']")
    browser.shows("Stop this job?")
    assert "2 of 2 messages" in browser.text("main")
    browser.click("main button.danger")
    browser.reads("#live", "Stopped by hand")
    assert api.get(f"/jobs/{job}")["stop_reason"] == "user"
    assert processes.wait_for(lambda: bool(browser.script(CAN_RESUME)), FINAL_SECONDS, pause=0.2), "no rest"
    browser.click("//a[.='Resume …']")
    browser.shows("Resume this job?")
    browser.click("main button.primary")
    browser.shows(f"Later {tag}")
    browser.until(lambda: "Stopped by hand" not in browser.text("#live"), "the job is not resumed")
    browser.click("//nav[@class='side']//a[.='Audit log']")
    browser.reads("main", f"user:{sign_in.OPERATOR}")
    done = {e["action"] for e in api.get("/audit?limit=50")["items"] if e["actor"] == f"user:{sign_in.OPERATOR}"}
    assert {"job.stopped", "job.resumed"} <= done


def test_who_is_not_allowed_is_refused_and_keeps_nothing(cloud: Cloud, browser: Browser) -> None:
    sign_in_as(browser, cloud, "stranger")
    browser.shows("You may not use this console")
    browser.do("POST", "/url", {"url": f"{cloud.api}/console"})
    browser.shows("Sign in to Posthaste")


def test_who_cancels_at_the_provider_is_not_signed_in(cloud: Cloud, browser: Browser) -> None:
    browser.do("POST", "/url", {"url": f"{cloud.api}/console/begin"})
    browser.click("button[name='cancel']")
    browser.shows("You did not sign in")


def test_a_session_that_has_expired_leads_to_the_sign_in_and_back_to_the_page(
    cloud: Cloud, browser: Browser, stacks: list[deploy.Stack], aws: Callable[[str], Any]
) -> None:
    sign_in_as(browser, cloud, sign_in.OPERATOR)
    browser.click(f"//main//table//a[.='{ACCOUNT}']")
    browser.click("//nav[@class='side']//a[.='Jobs']")
    browser.shows("Jobs")
    _age_sessions(stacks, aws)
    browser.click("//nav[@class='side']//a[.='Members']")
    browser.shows("Sign in to Posthaste")
    browser.click("main a.button")
    browser.click(f"button[value='{sign_in.OPERATOR}']")
    browser.shows("Members")
    browser.click(".person summary")
    browser.click("//button[.='Sign out']")
    browser.shows("Sign in to Posthaste")


def _age_sessions(stacks: list[deploy.Stack], aws: Callable[[str], Any]) -> None:
    """Make all sessions older than they may be."""
    functions = [name for stack in stacks for name, _ in stack.of_type("AWS::Lambda::Function")]
    found = [aws("lambda").get_function_configuration(FunctionName=name) for name in functions]
    tables = {x.get("Environment", {}).get("Variables", {}).get(ENV_PEOPLE_TABLE) for x in found} - {None}
    (people,) = tables
    for item in aws("dynamodb").scan(TableName=people)["Items"]:
        if item["pk"]["S"].startswith("S#"):
            for name in ("created_at", "expires"):
                item[name] = {"N": str(int(item[name]["N"]) - HOURS_12)}
            aws("dynamodb").put_item(TableName=people, Item=item)
