"""A test key in a loop takes what live keys need.

Then: an account had one request bucket, and one allowance of tests of campaigns, for live and test keys together; after
1,010 requests by a test key a live `POST /batches` was 429.
"""

import pytest

from shared.adapters.dynamo.accounts.accounts import TEST_SHARE
from shared.adapters.dynamo.accounts.buckets import BLOCK, BURST, GRACE
from shared.bootstrap.campaigning import TRIALS
from tests.api.conftest import Api


@pytest.mark.slow
@pytest.mark.promise(9)
def test_a_test_key_in_a_loop_does_not_keep_live_keys_from_asking(api: Api) -> None:
    tester = api.test_key()
    made = [api.call("GET", "/jobs", key=tester).status for _ in range(BURST)]
    assert set(made) == {200, 429}
    assert BURST // TEST_SHARE <= made.count(200) <= BURST // TEST_SHARE + GRACE + BLOCK
    assert api.batch().status == 202
    assert api.call("GET", "/jobs").status == 200


@pytest.mark.slow
@pytest.mark.promise(9)
def test_a_test_key_s_tests_of_campaigns_leave_those_of_live_keys(api: Api) -> None:
    tester = api.test_key()
    live, tried = api.campaign(), api.campaign(key=tester)
    body = {"recipient": "ann@example.org"}
    made = [api.call("POST", f"/campaigns/{tried}/test", body, key=tester).status for _ in range(TRIALS + 1)]
    assert made == [202] * TRIALS + [429]
    assert api.call("POST", f"/campaigns/{live}/test", body).status == 202
