"""A campaign's list on its way: uploaded, read, and what is wrong with its rows."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import typer

from cli.client import ApiClient, new_key, path_of
from cli.errors import Failed, Misused
from cli.output import Surroundings, counted, emit, say, table, tell
from cli.progress.meters import Meter, first_words, meter, size_of
from cli.progress.polling import asked
from cli.progress.transfer import measured, upload
from shared.domain.exports import guard
from shared.domain.exports import rows as csv_lines
from shared.domain.lists.header import doubts

SHOWN: Final = 10
"""Problems of a list that are shown; `campaign problems` shows the others."""
ENDED: Final = frozenset({"ready", "sent", "failed"})
"""States of an upload that do not change by themselves."""
COLUMNS: Final = ("row", "value", "code", "detail")
ONE: Final = {"duplicates": "duplicate"}
BOM: Final = b"\xef\xbb\xbf"


class Duplicates(StrEnum):
    """The treatment of a recipient who is listed twice, as the API names it."""

    DROP = "drop"
    KEEP = "keep"


def _hash_of(file: Path) -> str:
    try:
        with file.open("rb") as source:
            return hashlib.file_digest(source, "sha256").hexdigest()
    except OSError as error:
        raise Misused(f"cannot read {file}: {error.strerror}") from None


class Lister:
    """Uploads lists for a command. `kept`: ids of those that are read, or ready; they keep their campaign."""

    def __init__(self, api: ApiClient, around: Surroundings, *, json: bool, asks: bool) -> None:
        self._api = api
        self._around = around
        self._json = json
        self._asks = asks
        self._asked = False
        self.kept: list[str] = []

    def listed(self, campaign: str, source: Path | str, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Give a campaign a list and wait until it is read; return what the API found in it.

        Args:
            source: the file that is uploaded; a text: the id of the campaign whose list is read again.

        Raises:
            Failed: the list cannot be used, or lacks a column.
        """
        if isinstance(source, Path):
            return self._read(campaign, self._uploaded(campaign, source, options))
        body = {"list_of": source, **options}
        taken = self._api.post(path_of("campaigns", campaign, "/recipients"), body, key=new_key())
        self.kept.append(str(taken.get("upload_id")))
        return self._read(campaign, self.kept[-1])

    def _uploaded(self, campaign: str, file: Path, options: Mapping[str, Any]) -> str:
        """Upload a list, and say that it is there; return its id."""
        known = {"sha256": _hash_of(file), "size": measured(file)}
        body = {**options, **known}
        place = self._api.post(path_of("campaigns", campaign, "/uploads"), body, key=new_key())
        self._check_again(place.get("sent_before"))
        with self._meter(f"uploading {file.name}") as shown:
            etag = upload(file, place, self._around.clock, lambda done, size: shown(done / size, f"of {size_of(size)}"))
        name = str(place.get("upload_id"))
        self.kept.append(name)
        done = {"etag": etag} if etag else {}
        self._api.post(path_of("campaigns", campaign, f"/uploads/{name}/complete"), done, again=True)
        return name

    def _read(self, campaign: str, name: str) -> Mapping[str, Any]:
        path = path_of("campaigns", campaign, f"/uploads/{name}")
        with self._meter("reading the list") as shown:
            for found in asked(lambda: self._api.get(path, {"limit": str(SHOWN + 1)}), self._around.clock):
                if found.get("state") in ENDED:
                    break
                shown(float(found.get("progress") or 0.0), first_words(found) or _figures(found))
            shown(1.0, _figures(found))
        if self._json:
            emit(found)
        else:
            show_problems(found)
        if found.get("state") == "failed":
            self.kept.pop()
            raise Failed(f"the list cannot be used: {found.get('detail')}\ncode: {found.get('code')}")
        if missing := found.get("missing"):
            raise Failed(
                f"the list lacks columns that the template names: {', '.join(map(str, missing))}\n"
                + "".join(f"{doubt}\n" for doubt in doubts(missing, found.get("columns", ())))
                + "add them, or change the template, and run again"
            )
        return found

    def _check_again(self, before: object) -> None:
        """Ask once whether a file is sent again that was sent before; where no one can be asked, say so."""
        if self._asked or not isinstance(before, dict):
            return
        self._asked = True
        day = str(before.get("uploaded_at"))[:10]
        text = f"this list was sent before: campaign {before.get('campaign_id')}, uploaded on {day}"
        if not self._asks:
            tell(text)
        elif not typer.confirm(f"{text}. Send it again?", err=True):
            raise Failed("the list is not sent again")

    def _meter(self, title: str) -> AbstractContextManager[Meter]:
        return meter(title, terminal=self._around.terminal and not self._json, quiet=self._json)


def wants_all(upload: Mapping[str, Any]) -> bool:
    """Ask, if a list repeats recipients, whether each of them gets one message; return whether they get more."""
    repeated = int(upload.get("duplicates") or 0)
    if not repeated:
        return False
    rows = "1 row has" if repeated == 1 else f"{repeated:,} rows have"
    question = f"{rows} the recipient of an earlier row. Send these people one message each?"
    return not typer.confirm(question, default=True, err=True)


def show_problems(upload: Mapping[str, Any]) -> None:
    """Print the counts of a list's rows, and its first problems."""
    accepted = counted(upload.get("accepted") or 0, "recipient")
    say(f"{accepted} of {counted(upload.get('rows') or 0, 'row')}{_aside(upload)}")
    for text in (*_heading(upload), *lacking(upload)):
        say(text)
    if upload.get("price") is not None:
        say(f"price: about {upload['price']:,}, by the operators' prices")
    errors = upload.get("errors")
    found = [as_shown(e) for e in errors if isinstance(e, dict)] if isinstance(errors, list) else []
    if found:
        table(COLUMNS, found[:SHOWN], empty="")
    if len(found) > SHOWN:
        say(f"and more:  posthaste campaign problems {upload.get('campaign_id')} {upload.get('upload_id')}")


def _heading(upload: Mapping[str, Any]) -> Iterator[str]:
    """Yield which row was read as the names of columns, if rows above it were passed over."""
    if (upload.get("header_row") or 1) > 1:
        yield f"row {upload['header_row']} has the names of columns; recipients are in {upload['recipient_column']}"


def lacking(upload: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each value of the message that rows of a list lack, and for numbers that take no texts."""
    for x in upload.get("empty_values") or ():
        yield _of_rows(x, f"no {x['variable']}, so it is left empty")
    if (found := upload.get("landlines")) and found["rows"]:
        yield _of_rows(found, "a landline or toll-free number, which most texts do not reach")


def _of_rows(found: Mapping[str, Any], what: str) -> str:
    """Return a sentence that some rows have something, with the first of them."""
    some = ", ".join(map(str, found["first_rows"])) + (", …" if found["rows"] > len(found["first_rows"]) else "")
    verb, noun = ("has", "row") if found["rows"] == 1 else ("have", "rows")
    return f"{counted(found['rows'], 'row')} {verb} {what}: {noun} {some}"


def as_shown(problem: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row's problem for people: with its number in a spreadsheet."""
    row = problem.get("sheet_row") or int(problem.get("row") or 0) + 1
    return {"row": row, **{name: problem.get(name) for name in COLUMNS[1:]}}


def write_problems(out: Path, pages: Iterable[Iterable[Mapping[str, Any]]]) -> int:
    """Write problems of rows into a CSV file that spreadsheets open; return how many.

    Args:
        out: the file, which must not exist.
        pages: the problems, as the API describes them.
    """
    found = [as_shown(problem) for page in pages for problem in page]
    lines = [COLUMNS, *([guard(str(row[name] or "")) for name in COLUMNS] for row in found)]
    try:
        with out.open("xb") as sink:
            sink.write(BOM + csv_lines(lines))
    except OSError as error:
        raise Misused(f"cannot write {out}: {error.strerror}") from None
    return len(found)


def recipients_of(upload: Mapping[str, Any]) -> int:
    """Return how many recipients of a list are sent to."""
    left_out: int = sum((upload.get("skipped") or {}).values())
    return int(upload.get("accepted") or 0) - left_out


def _aside(upload: Mapping[str, Any]) -> str:
    known = {name: upload.get(name) for name in ("invalid", "duplicates")} | (upload.get("skipped") or {})
    return "".join(f", {n:,} {name if n > 1 else ONE.get(name, name)}" for name, n in known.items() if n)


def _figures(upload: Mapping[str, Any]) -> str:
    return f"{counted(upload.get('rows') or 0, 'row')}{_aside(upload)}"
