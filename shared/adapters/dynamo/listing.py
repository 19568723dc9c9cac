"""An account's jobs, newest first, on DynamoDB: keys from the index `mine`, then the jobs themselves."""

import heapq
from collections.abc import Sequence
from typing import Any

from shared.adapters.dynamo import codec, keys
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.codec import s
from shared.contracts import INDEX_MINE
from shared.domain.jobs import Job
from shared.ports import Clock


class Listing:
    """Pages of jobs by account.

    Args:
        client: a low-level boto3 DynamoDB client.
        table: the name of the table `records`.
        clock: the time.
    """

    def __init__(self, client: Any, table: str, clock: Clock) -> None:
        self._db = Dynamo(client, sleep=clock.sleep)
        self._table = table

    def page(self, account: str, kinds: Sequence[str], *, after: str = "", limit: int) -> tuple[list[Job], str]:
        """Return up to `limit` of the account's jobs, newest first, and the place to go on from, empty at the end.

        The index is eventually consistent: a job just accepted may be missing for a moment. One query per kind and
        one read per 100 jobs.

        Args:
            account: whose.
            kinds: of which kinds.
            after: what the page before returned (`created_at#job`), or empty.
            limit: at least 1.
        """
        places = list(heapq.merge(*(self._newest(account, k, after, limit + 1) for k in kinds), reverse=True))
        wanted = [place.partition("#")[2] for place in places[:limit]]
        found = {}
        for item in self._db.batch_get(self._table, [keys.job(x) for x in wanted], consistent=False):
            job = codec.job(item)
            found[job.id] = job
        jobs = [found[x] for x in wanted if x in found and found[x].account == account]
        return jobs, places[limit - 1] if len(places) > limit else ""

    def _newest(self, account: str, kind: str, after: str, limit: int) -> list[str]:
        condition, values = "mine_pk = :pk", {":pk": s(keys.mine_pk(account, kind))}
        if after:
            condition, values = "mine_pk = :pk AND mine_sk < :after", {**values, ":after": s(after)}
        page = self._db.call(
            "query",
            TableName=self._table,
            IndexName=INDEX_MINE,
            KeyConditionExpression=condition,
            ExpressionAttributeValues=values,
            ScanIndexForward=False,
            Limit=limit,
        )
        return [x["mine_sk"]["S"] for x in page["Items"]]
