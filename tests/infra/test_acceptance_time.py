"""A small job is stored before the sweeper walks its minute (S.10)."""

import pytest

from infra.functions import api
from shared.engine.walks.unlisted import LATE_MS

CLOCKS_MS = 10_000
"""By which the clocks of two functions may differ."""


@pytest.mark.promise(3)
def test_the_api_ends_long_before_a_minute_s_jobs_are_walked() -> None:
    assert api.SECONDS * 1000 + CLOCKS_MS < LATE_MS
