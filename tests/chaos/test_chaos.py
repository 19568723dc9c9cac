import secrets

import pytest

from tests.chaos.storm import Storm

MESSAGES = 500
SEEDS = (7, 1912, 20261121)


@pytest.mark.slow
@pytest.mark.promise(1)
@pytest.mark.promise(3)
@pytest.mark.promise(5)
@pytest.mark.parametrize("seed", [*SEEDS, pytest.param(None, id="fresh")])
def test_every_message_of_a_storm_is_accounted_for(seed: int | None, capsys: pytest.CaptureFixture[str]) -> None:
    """`python -m tests.chaos --seed N` replays what this prints."""
    report = Storm(secrets.randbits(32) if seed is None else seed, MESSAGES).run()
    with capsys.disabled():
        print("\n" + report.line())  # noqa: T201 - a seed that is not told cannot be replayed
    assert report.faults == [], report.line()
    assert sum(report.states.values()) == MESSAGES
    assert report.taken > MESSAGES / 2
    if seed is not None:  # a fresh one may be mild
        assert report.crashes > 0
        assert report.doubted > 0
        assert report.broken.total() > 0


@pytest.mark.slow
@pytest.mark.promise(1)
@pytest.mark.promise(3)
def test_single_messages_outlast_two_hours_without_the_only_provider(capsys: pytest.CaptureFixture[str]) -> None:
    report = Storm(SEEDS[0], 40, outage=7200.0).run()
    with capsys.disabled():
        print("\n" + report.line())  # noqa: T201 - measured
    assert report.faults == [], report.line()
    assert report.messages == sum(report.states.values()) >= 40 + 110
    assert 0 < report.probes <= 100


@pytest.mark.slow
def test_a_seed_replays_its_storm() -> None:
    assert Storm(3, 60).run() == Storm(3, 60).run()
