"""A digest in the lane: a group's message is made once, and calls carry its recipients."""

from dataclasses import replace
from typing import Any

import pytest

from shared.domain.content.content import GROUP, Content, DigestLines, Mailbox
from shared.domain.digests import rendering
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.job import DIGEST
from shared.domain.jobs.outcomes import NotTogether
from shared.domain.jobs.states import Cell
from shared.engine.lane import compose
from shared.engine.lane.compose import CannotCompose, Composition
from tests.fakes.links import FakeLinks
from tests.fakes.provider import FakeProvider
from tests.fakes.world import World, credential

LINES = DigestLines(
    html=("<p>1</p>", "<p>2</p>", "<p>3</p>"),
    text=("1", "2", "3"),
    types=("failed", "failed", "done"),
    times=("10:00", "10:01", "10:02"),
    key="acme/production",
    max_lines=100,
    groups=((0, 1), (2,), (0, 2)),
    policy="acme/",
)
CONTENT = Content(
    Mailbox("digest@example.com"),
    "{{ count }} events",
    html="{{ events }}",
    text="{{ events }}",
    merge=True,
    digest=LINES,
)


def people(*groups: int) -> tuple[Recipient, ...]:
    """Return one recipient for each number: that of its group."""
    names = (f"p{n}@example.com" for n in range(len(groups)))
    return tuple(Recipient(x, x, values={GROUP: str(g)}) for x, g in zip(names, groups, strict=True))


class Sized(FakeProvider):
    """Takes fewer recipients where the message names the third event."""

    def per_call_of(self, content: Content) -> int:
        return 2 if "3" in content.html else self.per_call


def world(*, provider: type[FakeProvider] = FakeProvider, limit: int = 50) -> World:
    return World(credential("one", 2_500), provider_limit=limit, provider=provider)


def sent(w: World, recipients: tuple[Recipient, ...], content: Content = CONTENT) -> list[tuple[int, str]]:
    """Send a digest; return the people and the HTML of each call."""
    w.accept(recipients, content=content, kind=DIGEST)
    w.run()
    calls = [n for _, _, n in w.oracle.calls]
    return list(zip(calls, [x.html for x in w.providers["one"].said], strict=True))


def test_a_call_carries_the_recipients_of_one_group() -> None:
    calls = sent(world(), people(*[0] * 7, *[1] * 3, 2))
    assert calls == [(7, "<p>1</p>\n<p>2</p>"), (3, "<p>3</p>"), (1, "<p>1</p>\n<p>3</p>")]


def test_what_the_provider_takes_depends_on_the_groups_message() -> None:
    calls = sent(world(provider=Sized), people(*[0] * 5, *[1] * 5))
    assert [n for n, _ in calls] == [5, 2, 2, 1]


def test_a_provider_of_single_messages_gets_single_messages() -> None:
    assert [n for n, _ in sent(world(limit=1), people(0, 0, 1))] == [1, 1, 1]


@pytest.mark.slow
def test_a_message_is_made_once_for_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    of = rendering.Groups.of

    def counted(self: Any, group: int, link: str = "") -> Content:
        made.append(group)
        return of(self, group, link)

    monkeypatch.setattr(rendering.Groups, "of", counted)
    sent(world(), people(*[0] * 700, *[1] * 700))
    assert made == [0, 1]


def test_few_messages_of_groups_stay_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compose, "KEPT", 100)
    w = world()
    lines = replace(LINES, groups=tuple((n % 3,) for n in range(50)))
    composition = Composition(w.accept(1), replace(CONTENT, digest=lines))
    for one in people(*range(50)):
        assert composition.of(one) is composition.of(one)
    assert len(composition._kept._made) == 11


def test_a_call_that_is_refused_as_a_whole_is_divided() -> None:
    w = world()
    w.providers["one"].script("p3@example.com", [NotTogether("refused")] * 2)
    calls = sent(w, people(*[0] * 6))
    assert sum(n for n, _ in calls) > 6
    assert {html for _, html in calls} == {"<p>1</p>\n<p>2</p>"}
    assert set(w.states(w.jobs[-1])) == {Cell.SENT}


@pytest.mark.parametrize("group", ["", "3", "-1", "x", "²"])
def test_a_recipient_without_a_group_is_settled_alone(group: str) -> None:
    w = world()
    stray = Recipient("stray@example.com", "stray@example.com", values={GROUP: group} if group else {})
    calls = sent(w, (*people(0, 0), stray))
    assert [n for n, _ in calls] == [2]
    assert w.states(w.jobs[-1]) == [Cell.SENT, Cell.SENT, Cell.FAILED]


def test_a_message_that_cannot_be_sent_fails_for_its_group_alone() -> None:
    w = world()
    content = replace(CONTENT, subject="{{ events }}", digest=replace(LINES, html=("<p>1</p>", "<p>2\x00</p>", "3")))
    made = Composition(w.accept(1), replace(content, subject="x"))
    assert made.of(people(0)[0]).content == CannotCompose("control_character")
    assert isinstance(made.of(people(1)[0]).content, Content)


def test_each_recipient_has_a_link_of_their_own_where_there_is_one() -> None:
    w = world()
    content = replace(CONTENT, html="{{ events }} {{ unsubscribe_url }}", unsubscribe="https://x.example.com/u/")
    made = Composition(w.accept(1), content, FakeLinks())
    ann, bob = (made.of(x).content for x in people(0, 0))
    assert isinstance(ann, Content)
    assert isinstance(bob, Content)
    links = [dict(x.headers)["List-Unsubscribe"].strip("<>") for x in (ann, bob)]
    assert links[0] != links[1]
    assert links[0] in ann.html
    assert not made.together


def test_an_invalid_template_settles_everybody() -> None:
    w = world()
    sent(w, people(0, 1), replace(CONTENT, html="{{ events"))
    assert w.states(w.jobs[-1]) == [Cell.FAILED, Cell.FAILED]
