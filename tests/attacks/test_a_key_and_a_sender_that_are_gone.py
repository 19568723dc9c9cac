"""Attack: a revoked key, and an account that has no sender any more, at every operation of the document."""

from typing import Final

import pytest

from tests.api.conftest import SENDER, Api
from tests.api.test_apart import BODIES
from tests.api.test_entries import CHANGING, DEEDS, Deed, entries
from tests.attacks.test_a_suspended_account_at_every_door import TRAFFIC
from tests.attacks.test_every_operation_by_both_kinds_of_key import OPERATIONS, TABLE, Kind

NEEDS_SENDER: Final = {
    "approveCampaign",
    *("createBatch", "createMail", "postMail", "sendMailAsSendGrid", "sendCampaign", "testCampaign"),
    *("sendEmailAsPostmark", "sendBatchAsPostmark", "sendEmailAsResend", "sendBatchAsResend"),
    *("createCampaign", "createTemplate", "putCampaignTemplate", "putTemplate", "putDigestPolicy"),
}
"""What sends, or stores a sender for later."""
NO_POLICY: Final = {"postEvents"}
"""It needs a policy, which needs a sender. Windows that wait are looked at when they close."""
STARTS_AGAIN: Final = {"resumeJob", "resumeBatch", "resumeCampaign", "retryJob", "retryBatch", "retryCampaign"}


@pytest.mark.promise(9)
@pytest.mark.parametrize("name", [name for name, kind in TABLE.items() if kind is not Kind.OPEN])
def test_a_revoked_key_does_nothing(api: Api, name: str) -> None:
    method, path, _ = OPERATIONS[name]
    keys = api.services.accounts.list_keys(api.account)
    assert all(api.services.accounts.revoke_key(api.account, key.id) for key in keys)
    api.world.clock.advance(60)  # a key that was used counts for some seconds more
    before = entries(api)
    url = path.replace("{", "").replace("}", "")
    got = api.call(method, url, None if method in ("GET", "DELETE") else BODIES.get((method, path)))
    assert (got.status, entries(api)) == (401, before)


@pytest.mark.promise(9)
@pytest.mark.parametrize("name", [*DEEDS, *TRAFFIC])
def test_an_account_without_its_senders_sends_nothing_and_stores_nothing_to_send(api: Api, name: str) -> None:
    method, path = CHANGING[name]
    deed = DEEDS[name](api) if name in DEEDS else Deed(next(iter(DEEDS.values()))(api).act)
    accounts = api.services.accounts
    for sender in accounts.list_senders(api.account):
        assert accounts.remove_sender(api.account, sender)
    api.world.standings.removed.add(SENDER)  # the world's own view of the accounts
    before = entries(api)
    body = BODIES.get((method, path)) if deed.body is None else deed.body
    got = api.call(method, path.format(**(deed.names or {})), None if method == "DELETE" else body)
    if name == "sendBatchAsPostmark":
        assert [x["ErrorCode"] for x in got.json] == [400], "each of its messages is refused"
    elif name in NEEDS_SENDER:
        assert (got.status in (403, 422), got.code) == (True, "from_not_allowed"), got.text
    elif name in NO_POLICY:
        assert got.code == "no_policy"
    elif name in STARTS_AGAIN:
        assert (got.status, got.code) == (409, "sender_removed")
    else:
        assert got.status in (200, 201, 202, 204), got.text
        return
    assert entries(api) == before
