"""When a message counts as delivered: by the report, and never before the attempt that it is about."""

import pytest

from shared.domain.jobs.details import FeedbackEntry
from shared.domain.jobs.states import MessageState, Status
from shared.engine.reports.attempts import Attempt
from shared.engine.reports.message_log import LogLine


@pytest.mark.parametrize(("reported", "counts"), [(0, 1_622), (1, 1_622), (2, 2_000)])
def test_a_report_of_whole_seconds_does_not_deliver_before_the_attempt(reported: int, counts: int) -> None:
    words = (FeedbackEntry(0, 1, "delivered", reported),)
    attempt = Attempt(1, "one", 1_622, "accepted", words=words)
    line = LogLine("0.0", "a@example.org", MessageState.DELIVERED, next(iter(Status)), {}, (attempt,), 0, None)
    assert (line.sent_at_ms, line.delivered_at_ms) == (1_622, counts)
