"""Rights of the function that makes people's first accounts, and who may call it."""

from infra.arns import LOGS
from infra.functions.console import ConsoleConstruct
from infra.resources.storage import Storage


def let_join(console: ConsoleConstruct, storage: Storage) -> None:
    """Let the console call what makes first accounts, and that one add items: accounts, keys and its own notes.

    Args:
        console: the construct with both functions.
    """
    if console.join is None:
        return
    console.serve.allow("lambda:InvokeFunction", on=[console.join.function.function_arn])
    identities = [storage.identities.table_arn]
    console.join.allow("dynamodb:PutItem", on=identities, partitions=("A#*", "ACCOUNTS", "K#*", "N#*"))
    console.join.allow("dynamodb:GetItem", on=identities, partitions=("N#*",))
    console.join.allow("dynamodb:PutItem", on=[storage.audit.table_arn], partitions=LOGS)
