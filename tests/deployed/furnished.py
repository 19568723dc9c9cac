"""An account of a running local cloud with something in each list: what a visitor of the console finds."""

import base64
import http.client
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from examples.demo import notices
from infra.local import processes
from infra.local.cloud import Cloud
from infra.local.console import LocalCloudError
from tests.deployed.api import Api
from tests.deployed.owner import TEMPLATE, Owner
from tests.deployed.visitor import Visitor
from tests.fakes.image_files import png

FROM: Final = "news@example.com"
LANE: Final = "sendgrid-main"
RECIPIENTS: Final = 600
"""More than one chunk, and than a page of a list."""
ROWS: Final = "".join(f"r{n}@example.org,Reader {n}\n" for n in range(60))
NUMBER: Final = 491_570_156
"""Of a phone for fiction, in Australia."""
SECONDS: Final = 60.0
"""In which a notice is stored."""


@dataclass(frozen=True, slots=True)
class Furnisher:
    """Makes something for each list of an account to show. `tag`: part of each name."""

    cloud: Cloud
    api: Api
    tag: str

    def furnish(self) -> dict[str, str]:
        """Make it all, and wait until what is sent at once has ended.

        Returns:
            Addresses, below the account, of questions to which no link may lead, by the names of their pages.
        """
        tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
        sent = self._batch(*(f"p{n}" for n in range(RECIPIENTS)))
        self._batch("later", scheduled_at=tomorrow)
        failed = self._batch("blocked", max_attempts=1)
        stopped = self._batch("rest", scheduled_at=tomorrow)
        self._made("POST", f"/jobs/{stopped}/stop")
        self._campaign()
        self._template()
        self._made("POST", "/images", {"data": base64.b64encode(png()).decode(), "alt": f"Times {self.tag}"})
        self._waiting()
        self._made("PUT", f"/digest-policies/{self.tag}/", {"from": FROM})
        event = {"event_type": "task.failed", "batch_key": f"{self.tag}/a", "recipients": [self._person("ann")]}
        self._made("POST", "/events", [event])
        self._made("PUT", f"/suppressions/{self._person('gone')}")
        self._made("POST", "/senders", {"domain": f"{self.tag}.example.net"})
        url = f"{self.cloud.env['SIMULATOR_URL']}/{self.tag}"
        hook = self._made("POST", "/hooks", {"url": url, "events": ["*"]})["id"]
        self._made("POST", f"/hooks/{hook}/test")
        later = [{"address": self._person("ann"), "schedule_at": tomorrow}]
        self._made(
            "POST", "/mails", {"mail_from": FROM, "destinations": later, "content": f"From: {FROM}\r\n\r\nHi!\r\n"}
        )
        clinic = notices.clinic(self.cloud)
        clinic.put(
            [{**notices.record(clinic, 1, NUMBER), "delivery_date": clinic.day(2), "delivery_expires": clinic.day(3)}]
        )
        assert processes.wait_for(lambda: _there(clinic), SECONDS), "the notice is not stored"
        self.api.finished(sent, leaves=("sent",))  # whatever their providers say later
        assert self.api.finished(failed)["counts"]["failed"] == 1
        return {
            "ask to resume": f"jobs/{stopped}/resume",
            "ask to retry": f"jobs/{failed}/retry",
            "ask to enable a webhook": f"hooks/{hook}/enable",
            "ask to resume an account": "resume",
            "ask to end a suspension": "unsuspend",
            "ask to keep an account": "keep",
        }

    def invite(self, visitor: Visitor, account: str) -> None:
        """Invite two people, of whom one joins. `visitor`: an operator."""
        for login in (self.tag, f"guest-{self.tag}"):
            visitor.press(f"{account}/members", f"{account}/members/invite", login=login, role="viewer")
        with Visitor(self.cloud, self.tag):
            pass  # to sign in is to join

    def _made(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.api.call(method, path, body)
        assert answer.status < http.client.MULTIPLE_CHOICES, (path, answer.status, answer.body)
        return answer.body

    def _person(self, name: str) -> str:
        return f"{name}+{self.tag}@example.org"

    def _batch(self, *people: str, **more: str | int) -> str:
        body = {"from": FROM, "to": [self._person(x) for x in people], "subject": f"Times {self.tag}", "text": "Hi!"}
        return str(self._made("POST", "/batches", {**body, **more})["job_id"])

    def _campaign(self) -> None:
        """Make a campaign without a list, and one with a list that is read."""
        Owner(self.api, LANE, TEMPLATE)
        owner = Owner(self.api, LANE, TEMPLATE)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "list.csv"
            file.write_text(f"recipient,name\n{ROWS}nobody,Kim\n", "utf-8")
            owner.read(owner.upload(file))

    def _waiting(self) -> None:
        """Have a list wait for approval, and a looser limit of such lists."""
        self._made("PUT", "/approval-limit", {"above": 0})
        said = {"from": FROM, "subject": "Wait", "body": "<p>Wait</p>"}
        body = {"name": f"Waits {self.tag}", "channel": "email", "credential_id": LANE, "template": said}
        campaign = self._made("POST", "/campaigns", body)["campaign_id"]
        self._made("PUT", f"/campaigns/{campaign}/recipients", {"recipients": [{"recipient": self._person("ann")}]})
        ready = processes.wait_for(lambda: self.api.get(f"/campaigns/{campaign}")["state"] == "ready", SECONDS)
        assert ready, "the list is not read"
        self._made("POST", f"/campaigns/{campaign}/send", {})
        self._made("PUT", "/approval-limit", {"above": 1000})

    def _template(self) -> None:
        """Store a template of two versions."""
        text = {"name": f"Times {self.tag}", "subject": "Hi {{ name }}", "body": "<p>Hi!</p>"}
        found = self._made("POST", "/templates", {**text, "channel": "email"})
        self._made("PUT", f"/templates/{found['template_id']}", {**text, "body": "<p>Hello!</p>"})


def _there(clinic: notices.Clinic) -> bool:
    """Tell whether the clinic's notice is stored."""
    try:
        clinic.call("GET", f"/messages/{notices.record(clinic, 1, NUMBER)['id']}")
    except LocalCloudError:
        return False
    return True
