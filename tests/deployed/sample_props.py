"""What the samples of the documentation need to be there before they run, on the local cloud."""

import base64
import itertools
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, Final
from urllib.parse import quote, urlsplit

from functions.api.examples import given
from infra.local import accounts
from infra.local.cloud import Cloud
from infra.local.processes import wait_for
from shared.domain.accounts import id_of_key, key_digest
from simulator.client import ControlClient
from tests.deployed.api import LOOK_SECONDS, Api
from tests.deployed.inside import Inside
from tests.fakes.image_files import png

SOON: Final = 60
LANE: Final = "sendgrid-main"
Values = dict[str, str]
"""A literal of a sample → what it is replaced by."""


class Props:
    """Makes what a sample needs. What a sample ends or deletes is made anew for each run."""

    def __init__(self, cloud: Cloud, inside: Inside, api: Api, control: ControlClient, tag: str) -> None:
        self._cloud, self._inside, self._api, self._control, self._tag = cloud, inside, api, control, tag
        self._numbers = itertools.count(1)
        self._clinic = Api(api.url, "")

    def values(self, name: str) -> Values:
        """Return the replacements for a sample of an operation."""
        new = self._new()
        later = datetime.now(UTC) + timedelta(hours=2)
        always = {
            given.KEY: f"key-{new}",
            given.PAST: (later - timedelta(hours=3)).strftime("%Y-%m-%dT%H:%M:%SZ"),
            given.TIME: later.strftime("%Y-%m-%dT%H:%M:%SZ"),
            given.DAY: f"{later + timedelta(days=1):%Y-%m-%d}",
            "run-4711": f"run-{new}",
        }
        return {**always, **self._of(name)()}

    def environment(self, name: str) -> Mapping[str, str]:
        """Return what the environment of an operation's samples has otherwise: the key of who approves."""
        return {"POSTHASTE_API_KEY": self._two[1].key} if name in _APPROVALS else {}

    def clean(self) -> None:
        """Delete endpoints and claims of domains, of which an account may have a few."""
        for sender in self._api.get("/senders")["items"]:
            if sender["state"] == "pending":
                self._api.call("DELETE", f"/senders/{sender['sender']}")
        for hook in self._api.get("/hooks")["items"]:
            self._api.call("DELETE", f"/hooks/{hook['id']}")

    def _of(self, name: str) -> Callable[[], Values]:
        makers: Mapping[str, Callable[[], Values]] = {
            **dict.fromkeys(("retryCampaign", "resumeCampaign", "stopCampaign"), self._sent_campaign),
            **dict.fromkeys(("exportCampaign", "listCampaignMessages", "getCampaignStats"), self._sent_campaign),
            **dict.fromkeys(("getCampaign", "overrideBounceGuard"), self._sent_campaign),
            **dict.fromkeys(("changeCampaign", "putCampaignTemplate", "deleteCampaign", "createUpload"), self._draft),
            **dict.fromkeys(("putRecipients", "testCampaign"), self._draft),
            **dict.fromkeys(("previewCampaign", "sendCampaign", "deleteUpload", "getUpload", "useList"), self._listed),
            "completeUpload": self._uploaded,
            **dict.fromkeys(_APPROVALS[:2], self._waiting),
            **dict.fromkeys(_APPROVALS[2:], self._proposed),
            "createAccessToken": lambda: {"KEY_ID": id_of_key(key_digest(self._api.key))},
            **dict.fromkeys(("deleteSchedule", "rescheduleJob", "rescheduleBatch"), self._scheduled),
            "rescheduleCampaign": self._scheduled_campaign,
            **dict.fromkeys(("deleteTemplate", "getTemplate", "putTemplate", "listTemplateVersions"), self._template),
            "deleteImage": self._image,
            **dict.fromkeys(("createProgram", "putMessages"), self._course),
            **dict.fromkeys(("getProgram", "putProgram", "deleteProgram"), self._program),
            "postEvents": self._policy,
            "getDigestPolicy": self._policy,
            "previewDigestPolicy": self._policy,
            "deleteDigestPolicy": self._policy,
            "putDigestPolicy": lambda: {given.PREFIX: f"firm-{self._new()}/"},
            **dict.fromkeys(("getDigest", "closeDigest", "cancelDigest"), self._window),
            "getMail": self._mail,
            **dict.fromkeys(("dropDestination", "rescheduleDestination"), self._mail),
            "commitMail": self._draft_of_mail,
            **dict.fromkeys(("getHook", "changeHook", "deleteHook", "rotateHook", "testHook"), self._hook),
            **dict.fromkeys(("getPendingDeliveries", "listHookDeliveries"), self._hook),
            "replayHook": self._endpoint,
            **dict.fromkeys(("getHookDelivery", "retryHookDelivery", "endPendingDelivery"), self._delivery),
            "createHook": lambda: {"https://shop.example.com/": "http://localhost:9/"},
            "createNotifier": lambda: {given.NOTIFIER: f"clinic-{self._new()}"},
            **dict.fromkeys(("getNotifier", "changeNotifier", "deleteNotifier", "rotateNotifier"), self._notifier),
            "getNotifierStats": self._notifier,
            "getMessage": self._notice,
            **dict.fromkeys(("getSuppression", "deleteSuppression"), self._suppression),
            **dict.fromkeys(("getGuest", "deleteGuest"), self._guest),
            "createSender": lambda: {given.PATHS["domain"]: f"d{self._new()}.example.net"},
            **dict.fromkeys(("getSender", "deleteSender"), self._claim),
            "putGuest": lambda: {given.ADDRESS: f"ann+{self._new()}@example.org"},
            "putSuppression": lambda: {given.ADDRESS: f"ann+{self._new()}@example.org"},
            **dict.fromkeys(("showUnsubscription", "unsubscribe"), self._link),
            "undoUnsubscription": self._left,
        }
        return makers.get(name, self._job)

    def _new(self) -> str:
        return f"{self._tag}{next(self._numbers)}"

    def _made(self, method: str, path: str, body: Any = None, api: Api | None = None) -> Any:
        answer = (api or self._api).call(method, path, body)
        assert answer.status < 300, (method, path, answer.status, answer.body)
        return answer.body

    @cached_property
    def _finished(self) -> str:
        job = self._api.post([f"samples+{self._tag}@example.com"], LANE)
        self._api.finished(job)
        return job

    def _job(self) -> Values:
        return {given.JOB: self._finished}

    def _image(self) -> Values:
        data = png(2, 3, colour=self._new().encode()[-3:])
        return {given.IMAGE: self._made("POST", "/images", {"data": base64.b64encode(data).decode()})["id"]}

    def _scheduled(self) -> Values:
        later = (datetime.now(UTC) + timedelta(hours=2)).isoformat()
        body = {"from": "news@example.com", "to": "a@example.org", "subject": "x", "text": "x", "scheduled_at": later}
        return {given.JOB: self._made("POST", "/batches", body)["job_id"]}

    def _scheduled_campaign(self) -> Values:
        found = self._listed()
        later = (datetime.now(UTC) + timedelta(hours=2)).isoformat()
        self._made("POST", f"/campaigns/{found[given.CAMPAIGN]}/send", {"scheduled_at": later})
        return found

    def _draft(self, api: Api | None = None) -> Values:
        body = {"name": "Samples", "channel": "email", "credential_id": LANE, "template": _SAYS}
        return {given.CAMPAIGN: self._made("POST", "/campaigns", body, api)["campaign_id"]}

    def _listed(self, api: Api | None = None) -> Values:
        own = api or self._api
        campaign = self._draft(own)[given.CAMPAIGN]
        rows = {"recipients": [{"recipient": f"ada+{self._new()}@example.com", "first_name": "Ada"}]}
        upload = self._made("PUT", f"/campaigns/{campaign}/recipients", rows, own)["upload_id"]
        assert wait_for(lambda: own.get(f"/campaigns/{campaign}")["state"] == "ready", SOON, LOOK_SECONDS)
        return {given.CAMPAIGN: campaign, given.UPLOAD: upload}

    @cached_property
    def _two(self) -> tuple[Api, Api]:
        """Who asks, and who approves, in an account of their own: other lists would wait as well."""
        here = self._inside.deployment, self._inside.port
        account = accounts.posthaste(*here, "account", "create", f"samples-{self._tag}", "--sender", accounts.SENDER)[
            "account_id"
        ]
        asks, approves = (
            Api(self._api.url, accounts.posthaste(*here, "key", "create", account)["key"]) for _ in range(2)
        )
        self._made("PUT", "/approval-limit", {"above": 0}, asks)
        return asks, approves

    def _waiting(self) -> Values:
        asks, _ = self._two
        campaign = self._listed(asks)[given.CAMPAIGN]
        asked = self._made("POST", f"/campaigns/{campaign}/send", {}, asks)
        return {given.CAMPAIGN: campaign, given.APPROVAL: asked["approval_id"]}

    def _proposed(self) -> Values:
        asks, _ = self._two
        self._made("PUT", "/approval-limit", {"above": 0}, asks)
        return {given.APPROVAL: self._made("PUT", "/approval-limit", {"above": 1000}, asks)["proposal"]["approval_id"]}

    @cached_property
    def _campaign(self) -> str:
        campaign = self._listed()[given.CAMPAIGN]
        self._api.finished(self._made("POST", f"/campaigns/{campaign}/send", {})["job_id"])
        return campaign

    def _sent_campaign(self) -> Values:
        return {given.CAMPAIGN: self._campaign}

    def _uploaded(self) -> Values:
        campaign = self._draft()[given.CAMPAIGN]
        place = self._made("POST", f"/campaigns/{campaign}/uploads", {})
        _put(place, b"recipient,first_name\nada@example.com,Ada\n")
        return {given.CAMPAIGN: campaign, given.UPLOAD: place["upload_id"]}

    def _template(self) -> Values:
        body = {"name": "Samples", "channel": "email", **_SAYS}
        return {given.TEMPLATE: self._made("POST", "/templates", body)["template_id"]}

    @cached_property
    def _text(self) -> str:
        body = {"name": "Samples", "channel": "sms", "body": "Hello {{ first_name }}."}
        return str(self._made("POST", "/templates", body)["template_id"])

    def _course(self) -> Values:
        return {
            given.TEMPLATE: self._text,
            given.PROGRAM: f"course-{self._new()}",
            f'"{given.NOTICE}"': f'"{self._new()}"',
            f"'{given.NOTICE}'": f"'{self._new()}'",
        }

    def _program(self) -> Values:
        name = f"course-{self._new()}"
        body = {"name": name, "steps": [{"template_id": self._text, "offset_days": 1}]}
        self._made("POST", "/programs", body)
        return {given.PROGRAM: name, given.TEMPLATE: self._text}

    def _policy(self) -> Values:
        prefix = f"firm-{self._new()}/"
        self._made("PUT", f"/digest-policies/{prefix}", {"from": "Jobs <jobs@example.com>"})
        return {given.PREFIX: prefix}

    def _window(self) -> Values:
        prefix = self._policy()[given.PREFIX]
        event = {"event_type": "x", "batch_key": f"{prefix}production", "recipients": [given.ADDRESS]}
        return {given.WINDOW: self._made("POST", "/events", event)["items"][0]["window_id"]}

    def _mail(self) -> Values:
        later = (datetime.now(UTC) + timedelta(hours=5)).isoformat()
        body = {
            "mail_from": "bounces@example.com",
            "destinations": [{"address": given.ADDRESS, "schedule_at": later}],
            "content": given.MESSAGE,
        }
        return {given.MAIL: self._made("POST", "/mails", body)["mail_id"]}

    def _draft_of_mail(self) -> Values:
        body = {"mail_from": "bounces@example.com", "destinations": [{"address": f"a+{self._new()}@example.org"}]}
        place = self._made("POST", "/mails/uploads", body)
        _put(place, given.MESSAGE.encode())
        return {given.MAIL: place["mail_id"]}

    def _hook(self) -> Values:
        self.clean()
        return {given.HOOK: self._made("POST", "/hooks/listen", {})["id"]}

    def _endpoint(self) -> Values:
        self.clean()
        return {given.HOOK: self._made("POST", "/hooks", {"url": "http://localhost:9/", "events": ["*"]})["id"]}

    def _delivery(self) -> Values:
        hook = self._hook()[given.HOOK]
        delivery = self._made("POST", f"/hooks/{hook}/test")["id"]
        return {given.HOOK: hook, given.DELIVERY: quote(delivery, safe="")}

    def _notifier(self) -> Values:
        name = f"clinic-{self._new()}"
        self._made("POST", "/notifiers", {"name": name, "timezone": "UTC"})
        return {given.NOTIFIER: name}

    def _notice(self) -> Values:
        name = self._new()
        record = {
            "id": name,
            "action": "MESSAGE_NEW",
            "first_name": "Ann",
            "phone_number": "+61491570156",
            "template_id": self._text,
            "delivery_method": "SMS",
            "delivery_date": f"{datetime.now(UTC) + timedelta(days=3):%Y-%m-%d}",
        }
        assert self._clinic.call("PUT", "/messages", [record], authorization=self._login).status == 200
        assert wait_for(
            lambda: self._clinic.call("GET", f"/messages/{name}", authorization=self._login).status == 200,
            SOON,
            LOOK_SECONDS,
        )
        return {f"/messages/{given.NOTICE}": f"/messages/{name}", f'"{given.NOTICE}"': f'"{name}"'}

    @cached_property
    def _login(self) -> str:
        """The notifier of the local cloud, for HTTP Basic."""
        name, password = (self._cloud.env[x] for x in ("POSTHASTE_NOTIFIER", "POSTHASTE_NOTIFIER_PASSWORD"))
        return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()

    def _suppression(self) -> Values:
        address = f"ann+{self._new()}@example.org"
        self._made("PUT", f"/suppressions/{quote(address, safe='')}", {})
        return {given.ADDRESS: address}

    def _claim(self) -> Values:
        self.clean()
        domain = f"d{self._new()}.example.net"
        self._made("POST", "/senders", {"domain": domain})
        return {given.PATHS["domain"]: domain}

    def _guest(self) -> Values:
        address = f"ann+{self._new()}@example.org"
        self._made("PUT", f"/guests/{quote(address, safe='')}", {})
        return {given.ADDRESS: address}

    def _link(self) -> Values:
        address = f"reader+{self._new()}@example.com"
        body = {"from": "news@example.com", "to": address, "subject": "x", "text": "x", "unsubscribe": True}
        self._api.finished(self._made("POST", "/batches", {**body, "route": [LANE]})["job_id"])
        (row,) = [row for row in self._control.log() if row["recipient"] == address]
        mail = self._control.json("GET", f"/inbox/{row['seq']}.json")
        link = {name.lower(): value for name, value in mail["headers"].items()}["list-unsubscribe"]
        return {given.LINK: link.strip("<>").rpartition("/")[2]}

    def _left(self) -> Values:
        token = self._link()[given.LINK]
        pressed = self._clinic.call("POST", f"/unsubscribe/{token}", raw=b"List-Unsubscribe=One-Click")
        assert pressed.status == 200
        return {given.LINK: token}


_APPROVALS: Final = ("approveCampaign", "refuseCampaign", "approveApprovalLimit", "refuseApprovalLimit")
_SAYS: Final = {"from": "news@example.com", "subject": "Hello {{ first_name }}", "body": "<p>Hello!</p>"}


def _put(place: Mapping[str, Any], content: bytes) -> None:
    """Send a file to where a place of the API's says."""
    parts = urlsplit(place["url"])
    sent = Api(f"{parts.scheme}://{parts.netloc}", "").call(
        "PUT",
        f"{parts.path}?{parts.query}",
        raw=content,
        **{k.lower().replace("-", "_"): v for k, v in place["headers"].items()},
    )
    assert sent.status == 200, sent
