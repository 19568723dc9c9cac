"""Attack: an account that an operator has suspended goes on making things. Every operation of the document is tried."""

from typing import Final

import pytest

from shared.domain.audit import Act
from tests.api.conftest import Api
from tests.api.test_apart import BODIES
from tests.api.test_entries import CHANGING, DEEDS, Deed, entries

OPEN: Final = {
    *("stopJob", "stopBatch", "stopCampaign", "deleteSchedule", "cancelDigest", "dropDestination"),
    *("deleteCampaign", "deleteUpload", "deleteTemplate", "deleteDigestPolicy", "deleteHook", "deleteNotifier"),
    *("deleteProgram", "deleteImage", "putSuppression", "deleteGuest", "deleteSender", "refuseCampaign"),
}
"""What stops, deletes or keeps somebody from getting more. What a suspended account makes or lets go on is refused."""
TRAFFIC: Final = (
    *("createBatch", "postMail", "createMail", "postEvents"),
    *("sendMailAsSendGrid", "sendEmailAsPostmark", "sendBatchAsPostmark", "sendEmailAsResend", "sendBatchAsResend"),
)
"""Operations without an entry in the audit log that take something from a key."""


@pytest.mark.parametrize("name", [*DEEDS, *TRAFFIC])
def test_a_suspended_account_ends_things_and_makes_none(api: Api, name: str) -> None:
    method, path = CHANGING[name]
    deed = DEEDS[name](api) if name in DEEDS else Deed(next(iter(DEEDS.values()))(api).act)
    assert api.services.accounts.suspend(api.account, "spam")
    before = entries(api)
    body = BODIES.get((method, path)) if deed.body is None else deed.body
    got = api.call(method, path.format(**(deed.names or {})), None if method == "DELETE" else body)
    if name in OPEN:
        assert got.status in (200, 201, 202, 204), got.text
        return
    assert got.status == 403, got.text
    assert "suspended" in got.text
    assert [x for x in entries(api) if x.kind != Act.KEY_REFUSED] == before


def test_every_operation_that_changes_something_is_tried_but_those_of_others_than_keys() -> None:
    left = {*CHANGING} - {*DEEDS, *TRAFFIC}
    assert left == {
        *("commitMail", "createUpload", "endPendingDelivery", "putMessages"),
        *("postProviderEvents", "unsubscribe", "undoUnsubscription", "createAccessToken"),
    }
