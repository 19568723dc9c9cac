import json
from typing import Any

import pytest

from shared.adapters.links import SecretLinks
from shared.adapters.secrets import KEPT, KEPT_EMPTY, Secrets
from shared.bootstrap import Deployment
from shared.contracts import ENV_API_URL, ENV_SETTINGS, Settings, unsubscribe_secret_name
from shared.domain.content.unsubscribe import Unsubscription, sign
from shared.domain.sealing import MIN_KEY, Keys
from shared.ports import MalformedSecret
from tests.fakes.clock import FakeClock

OLD, NOW, NEXT = (c * MIN_KEY for c in "onx")
ANN = Unsubscription("acc_000000000001", "ann@example.com", "01k9zq3v5n8e7r2t4y6w1x0abc")


class Manager:
    """Secrets Manager with one secret; counts who reads it."""

    def __init__(self, **secret: str) -> None:
        self.secret = secret
        self.reads = 0

    def get_secret_value(self, SecretId: str) -> Any:  # noqa: N803 - boto3's name
        assert SecretId == unsubscribe_secret_name("dev")
        self.reads += 1
        return {"SecretString": json.dumps(self.secret) if self.secret else ""}


@pytest.fixture
def manager() -> Manager:
    return Manager(current=NOW, previous=f"{OLD} {NEXT}")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def links(manager: Manager, clock: FakeClock) -> SecretLinks:
    return SecretLinks(Secrets(manager, "dev", clock))  # type: ignore[arg-type]


def test_the_secret_is_read_once_for_all_links_of_five_minutes(
    links: SecretLinks, manager: Manager, clock: FakeClock
) -> None:
    for _ in range(100):
        assert links.read(links.sign(ANN)) == ANN
    clock.advance(KEPT - 1)
    links.sign(ANN)
    assert manager.reads == 1


def test_every_key_of_the_secret_verifies_and_the_current_one_signs(links: SecretLinks) -> None:
    assert links.sign(ANN) == sign(Keys(NOW), ANN)
    assert [links.read(sign(Keys(key), ANN)) for key in (NOW, OLD, NEXT)] == [ANN, ANN, ANN]


def test_a_rotation_is_picked_up_without_a_link_that_fails(
    links: SecretLinks, manager: Manager, clock: FakeClock
) -> None:
    manager.secret = {"current": NOW}
    before = links.sign(ANN)
    manager.secret = {"current": NEXT, "previous": NOW}
    clock.advance(KEPT_EMPTY + 1)
    assert links.sign(ANN) == before, "not known yet"
    assert links.read(sign(Keys(NEXT), ANN)) == ANN, "a sender knew it first"
    assert links.sign(ANN) == sign(Keys(NEXT), ANN)
    assert links.read(before) == ANN


def test_forged_links_do_not_make_it_read_the_secret_each_time(
    links: SecretLinks, manager: Manager, clock: FakeClock
) -> None:
    for _ in range(100):
        assert links.read(sign(Keys("f" * MIN_KEY), ANN)) is None
        clock.advance(0.3)
    assert manager.reads == 2


@pytest.mark.parametrize("secret", [{}, {"current": ""}, {"current": NOW[1:]}, {"current": NOW, "previous": "short"}])
def test_without_a_key_nothing_is_signed(links: SecretLinks, manager: Manager, secret: dict[str, str]) -> None:
    manager.secret = secret
    with pytest.raises(MalformedSecret, match="unsubscription") as caught:
        links.sign(ANN)
    assert NOW[1:] not in str(caught.value)


def test_links_lead_to_the_public_address_or_else_to_the_apis_own() -> None:
    def address(public_url: str = "", **env: str) -> str:
        return Deployment({ENV_SETTINGS: Settings("dev", (), {}, public_url).dumps(), **env}).address

    own = {ENV_API_URL: "https://api.aws.example"}
    assert address("https://mail.example.com/x", **own) == "https://mail.example.com/x"
    assert address(**own) == "https://api.aws.example"
    assert address() == ""
