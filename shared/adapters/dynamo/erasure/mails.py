"""The data of a finished message to a person: the files of its mail, and the name of the job that sends it.

The name is the mail's id. The code that ends the mail and removes its content finds the mail by this id.
"""

from collections.abc import Sequence

from shared.adapters.dynamo import codec
from shared.adapters.dynamo.client import Item
from shared.contracts import MAIL_CONTENTS, MAIL_UPLOADS
from shared.domain.jobs.job import MAIL


def is_of_mail(job: Item) -> bool:
    """Tell whether a job, as it is stored, sends a mail."""
    return codec.text(job, "kind") == MAIL


def files_of(job: Item) -> Sequence[str]:
    """Return beginnings of the names of a job's files that name its recipients: none, if it sends no mail.

    The content is among them only if it was for one recipient. Other recipients need it until each message has ended.
    """
    name = codec.text(job, "name")
    if not is_of_mail(job) or not name:
        return ()
    uploads = f"{MAIL_UPLOADS}{name}"
    return (uploads, f"{MAIL_CONTENTS}{name}") if codec.number(job, "total") == 1 else (uploads,)


def unlabelled(job: Item) -> Item:
    """Return the update that removes the labels of the mail that a job sends."""
    return {
        "Key": {"pk": {"S": f"Z#{codec.text(job, 'name')}"}, "sk": {"S": "MAIL"}},
        "UpdateExpression": "REMOVE #reference, #tags ADD #version :one",
        "ConditionExpression": "attribute_exists(pk)",
        "ExpressionAttributeNames": {f"#{x}": x for x in ("reference", "tags", "version")},
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }


def unnamed(job: Item) -> Item:
    """Return the update of a job that removes its subject, its labels and, unless it sends a mail, its name."""
    shown = ("subject", "labels") if is_of_mail(job) else ("subject", "labels", "name")
    return {
        "Key": {"pk": job["pk"], "sk": job["sk"]},
        "UpdateExpression": f"REMOVE {', '.join(f'#{x}' for x in shown)}",
        "ConditionExpression": "attribute_exists(pk)",
        "ExpressionAttributeNames": {f"#{x}": x for x in shown},
    }
