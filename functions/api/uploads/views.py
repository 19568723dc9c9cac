"""Answers about lists on their way as clients read them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from pydantic import Field

from shared.domain.campaigns.campaign import Campaign, Upload, UploadState
from shared.domain.jobs.outcomes import ERASED
from shared.domain.lists.gaps import Gap, countries_of
from shared.domain.lists.uploads import BadRow, ListCounts
from shared.domain.spending.limits import PRICE, shown
from shared.domain.spending.prices import Prices, estimate
from shared.domain.times import Millis
from shared.web.views import Time, View, at, moment


class EarlierList(View):
    """A list of the same file that was sent."""

    campaign_id: str
    upload_id: str
    uploaded_at: Time


class PlaceView(View):
    """Where a list's file is to be put."""

    upload_id: str
    url: str
    method: Literal["PUT"]
    headers: dict[str, str] = Field(description="Send all of them with the file. The URL takes one file.")
    expires_at: Time
    sent_before: EarlierList | None = Field(description="The newest such list, if the upload has a `sha256`.")


class TakenList(View):
    """A list from the request that is read next."""

    campaign_id: str
    upload_id: str
    state: UploadState


class RowProblem(View):
    """A row's problem. With `duplicate`, the row is sent again or left out."""

    row: int = Field(description="From 1, below the header.")
    sheet_row: int = Field(description="As in a spreadsheet: the header and blank lines count.")
    code: str
    detail: str
    value: str | None = Field(description="The cell of the recipient. Null if the row could not be read, or is erased.")


class EmptyValue(View):
    """A value of the template that rows lack: their messages show nothing in its place."""

    variable: str = Field(validation_alias="column")
    rows: int = Field(description="How many of the rows that are sent to lack it.")
    first_rows: list[int] = Field(
        validation_alias="first", description="The first of them, at most 10, by their numbers in a spreadsheet."
    )


class Landlines(View):
    """Rows of a list of texts whose number takes none by its country's numbering plan: landlines, toll-free numbers."""

    rows: int = Field(description="How many of the rows that are sent to have one.")
    first_rows: list[int] = Field(
        validation_alias="first", description="The first of them, at most 10, by their numbers in a spreadsheet."
    )


class UploadView(View):
    """A list on its way."""

    upload_id: str
    campaign_id: str
    state: UploadState
    progress: float = Field(description="Share of the file that is read, 0 to 1.")
    waiting_for: Literal["another_list"] | None = Field(
        description="Why a queued list is not read: another one of the account is read first."
    )
    eta: Time | None = Field(description="When it is read, by its speed so far.")
    size: int | None = Field(description="Bytes of the file.")
    rows: int = Field(description="Read so far: accepted + invalid + (duplicates, if they are left out).")
    accepted: int
    invalid: int
    duplicates: int
    hidden_rows: int = Field(
        description="Rows of a workbook that a filter or its user hides. They are none of `rows`, unless they are kept."
    )
    skipped: dict[str, int] = Field(description="Of those accepted, how many are not sent to, by code.")
    columns: list[str]
    header_row: int | None = Field(
        description="The row that was read as the names of columns, as a spreadsheet numbers it. Null: it is not read, "
        "or an earlier version has read it."
    )
    recipient_column: str | None = Field(
        description="The column that holds the recipients, as the file names it. Null as `header_row` is."
    )
    code: str | None = Field(
        description="Of a file that cannot be used: why. Its row on the page of errors: `/errors#list_no_header`."
    )
    detail: str | None
    missing: list[str] = Field(description="Variables of the campaign's template for which there is no column.")
    empty_values: list[EmptyValue] | None = Field(
        description="Variables of the campaign's template whose cell is empty in some rows. Null: the list is not "
        "ready, or an earlier version has read it."
    )
    landlines: Landlines | None = Field(
        description="Rows whose number takes no texts. They are sent to all the same. Null: the campaign sends no SMS, "
        "the list is not ready, or an earlier version has read it."
    )
    countries: dict[str, int] | None = Field(
        description="Numbers that are sent to, by country (ISO 3166). Null: the campaign sends no SMS, calls or "
        "WhatsApp messages, the list is not ready, or an earlier version has read it."
    )
    price: float | None = Field(
        description="Estimate of what its messages cost, by the prices that operators have entered. Null: there are "
        "none for the channel, or the list is not ready."
    )
    errors: list[RowProblem] = Field(description="A page of them; at most 1,000 invalid rows and as many duplicates.")
    next_cursor: str | None
    created_at: Time
    finished_at: Time | None


def earlier_list(x: Upload | None) -> EarlierList | None:
    """Return a list of the same file as clients see it."""
    return EarlierList(campaign_id=x.campaign, upload_id=x.id, uploaded_at=moment(x.created_at)) if x else None


def upload_view(
    x: Upload,
    campaign: Campaign,
    now_ms: Millis,
    prices: Prices,
    errors: Sequence[BadRow] = (),
    next_cursor: str | None = None,
) -> UploadView:
    """Return an uploaded list as clients see it.

    Args:
        campaign: the campaign it belongs to.
        prices: those that operators have entered.
        errors: the rows with problems that this page shows, in the order of the file.
        next_cursor: the cursor of the next page of problems; None at the end.
    """
    counts = x.checkpoint.counts if x.checkpoint else ListCounts()
    return UploadView(
        upload_id=x.id,
        campaign_id=x.campaign,
        state=x.state,
        progress=round(x.progress, 4),
        waiting_for="another_list" if x.waits and x.state is UploadState.QUEUED else None,
        eta=_eta(x, now_ms),
        size=x.size or None,
        rows=counts.rows,
        accepted=counts.accepted,
        invalid=counts.invalid,
        duplicates=counts.duplicates,
        hidden_rows=x.hidden,
        skipped=dict(x.skipped or {}),
        columns=list(x.columns),
        header_row=x.heading[0],
        recipient_column=x.heading[1],
        code=x.code or None,
        detail=x.detail or None,
        missing=list(campaign.lacks(x.columns)) if x.state is UploadState.READY else [],
        empty_values=_empty(campaign.gaps(x)),
        landlines=_landlines(campaign.landlines(x)),
        countries=_countries(x),
        price=_price(estimate(prices, campaign, x)),
        errors=[_problem(p) for p in errors],
        next_cursor=next_cursor,
        created_at=moment(x.created_at),
        finished_at=at(x.finished_at),
    )


def _empty(found: Sequence[Gap] | None) -> list[EmptyValue] | None:
    return None if found is None else [EmptyValue.model_validate(x) for x in found]


def _landlines(found: Gap | None) -> Landlines | None:
    return None if found is None else Landlines.model_validate(found)


def _countries(x: Upload) -> dict[str, int] | None:
    return countries_of(x.counted or ()) or None


def _price(found: int | None) -> float | None:
    return None if found is None else shown(PRICE, found)


def _problem(x: BadRow) -> RowProblem:
    value = x.value if x.value != ERASED else None
    return RowProblem(row=x.row, sheet_row=x.sheet_row or x.row + 1, code=x.code, detail=x.detail, value=value or None)


def _eta(x: Upload, now_ms: int) -> datetime | None:
    if x.state is not UploadState.READING or not x.progress or not x.queued_at:
        return None
    return at(int(now_ms + (now_ms - x.queued_at) * (1 - x.progress) / x.progress))
