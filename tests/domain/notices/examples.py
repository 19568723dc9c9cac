"""Notices and records as tests have them: a clinic in Sydney, whose notices may be sent from 9 to 21."""

from dataclasses import replace
from datetime import date
from typing import Any

from shared.domain.notices.actions import NoticeOwner
from shared.domain.notices.notice import DeliveryMethod, Notice, NoticeData
from shared.domain.notices.times import Hours, moment

HOURS = Hours("Australia/Sydney", 9, 21)
NOW = moment("Australia/Sydney", date(2026, 11, 24), 600)
"""Ten o'clock."""
OWNER = NoticeOwner("clinic", "acc_000000000001", "11111111-2222-5333-8444-555555555555", "n1")
DATA = NoticeData("Ada", "+61412345678", "reminder", DeliveryMethod.SMS, date(2026, 11, 24), date(2026, 12, 1))
OTHER = replace(DATA, first_name="Grace")


def notice(**changes: Any) -> Notice:
    """Return a notice that waits."""
    made = Notice(
        uuid=OWNER.uuid,
        notifier=OWNER.notifier,
        account=OWNER.account,
        id=OWNER.id,
        data=DATA,
        created_at=NOW - 1000,
        next_at=NOW,
        expires_at=DATA.expires_at(HOURS),
    )
    return replace(made, **changes)


def record(**changes: Any) -> dict[str, Any]:
    """Return an uploaded record; a field that is None is left out."""
    made = {
        "id": "n1",
        "action": "MESSAGE_NEW",
        "first_name": "Ada",
        "phone_number": "0412 345 678",
        "template_id": "reminder",
        "delivery_method": "SMS",
        "delivery_date": "2026-11-24",
    }
    return {k: v for k, v in (made | changes).items() if v is not None}
