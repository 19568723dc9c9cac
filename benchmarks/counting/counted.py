"""The rows that are counted: the same figures on every machine, so a miss is a defect."""

from benchmarks.counting import cost
from benchmarks.rig import rows
from benchmarks.rig.rows import Row, counted, named
from benchmarks.rig.scenarios import BODY, batch, lane_of, rate_of, warm, words
from benchmarks.rig.world import world
from shared.contracts import ProviderEvent
from shared.domain.jobs.states import JobState
from shared.domain.lanes.pacing import pace
from tests.engine.fairness import behind_bulk, shared
from tests.engine.kills import GOAL, kill
from tests.engine.lowered import use

BATCH = 1000
EVENTS = 100
WORDS = 10
TOGETHER = 10
"""Single messages that a function finds at once."""
KILLS = 10
TRACKERS = 10
"""Invocations of the tracker at once on AWS (`TRACK_WORKERS` in infra/functions/dispatch.py)."""


def windows() -> list[Row]:
    """Batches of a thousand, by the size of the window."""
    out = []
    for window, units, calls in ((50, 0.20, 0.11), (200, 0.16, 0.06)):
        with world(rate=rate_of(window)) as w:
            warm(w)
            _, tally = batch(w, BATCH)
            name = f"window {window}"
            out.append(counted(named(rows.WRITES, name), tally.wru / BATCH, units, "WRU"))
            out.append(counted(named(rows.CALLS, name), tally.aws_calls / BATCH, calls, "calls"))
    return out


def one() -> list[Row]:
    """A batch of one recipient with 2 KB of HTML: by itself, and with nine others that functions find with it."""
    with world(rate=150, spread=False) as w:
        warm(w)
        _, tally = batch(w, 1)
        w.take()
        jobs = w.post_each(TOGETHER, BODY)
        w.send(TOGETHER)
        w.log(TOGETHER)
        many = w.take()
        if {x.state for x in w.deployment.records.read_jobs(jobs).values()} != {JobState.LOGGED}:
            raise RuntimeError("not all was logged")
        return [
            counted(named(rows.ONE, "write units"), tally.wru, 11, "WRU"),
            counted(named(rows.ONE, "AWS calls"), tally.aws_calls, 12, "calls"),
            counted(named(rows.ONE, "write units, ten together"), many.wru / TOGETHER, 7.5, "WRU"),
            counted(named(rows.ONE, "AWS calls, ten together"), many.aws_calls / TOGETHER, 7, "calls"),
        ]


def feedback() -> list[Row]:
    """A hundred events of one chunk in one post, folded."""
    with world(rate=1000) as w:
        warm(w)
        job, _ = batch(w, BATCH)
        lane = lane_of(w, job)
        w.take()
        w.track(lane, [words(job, 0, range(EVENTS))])
        w.log()
        units = w.take().wru
        stored = w.deployment.records.job(job)
        if stored is None or stored.counts["delivered"] != EVENTS:
            raise RuntimeError("the events were not joined")
        return [counted(rows.FEEDBACK_WRITES, units / EVENTS, 0.10, "WRU")]


def scattered() -> list[Row]:
    """A word about each of ten single messages in posts of their own, joined and folded at once; and how fast."""
    with world(rate=1000, spread=False) as w:
        warm(w)
        by_lane: dict[str, list[ProviderEvent]] = {}
        for _ in range(WORDS):
            job, _ = batch(w, 1)
            by_lane.setdefault(lane_of(w, job), []).extend(words(job, 0, range(1)))
        w.take()
        for lane, some in by_lane.items():
            w.track(lane, [[word] for word in some])
        joined = w.take()
        w.log()
        if w.take().wru:
            raise RuntimeError("not all was folded at once")
        jobs = [w.deployment.records.job(word.ref[:26]) for some in by_lane.values() for word in some]
        if sum(job.counts["delivered"] for job in jobs if job is not None) != WORDS:
            raise RuntimeError("the words were not joined")
    return [
        counted(named(rows.SCATTERED, "write units"), joined.wru / WORDS, 2.5, "WRU"),
        counted(named(rows.SCATTERED, "AWS calls"), joined.aws_calls / WORDS, 0.5, "calls"),
        counted(rows.SCATTERED_SPEED, TRACKERS * _speed(), 1000, "/s", more=True),
    ]


def _speed() -> float:
    """Return how many scattered words a tracker joins a second of fake time."""
    from tests.fakes.world import World, credential  # noqa: PLC0415 - no other row needs the fakes

    w = World(credential("one"))
    names = [w.accept(1).id for _ in range(200)]
    w.run()
    said = [w.word(name, 0, "delivered") for name in names]
    w.tap.delay = lambda: w.clock.sleep(cost.CALL_SECONDS)
    began = w.clock.now()
    w.clock.run(lambda: w.tracker.join_all("one", said))
    return len(said) / (w.clock.now() - began)


def ending() -> list[Row]:
    """A large job that ends while its feedback comes, in fake time."""
    from tests.engine.flood import ending  # noqa: PLC0415

    return [counted(rows.ENDING, ending().seconds, 10, "s")]


def fairness() -> list[Row]:
    """Measure how long accounts wait for one another, in fake time."""
    single, both = behind_bulk(14, 1, seconds=120, every=1), shared(14, seconds=60)
    return [
        counted(rows.FAIR, single.p95, 5, "s"),
        counted(rows.SHARED, 100 * min(both.shares.values()), 40, "%", more=True),
    ]


def limits() -> list[Row]:
    """Measure the rate used after the provider has lowered a declared rate, in fake time."""
    found = use(20, 10, seconds=300)
    return [
        counted(named(rows.LOWERED, "calls refused"), 100 * found.refused, 5, "%"),
        counted(named(rows.LOWERED, "used of what it takes"), 100 * found.used, 85, "%", more=True),
    ]


def killed() -> list[Row]:
    """Measure the doubts that killed workers leave, and the time until others continue, in fake time."""
    kills = {rate: [kill(rate, seed) for seed in range(KILLS)] for rate in (20, 200)}
    out = [
        counted(
            named(rows.KILLED, f"most unknown of a lease, {rate}/s"),
            max(n for k in some for n in k.lost),
            pace(rate, 1).window,
            "messages",
        )
        for rate, some in kills.items()
    ]
    waits = sorted(k.seconds for some in kills.values() for k in some)
    slow = waits[-(-len(waits) * 95 // 100) - 1]
    return [*out, counted(named(rows.KILLED, "until all goes on, p95"), slow, GOAL, "s")]
