from typing import Any

import pytest

from shared.domain.content.content import Mailbox
from shared.domain.digests.policy import DAY_S, DigestPolicy, faults, settings
from tests.domain.digests.examples import policy

FULL = policy(
    sender=Mailbox("news@example.com", "News"),
    route=("one", "two"),
    template="<p>{{ events }}</p>",
    text="{{ events }}",
    line="<li>{{ event_type }}</li>",
    line_text="{{ event_type }}",
    timezone="Australia/Sydney",
    window=60,
    retention=2 * DAY_S,
    unsubscribe=True,
)


@pytest.mark.parametrize("one", [policy(), FULL])
def test_settings_are_read_as_they_were_written(one: DigestPolicy) -> None:
    stored = {"namespace": one.namespace, "prefix": one.prefix, "version": 1}
    times = {"created_at": one.created_at, "saved_at": one.saved_at}
    assert DigestPolicy(**stored, **times, **settings(one.pack())) == one  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({}, []),
        ({"window": 0}, ["window", "near"]),
        ({"window": 4000, "max_age": 3600}, ["max_age"]),
        ({"near": 301}, ["near"]),
        ({"extend": -1}, ["extend"]),
        ({"max_events": 1001}, ["max_events"]),
        ({"max_lines": 0}, ["max_lines"]),
        ({"retention": DAY_S}, ["retention"]),
    ],
)
def test_numbers_out_of_bounds_are_named(changes: dict[str, Any], wrong: list[str]) -> None:
    assert [name for name, _ in faults(policy(**changes))] == wrong


def test_a_part_outlives_its_window_by_the_retention() -> None:
    assert policy(max_age=100, retention=5 * DAY_S).kept_for == 100 + 5 * DAY_S
