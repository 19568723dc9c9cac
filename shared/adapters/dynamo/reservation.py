"""The reservation of a credential by one campaign, as actions of the transactions that begin and end its jobs (J1, J3).

One item per credential: `holder` is the campaign, `jobs` the set of its jobs that run. DynamoDB drops an empty set, so
the credential is free where there is no `jobs`.
"""

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import Item
from shared.adapters.dynamo.codec import s
from shared.domain.jobs import Job
from shared.domain.states import Change


def actions(table: str, job: Job, change: Change) -> list[Item]:
    """Return what a change of a job means for the credential that it reserves. `table`: the name of `ops`."""
    if not job.exclusive or change not in (Change.PLAN, Change.LOG):
        return []
    update: Item = {"TableName": table, "Key": keys.holder(job.route[0])}
    values: Item = {":job": {"SS": [job.id]}}
    if change is Change.PLAN:
        values[":campaign"] = s(job.campaign)
        update |= {
            "UpdateExpression": "SET holder = :campaign ADD jobs :job",
            "ConditionExpression": "attribute_not_exists(jobs) OR holder = :campaign",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
    else:
        update["UpdateExpression"] = "DELETE jobs :job"
    return [{"Update": {**update, "ExpressionAttributeValues": values}}]
