"""An outage of a provider that can be asked costs few messages, and what waited is called soon after its return."""

import pytest

from shared.domain.jobs.outcomes import Outcome, Rejected, Unknown
from shared.domain.jobs.states import Cell
from tests.engine.failing import breaker, calls
from tests.engine.shaky import deploy, logged
from tests.fakes.provider import AskedProvider, FakeProvider
from tests.fakes.world import World, credential

CLOSES = (Unknown("connection_closed"), 0.05)
HANGS = (Unknown("read_timeout"), 10.0)
UNAVAILABLE = (Rejected("http_503", permanent=False), 0.05)
REFUSES = (Rejected("connection_refused", permanent=False), 0.001)
WORKERS = 2


class Outage:
    """A provider `one` that is away for some seconds, and messages of their own that are accepted meanwhile."""

    def __init__(
        self,
        answer: tuple[Outcome, float],
        *credentials: str,
        rate: float,
        seconds: float,
        kind: type[FakeProvider] = AskedProvider,
    ) -> None:
        self.world = World(*(credential(name, rate) for name in credentials), provider=kind)
        self.began = self.world.clock.now()
        self.back = self.began + seconds
        self.provider = self.world.providers["one"]
        self.provider.before = lambda _targets: self._say(answer)
        if isinstance(self.provider, AskedProvider):
            self.provider.silence = lambda: "gone" if self.world.clock.now() < self.back else ""

    def _say(self, answer: tuple[Outcome, float]) -> None:
        away = self.world.clock.now() < self.back
        self.provider.answer, self.provider.latency = answer if away else (None, 0.05)

    def over(self, messages: int, seconds: float, workers: int = WORKERS) -> float:
        """Accept messages over the first seconds, and return how long after its return the last was taken."""
        world = self.world

        def accepted() -> bool:
            due = min(messages, int((world.clock.now() - self.began) / seconds * messages) + 1)
            while len(world.jobs) < due:
                world.accept(1)
            return len(world.jobs) == messages and logged(world)

        length = self.back - self.began
        lanes = [c.id for c in world.settings.credentials]
        deploy(world, *lanes, workers=workers, seconds=length + 3600, until=accepted)
        world.check()
        return max(t.at for t in world.oracle.taken) - self.back

    def lost(self) -> int:
        """Return how many messages are unknown."""
        return [s for job in self.world.jobs for s in self.world.states(job)].count(Cell.UNKNOWN)


@pytest.mark.slow
@pytest.mark.promise(1)
@pytest.mark.promise(3)
@pytest.mark.parametrize("rate", [150, 20])
@pytest.mark.parametrize("answer", [CLOSES, HANGS, UNAVAILABLE, REFUSES])
def test_an_outage_of_107_s_costs_a_message_a_worker_and_the_rest_is_called_within_a_minute(
    answer: tuple[Outcome, float], rate: float
) -> None:
    outage = Outage(answer, "one", rate=rate, seconds=107)
    assert outage.over(500, 3) <= 60
    assert outage.lost() == (WORKERS if isinstance(answer[0], Unknown) else 0)
    assert calls(outage.world, "one", until=outage.back) <= WORKERS
    assert breaker(outage.world).closed


@pytest.mark.slow
@pytest.mark.promise(1)
def test_with_a_second_credential_all_is_sent_while_the_first_is_away() -> None:
    outage = Outage(CLOSES, "one", "two", rate=150, seconds=107)
    assert outage.over(500, 3) < 0
    assert outage.lost() <= WORKERS


@pytest.mark.slow
@pytest.mark.promise(1)
@pytest.mark.promise(3)
def test_after_ten_minutes_all_is_called_within_a_minute_too() -> None:
    outage = Outage(CLOSES, "one", rate=50, seconds=600)
    assert outage.over(500, 3) <= 60
    assert outage.lost() == WORKERS


@pytest.mark.slow
@pytest.mark.promise(1)
@pytest.mark.promise(3)
def test_two_hours_cost_one_message_more_and_what_waits_comes_back_within_a_twentieth_of_them() -> None:
    outage = Outage(CLOSES, "one", rate=20, seconds=7200)
    assert outage.over(60, 3) <= 7200 / 20 + 60
    assert outage.lost() == WORKERS + 1


@pytest.mark.slow
@pytest.mark.promise(3)
def test_a_provider_that_answers_no_question_but_takes_messages_is_used_again_after_an_hour() -> None:
    outage = Outage(CLOSES, "one", rate=20, seconds=60)
    provider = outage.provider
    assert isinstance(provider, AskedProvider)
    provider.silence = lambda: "gone"
    assert 3600 - 60 <= outage.over(40, 3) <= 3600 + 300


@pytest.mark.slow
@pytest.mark.promise(1)
def test_one_that_answers_questions_and_takes_no_message_costs_what_it_did_without_questions() -> None:
    outage = Outage(CLOSES, "one", rate=150, seconds=107)
    provider = outage.provider
    assert isinstance(provider, AskedProvider)
    provider.silence = str
    outage.over(500, 3)
    assert outage.lost() <= 4 + 4 * WORKERS + 3


@pytest.mark.slow
@pytest.mark.promise(3)
def test_a_message_that_probed_once_waits_by_its_tries_and_not_by_the_rounds_before() -> None:
    outage = Outage(UNAVAILABLE, "one", rate=20, seconds=107, kind=FakeProvider)
    assert outage.over(500, 3) <= 120  # the next probe within 80 s, a round of a minute, and 25 s at this rate
    assert outage.lost() == 0
