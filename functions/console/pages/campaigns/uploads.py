"""Lists of campaigns: a place in the bucket for a browser's file, word that it is there, and what was found in it."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlsplit

from functions.console import lists
from functions.console.call import ConsoleCall
from functions.console.pages.campaigns import samples
from functions.console.pages.campaigns.view import ListView, conflict, current, owned
from functions.console.rendering import POLICY
from functions.console.screen import Denial, PageRoute, absent, leave_for
from shared.domain import exports
from shared.domain.accounts import Scope
from shared.domain.campaigns.campaign import Campaign, Upload
from shared.domain.channels.lookup import channel_of
from shared.domain.ids import is_id
from shared.domain.lists.encodings import ENCODINGS, UTF8
from shared.domain.lists.ingest import MAX_KEPT
from shared.domain.lists.uploads import DUPLICATE, ListRules
from shared.engine.lists.uploading import Refusal
from shared.web.http import Answer

KINDS: Final = {
    ".csv": "text/csv",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".ods": "application/vnd.oasis.opendocument.spreadsheet",
}
"""Endings of files that are read → their media types."""
PLACED: Final = "connect-src 'self'"
DOWNLOADED: Final = 20_000
"""Bad rows in a download: an answer takes 6 MB."""
CODE: Final = "application/json"
MAX_SHEET: Final = 255
"""Characters of the name of a sheet, as in the API."""
MAX_COLUMN: Final = 100
"""Characters of a column\'s name."""
_SIZE: Final = re.compile("[0-9]{1,10}")
_SHA256: Final = re.compile("[0-9a-f]{64}")


def policy(call: ConsoleCall) -> dict[str, str]:
    """Return the headers of a page that shows a preview and puts files into the bucket, its only other origin."""
    url, _ = call.services.campaigns().files.place("uploads/", content_type=KINDS[".csv"], seconds=1)
    found = urlsplit(url)
    wider = POLICY.replace(PLACED, f"{PLACED} {found.scheme}://{found.netloc}")
    return {"Content-Security-Policy": f"{wider}; frame-src 'self'"}


def begin(call: ConsoleCall) -> Answer:
    """Give a place for a file, to a script."""
    campaign = owned(call)
    kind = KINDS.get(_ending(call.form.get("file", "")))
    if kind is None:
        raise Denial(422, "This is no list", "Choose a file that ends in .csv, .xlsx or .ods.")
    uploading, rules = call.services.campaigns().campaigns.uploading, _rules(call, campaign)
    size = call.form.get("size", "")
    place = uploading.start(campaign, rules, kind, int(size) if _SIZE.fullmatch(size) else 0)
    if isinstance(place, Refusal):
        raise conflict(place.value)
    before = _before(call, uploading.sent_before(campaign, rules.sha256))
    return _script({"upload": place.upload.id, "url": place.url, "headers": dict(place.headers), "before": before})


def _before(call: ConsoleCall, upload: Upload | None) -> str:
    """Return what to ask about a file that was sent before; empty if it was not."""
    if upload is None:
        return ""
    found = call.services.campaigns().campaigns.campaigns.get(upload.campaign)
    by = f" by the campaign “{found.name}”" if found is not None else ""
    day = datetime.fromtimestamp(upload.created_at / 1000, UTC).date()
    return f"This file was sent before{by}: it was uploaded on {day}. Send it again?"


def _ending(name: str) -> str:
    return f".{name.rpartition('.')[2].lower()}" if "." in name else ""


def complete(call: ConsoleCall) -> Answer:
    """Have a file read that is in its place; the page of the campaign shows how far that is."""
    campaign = owned(call)
    name = call.path["upload"]
    uploading = call.services.campaigns().campaigns.uploading
    etag, by = call.form.get("etag", ""), call.who.person.user.actor
    found = uploading.complete(campaign, name, etag, by=by) if is_id(name) else None
    if found is None:
        raise absent("list")
    if isinstance(found, Refusal) and found is not Refusal.ALREADY_SENT:
        raise conflict(found.value)
    return _script({"upload": name})


def _script(values: dict[str, Any]) -> Answer:
    return Answer(200, json.dumps(values), content_type=CODE)


def _rules(call: ConsoleCall, campaign: Campaign) -> ListRules:
    """Return how a list is read: duplicates are left out, and numbers without a country code are of the account's."""
    account = call.services.accounts.get(campaign.account) if channel_of(campaign.channel).numbers else None
    drop = call.form.get("duplicates", "") != "keep"
    encoding, sha256 = call.form.get("encoding", ""), call.form.get("sha256", "")
    return ListRules(
        region=account.region if account else "",
        drop_duplicates=drop,
        column=call.form.get("column", "").strip()[:MAX_COLUMN],
        keep_hidden=call.form.get("hidden_rows", "") == "keep",
        sheet=call.form.get("sheet", "")[:MAX_SHEET],
        encoding=encoding if encoding in ENCODINGS else "",
        sha256=sha256 if _SHA256.fullmatch(sha256) else "",
    )


def sample(call: ConsoleCall) -> Answer:
    """Take the sample list, where nothing reaches anybody: its addresses exist nowhere."""
    if not call.services.campaigns().samples:
        raise absent("page")
    return _taken(call, samples.people().encode())


def paste(call: ConsoleCall) -> Answer:
    """Take a small list that was typed, or pasted from a spreadsheet: it needs no script."""
    text = call.form.get("rows", "").strip("\r\n")
    return _taken(call, text.encode(errors="surrogatepass"))


def _taken(call: ConsoleCall, data: bytes) -> Answer:
    campaign = owned(call)
    uploading, by = call.services.campaigns().campaigns.uploading, call.who.person.user.actor
    found = uploading.put(campaign, data, replace(_rules(call, campaign), encoding=UTF8), by=by)
    if isinstance(found, Refusal):
        raise conflict(found.value)
    if found is None:
        raise absent("campaign")
    return leave_for(call, f"campaigns/{campaign.id}")


def example(call: ConsoleCall) -> Answer:
    """Return the sample list as a file, to be filled in."""
    owned(call)
    return _file(samples.people(), samples.FILE)


def ask(call: ConsoleCall) -> Answer:
    """Ask whether a list is to be taken back."""
    campaign = owned(call)
    view = current(call, campaign)
    if view is None or view.failed:
        raise conflict("no_list")
    return call.services.pages.page(call, "campaigns/withdraw.html", {"campaign": campaign, "list": view})


def withdraw(call: ConsoleCall) -> Answer:
    """Take back the list that was not sent."""
    campaign = owned(call)
    name = call.form.get("upload", "")
    uploading, by = call.services.campaigns().campaigns.uploading, call.who.person.user.actor
    found = uploading.withdraw(campaign, name, by=by) if is_id(name) else None
    if found is None:
        raise absent("list")
    if isinstance(found, Refusal):
        raise conflict(found.value)
    return leave_for(call, f"campaigns/{campaign.id}")


def shown_problems(call: ConsoleCall, view: ListView | None) -> dict[str, Any]:
    """Return a page of the rows that are invalid or duplicates, for the campaign's page."""
    if view is None or not (view.ready or view.failed):
        return {"problems": [], "more": 0}
    after = lists.number(call.request.query.get("problems", ""), lists.ROW_DIGITS) or 0
    every, _ = call.services.campaigns().campaigns.uploads.problems(view.upload, after=0, limit=2 * MAX_KEPT)
    codes = tuple(sorted({x.code for x in every}))
    code = lists.chosen(call, "code", codes)
    fits = [x for x in every if code in ("", x.code)]
    end = after + lists.PAGE
    return {
        "problems": fits[after:end],
        "more": end if end < len(fits) else 0,
        "earlier": after > 0,
        "code": code,
        "codes": codes,
        "duplicate": DUPLICATE if DUPLICATE in codes else "",
    }


def problems(call: ConsoleCall) -> Answer:
    """Return the rows that are invalid or duplicates as a file, which a spreadsheet takes for no formula."""
    campaign = owned(call)
    view = current(call, campaign)
    if view is None:
        raise conflict("no_list")
    lines = [("row", "row_in_the_sheet", "value", "code", "reason", "sent"), *_bad(call, view)]
    text = "\ufeff" + exports.rows(lines).decode()
    return _file(text, f"rows-to-check-{view.upload.id}.csv")


def _bad(call: ConsoleCall, view: ListView) -> list[tuple[str, ...]]:
    uploads = call.services.campaigns().campaigns.uploads
    lines: list[tuple[str, ...]] = []
    after = 0
    while len(lines) < DOWNLOADED:
        found, after = uploads.problems(view.upload, after=after, limit=1000)
        lines += [
            (
                str(x.row),
                str(x.sheet_row or ""),
                exports.guard(x.value),
                x.code,
                exports.guard(x.detail),
                "again" if view.sent_again(x) else "no",
            )
            for x in found
        ]
        if not after:
            break
    return lines


def _file(text: str, name: str) -> Answer:
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "X-Robots-Tag": "noindex"}
    return Answer(200, text, headers, "text/csv; charset=utf-8")


_ONE: Final = "/console/{account}/campaigns/{campaign}"
ROUTES: Final = (
    PageRoute("POST", f"{_ONE}/uploads", "begin an upload", begin, Scope.SEND),
    PageRoute("POST", f"{_ONE}/uploads/{{upload}}/complete", "end an upload", complete, Scope.SEND),
    PageRoute("POST", f"{_ONE}/sample", "take the sample list", sample, Scope.SEND),
    PageRoute("POST", f"{_ONE}/paste", "take a pasted list", paste, Scope.SEND),
    PageRoute("GET", f"{_ONE}/sample-list.csv", "sample list", example),
    PageRoute("GET", f"{_ONE}/problems.csv", "bad rows", problems),
    PageRoute("GET", f"{_ONE}/withdraw", "ask to withdraw a list", ask, Scope.SEND),
    PageRoute("POST", f"{_ONE}/withdraw", "withdraw a list", withdraw, Scope.SEND, ends=True),
)
