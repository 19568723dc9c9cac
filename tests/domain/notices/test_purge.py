"""How long a notice is kept once its last update is collected."""

from typing import Any

import pytest

from shared.domain.notices.notice import DAY_S, KEPT_DAYS, Phase
from shared.domain.notices.purge import shortened, to_walk
from shared.domain.notices.updates import LOG_DAYS, Marks, Span, UpdateEntry
from shared.domain.times import DAY_MS
from tests.domain.notices.examples import NOW, OWNER, notice

EXPIRY = notice().expires_at


def ended(**changes: Any) -> Any:
    return notice(
        **{"phase": Phase.ENDED, "stamp": NOW, "ttl": NOW // 1000 + KEPT_DAYS * DAY_S, "version": 3} | changes
    )


def entry(version: int = 3) -> UpdateEntry:
    return UpdateEntry(OWNER.notifier, OWNER.uuid, OWNER.id, NOW, "SUCCESS", version=version, ended=True)


def test_a_collected_notice_is_kept_for_a_week_after_its_expiry_or_last_update() -> None:
    assert shortened(ended(), entry()) == EXPIRY // 1000 + 7 * DAY_S
    late = EXPIRY + 2 * DAY_MS
    assert shortened(ended(stamp=late), entry()) == late // 1000 + 7 * DAY_S


@pytest.mark.parametrize(
    "stored",
    [
        notice(version=3),
        notice(version=3, phase=Phase.ACTIVE),
        ended(version=4),
        ended(ttl=EXPIRY // 1000 + 7 * DAY_S),
        ended(expires_at=NOW + 300 * DAY_MS),
    ],
    ids=["waits", "is sent", "has changed since", "is kept no longer", "would be kept longer"],
)
def test_any_other_notice_stays_as_it_is(stored: Any) -> None:
    assert shortened(stored, entry()) is None


@pytest.mark.parametrize(
    ("marks", "created_at", "span"),
    [
        (Marks(collected=NOW - 5), NOW - 9, Span(NOW - 9, NOW - 5)),
        (Marks(collected=NOW - 5, purged=NOW - 7), 0, Span(NOW - 7, NOW - 5)),
        (Marks(collected=NOW - 5, purged=NOW - 5), 0, Span(NOW - 5, NOW - 5)),
        (Marks(), NOW - DAY_MS, Span(NOW - DAY_MS, NOW - DAY_MS)),
        (Marks(), 0, Span(NOW - LOG_DAYS * DAY_MS, NOW - KEPT_DAYS * DAY_MS)),
        (Marks(purged=NOW - 91 * DAY_MS), 0, Span(NOW - 91 * DAY_MS, NOW - 90 * DAY_MS)),
        (Marks(collected=NOW - 95 * DAY_MS, purged=NOW - 90 * DAY_MS), 0, Span(NOW - 90 * DAY_MS, NOW - 90 * DAY_MS)),
    ],
)
def test_a_walk_sees_what_is_collected_and_what_has_gone_uncollected(marks: Marks, created_at: int, span: Span) -> None:
    assert to_walk(marks, created_at, NOW) == span
