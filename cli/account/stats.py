"""`posthaste stats`: the results of each day's messages."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Final

import typer

from cli.client import connect
from cli.output import Json, tables

AMOUNTS: Final = ("success", "failure", "queued", "skipped")
AT_PROVIDERS: Final = ("tried", "accepted", "delivered", "failed")


class By(StrEnum):
    """The property by which the figures of a day are divided."""

    CHANNEL = "channel"
    PROVIDER = "provider"


Day = Annotated[str, typer.Option(metavar="DATE", help="A UTC day, 2026-11-20.")]


def stats(
    ctx: typer.Context,
    start: Annotated[str, typer.Option("--from", metavar="DATE", help="First UTC day; default: 29 days back.")] = "",
    end: Annotated[str, typer.Option("--to", metavar="DATE", help="Last UTC day; default: today.")] = "",
    by: Annotated[By | None, typer.Option(help="Divide the figures of each day.")] = None,
    json: Json = False,
) -> None:
    """Show the results of the messages accepted on each day.

    `success` is delivered, or sent where the provider gives no feedback. `queued` includes messages whose outcome is
    not known yet. --by provider shows what each provider was given.
    """
    query = {"from": start, "to": end, "by": by.value if by else ""}
    pages = connect(ctx).pages("/stats", {name: value for name, value in query.items() if value})
    if json:
        tables((), pages, json=True, empty="no messages")
        return
    columns = ("date", *([by.value] if by else []), *(AT_PROVIDERS if by is By.PROVIDER else AMOUNTS))
    tables(columns, (_rows(page, by) for page in pages), json=False, empty="no messages")


def _rows(days: Sequence[Mapping[str, Any]], by: By | None) -> list[dict[str, Any]]:
    return [row for day in days for row in _of_day(day, by)]


def _of_day(day: Mapping[str, Any], by: By | None) -> Iterator[dict[str, Any]]:
    """Yield the rows of a day: one, or one for each of its channels or providers."""
    if by is None:
        yield {"date": day.get("date"), **_plain(day, AMOUNTS)}
        return
    names = AT_PROVIDERS if by is By.PROVIDER else AMOUNTS
    for name, amounts in (day.get(f"{by.value}s") or {}).items():
        yield {"date": day.get("date"), by.value: name, **_plain(amounts, names)}


def _plain(amounts: Mapping[str, Any], names: Sequence[str]) -> dict[str, str]:
    return {name: f"{amounts.get(name) or 0:,}" for name in names}
