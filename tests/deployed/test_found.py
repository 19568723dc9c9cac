"""GET /messages on the local cloud: a message is found before and after it is in a page, by what it is called."""

from typing import Any
from urllib.parse import urlencode

import pytest

from tests.deployed.api import Api

pytestmark = pytest.mark.deployed


def found(api: Api, **query: str) -> list[str]:
    """Return the jobs of the messages that a search finds."""
    items: list[dict[str, Any]] = api.get(f"/messages?{urlencode(query)}")["items"]
    return [x["job_id"] for x in items]


def test_ann_s_messages_are_found_by_address_reference_and_tag(api: Api, tag: str) -> None:
    ann = f"ann+{tag}@example.com"
    body = {
        "from": "news@example.com",
        "to": [ann],
        "subject": "Hello",
        "text": "Hello",
        "route": ["sendgrid-main"],
        "reference": f"order-{tag}",
        "tags": [tag],
    }
    job = api.call("POST", "/batches", body).body["job_id"]
    many = api.post([ann, *(f"p{i}+{tag}@example.com" for i in range(30))], "sendgrid-main")
    assert found(api, recipient=ann) == [many, job]
    for name in (job, many):
        api.finished(name)
    assert found(api, recipient=ann) == [many, job]
    assert found(api, reference=f"order-{tag}") == found(api, tag=tag) == [job]
    assert found(api, tag=tag, recipient=ann, state="delivered") == [job]
    assert found(api, recipient=f"other+{tag}@example.com") == []
