"""Each action of the console is done on a cloud, with the rights of its function: no page says that it is our fault."""

import re
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any, Final

import pytest

from infra.local import accounts, sign_in
from infra.local.cloud import Cloud
from infra.local.processes import wait_for
from shared.contracts import ENV_IDENTITIES_TABLE, ENV_RECORDS_TABLE
from tests.console.campaigns import SAID
from tests.deployed.api import Api
from tests.deployed.console_times import account_of
from tests.deployed.inside import Inside
from tests.deployed.visitor import Visitor

pytestmark = pytest.mark.deployed
FROM: Final = "news@example.com"
LANE: Final = "sendgrid-main"
ROWS: Final = "recipient,name\r\na@example.org,Ann\r\nnobody,Kim\r\n"
WAITS: Final = {"from": FROM, "subject": "Wait", "body": "<p>Wait</p>"}
PATIENCE: Final = 60.0
"""Seconds for what a function does by itself."""


@dataclass(frozen=True, slots=True)
class Member:
    """An operator in an account."""

    visitor: Visitor
    account: str

    def shown(self, path: str) -> str:
        """Return a page of the account."""
        return self.visitor.text(f"{self.account}/{path}".rstrip("/"))

    def does(self, path: str, page: str = "", **fields: str) -> str:
        """Send a form of the account, and return the last part of where it leads.

        Args:
            path: of the form.
            page: that has it, with its hidden fields; by default the account's first one.
            fields: of the form, besides the hidden ones.
        """
        there = self.visitor.press(f"{self.account}/{page}".rstrip("/"), f"{self.account}/{path}", **fields)
        return there.rpartition("/")[2]


@pytest.fixture
def member(cloud: Cloud) -> Any:
    with Visitor(cloud, sign_in.OPERATOR) as visitor:
        yield Member(visitor, account_of(visitor))


def made(api: Api, method: str, path: str, body: Any = None) -> Any:
    """Make a call of the API that succeeds; return its answer."""
    answer = api.call(method, path, body)
    assert answer.status < 300, (path, answer.status, answer.body)
    return answer.body


def test_templates(member: Member) -> None:
    name = member.does("templates/new", "templates/new", **SAID)
    member.does(f"templates/{name}/edit", f"templates/{name}/edit", **{**SAID, "subject": "Hi {{ name }}"})
    member.shown(f"templates/{name}/preview")
    member.does(f"templates/{name}/delete", f"templates/{name}/delete")


def test_a_campaign_and_its_list(member: Member) -> None:
    name = member.does("campaigns/new", "campaigns/new", **SAID, credential=LANE)
    there = f"campaigns/{name}"
    member.does(f"{there}/edit", f"{there}/edit", **{**SAID, "subject": "Hi {{ name }}"}, credential=LANE)
    hidden = member.visitor.fields(f"{member.account}/{there}/edit")
    member.visitor.post(f"{member.account}/{there}/preview", {**hidden, **SAID, "row": "1"})
    member.shown(f"{there}/sample-list.csv")
    member.does(f"{there}/paste", there, rows=ROWS)
    assert wait_for(lambda: "1 message to send" in member.shown(there), PATIENCE), "the list is not read"
    assert "nobody" in member.shown(f"{there}/problems.csv")
    other = member.does("campaigns/new", "campaigns/new", **SAID, credential=LANE)
    member.does(f"campaigns/{other}/list-of", f"campaigns/{other}", list_of=name)
    assert wait_for(lambda: "1 message to send" in member.shown(f"campaigns/{other}"), PATIENCE), "not read again"
    member.does(f"{there}/header", f"{there}/header", row="1", column="recipient")
    assert wait_for(lambda: "1 message to send" in member.shown(there), PATIENCE), "not read by its row"
    member.does(f"{there}/withdraw", f"{there}/withdraw")
    member.does(f"{there}/delete", f"{there}/delete")


def waits(api: Api) -> str:
    """Send a list that waits for approval; return its campaign."""
    body = {"name": "Waits", "channel": "email", "credential_id": LANE, "template": WAITS}
    name = made(api, "POST", "/campaigns", body)["campaign_id"]
    made(api, "PUT", f"/campaigns/{name}/recipients", {"recipients": [{"recipient": "a@example.org"}]})
    assert wait_for(lambda: api.get(f"/campaigns/{name}")["state"] == "ready", PATIENCE), "the list is not read"
    assert made(api, "POST", f"/campaigns/{name}/send", {})["waiting_for"] == "approval"
    return str(name)


def test_approvals_of_lists_and_limits(inside: Inside, api: Api, member: Member) -> None:
    try:
        member.does("approvals/limit", "approvals/limit?which=every")
        for action in ("approve", "refuse"):
            there = f"campaigns/{waits(api)}/{action}"
            member.does(there, there)
        for action, above in (("disagree", 1000), ("agree", 2000)):
            made(api, "PUT", "/approval-limit", {"above": above})
            member.does(f"approvals/{action}", f"approvals/{action}")
        assert api.get("/approval-limit")["above"] == 2000
    finally:
        accounts.posthaste(inside.deployment, inside.port, "account", "approval", accounts.ACCOUNT, "--off")


def test_members(cloud: Cloud, member: Member, tag: str) -> None:
    for login in (tag, f"guest-{tag}"):
        member.does("members/invite", "members", login=login, role="viewer")
    with Visitor(cloud, tag) as joined:
        joined.press(member.account, "sign-out-everywhere")
    page = member.shown("members")
    (row,) = re.findall(rf"<tr>(?:(?!</tr>).)*{tag}(?:(?!</tr>).)*remove\?user=([^\"&]+)", page, re.DOTALL)[-1:]
    user = row.replace("%23", "#").replace("%3A", ":")
    member.does("members/role", "members", user=user, role="sender")
    member.does("members/withdraw", "members", login=f"guest-{tag}")
    member.does("members/remove", "members", user=user)


def test_a_domain_and_a_suppression(member: Member, tag: str) -> None:
    domain = f"{tag}.example.net"
    member.does("senders/add", "senders", domain=domain)
    member.does(f"senders/{domain}/give-up", f"senders/{domain}/give-up")
    address = {"address": f"ann+{tag}@example.org", "list": "all", "keys": "live"}
    member.does("suppressions/add", "suppressions", **address, reason="asked", sure="1")
    member.does("suppressions/lift", "suppressions", **address)


def test_windows_of_events(api: Api, member: Member, tag: str) -> None:
    made(api, "PUT", f"/digest-policies/{tag}/", {"from": FROM})
    made(api, "PUT", f"/digest-policies/{tag}-b", {"from": FROM})
    made(api, "GET", f"/digest-policies/{tag}-b/preview")
    for action in ("close", "cancel"):
        event = {"event_type": "x", "batch_key": f"{tag}/{action}", "recipients": [f"{action}+{tag}@example.org"]}
        window = made(api, "POST", "/events", [event])["items"][0]["window_id"]
        member.does(f"digests/{window}/{action}", f"digests/{window}/{action}")


def test_destinations_of_a_mail(api: Api, member: Member, tag: str) -> None:
    later = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    for action in ("drop", "hurry"):
        address = f"{action}+{tag}@example.org"
        mail = {"mail_from": FROM, "content": f"From: {FROM}\r\n\r\nHi!\r\n"}
        name = made(api, "POST", "/mails", {**mail, "destinations": [{"address": address, "schedule_at": later}]})
        member.does(f"mails/{name['mail_id']}/{action}", f"mails/{name['mail_id']}", address=address)


def test_a_webhook(cloud: Cloud, member: Member, tag: str) -> None:
    url = f"{cloud.env['SIMULATOR_URL']}/{tag}"
    there = f"hooks/{member.does('hooks/add', 'hooks', url=url, every='1', format='standard')}"
    assert wait_for(lambda: "deliveries/" in member.shown(there), PATIENCE), "nothing is posted"
    delivery = re.findall(r"deliveries/([^\"]+)\"", member.shown(there))[0]
    assert wait_for(lambda: "failed" in member.shown(there) or "delivered" in member.shown(there), PATIENCE)
    member.does(f"{there}/test", there)
    member.does(f"{there}/deliveries/{delivery}/retry", f"{there}/deliveries/{delivery}")
    since = str(int((datetime.now(UTC) - timedelta(minutes=5)).timestamp() * 1000))
    member.does(f"{there}/replay", there, since=since)
    for action in ("pause", "enable", "delete"):
        member.does(f"{there}/{action}", there)


def test_a_batch_is_retried(api: Api, member: Member) -> None:
    to = [f"blocked+{uuid.uuid4().hex[:10]}@example.org"]
    body = {"from": FROM, "to": to, "subject": "Hello", "text": "Hi!", "max_attempts": 1}
    job = made(api, "POST", "/batches", body)["job_id"]
    assert api.finished(job)["counts"]["failed"] == 1
    member.does(f"jobs/{job}/retry", f"jobs/{job}/retry")


def test_a_batch_that_waits_gets_another_time_and_is_sent_now(api: Api, member: Member) -> None:
    later = datetime.now(UTC) + timedelta(hours=2)
    to = f"moved+{uuid.uuid4().hex[:10]}@example.org"
    body = {"from": FROM, "to": to, "subject": "Hello", "text": "Hi!", "scheduled_at": later.isoformat()}
    job = made(api, "POST", "/batches", body)["job_id"]
    chosen = f"at={later + timedelta(days=1):%Y-%m-%dT%H:%M}&zone=UTC"
    member.does(f"jobs/{job}/time", f"jobs/{job}/time?{chosen}")
    member.does(f"jobs/{job}/now", f"jobs/{job}/now")
    assert api.finished(job)["counts"]["delivered"] == 1


def test_the_switches_of_operators(member: Member) -> None:
    visitor = member.visitor
    member.does("pause", "pause")
    member.does("resume", "resume")
    for path in ("credentials/all", f"credentials/{LANE}"):
        for action in ("pause", "resume"):
            visitor.press(f"{path}/{action}", f"{path}/{action}")
    visitor.press(f"credentials/{LANE}/rate", f"credentials/{LANE}/rate", rate="1")
    visitor.press(f"credentials/{LANE}/close", f"credentials/{LANE}/close")
    visitor.press(f"credentials/{LANE}/rate", f"credentials/{LANE}/rate", rate="0")  # as declared


def test_operators_press_keys_and_dead_letters(member: Member) -> None:
    """By the function of its own, with its own rights: keys, and a look at a queue without dead letters."""
    there = f"{member.account}/keys"
    fields = member.visitor.fields(f"{there}/new")
    made = member.visitor.post(f"{there}/new", {**fields, "name": "Pressed", "kind": "live", "proof": "key"})
    assert (found := re.search(r"ph_live_[A-Za-z0-9_-]{43}", made)) is not None
    assert found[0] in member.visitor.post(
        f"{there}/new", {**fields, "name": "Pressed", "kind": "live", "proof": "key"}
    )
    (key,) = set(re.findall(r"Key ([0-9a-f]{16}) is ready", made))
    member.does(f"keys/{key}/change", f"keys/{key}/change", networks="192.0.2.0/24", days="3")
    fields = member.visitor.fields(f"{there}/{key}/rotate")
    rotated = member.visitor.post(f"{there}/{key}/rotate", {**fields, "hours": "1"})
    (heir,) = set(re.findall(r"Key ([0-9a-f]{16}) is ready", rotated))
    for name in (key, heir):
        member.does(f"keys/{name}/revoke", f"keys/{name}/revoke")
        assert name not in member.shown("keys")
    assert "Dead letters of due" in member.visitor.text("dead-letters/due")
    assert "20,000" in member.visitor.text("credentials/warming/warmup")
    fields = {**member.visitor.fields(""), "limit": "5", "run": ""}
    assert "<b>0</b> are worked on again" in member.visitor.post("dead-letters/due", fields)


def test_operators_see_to_an_account(member: Member, tag: str) -> None:
    """By the function of its own: it is made, limited, suspended and let go."""
    visitor, form = member.visitor, {"name": f"Clinic {tag}", "senders": f"{tag}.example.net"}
    made = visitor.press("new-account", "new-account", **form).rpartition("/console/")[2].partition("/")[0]
    other = Member(visitor, made)
    other.does("manage", "manage", **{"limit email": "5", "countries": "DE"})
    assert 'value="5"' in other.shown("manage")
    other.does("suspend", "suspend", reason="unpaid")
    assert "End the suspension" in other.shown("manage")
    other.does("unsuspend", "unsuspend")
    assert "Suspend …" in other.shown("manage")


def test_an_account_leaves(inside: Inside, member: Member, tag: str) -> None:
    """Planned and kept by buttons, and deleted by the command at its time, which the test moves."""
    visitor, form = member.visitor, {"name": f"Leaver {tag}", "senders": "example.com"}
    name = visitor.press("new-account", "new-account", **form).rpartition("/console/")[2].partition("/")[0]
    other = Member(visitor, name)
    other.does("leave", "leave", days="1")
    assert "going to be deleted" in other.shown("keys")
    other.does("keep", "keep")
    other.does("leave", "leave", days="1")
    other.does("templates/new", "templates/new", **SAID)
    places = ({"pk": {"S": f"A#{name}"}, "sk": {"S": "PROFILE"}}, {"pk": {"S": "ACCOUNTS"}, "sk": {"S": name}})
    for table, key in product((ENV_IDENTITIES_TABLE, ENV_RECORDS_TABLE), places):  # the second, for a rollback
        inside.dynamo.call(
            "update_item",
            TableName=inside.deployment.environment[table],
            Key=key,
            UpdateExpression="SET leaves_at = :past",
            ExpressionAttributeValues={":past": {"N": "1"}},
        )
    done = accounts.posthaste(inside.deployment, inside.port, "account", "delete", name, "--yes")
    assert (done["account_id"], done["deleted"] > 1) == (name, True)
    listed = accounts.posthaste(inside.deployment, inside.port, "account", "list")
    assert name not in str(listed)
    assert "account.deleted" in str(accounts.posthaste(inside.deployment, inside.port, "audit", name))
