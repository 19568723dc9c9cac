"""A test key in a loop takes what live keys need.

Then: an account had one request bucket, and one allowance of tests of campaigns, for live and test keys together; after
1,010 requests by a test key a live `POST /batches` was 429.
"""

import pytest

from shared.bootstrap.campaigning import TRIALS
from shared.domain.accounts import REQUEST_BURST, REQUEST_RATE, TEST_SHARE, Claim, quota
from tests.api.conftest import Api


@pytest.mark.slow
@pytest.mark.promise(9)
def test_a_test_key_in_a_loop_does_not_keep_live_keys_from_asking(api: Api) -> None:
    tester = api.test_key()
    made = [api.call("GET", "/jobs", key=tester).status for _ in range(REQUEST_BURST)]
    assert set(made) == {200, 429}
    assert made.count(200) == quota(REQUEST_RATE / TEST_SHARE, REQUEST_BURST // TEST_SHARE).of_key().most(Claim.OTHER)
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
