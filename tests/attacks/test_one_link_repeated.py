"""The holder of one unsubscription link repeats it, to shut the door on everybody else's.

Then: the bucket was the account's, and took page views, too; another recipient's one click was 429 after 2,000 views.
"""

import pytest

from shared.domain.content.unsubscribe import Unsubscription
from shared.domain.recipients.suppressions import Reach
from tests.api.conftest import Api
from tests.fakes.links import FakeLinks

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
ONE_CLICK = "List-Unsubscribe=One-Click"
STORM = 60
"""More than a link's 30 visits at once."""


def link(api: Api, address: str) -> str:
    wanted = Unsubscription(api.account, address, "01k9zq3v5n8e7r2t4y6w1x0abc")
    return "/unsubscribe/" + FakeLinks().sign(wanted)


@pytest.mark.promise(11)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_another_recipient_s_click_is_taken_while_one_link_storms(api: Api, method: str) -> None:
    storm = [api.call(method, link(api, "mallory@example.org"), key="", headers=FORM).status for _ in range(STORM)]
    assert storm[-1] == 429, "the storm itself ends"
    got = api.call("POST", link(api, "ann@example.org"), ONE_CLICK, key="", headers=FORM, encoded=True)
    assert got.status == 200
    assert api.services.suppressions.get(api.account, "ann@example.org", reach=Reach.CAMPAIGNS) is not None


@pytest.mark.slow
@pytest.mark.promise(11)
def test_a_one_click_is_taken_while_the_same_link_s_page_is_stormed(api: Api) -> None:
    at = link(api, "ann@example.org")
    assert [api.call("GET", at, key="").status for _ in range(STORM)][-1] == 429
    assert api.call("POST", at, ONE_CLICK, key="", headers=FORM, encoded=True).status == 200
    assert api.services.suppressions.get(api.account, "ann@example.org", reach=Reach.CAMPAIGNS) is not None


@pytest.mark.slow
def test_a_storm_on_links_takes_nothing_from_the_account_s_keys(api: Api) -> None:
    for _ in range(STORM):
        api.call("GET", link(api, "mallory@example.org"), key="")
    assert api.call("GET", "/jobs").status == 200
