"""An account's scheduled jobs by their time, on DynamoDB."""

from typing import Final

from shared.adapters.dynamo import codec, keys
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.codec import n, s
from shared.domain.jobs.job import Job
from shared.domain.times import Millis

DAY_S: Final = 86_400


class DynamoAgenda:
    """`ports.Agenda` over the table `records`."""

    def __init__(self, dynamo: Dynamo, table: str) -> None:
        self._db = dynamo
        self._table = table

    def note(self, account: str, job: str, at: Millis, *, test: bool = False) -> None:
        places = [keys.due(account, at, job), *([keys.due(account, at, job, test=True)] if test else [])]
        for place in places:
            self._db.call("put_item", TableName=self._table, Item={**place, "ttl": n(at // 1000 + DAY_S)})

    def page(
        self, account: str, *, tests_only: bool = False, since: int, after: str, limit: int
    ) -> tuple[list[Job], str]:
        """Return the account's scheduled jobs, soonest first, and the place of the next page.

        A job has one place, that of its own time. One query, and one read per 100 jobs.
        """
        beginning = keys.due(account, since + 1, "", test=tests_only)
        page = self._db.call(
            "query",
            TableName=self._table,
            KeyConditionExpression="pk = :pk AND sk > :after",
            ExpressionAttributeValues={
                ":pk": beginning["pk"],
                ":after": s(max(after, beginning["sk"]["S"])),
            },
            ConsistentRead=True,
            Limit=limit + 1,
        )
        places = [x["sk"]["S"] for x in page["Items"]]
        wanted = dict.fromkeys(place.partition("#")[2] for place in places[:limit])
        items = self._db.batch_get(self._table, [keys.job(x) for x in wanted])
        # By the time it has: somebody may have noted another, and not have got the job stored with it.
        found = {keys.due(account, job.not_before, job.id)["sk"]["S"]: job for job in map(codec.job, items)}
        return [found[x] for x in places[:limit] if x in found], places[limit - 1] if len(places) > limit else ""
