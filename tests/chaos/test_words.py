from shared.domain.jobs.outcomes import Unknown
from simulator.registry import providers
from tests.chaos.words import STATUSES, broken_words


def test_what_every_vendor_says_when_it_breaks_leaves_the_fate_open() -> None:
    words = broken_words()
    assert len(words) == len(providers()) * len(STATUSES)
    assert {(word.vendor, word.status) for word in words} == {(name, s) for name in providers() for s in STATUSES}
    assert {type(word.outcome) for word in words} == {Unknown}
