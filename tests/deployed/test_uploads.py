"""An upload URL is used for another file than its own, on a bucket that checks signatures."""

import http.client
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

import pytest

from tests.deployed.api import Api
from tests.deployed.owner import Owner

pytestmark = [pytest.mark.deployed, pytest.mark.promise(9)]

LANE: Final = "campaign-mail"
LIST: Final = b"email,name\nann@example.com,Ann\n"
TEMPLATE: Final = {"from": "news@example.com", "subject": "Hello", "body": "<p>Hello</p>"}
ENVELOPE: Final = {"mail_from": "news@example.com", "destinations": [{"address": "ann@example.com"}]}


def put(url: str, headers: Mapping[str, str], data: bytes) -> int:
    """Put a file, and return the status of the answer."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=30)
    try:
        connection.request("PUT", f"{parts.path}?{parts.query}", data, dict(headers))
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


@pytest.mark.parametrize("sized", [True, False])
@pytest.mark.parametrize("door", ["list", "mail"])
def test_a_url_takes_one_file_with_its_headers_and_size(api: Api, door: str, *, sized: bool) -> None:
    more = {"size": len(LIST)} if sized else {}
    if door == "mail":
        made = api.call("POST", "/mails/uploads", {**ENVELOPE, **more})
    else:
        made = api.call("POST", f"/campaigns/{Owner(api, LANE, TEMPLATE).id}/uploads", more)
    assert made.status == 201, made
    url, headers = made.body["url"], made.body["headers"]
    bare = {name: value for name, value in headers.items() if name != "If-None-Match"}
    wrong = [bare, {**bare, "If-None-Match": "x"}, {**headers, "Content-Type": "text/html"}]
    assert [put(url, some, LIST) for some in wrong] == [403] * len(wrong)
    assert put(url.replace("uploads/", "uploads/x", 1), headers, LIST) == 403
    assert [put(url, headers, data) for data in (LIST + b"x", LIST[:-1]) if sized] == [403, 403][: 2 * sized]
    assert [put(url, headers, data) for data in (LIST, LIST, LIST + b"x")] == [200, 412, 403 if sized else 412]
