"""A campaign as its owner drives it over the API, and what its recipients do with the mail."""

import http.client
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from infra.local import processes
from simulator.client import ControlClient
from tests.deployed.api import LOOK_SECONDS, Answer, Api

TEMPLATE: Final = {
    "from": "News <news@example.com>",
    "subject": "News for {{ name }}",
    "body": '<p>Dear {{ name }},</p><p>no more of it: <a href="{{ unsubscribe_url }}">unsubscribe</a></p>',
}
READ_SECONDS: Final = 900
AIM_SECONDS: Final = 0.02
"""Between two looks while something aims at a moment."""
_LINK: Final = re.compile(r'href="([^"]+/unsubscribe/[^"]+)"')
_ONE_CLICK: Final = "List-Unsubscribe=One-Click"


class Owner:
    """Somebody with a campaign. `id`: the campaign's."""

    def __init__(self, api: Api, lane: str, template: dict[str, str], channel: str = "email") -> None:
        self._api = api
        body = {"name": "Proof", "channel": channel, "credential_id": lane, "template": template}
        self.id: str = self.call("POST", "/campaigns", body)["campaign_id"]

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Return the JSON of a call that must succeed."""
        answer = self._api.call(method, path, body)
        assert 200 <= answer.status < 300, (method, path, answer.status, answer.body)
        return answer.body

    def upload(self, file: Path, **options: str) -> str:
        """Put a list where the API says and have it read; return the upload's id."""
        place = self.call("POST", f"/campaigns/{self.id}/uploads", options)
        etag = put(place["url"], file, place["headers"], place["method"])
        self.call("POST", f"/campaigns/{self.id}/uploads/{place['upload_id']}/complete", {"etag": etag})
        found: str = place["upload_id"]
        return found

    def read(self, upload: str, meanwhile: Callable[[dict[str, Any]], None] | None = None) -> dict[str, Any]:
        """Wait until a list is read; `meanwhile`, which may aim at a moment, is called with how far it is."""
        found: dict[str, Any] = {}

        def ended() -> bool:
            nonlocal found
            found = self._api.get(f"/campaigns/{self.id}/uploads/{upload}")
            if meanwhile is not None:
                meanwhile(found)
            return found["state"] in ("ready", "sent", "failed")

        assert processes.wait_for(ended, READ_SECONDS, pause=AIM_SECONDS if meanwhile else LOOK_SECONDS), found
        return found

    def send(self, **options: Any) -> str:
        """Send the list that was read; return the job's id."""
        job: str = self.call("POST", f"/campaigns/{self.id}/send", options)["job_id"]
        return job

    def post(self, word: str) -> Any:
        """Stop, resume or retry."""
        return self.call("POST", f"/campaigns/{self.id}/{word}")

    def messages(self) -> Sequence[dict[str, Any]]:
        """Return all log lines."""
        return self._api.items(f"/campaigns/{self.id}/messages")


def put(url: str, file: Path, headers: dict[str, str], method: str = "PUT") -> str:
    """Upload a file to a presigned address; return its ETag."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=120)
    try:
        with file.open("rb") as source:
            connection.request(method, f"{parts.path}?{parts.query}", source, headers)
            answer = connection.getresponse()
            text = answer.read()
    finally:
        connection.close()
    assert answer.status == 200, (answer.status, text)
    return answer.headers["ETag"].strip('"')


def mail_to(control: ControlClient, to: str) -> dict[str, Any]:
    """Return the latest message to somebody, from the simulator's inbox, with headers and bodies."""
    found = control.json("GET", "/inbox.json?limit=2000")["messages"]
    seq = next(m["seq"] for m in found if m["to"] == to)
    message: dict[str, Any] = control.json("GET", f"/inbox/{seq}.json")
    return message


class Link:
    """A recipient's unsubscription link, as a mail says it in its body and in its headers (RFC 8058, 3.1)."""

    def __init__(self, mail: dict[str, Any]) -> None:
        found = _LINK.search(mail["html"])
        assert found, mail
        self.url = found[1]
        wanted = {"List-Unsubscribe": f"<{self.url}>", "List-Unsubscribe-Post": _ONE_CLICK}
        assert wanted.items() <= mail["headers"].items(), mail["headers"]

    def look(self) -> Answer:
        """Follow it as somebody who clicks, or a program that looks what is behind it."""
        return Api(self.url, "").call("GET", "")

    def click(self) -> Answer:
        """Press a mail program's button (RFC 8058, 3.2)."""
        form = {"content_type": "application/x-www-form-urlencoded"}
        return Api(self.url, "").call("POST", "", raw=_ONE_CLICK.encode(), **form)
