"""The tables of a stage and the copies of their past, which DynamoDB makes or an operator names."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

from botocore.exceptions import ClientError

from cli.deployment import OperatedDeployment
from cli.errors import Failed, Misused, NotFound
from cli.output import Surroundings, tell
from shared.contracts import COPY_ENDING
from shared.domain.times import is_rfc_3339
from shared.frozen import dataclass

TABLES: Final = ("people", "identities", "records", "ops", "audit")
"""In the order of a restore: the ledgers of `ops` come back by what `records` then shows."""
WAIT: Final = 15.0
"""Seconds between two looks at a copy that DynamoDB makes; an empty one takes minutes."""
_NO_PAST: Final = frozenset(
    {"TableNotFoundException", "SourceTableNotFoundException", "PointInTimeRecoveryUnavailableException"}
)
_THERE: Final = frozenset({"TableAlreadyExistsException", "TableInUseException", "TargetTableExistsException"})
"""Codes of DynamoDB's errors: the table has no past, or the copy was made before."""
_EXAMPLE: Final = "2026-12-01T09:00:00+01:00"


@dataclass(frozen=True, slots=True)
class CopySource:
    """A table and the copy from which it comes back; `copy` is empty until DynamoDB has made it."""

    name: str
    table: str
    copy: str = ""


def tables_of(found: OperatedDeployment) -> dict[str, str]:
    """Return the tables of a stage, by their short names."""
    homes = found.homes()
    names = {
        "identities": homes.identities,
        "records": found.table(),
        "ops": found.ops(),
        "audit": homes.audit,
    }
    with suppress(NotFound):
        names["people"] = found.output("PeopleTable")
    return {name: names[name] for name in TABLES if names.get(name)}


def sources(wanted: Sequence[str], tables: dict[str, str], *, at: str) -> list[CopySource]:
    """Return what is restored from where, in the order of a restore.

    Args:
        wanted: short names, or names with their copies, as in `records=copy-of-records`.
        at: the moment of copies that are made; empty if each copy is named.
    """
    asked: dict[str, str] = {}
    for text in wanted:
        name, _, copy = text.partition("=")
        if name not in tables:
            raise Misused(f"no table {name!r}: choose among {', '.join(tables)}")
        if not copy and not at:
            raise Misused(f"name the copy of {name}: {name}=TABLE, or add --at TIME to have DynamoDB make it")
        if copy == tables[name]:
            raise Misused(f"{copy} is the table itself: name a copy of it")
        asked[name] = copy
    return [CopySource(name, tables[name], asked[name]) for name in TABLES if name in asked]


def time_of(at: str) -> datetime:
    """Read the moment of a copy."""
    if is_rfc_3339(at):
        with suppress(ValueError):
            return datetime.fromisoformat(at.upper().replace(" ", "T"))
    raise Misused(f"{at!r} is no time of RFC 3339 with its offset\nwrite --at like {_EXAMPLE}")


def span(client: Any, table: str) -> tuple[datetime | None, datetime | None]:
    """Return the earliest and the latest moment from which DynamoDB can make a copy of a table; None: from none."""
    try:
        found = client.describe_continuous_backups(TableName=table)["ContinuousBackupsDescription"]
    except ClientError as error:
        if error.response["Error"]["Code"] not in _NO_PAST | {"ResourceNotFoundException"}:
            raise
        return None, None
    past = found.get("PointInTimeRecoveryDescription", {})
    return past.get("EarliestRestorableDateTime"), past.get("LatestRestorableDateTime")


def made(client: Any, source: CopySource, at: datetime, around: Surroundings) -> CopySource:
    """Return the source with a copy as of a moment, made by DynamoDB unless it was made before."""
    copy = f"{source.table}{COPY_ENDING}{at.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    try:
        client.restore_table_to_point_in_time(
            SourceTableName=source.table,
            TargetTableName=copy,
            RestoreDateTime=at,
            BillingModeOverride="PAY_PER_REQUEST",
        )
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code in _NO_PAST:
            raise NotFound(
                f"DynamoDB has no past of {source.table}: restore its last backup into another table "
                f"(`aws dynamodb list-backups`), and name that: {source.name}=TABLE"
            ) from None
        if code == "InvalidRestoreTimeException":
            raise Misused(f"{source.table} has no past of that moment: see `posthaste restore plan`") from None
        if code not in _THERE:
            raise
        tell(f"{copy} is there already, and is used")
    while (status := _status(client, copy)) != "ACTIVE":
        if status not in ("CREATING", "UPDATING"):
            raise Failed(f"DynamoDB did not make {copy}: it is {status}")
        tell(f"DynamoDB makes {copy}")
        around.clock.sleep(WAIT)
    return CopySource(source.name, source.table, copy)


def _status(client: Any, table: str) -> str:
    return str(client.describe_table(TableName=table)["Table"]["TableStatus"])
