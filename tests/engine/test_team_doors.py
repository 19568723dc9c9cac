"""What a team key's notices, mails, digests and texts reach, whatever their doors accepted: guests, as of the sending.

Judged by whom the providers were called with. `test_guests` has the rules themselves, and
`tests/attacks/test_a_team_key_at_strangers.py` the doors of the API.
"""

from dataclasses import replace

import pytest

from shared.contracts import Credential
from shared.domain.jobs.chunks import Recipient
from shared.domain.namespaces import team_space
from shared.domain.notices.notice import DeliveryMethod
from tests.engine.digests.hub import DigestHub, event
from tests.engine.mails.mail_world import MailWorld
from tests.engine.notices.hub import Hub
from tests.fakes.world import ACCOUNT, World

TEAM = team_space(ACCOUNT)
GUEST, STRANGER = "+61412000000", "+61412000001"

pytestmark = pytest.mark.promise(13)


def invite(world: World, *addresses: str) -> None:
    world.records.guests.setdefault(ACCOUNT, set()).update(addresses)  # type: ignore[attr-defined]


def uninvite(world: World, address: str) -> None:
    world.records.uninvite(ACCOUNT, address, world.clock.ms)  # type: ignore[attr-defined]


def reached(world: World) -> set[str]:
    return {t.address for t in world.oracle.taken}


@pytest.fixture
def notices() -> Hub:
    hub = Hub()
    hub.notifier = replace(hub.notifier, account=TEAM)
    invite(hub.world, GUEST)
    return hub


@pytest.mark.parametrize("method", list(DeliveryMethod))
def test_a_notice_to_a_stranger_ends_without_a_call(notices: Hub, method: DeliveryMethod) -> None:
    for n in range(2):
        notices.new(n, method=method)
    notices.minute()
    assert reached(notices.world) == {GUEST}
    assert (notices.said(0), notices.said(1)) == ([], [("PERM_FAIL", "PERM_DELIVERY_FAIL")])


@pytest.mark.parametrize("method", list(DeliveryMethod))
def test_a_notice_that_was_begun_reaches_no_one_who_is_no_guest_by_then(notices: Hub, method: DeliveryMethod) -> None:
    invite(notices.world, STRANGER)
    for n in range(2):
        notices.new(n, method=method)
    notices.begin()
    uninvite(notices.world, STRANGER)
    notices.engine()
    assert reached(notices.world) == {GUEST}


@pytest.mark.parametrize("channel", ["sms", "voice", "whatsapp"])
@pytest.mark.parametrize("when", ["accepted", "sent"])
def test_a_text_or_a_call_reaches_guests_only(channel: str, when: str) -> None:
    world = World(Credential("one", channel, channel, 10))
    invite(world, GUEST, *([STRANGER] if when == "sent" else []))
    job = world.accept([Recipient(x, x) for x in (GUEST, STRANGER)], account=TEAM, channel=channel)
    if when == "sent":
        uninvite(world, STRANGER)
    world.settle()
    assert reached(world) == {GUEST}
    assert world.counts(job.id) == {"sent": 1, "skipped": 1}


@pytest.mark.parametrize("when", ["accepted", "sent"])
def test_a_mail_reaches_the_guests_of_its_envelope_only(when: str) -> None:
    world = MailWorld()
    ann, eve = "ann@example.org", "eve@example.net"
    invite(world, ann, *([eve] if when == "sent" else []))
    world.mail(ann, eve, account=TEAM)
    if when == "sent":
        uninvite(world, eve)
    world.settle()
    assert reached(world) == {ann}


@pytest.mark.parametrize("when", ["added", "made"])
@pytest.mark.parametrize("urgent", [True, False])
def test_a_digest_reaches_guests_only(when: str, urgent: bool) -> None:  # noqa: FBT001
    hub = DigestHub(account=TEAM)
    invite(hub.world, "ann@example.com", *(["eve@example.com"] if when == "made" else []))
    add = hub.urgent if urgent else hub.add
    add(event("a", "ann", "eve"))
    hub.close()
    if when == "made":
        uninvite(hub.world, "eve@example.com")
    hub.send()
    assert hub.mails() == {"ann": [("a",)]}
