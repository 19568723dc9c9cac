"""Days on which an account's single messages bounce too much, noted once: their stream tells webhooks.

| pattern | key |
|---|---|
| did the single messages of a day bounce too much? | `BOUNCING#account#2026-11-20#email / BOUNCING` |
"""

from collections.abc import Mapping
from typing import Any, Final

from shared.adapters.dynamo import audit, keys
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.codec import n, number
from shared.adapters.dynamo.fields import Fields
from shared.domain.audit import SYSTEM, Act, audited
from shared.domain.campaigns.bounce_guard import SINGLES, BouncingDay
from shared.domain.jobs.job import Job
from shared.domain.times import DAY_MS, Millis

KEPT_DAYS: Final = 40
"""Days that a note is kept."""
_FIELDS: Final = Fields(BouncingDay, always=("bounced", "settled", "at"))


class DynamoBouncingDays:
    """`ports.BouncingDays`. `table`: the name of `records`."""

    def __init__(self, dynamo: Dynamo, table: str) -> None:
        self._db = dynamo
        self._table = table

    def of(self, job: Job, now: Millis) -> BouncingDay:
        shards = self._db.batch_get(self._table, keys.day_stats(job.account, job.day, job.channel))
        bounced, settled = (sum(number(x, name) for x in shards) for name in SINGLES)
        return BouncingDay(job.account, job.day, job.channel, bounced, settled, now)

    def note(self, day: BouncingDay) -> bool:
        item = {
            **keys.bouncing(day.account, day.day, day.channel),
            **_FIELDS.item(day),
            "ttl": n((day.at + KEPT_DAYS * DAY_MS) // 1000),
        }
        about: dict[str, str | int] = {"channel": day.channel, "bounced": day.bounced, "settled": day.settled}
        event = audited(day.account, day.at, day.account, Act.BOUNCING, SYSTEM, {**about, "date": day.day})
        put = {"TableName": self._table, "Item": item, "ConditionExpression": "attribute_not_exists(pk)"}
        return self._db.together([{"Put": put}, *audit.puts(self._db, self._table, event)])


def bouncing_day(item: Mapping[str, Any]) -> BouncingDay:
    """Read a noted day."""
    return BouncingDay(**_FIELDS.read(item))
