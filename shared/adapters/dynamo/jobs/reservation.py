"""The reservation of a credential by one campaign, as actions of the transactions that begin and end its jobs (J1, J3).

One item per credential: `holder` is the campaign, `jobs` the set of its jobs that run. DynamoDB drops an empty set, so
the credential is free where there is no `jobs`. `turns` are accounts that took turns on it; it decides no safety.
"""

from collections.abc import Sequence

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.accounts.spending import give_back
from shared.adapters.dynamo.client import Item
from shared.adapters.dynamo.codec import s
from shared.domain.jobs.job import Job
from shared.domain.jobs.states import Change
from shared.domain.spending.limits import day_of
from shared.domain.spending.reserved import unpack
from shared.domain.times import Millis


def actions(table: str, job: Job, change: Change) -> list[Item]:
    """Return the actions that a job's change needs for the credential that it reserves."""
    if not job.exclusive or change not in (Change.PLAN, Change.LOG):
        return []
    if change is not Change.PLAN:
        return [{"Update": without(table, job.route[0], [job.id])}]
    update: Item = {
        "TableName": table,
        "Key": keys.holder(job.route[0]),
        "UpdateExpression": "SET holder = :campaign ADD jobs :job",
        "ConditionExpression": "attribute_not_exists(jobs) OR holder = :campaign",
        "ExpressionAttributeValues": {":campaign": s(job.campaign), ":job": {"SS": [job.id]}},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    return [{"Update": update}]


def given_back(table: str, job: Job, change: Change, now: Millis) -> list[Item]:
    """Return the action by which the end of a campaign's job gives back what it holds of its account's limits.

    Args:
        table: the name of `records`.
        job: as it ends; its counts are exact.
        now: Unix milliseconds; what was counted on another day is not given back.
    """
    if change is not Change.LOG or not job.charge:
        return []
    reserved = unpack(job.charge)
    unsent = reserved.unsent(job.counts) if reserved.charge.day == day_of(now) else None
    return [{"Update": give_back(table, unsent)}] if unsent is not None else []


def without(table: str, credential: str, jobs: Sequence[str]) -> Item:
    """Return the update that removes jobs from the holders of a credential. A job that holds nothing is ignored."""
    return {
        "TableName": table,
        "Key": keys.holder(credential),
        "UpdateExpression": "DELETE jobs :jobs",
        "ExpressionAttributeValues": {":jobs": {"SS": list(jobs)}},
    }


def turns(table: str, credential: str, accounts: Sequence[str]) -> Item:
    """Return the update that notes which accounts took turns on a credential, the last one last."""
    return {
        "TableName": table,
        "Key": keys.holder(credential),
        "UpdateExpression": "SET turns = :turns",
        "ExpressionAttributeValues": {":turns": {"L": [s(x) for x in accounts]}},
    }
