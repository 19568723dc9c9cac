"""The doctor's questions to AWS about the stack, and about the names that a first deploy needs."""

from typing import Final

from cli.checks import Finding, Level, first, stack
from cli.doctor.context import Patient
from cli.errors import NotFound
from shared.contracts import prefix

NOT_DEPLOYED: Final = "nothing is deployed yet"


def look(patient: Patient) -> list[Finding]:
    """Judge the stack; on AWS, that of a production stage also by its protection."""
    try:
        found = patient.found.stack()
    except NotFound:
        return [Finding("stack", Level.SKIPPED, NOT_DEPLOYED)]
    judged = stack.stack(found)
    if patient.found.local or judged.level is Level.ERROR or not patient.found.stage.startswith("prod"):
        return [judged]
    return [judged, *first.protection(found)]


def names(patient: Patient) -> list[Finding]:
    """Before a first deploy, or one that failed, look for what is left under this stage's names."""
    try:
        if patient.found.stack()["StackStatus"] != "ROLLBACK_COMPLETE":
            return []
    except NotFound:
        pass  # the first deploy is to come
    stage = patient.found.stage
    pages = patient.found.client("sqs").get_paginator("list_queues").paginate(QueueNamePrefix=f"{prefix(stage)}-")
    queues = [url.rpartition("/")[2] for page in pages for url in page.get("QueueUrls", [])]
    listed = patient.found.client("secretsmanager").get_paginator("list_secrets")
    of_stage = [{"Key": "name", "Values": [f"{prefix(stage)}/"]}]
    secrets = listed.paginate(IncludePlannedDeletion=True, Filters=of_stage)
    return [first.names(stage, queues, [x["Name"] for page in secrets for x in page["SecretList"]])]
