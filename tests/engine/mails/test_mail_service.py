"""Mails are handed in: envelopes, contents, refusals."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest

from shared.domain.accounts import SenderCheck
from shared.domain.jobs.states import Cell
from shared.domain.mails.destination import DestinationState, MailDestination
from shared.domain.mails.mail import LIFE_MS, MailState, StoredMail
from shared.domain.mails.message import MAX_BYTES
from shared.domain.namespaces import is_team
from shared.domain.recipients.suppressions import Suppression
from shared.engine.intake.declined import Declined
from shared.engine.mails.moves import InFlight, MailMoves
from shared.engine.mails.service import AskedDestination, AskedMail, MailPlace, MailService, RawRules
from shared.ports import FileFacts, Idempotency, Replay
from tests.engine.mails.mail_world import BYTES, SENDER, MailWorld
from tests.fakes.faults import When
from tests.fakes.journal import FakeJournal
from tests.fakes.places import FakeOpenPlaces
from tests.fakes.world import ACCOUNT, credential

ANN, BOB = "Ann@Example.org", "bob@example.net"
DAY = 86_400_000


class Rules:
    """`ports.Senders` and `ports.SuppressionList`: who may send, and who is suppressed."""

    def __init__(self) -> None:
        self.allowed = {"clinic@example.com", SENDER}
        self.suspended_now = False
        self.unwanted: set[str] = set()
        self.guests: set[str] = set()

    def check_sender(self, account: str, address_key: str) -> SenderCheck:
        del account
        return SenderCheck(self.suspended_now, address_key in self.allowed)

    def suspended(self, account: str) -> bool:
        del account
        return self.suspended_now

    def opened(self, account: str, channel: str) -> bool:
        del account, channel
        return True

    def check(self, namespace: str, address_keys: Iterable[str], *, reach: Any = None) -> set[str]:
        del namespace, reach
        return self.unwanted & set(address_keys)

    def entries(self, namespace: str, address_keys: Collection[str], reaches: Any) -> dict[str, Any]:
        del namespace
        return {k: (reaches[0], Suppression(k, "manual", 0)) for k in self.unwanted & set(address_keys)}

    def strangers(self, namespace: str, address_keys: Iterable[str]) -> set[str]:
        return set(address_keys) - self.guests if is_team(namespace) else set()


class Door:
    """A service over a world of two credentials, of which the second takes small mails alone."""

    def __init__(self) -> None:
        self.world = MailWorld(credential("one"), credential("two"), credential("none"))
        self.rules = Rules()
        self.limits = {"one": 10_000, "two": 100, "none": 0}
        w = self.world
        self.service = MailService(
            mails=w.mails,
            files=w.files,
            places=FakeOpenPlaces(w.clock),
            queuer=w.queuer,
            senders=self.rules,
            unwanted=self.rules,
            settings=w.settings,
            rules=RawRules(lambda name: self.limits[name], ("x-instructs",)),
            clock=w.clock,
        )
        self.moves = MailMoves(w.records, w.ledgers, w.recovery, w.logs, FakeJournal(), w.clock)

    def asked(self, *to: AskedDestination | str, **changes: Any) -> AskedMail:
        some = [x if isinstance(x, AskedDestination) else AskedDestination(x) for x in to or (ANN, BOB)]
        return AskedMail(**{"account": ACCOUNT, "test": False, "mail_from": SENDER, "destinations": some, **changes})

    def open(self, asked: AskedMail | None = None) -> MailPlace:
        place = self.service.open(asked or self.asked(), lambda _place: None)
        assert isinstance(place, MailPlace), place
        return place

    def upload(self, place: MailPlace, data: bytes = BYTES) -> None:
        self.world.files.items[place.mail.upload] = data

    def committed(self, place: MailPlace, etag: str = "") -> StoredMail:
        found = self.world.mails.get(place.mail.id)
        assert found is not None
        mail = self.service.commit(found, etag)
        assert isinstance(mail, StoredMail), mail
        return mail

    def refused(self, place: MailPlace, etag: str = "") -> Declined:
        found = self.service.commit(place.mail, etag)
        assert isinstance(found, Declined)
        return found

    def post(self, data: bytes = BYTES, key: Idempotency | None = None, **changes: Any) -> Any:
        return self.service.post(self.asked(**changes), [data], lambda _mail: key)

    def code(self, found: Any) -> tuple[str, str | None, int | None]:
        assert isinstance(found, Declined), found
        fault = found.faults[0] if found.faults else None
        return found.code, fault.code if fault else None, fault.line if fault else None


@pytest.fixture
def door() -> Door:
    return Door()


def test_an_upload_queues_nothing_until_it_is_committed(door: Door) -> None:
    place = door.open()
    door.upload(place)
    assert place.mail.upload in place.url
    assert door.world.records.jobs == {}  # type: ignore[attr-defined]
    mail = door.committed(place)
    assert mail.state is MailState.COMMITTED
    assert door.world.job(mail.job).total == 2
    door.world.jobs.append(mail.job)
    door.world.run()
    assert door.world.ends_of(mail) == [Cell.RELAYED] * 2
    assert door.world.providers["one"].messages == [BYTES] * 2  # type: ignore[attr-defined]
    assert {t.address for t in door.world.oracle.taken} == {"Ann@example.org", BOB}


def test_a_second_commit_answers_as_the_first(door: Door) -> None:
    place = door.open()
    door.upload(place)
    first = door.committed(place)
    door.upload(place, BYTES + b"More\r\n")
    assert door.committed(place) == first
    assert door.service.commit(place.mail, "") == first, "a commit that has read the mail before"
    assert len(door.world.records.jobs) == 1  # type: ignore[attr-defined]


def test_what_is_checked_is_what_is_sent(door: Door) -> None:
    place = door.open()
    door.upload(place)
    copy = door.world.files.copy

    def other(name: str, *, etag: str, to: str) -> Any:
        door.upload(place, b"From: thief@example.com\r\n\r\n")
        return copy(name, etag=etag, to=to)

    door.world.files.copy = other  # type: ignore[method-assign]
    assert door.refused(place).code == "etag_mismatch"
    assert door.world.records.jobs == {}  # type: ignore[attr-defined]


def test_a_commit_needs_the_content_that_was_meant(door: Door) -> None:
    place = door.open()
    assert door.refused(place).code == "upload_missing"
    door.upload(place)
    assert door.refused(place, '"other"').code == "etag_mismatch"
    facts = door.world.files.facts(place.mail.upload)
    assert facts is not None
    assert door.committed(place, f'"{facts.etag}"').state is MailState.COMMITTED


@pytest.mark.parametrize(
    ("data", "code", "line"),
    [
        (b"From: clinic@example.com\r\n\r\nOne\r\nTwo\nThree\r\n", "bare_lf", 4),
        (b"Subject: Hello\r\n\r\n", "no_from", None),
        (b"", "empty", None),
        (b"From: clinic@example.com\r\nX-Instructs-All: 1\r\n\r\n", "header_not_allowed", None),
    ],
)
def test_a_content_that_cannot_be_sent_queues_nothing(door: Door, data: bytes, code: str, line: int | None) -> None:
    place = door.open()
    door.upload(place, data)
    assert door.code(door.refused(place)) == ("invalid_mail", code, line)
    assert door.code(door.post(data)) == ("invalid_mail", code, line)
    assert door.world.records.jobs == {}  # type: ignore[attr-defined]
    assert [x for x in door.world.files.items if not x.startswith("mail-uploads/")] == []


def test_senders_are_checked_in_envelope_and_header(door: Door) -> None:
    assert door.code(door.post(mail_from="other@example.com"))[0] == "from_not_allowed"
    stranger = b"From: clinic@example.com, other@example.com\r\n\r\n"
    assert door.code(door.post(stranger))[0] == "from_not_allowed"
    door.rules.suspended_now = True
    assert door.code(door.post())[0] == "account_suspended"


def test_a_notification_of_another_server_has_a_null_return_path(door: Door) -> None:
    assert door.post(mail_from="").mail_from == ""
    stranger = b"From: other@example.com\r\n\r\n"
    assert door.code(door.post(stranger, mail_from=""))[0] == "from_not_allowed"
    door.rules.suspended_now = True
    assert door.code(door.post(mail_from=""))[0] == "account_suspended"


def test_destinations_are_checked(door: Door) -> None:
    now = door.world.clock.ms
    for to in ("nobody", AskedDestination(ANN, now + 3 * DAY), AskedDestination(ANN, metadata={"a": "x" * 5000})):
        assert door.code(door.service.open(door.asked(to), lambda _p: None))[0] == "validation_failed"
    twice = door.service.open(door.asked(ANN, ANN.upper()), lambda _p: None)
    assert door.code(twice)[0] == "validation_failed"
    many = door.service.open(door.asked(*(f"a{i}@example.org" for i in range(1001))), lambda _p: None)
    assert door.code(many)[0] == "validation_failed"
    late = door.service.open(door.asked(until=now + LIFE_MS + 1), lambda _p: None)
    assert door.code(late)[0] == "validation_failed"


def test_a_mail_goes_only_by_credentials_that_take_it(door: Door) -> None:
    small = door.post()
    assert door.world.job(small.job).route == ("one", "two")
    large = door.post(BYTES + b"x" * 200 + b"\r\n")
    assert door.world.job(large.job).route == ("one",)
    assert door.code(door.post(BYTES + b"x" * 20_000 + b"\r\n")) == ("invalid_mail", "too_large", None)
    door.limits = dict.fromkeys(door.limits, 0)
    assert door.code(door.post())[0] == "no_route"


def test_mails_may_have_a_route_of_their_own(door: Door) -> None:
    door.world.settings.routes["mail"] = ("two", "none")
    assert door.world.job(door.post().job).route == ("two",)
    large = BYTES + b"x" * 200 + b"\r\n"
    assert door.code(door.post(large)) == ("invalid_mail", "too_large", None), "credential `one` is not on it"


def test_suppressed_destinations_are_skipped(door: Door) -> None:
    door.rules.unwanted = {BOB}
    mail = door.post()
    door.world.jobs.append(mail.job)
    door.world.run()
    assert door.world.ends_of(mail) == [Cell.RELAYED, Cell.SKIPPED]
    door.rules.unwanted = {BOB, ANN.lower()}
    refused = door.post()
    assert door.code(refused)[0] == "no_valid_recipient"
    assert [(x.field, x.text, x.code) for x in refused.faults] == [
        (f"destinations.{i}.address", f"{who}: suppressed since 1970-01-01: added by hand.", "suppressed")
        for i, who in enumerate(("Ann@example.org", BOB))
    ]


def test_a_repeated_post_queues_one_mail(door: Door) -> None:
    key = Idempotency(ACCOUNT, "live:1", "body", "first", door.world.clock.ms + DAY)
    first = door.post(key=key)
    assert isinstance(first, StoredMail)
    assert door.post(key=key) == Replay("first")
    assert len(door.world.records.jobs) == 1  # type: ignore[attr-defined]
    assert list(door.world.files.items) == [first.content]


@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
def test_a_commit_that_fails_anywhere_can_be_repeated(door: Door, when: When) -> None:
    place = door.open()
    door.upload(place)
    before = len(door.world.tap.calls)
    door.committed(place)
    points = len(door.world.tap.calls) - before
    for nth in range(points):
        again = Door()
        place = again.open()
        again.upload(place)
        again.world.tap.arm(nth, when, lambda: ZeroDivisionError("fault"))
        with pytest.raises(ZeroDivisionError):
            again.committed(place)
        mail = again.committed(place)
        again.world.jobs.append(mail.job)
        again.world.settle()
        assert again.world.ends_of(mail) == [Cell.RELAYED] * 2
        again.world.check()


def test_an_upload_is_normalised_on_demand(door: Door) -> None:
    place = door.open()
    door.upload(place, BYTES.replace(b"\r\n", b"\n"))
    assert door.code(door.refused(place)) == ("invalid_mail", "bare_lf", 1)
    mail = door.service.commit(place.mail, "", normalise=True)
    assert isinstance(mail, StoredMail)
    assert (door.world.files.items[mail.content], mail.size) == (BYTES, len(BYTES))
    door.world.jobs.append(mail.job)
    door.world.run()
    assert door.world.providers["one"].messages == [BYTES] * 2  # type: ignore[attr-defined]


@pytest.mark.slow
def test_what_is_too_large_once_it_is_normalised_is_refused(door: Door) -> None:
    door.limits["one"] = 2 * MAX_BYTES
    place = door.open()
    head = b"From: clinic@example.com\n\n"
    door.upload(place, head + (b"x" * 70 + b"\n") * (MAX_BYTES // 71))
    assert len(door.world.files.items[place.mail.upload]) <= MAX_BYTES + len(head)
    found = door.service.commit(place.mail, "", normalise=True)
    assert door.code(found)[:2] == ("invalid_mail", "too_large")


def test_an_upload_that_changes_while_it_is_normalised_is_not_sent(door: Door) -> None:
    place = door.open()
    door.upload(place)

    def facts(name: str) -> FileFacts:
        return FileFacts(len(BYTES), f"other of {name}")

    door.world.files.facts = facts  # type: ignore[method-assign]
    assert door.code(door.service.commit(place.mail, "", normalise=True))[0] == "etag_mismatch"


def test_destinations_are_shown_dropped_and_moved(door: Door) -> None:
    now = door.world.clock.ms
    mail = door.post(destinations=[AskedDestination(ANN, now + DAY, {"ticket": 7}), AskedDestination(BOB, now + DAY)])
    shown = door.moves.show(mail, 0, 10)
    assert [(x.address, x.at, x.metadata) for x in shown] == [
        ("Ann@example.org", now + DAY, {"ticket": 7}),
        (BOB, now + DAY, {}),
    ]
    assert door.moves.drop(mail, "nobody@example.org") is None
    dropped = door.moves.drop(mail, BOB)
    assert isinstance(dropped, MailDestination)
    assert dropped.state is DestinationState.DROPPED
    assert door.moves.drop(mail, BOB) == dropped
    assert door.moves.reschedule(mail, BOB, now) == InFlight()
    moved = door.moves.reschedule(mail, ANN.lower(), now + 60_000)
    assert isinstance(moved, MailDestination)
    assert moved.at == now + 60_000
    door.world.jobs.append(mail.job)
    door.world.run(seconds=120)
    assert door.world.ends_of(mail) == [Cell.RELAYED, Cell.WITHDRAWN]
    assert [round(at) - now // 1000 for at, _, _ in door.world.oracle.calls] == [60]
    assert door.moves.drop(mail, ANN.lower()) == InFlight()
