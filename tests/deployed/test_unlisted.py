"""Small jobs on the local cloud: they end without an entry in the index of open jobs, once the sweeper walks them."""

import pytest

from shared.domain.ids import is_unlisted
from tests.deployed.api import Api
from tests.deployed.inside import Inside

pytestmark = pytest.mark.deployed


def test_a_small_job_ends_without_an_entry_in_the_index(api: Api, inside: Inside, tag: str) -> None:
    """The second run of the sweeper notes that it walks them. The API reads the note beside a new sender."""
    for _ in range(2):
        inside.sweep()
    body = {
        "from": f"shop+{tag}@example.com",
        "to": [f"ann+{tag}@example.com"],
        "subject": "Hello",
        "text": "Hello",
        "route": ["sendgrid-main"],
    }
    job = api.call("POST", "/batches", body).body["job_id"]
    assert is_unlisted(job)
    assert api.finished(job)["counts"]["failed"] == 0
    inside.sweep()
