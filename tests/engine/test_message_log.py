import pytest

from shared.domain.jobs.details import Detail, FeedbackDetail, FeedbackEntry
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.outcomes import Accepted, Rejected, Unknown
from shared.domain.jobs.states import MessageState, Status
from shared.engine.reports import message_log
from shared.engine.reports.attempts import Attempt, AttemptFate, detail_of, last_refusal
from shared.engine.reports.message_log import Filter, LogLine
from tests.fakes.world import World, credential, recipients

DOWN = Rejected("down", permanent=False)


@pytest.fixture
def world() -> World:
    return World(credential("one"), credential("two"))


def lines(world: World, job: str, wanted: Filter | None = None, limit: int = 100) -> list[LogLine]:
    """Read all pages."""
    out: list[LogLine] = []
    start: tuple[int, int] | None = (0, 0)
    while start is not None:
        page, start = world.logs.lines(world.job(job), wanted or Filter(), start=start, limit=limit)
        assert len(page) <= limit
        out += page
    return out


def varied(world: World) -> str:
    """A job of 12 in two chunks with every kind of end."""
    job = world.accept(recipients(12, skip=[5]))
    for p in world.providers.values():
        p.script("r1@example.com", [Rejected("bad", permanent=True)])
        p.script("r2@example.com", [Unknown("timeout")])
    first = world.ledgers.read_all(job.id)[0].first_lane
    world.providers[first].script("r3@example.com", [DOWN])
    world.run()
    world.track(first, world.word(job.id, 0, "delivered"), world.word(job.id, 4, "bounced", code="550"))
    world.run()
    return job.id


def test_lines_come_in_list_order_whatever_the_pages(world: World) -> None:
    job = varied(world)
    whole = lines(world, job)
    assert [x.recipient for x in whole] == [f"r{i}@example.com" for i in range(12)]
    assert [x.message for x in whole] == [*(f"0.{i}" for i in range(6)), *(f"1.{i}" for i in range(6))]
    for limit in (1, 2, 3, 5, 6, 7, 12):
        assert lines(world, job, limit=limit) == whole


def test_what_a_line_says(world: World) -> None:
    job = varied(world)
    delivered, refused, unknown, failed_over, bounced, skipped, *rest = lines(world, job)
    first = world.ledgers.read_all(job)[0].first_lane
    other = "two" if first == "one" else "one"
    assert (delivered.state, delivered.status, delivered.error) == (MessageState.DELIVERED, Status.SUCCESS, None)
    assert [w.word for w in delivered.attempts[0].words] == ["delivered"]
    assert delivered.attempts[0].provider_message_id == f"{first}-{job}-0-0-1"
    assert (refused.state, refused.status, refused.error) == (MessageState.FAILED, Status.FAILED, "bad")
    assert (unknown.state, unknown.status, unknown.error) == (MessageState.UNKNOWN, Status.QUEUED, "timeout")
    assert failed_over.state is MessageState.SENT
    assert [(a.n, a.credential_id, a.outcome, a.code) for a in failed_over.attempts] == [
        (1, first, "not_sent", "down"),
        (2, other, "accepted", ""),
    ]
    assert failed_over.providers == {"one": True, "two": True}
    assert refused.providers == {first: True, other: False}
    assert list(refused.providers) == ["one", "two"]
    assert (bounced.state, bounced.error) == (MessageState.FAILED, "550")
    assert (skipped.state, skipped.error, skipped.attempts) == (MessageState.SKIPPED, "suppressed", ())
    assert skipped.providers == {"one": False, "two": False}
    assert {x.state for x in rest} == {MessageState.SENT}
    assert not any(x.may_duplicate for x in (delivered, refused, unknown, failed_over, bounced))


def test_filters(world: World) -> None:
    job = varied(world)
    failed = lines(world, job, Filter(states=frozenset({MessageState.FAILED})))
    assert [x.message for x in failed] == ["0.1", "0.4"]
    narrow = lines(world, job, Filter(statuses=frozenset({Status.FAILED})))
    assert [x.message for x in narrow] == ["0.1", "0.4", "0.5"]
    both = Filter(states=frozenset({MessageState.SKIPPED}), statuses=frozenset({Status.SUCCESS}))
    assert lines(world, job, both) == []
    assert [x.message for x in lines(world, job, Filter(recipient="r7@example.com"))] == ["1.1"]
    assert lines(world, job, Filter(recipient="nobody@example.com")) == []
    wanted = Filter(states=frozenset({MessageState.SENT}))
    assert lines(world, job, wanted, limit=1) == lines(world, job, wanted)


def test_lines_are_found_by_their_attempts(world: World) -> None:
    job = varied(world)
    first = world.ledgers.read_all(job)[0].first_lane
    other = "two" if first == "one" else "one"
    by = world.logs.counts(world.job(job)).by

    def found(credential: str = "", fate: AttemptFate | None = None) -> list[str]:
        return [x.message for x in lines(world, job, Filter(credential=credential, fate=fate))]

    assert found(first) == ["0.0", "0.1", "0.2", "0.3", "0.4"]
    assert found(other) == ["0.3", *(f"1.{i}" for i in range(6))]
    assert found(first, AttemptFate.DELIVERED) == ["0.0"]
    assert found(first, AttemptFate.FAILED) == ["0.1", "0.4"]
    assert found(fate=AttemptFate.DELIVERED) == ["0.0"]
    assert found("three") == []
    for name in (first, other):
        assert by[name] == {"tried": len(found(name)), **{x.value: len(found(name, x)) for x in AttemptFate}}
    both = Filter(states=frozenset({MessageState.SENT}), credential=other)
    assert [x.message for x in lines(world, job, both)] == found(other)
    assert lines(world, job, both, limit=2) == lines(world, job, both)


def test_the_last_refusal_has_its_provider_s_words() -> None:
    first = Attempt(1, "one", 0, "not_sent", "4.2.2", detail="452 4.2.2 Mailbox full")
    said = FeedbackEntry(0, 2, "bounced", 5, code="general", detail="smtp; 550 5.1.1 user unknown")
    copy = FeedbackEntry(0, 2, "bounced", 6, code="other", detail="of a copy", secondary=True)
    second = Attempt(2, "two", 1, "accepted", words=(said, copy))
    assert last_refusal([]) == ("", "")
    assert last_refusal([first]) == ("4.2.2", "452 4.2.2 Mailbox full")
    assert last_refusal([first, second]) == ("general", "smtp; 550 5.1.1 user unknown")
    refused = Attempt(1, "one", 0, "refused", "5.1.1", detail="550 <recipient>: no")
    assert detail_of([refused], "ann@example.org") == "550 <ann@example.org>: no"


def test_results_of_an_attempt_are_also_what_its_provider_says_later() -> None:
    def fates(*words: str, secondary: bool = False) -> set[str]:
        said = tuple(FeedbackEntry(0, 1, word, 5, secondary=secondary) for word in words)
        return {x.value for x in Attempt(1, "one", 0, "unknown", words=said).fates}

    assert fates() == fates("deferred") == set()
    assert fates("accepted") == {"accepted"}
    assert fates("delivered") == {"accepted", "delivered"}
    assert fates("bounced") == {"accepted", "failed"}
    assert fates("delivered", "bounced", secondary=True) == set(), "said of a copy"


def test_a_message_that_a_credential_has_in_hand_is_found_by_it(world: World) -> None:
    job = world.accept(2)
    lane = world.ledgers.read_all(job.id)[0].lane
    now = job.created_at
    held = world.ledgers.send_start(job.id, 0, lane=lane, owner="us", now=now, until=now + 60_000)
    assert isinstance(held, Ledger)
    assert world.ledgers.claim(held, [], 1, route=job.route) is not None
    assert [x.message for x in lines(world, job.id, Filter(credential=lane))] == ["0.0"]
    assert lines(world, job.id, Filter(credential=lane, fate=AttemptFate.ACCEPTED)) == []


def test_a_credential_costs_details_only_of_chunks_that_it_tried(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    job = world.accept(12)
    world.run()
    asked: list[int] = []
    details = world.records.details

    def counted(name: str, chunk: int) -> tuple[list[Detail], list[FeedbackDetail]]:
        asked.append(chunk)
        return details(name, chunk)

    monkeypatch.setattr(world.records, "details", counted)
    used = {found.lane: found.chunk for found in world.ledgers.read_all(job.id)}
    assert len(used) == 2
    for name, chunk in used.items():
        asked.clear()
        assert lines(world, job.id, Filter(credential=name, fate=AttemptFate.FAILED)) == []
        assert asked == [chunk]
        assert len(lines(world, job.id, Filter(credential=name))) == 6
        assert asked == [chunk, chunk], "each pass reads them once, whatever it finds"


def test_a_credential_that_is_not_of_the_route_costs_no_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    job = world.job(world.accept(12).id)
    monkeypatch.setattr(world.logs, "_ledgers", None)
    assert world.logs.lines(job, Filter(credential="three")) == ([], None)


def test_a_page_without_a_filter_ends_where_the_job_ends(world: World) -> None:
    job = world.accept(4)
    page, following = world.logs.lines(world.job(job.id), Filter(), limit=4)
    assert (len(page), following) == (4, None)
    page, following = world.logs.lines(world.job(job.id), Filter(), limit=3)
    assert (len(page), following) == (3, (1, 1))


def test_a_filtered_page_reads_a_bounded_number_of_chunks(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_log, "PAGE_CHUNKS", 1)
    job = world.accept(4)
    wanted = Filter(recipient="r3@example.com")
    assert world.logs.lines(world.job(job.id), wanted) == ([], (1, 0))
    assert [x.message for x in lines(world, job.id, wanted)] == ["1.1"]


def test_one_line(world: World) -> None:
    job = varied(world)
    assert world.logs.line(world.job(job), 1, 5) == lines(world, job)[-1]
    assert world.logs.line(world.job(job), 1, 6) is None
    assert world.logs.line(world.job(job), 2, 0) is None


def test_a_message_that_waits_for_its_next_try_is_queued(world: World) -> None:
    job = world.accept(1)
    for p in world.providers.values():
        p.answer = DOWN
    for lane in ("one", "two", "one"):
        world.send(lane)
    (line,) = lines(world, job.id)
    assert (line.state, line.status, line.error) == (MessageState.QUEUED, Status.QUEUED, None)
    assert [a.code for a in line.attempts] == ["down", "down"]


def test_the_last_moment_of_a_line_is_its_newest(world: World) -> None:
    job = world.accept(1)
    assert lines(world, job.id)[0].updated_at_ms == job.created_at
    world.run()
    lane = world.ledgers.read_all(job.id)[0].lane
    world.track(lane, world.word(job.id, 0, "delivered", at=int(world.clock.now()) + 50))
    line = lines(world, job.id)[0]
    assert line.updated_at_ms == (int(world.clock.now()) + 50) * 1000
    assert line.attempts[0].at_ms < line.updated_at_ms


def test_a_repeated_event_is_stored_once(world: World) -> None:
    job = world.accept(1)
    world.run()
    lane = world.ledgers.read_all(job.id)[0].lane
    word = world.word(job.id, 0, "delivered", at=5)
    world.track(lane, word)
    world.track(lane, word, world.word(job.id, 0, "deferred", at=4))
    assert [w.word for w in lines(world, job.id)[0].attempts[0].words] == ["deferred", "delivered"]


# Counts


@pytest.mark.promise(3)
def test_counts_add_up_at_every_step(world: World) -> None:
    """Between any two calls that leave the process a client may ask; every answer adds up."""
    job = world.accept(recipients(12, skip=[5]))
    world.providers["one"].script("r1@example.com", [DOWN, Unknown("timeout")])
    world.providers["two"].script("r8@example.com", [Rejected("bad", permanent=True)])
    seen = set()
    inside: list[bool] = []

    def look() -> None:
        if not inside:
            inside.append(True)
            world.check()
            seen.add(tuple(sorted(world.counts(job.id).items())))
            inside.clear()

    world.tap.delay = look
    world.settle()
    for i, word in enumerate(("delivered", "bounced", "dropped", "delivered")):
        world.track("one", world.word(job.id, i, word))
    world.run()
    assert len(seen) > 8
    assert {k for counts in seen for k, _ in counts} >= {"queued", "sending", "sent", "skipped", "delivered"}


def test_counts_of_a_large_job_are_those_folded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    job = world.accept(4)
    live = world.logs.counts(job)
    assert (live.exact, live.counts["queued"], live.as_of) == (True, 4, world.clock.ms)
    world.send("one")
    monkeypatch.setattr(message_log, "LIVE_CHUNKS", 1)
    folded = world.logs.counts(world.job(job.id))
    assert (folded.exact, folded.counts["queued"]) == (False, 4)
    monkeypatch.undo()
    assert world.logs.counts(world.job(job.id)).counts["sent"] == 2


def test_counts_by_credential(world: World) -> None:
    job = world.accept(4)
    world.providers["one"].script("r0@example.com", [Accepted("x")])
    world.run()
    by = world.logs.counts(world.job(job.id)).by
    assert by == {c: {"tried": 2, "accepted": 2, "delivered": 0, "failed": 0} for c in ("one", "two")}
