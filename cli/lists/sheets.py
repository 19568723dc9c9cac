"""Workbooks (.xlsx, .ods) on this machine, as the CSV that is uploaded. Source: docs/adr/0145."""

from collections.abc import Callable
from pathlib import Path

from cli.errors import Misused
from shared.domain.workbooks import table
from shared.domain.workbooks.bounds import WorkbookError


def is_workbook(file: Path) -> bool:
    """Return whether a file is a workbook that can be read; other ZIP files and old workbooks are not.

    Raises:
        Misused: it may be one, but is too large to be checked.
    """
    try:
        with file.open("rb") as source:
            return table.is_workbook(source)
    except WorkbookError as error:
        raise Misused(f"{file} {error.reason}") from None
    except OSError:
        return False


def write_csv(file: Path, sheet: str, target: Path, tell: Callable[[str], None], *, keep_hidden: bool) -> None:
    """Write a sheet of a workbook as CSV in UTF-8. An empty row becomes a blank line, so that rows keep their numbers.

    Args:
        sheet: its name; empty for the first one.
        tell: called with the sheet that is read, if there are others, and with how many rows are hidden.
        keep_hidden: whether rows that the workbook's user does not see are written; else each is a blank line.

    Raises:
        Misused: there is no such sheet, the workbook is damaged, or it is too large.
    """
    sheets = table.Sheets()
    try:
        with file.open("rb") as source, target.open("w", encoding="utf-8", newline="") as sink:
            for lines in table.csv_of(source, sheet, sheets, keep_hidden=keep_hidden):
                sink.write(lines)
    except WorkbookError as error:
        raise Misused(f"{file} {error.reason}") from None
    except OSError as error:
        raise Misused(f"cannot copy {file}: {error.strerror}") from None
    if len(sheets.names) > 1 and not sheet:
        names = ", ".join(sheets.names)
        tell(f"reading the sheet {sheets.chosen}; to read another: --sheet NAME ({names})")
    if sheets.hidden:
        rows = "1 row is" if sheets.hidden == 1 else f"{sheets.hidden:,} rows are"
        done = "sent to all the same" if keep_hidden else "left out; to send to such rows: --keep-hidden-rows"
        tell(f"{rows} hidden by a filter or by hand, and {done}")
