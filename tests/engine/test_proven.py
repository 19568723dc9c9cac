"""Domains that DNS proves: what an account may send from, and for how long that is remembered."""

import pytest

from shared.domain.accounts import AccountStatus, SenderCheck
from shared.domain.namespaces import namespace, team_space
from shared.domain.senders import SenderClaim, record_name, record_value
from shared.engine.intake.proven import CACHE, FRESH, STALE, Proofs, ProvenAccountStatuses, ProvenSenders
from shared.ports import DnsUnanswered
from tests.fakes.clock import FakeClock
from tests.fakes.dns import FakeDns

MINE, OTHER = "acc_000000000001", "acc_000000000002"
DOMAIN, ANN = "news.example.com", "ann@news.example.com"


class Room:
    """A claim of one account, and nothing granted."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.dns = FakeDns()
        self.claims = {(MINE, DOMAIN)}
        self.suspended_now = False
        proofs = Proofs(claims=self, dns=lambda: self.dns, clock=self.clock)
        self.senders = ProvenSenders(granted=self, proofs=proofs, clock=self.clock)
        self.standings = ProvenAccountStatuses(granted=self, proofs=proofs)

    def get(self, account: str, domain: str) -> SenderClaim | None:
        return SenderClaim(domain, 1) if (account.removesuffix("-team"), domain) in self.claims else None

    def suspended(self, account: str) -> bool:
        del account
        return self.suspended_now

    def opened(self, account: str, channel: str) -> bool:
        return (account, channel) == (MINE, "sms")

    def check_sender(self, account: str, address_key: str) -> SenderCheck:
        return SenderCheck(self.suspended_now, address_key == "granted@example.com" and "#" not in account)

    def read(self, account: str, key: str, sender: str) -> AccountStatus:
        del account
        return AccountStatus(key=key != "gone", sender=sender in ("", "granted@example.com"))

    def publish(self, account: str = MINE, domain: str = DOMAIN) -> None:
        self.dns.records.setdefault(record_name(domain), []).append(record_value(account))

    def may(self, account: str = MINE, address: str = ANN) -> bool:
        return self.senders.check_sender(account, address).allowed


@pytest.fixture
def room() -> Room:
    return Room()


@pytest.mark.promise(9)
def test_a_claim_alone_grants_nothing(room: Room) -> None:
    assert not room.may()
    assert not room.standings.read(MINE, "", ANN).sender


@pytest.mark.promise(9)
@pytest.mark.parametrize("value", ["", "posthaste-account=", "posthaste-account=acc_000000000002", "v=spf1 -all"])
def test_only_a_record_that_names_the_account_grants_it(room: Room, value: str) -> None:
    room.dns.records[record_name(DOMAIN)] = [value]
    assert not room.may()
    room.publish()
    assert room.may()
    assert not room.may(OTHER)


@pytest.mark.promise(9)
def test_a_record_without_a_claim_costs_no_look_up(room: Room) -> None:
    room.publish(domain="else.example.com")
    assert not room.may(address="ann@else.example.com")
    assert room.dns.asked == []


@pytest.mark.promise(9)
@pytest.mark.parametrize("address", ["ann@sub.news.example.com", "ann@example.com", "ann@xnews.example.com"])
def test_a_proof_is_of_one_domain(room: Room, address: str) -> None:
    room.publish()
    room.publish(domain="example.com")
    assert not room.may(address=address)


def test_a_team_key_sends_as_its_account_and_a_test_key_before_the_proof(room: Room) -> None:
    assert room.may(namespace(MINE, test=True))
    assert not room.may(team_space(MINE))
    room.publish()
    assert room.may(team_space(MINE))
    assert not room.may(namespace(OTHER, test=True))


@pytest.mark.promise(9)
def test_a_record_that_is_removed_ends_the_right_in_minutes(room: Room) -> None:
    room.publish()
    assert room.may()
    room.dns.records.clear()
    room.clock.advance(FRESH)
    assert not room.may()
    assert not room.standings.read(MINE, "", ANN).sender


@pytest.mark.promise(9)
def test_a_claim_that_is_given_up_ends_it_in_half_a_minute(room: Room) -> None:
    room.publish()
    assert room.may()
    room.claims.clear()
    room.clock.advance(CACHE)
    assert not room.may()


def test_a_proof_outlives_an_outage_of_dns_for_a_day(room: Room) -> None:
    room.publish()
    assert room.may()
    room.dns.down = True
    room.clock.advance(FRESH)
    assert room.may()
    room.clock.advance(STALE)
    with pytest.raises(DnsUnanswered):
        room.may()


def test_what_dns_does_not_answer_is_neither_allowed_nor_refused(room: Room) -> None:
    room.dns.down = True
    with pytest.raises(DnsUnanswered):
        room.may()
    with pytest.raises(DnsUnanswered):
        room.standings.read(MINE, "", ANN)


def test_a_suspended_account_sends_from_no_domain(room: Room) -> None:
    room.publish()
    room.suspended_now = True
    assert room.senders.check_sender(MINE, ANN) == SenderCheck(suspended=True, allowed=False)


def test_what_operators_granted_needs_no_dns(room: Room) -> None:
    assert room.may(address="granted@example.com")
    assert room.standings.read(MINE, "gone", "granted@example.com") == AccountStatus(key=False, sender=True)
    assert room.dns.asked == []
