from shared.domain.outcomes import Unknown
from simulator.registry import providers
from tests.chaos.words import STATUSES, broken_words


def test_what_every_vendor_says_when_it_breaks_leaves_the_fate_open() -> None:
    words = broken_words()
    assert len(words) == len(providers()) * len(STATUSES)
    assert {type(word) for word in words} == {Unknown}
