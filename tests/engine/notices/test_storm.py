"""Notices in a storm: actions in any order, providers that fail, words late and twice, functions that die, a pause.

Judged by what the providers really took and by the updates, not by what the hub believes.
"""

import random
from collections import defaultdict

import pytest

from shared.domain.jobs.outcomes import Rejected, Throttled, Unknown
from shared.domain.jobs.states import Cell
from shared.domain.notices.notice import NoticeStatus, Phase
from shared.domain.notices.purge import COLLECTED_DAYS
from tests.engine.notices.hub import HOUR, Hub
from tests.fakes.faults import Crash, When
from tests.fakes.provider import Swallowed
from tests.tiers import some_slow

NOTICES = 5
STEPS = 30
ANSWERS = (
    None,
    None,
    Rejected("down", permanent=False),
    Rejected("no_such_number", permanent=True),
    Unknown("timeout"),
    Swallowed(),
    Throttled(30.0),
)
WORDS = ("delivered", "delivered", "failed_temporarily", "bounced", "accepted")


class Storm:
    """One storm; `failed`: refs of attempts that a provider took and then gave up."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)  # noqa: S311
        self.hub = Hub(rate=5)
        self.hub.texts["other"] = self.hub.texts["reminder"]
        self.failed: set[str] = set()
        self.canceled: dict[int, int] = {}

    def run(self) -> None:
        for _ in range(STEPS):
            steps = (self._action, self._action, self._time, self._word, self._weather, self._read)
            self._guarded(self.rng.choice(steps))
        self.calm()

    def _guarded(self, act: object) -> None:
        if self.rng.random() < 0.3:
            self.hub.world.tap.arm(self.rng.randrange(12), self.rng.choice(list(When)), Crash)
        try:
            act()  # type: ignore[operator]
        except Crash:
            self.hub.stream.clear()  # its words are lost, too
            self.hub.reboot()
        self.hub.world.tap.disarm()

    def _action(self) -> None:
        n, hub = self.rng.randrange(NOTICES), self.hub
        kind = self.rng.random()
        if kind < 0.5:
            hub.new(n)
        elif kind < 0.75:
            hub.update(n, template=self.rng.choice(("reminder", "other")))
        elif f"n{n}" in {x.id for x in hub.store.items.values()}:
            hub.cancel(n)

    def _time(self) -> None:
        self.hub.pass_time(self.rng.choice((60, 600, 4 * HOUR, 20 * HOUR)), step=600)

    def _word(self) -> None:
        runs = [r for x in self.hub.store.items.values() for r in x.runs]
        if not runs:
            return
        run = self.rng.choice(runs)
        word = self.rng.choice(WORDS)
        attempt = self.hub.world.cells(run.job)[run.index][1]
        ref = f"{run.job}-0-{run.index}-{attempt}"
        if not self.hub.world.oracle.has(ref):
            return
        if word in ("failed_temporarily", "bounced"):
            self.failed.add(ref)
        if word == "delivered" and ref in self.failed:
            return
        self.hub.feedback(run.job, run.index, word)

    def _read(self) -> None:
        self.hub.collect(self.hub.log.marks(self.hub.notifier.name).collected)

    def _weather(self) -> None:
        hub = self.hub
        hub.world.providers["text"].answer = self.rng.choice(ANSWERS)
        paused = hub.records.paused  # type: ignore[attr-defined]
        if self.rng.random() < 0.2:
            paused.add(hub.notifier.account)
        else:
            paused.clear()

    def calm(self) -> None:
        """Let everything work, and time pass beyond every expiry."""
        self.hub.reboot()
        self.hub.world.providers["text"].answer = None
        self.hub.records.paused.clear()  # type: ignore[attr-defined]
        self.hub.pass_time(9 * 24 * HOUR, step=HOUR)
        self._read()
        self.hub.pass_time(2 * 24 * HOUR, step=24 * HOUR)

    # What must hold

    def check(self) -> None:
        for notice in self.hub.store.items.values():
            assert (notice.phase, notice.kept) == (Phase.ENDED, None), notice
            entries = [x for x in self.hub.store.log if x.notice == notice.uuid]
            assert entries, "a notice that ended and says nothing"
            assert entries[-1].status == notice.status.value
            stamps = [x.stamp for x in entries]
            assert stamps == sorted(set(stamps)), "entries out of order"
            kept = notice.ttl - max(notice.stamp, notice.expires_at) // 1000
            assert kept == COLLECTED_DAYS * 24 * HOUR, "collected, and kept for another time"
        self._once()
        self._nothing_after_a_cancellation()

    def _once(self) -> None:
        """No version of the data was taken twice, unless the provider had given the first one up."""
        taken: dict[tuple[str, int], list[str]] = defaultdict(list)
        runs = {(r.job, r.index): (x.uuid, r.gen) for x in self.hub.store.items.values() for r in x.runs}
        for t in self.hub.world.oracle.taken:
            if str(t.ref) not in self.failed:
                taken[runs[t.ref.job, t.ref.index]].append(str(t.ref))
        twice = {k: v for k, v in taken.items() if len(v) > 1}
        assert not twice, twice

    def _nothing_after_a_cancellation(self) -> None:
        runs = {(r.job, r.index): x.uuid for x in self.hub.store.items.values() for r in x.runs}
        for t in self.hub.world.oracle.taken:
            uuid = runs[t.ref.job, t.ref.index]
            said = [x.status for x in self.hub.store.log if x.notice == uuid and x.stamp < t.at * 1000]
            assert not said or said[-1] != NoticeStatus.CANCELED.value, f"{uuid} was sent after it was cancelled"


@pytest.mark.promise(1)
@pytest.mark.parametrize("seed", some_slow(range(40), range(8, 40)))
def test_a_storm_of_notices(seed: int) -> None:
    storm = Storm(seed)
    storm.run()
    storm.check()


@pytest.mark.slow
def test_the_storms_meet_every_final_state() -> None:
    seen: set[NoticeStatus] = set()
    cells: set[Cell] = set()
    for seed in range(12):
        storm = Storm(1000 + seed)
        storm.run()
        seen |= {x.status for x in storm.hub.store.items.values()}
        cells |= {s for j in storm.hub.world.jobs for s in storm.hub.world.states(j)}
    assert seen >= {NoticeStatus.SUCCESS, NoticeStatus.PERM_FAIL, NoticeStatus.CANCELED}
    assert cells >= {Cell.WITHDRAWN, Cell.EXPIRED, Cell.SENT_CLOSED, Cell.UNKNOWN_CLOSED, Cell.DELIVERED}
