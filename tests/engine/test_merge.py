"""Messages made for each recipient, from claim to call: whose values, how many calls, what a bad row holds up."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from shared.domain.content.content import Attachment, Content, Mailbox
from shared.domain.content.unsubscribe import Unsubscription
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.outcomes import Finding, Kind, Outcome, Throttled, Unknown
from shared.domain.jobs.states import Cell
from shared.engine.lane import lease as leases
from shared.ports import Retriable, Target
from tests.fakes.links import FakeLinks
from tests.fakes.provider import FakeProvider, ResendingProvider
from tests.fakes.world import ACCOUNT, World, credential

BASE = "https://mail.example.com/unsubscribe/"
MAIL = Content(Mailbox("news@example.com"), "Hello {{ name }}", html="<p>{{ name }}</p>", merge=True, unsubscribe=BASE)
PLAIN = Content(Mailbox("news@example.com"), "Hello", text="Hello!")
LONG = "x" * 993
"""Too much for a subject."""


class Reading(FakeProvider):
    """Remembers what it was given for whom."""

    read: dict[str, list[tuple[Content, int]]]

    def send(self, content: Content, targets: Sequence[Target], *, deadline: float) -> list[Outcome]:
        seen = self.__dict__.setdefault("read", {})
        for target in targets:
            seen.setdefault(target.recipient.address, []).append((content, len(targets)))
        return super().send(content, targets, deadline=deadline)


class Asked(Reading, ResendingProvider):
    """Asked by the very same call."""

    def resolve(self, content: Content, target: Target, *, at: float, deadline: float) -> Finding:
        self.read[target.recipient.address].append((content, 1))
        return super().resolve(content, target, at=at, deadline=deadline)


def people(n: int, bad: Sequence[int] = ()) -> list[Recipient]:
    """Return n recipients with a name each; those at the given places have too long a one."""
    return [
        Recipient(f"r{i}@example.com", f"r{i}@example.com", values={"name": LONG if i in bad else f"N{i}"})
        for i in range(n)
    ]


def world(rate: float = 1000, provider: type[FakeProvider] = Reading) -> World:
    return World(credential("one", rate), provider_limit=1000, provider=provider)


def given(world: World) -> dict[str, list[tuple[Content, int]]]:
    """Return what the provider read, by recipient."""
    provider = world.providers["one"]
    assert isinstance(provider, Reading)
    return provider.read


@pytest.mark.promise(1)
def test_everybody_gets_their_own_message_in_a_call_of_their_own() -> None:
    w = world()
    job = w.accept(people(300), content=MAIL)
    w.run()
    for i in range(300):
        ((content, together),) = given(w)[f"r{i}@example.com"]
        assert (content.subject, content.html, content.text) == (f"Hello N{i}", f"<p>N{i}</p>", f"N{i}")
        token = FakeLinks().sign(Unsubscription(ACCOUNT, f"r{i}@example.com", job.id))
        assert dict(content.headers)["List-Unsubscribe"] == f"<{BASE}{token}>"
        assert together == 1
    assert w.counts(job.id) == {"sent": 300}
    w.check()


@pytest.mark.parametrize("merge", [False, True])
def test_what_is_the_same_for_all_goes_in_calls_of_several(*, merge: bool) -> None:
    w = world()
    w.accept(people(200), content=replace(PLAIN, merge=merge))
    w.run()
    assert {n for seen in given(w).values() for _, n in seen} == {40}
    assert len({id(content) for seen in given(w).values() for content, _ in seen}) == 1


@pytest.mark.promise(6)
def test_a_row_that_cannot_be_sent_fails_alone_and_without_a_call() -> None:
    w = world(rate=10)
    job = w.accept(people(30, bad=[0, 7, 29]), content=MAIL)
    began = w.clock.now()
    w.run()
    assert w.counts(job.id) == {"sent": 27, "failed": 3}
    assert not {"r0@example.com", "r7@example.com", "r29@example.com"} & set(given(w))
    assert w.clock.now() - began < 27 / 9.7 + 0.2, "they cost slots"
    windows, _ = w.records.details(job.id, 0)
    refused = {e.index: (e.kind, e.code, e.attempt) for x in windows for e in x.entries if e.kind is Kind.REFUSED}
    assert refused == dict.fromkeys([0, 7, 29], (Kind.REFUSED, "subject_too_long", 1))
    w.check()


@pytest.mark.promise(6)
def test_nothing_but_bad_rows_ends_without_a_call_or_a_slot() -> None:
    w = world(rate=1)
    w.providers["one"].answer = AssertionError("called")
    job = w.accept(people(25, bad=range(25)), content=MAIL)
    w.run()
    assert w.counts(job.id) == {"failed": 25}
    assert w.oracle.calls == []
    assert w.tap.calls.count("pacer.reserve") == 0


@pytest.mark.promise(6)
def test_a_template_that_no_longer_compiles_fails_everybody_once() -> None:
    w = world()
    job = w.accept(people(250), content=replace(MAIL, html="{{#each}}"))
    w.run()
    assert w.counts(job.id) == {"failed": 250}
    assert w.oracle.calls == []


@pytest.mark.promise(1)
def test_a_provider_is_asked_with_the_very_message_that_it_was_sent() -> None:
    w = world(provider=Asked)
    job = w.accept(people(3), content=MAIL)
    w.providers["one"].script("r1@example.com", [Unknown("timeout")])
    w.settle()
    assert w.states(job.id)[1] is Cell.UNKNOWN
    w.clock.advance(300)
    w.sweep()
    w.settle()
    (sent, _), (asked, _) = given(w)["r1@example.com"]
    assert asked == sent
    assert w.states(job.id)[1] is Cell.SENT


@pytest.mark.promise(1)
def test_a_second_attempt_says_the_same() -> None:
    w = world()
    job = w.accept(people(3), content=MAIL)
    w.providers["one"].script("r1@example.com", [Throttled(1)])
    w.run()
    (first, _), (second, _) = given(w)["r1@example.com"]
    assert first == second
    assert w.counts(job.id) == {"sent": 3}


@pytest.mark.promise(1)
@pytest.mark.parametrize("nth", range(12))
def test_links_that_cannot_be_made_for_a_moment_lose_and_double_nothing(nth: int) -> None:
    w = world(rate=10)
    made = iter(range(10**6))

    class Hiccup(FakeLinks):
        def sign(self, wanted: Unsubscription) -> str:
            if next(made) == nth:
                raise Retriable
            return super().sign(wanted)

    sender = w.sender("one", links=Hiccup())
    job = w.accept(people(12), content=MAIL)
    with pytest.raises(Retriable):
        w.send("one", sender)
    w.settle()
    assert w.counts(job.id) == {"sent": 12}
    assert w.oracle.times(job.id) == {(0, i): 1 for i in range(12)}
    w.check()


def test_others_take_the_slot_of_a_newly_suppressed_recipient() -> None:
    w = world(rate=10)
    job = w.accept(people(12), content=MAIL)
    w.clock.advance(1)
    for i in (0, 3):
        w.records.suppress(ACCOUNT, f"r{i}@example.com", "bounced", w.clock.ms)
    w.run()
    assert w.counts(job.id) == {"sent": 10, "skipped": 2}
    assert {a: seen[0][0].subject for a, seen in given(w).items()} == {
        f"r{i}@example.com": f"Hello N{i}" for i in range(12) if i not in (0, 3)
    }


def test_messages_that_are_large_go_in_smaller_windows() -> None:
    w = world()
    size = leases.MAX_SIZE // 3
    file = Attachment("a.bin", "application/octet-stream", "QUFB" * (size // 4))
    job = w.accept(people(7), content=replace(MAIL, attachments=(file,)))
    w.run()
    windows, _ = w.records.details(job.id, 0)
    assert [len(x.entries) for x in windows] == [2, 2, 2, 1]
    assert w.counts(job.id) == {"sent": 7}


def test_a_message_larger_than_a_window_goes_by_itself() -> None:
    w = world()
    file = Attachment("a.bin", "application/octet-stream", "QUFB" * (leases.MAX_SIZE // 4))
    job = w.accept(people(2), content=replace(MAIL, attachments=(file,)))
    w.run()
    assert w.counts(job.id) == {"sent": 2}
