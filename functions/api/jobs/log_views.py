"""Single messages and their attempts, as clients read them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Final

from pydantic import AliasChoices, BeforeValidator, Field

from functions.api.views import SuppressionView, suppression_view
from shared.domain.jobs.job import Job
from shared.domain.jobs.states import MessageState, Status
from shared.engine.reports.explained import Listed, explained
from shared.engine.reports.message_log import LogLine
from shared.ports import Records, SuppressionList
from shared.web.views import Meaning, Stamp, StampOrNull, TextOrNull, Time, View, moment, or_none


def _of_seconds(at: int) -> datetime:
    """Return a time of Unix seconds."""
    return moment(at * 1000)


MEANS: Final = "The code in words, for people; null if it is not known."


class ProviderWord(View):
    """A provider's event about an attempt."""

    word: str
    at: Annotated[Time, BeforeValidator(_of_seconds)]
    code: TextOrNull
    meaning: Meaning = Field(validation_alias=AliasChoices("code"), description=MEANS)
    detail: TextOrNull = Field(description="The text that the provider gave, cut, without addresses.")


class AttemptView(View):
    """One try to deliver a message."""

    n: int
    credential_id: str
    at: Stamp = Field(validation_alias="at_ms")
    outcome: str = Field(description="accepted, refused, invalid, not_sent or unknown.")
    code: TextOrNull
    meaning: Meaning = Field(validation_alias=AliasChoices("code"), description=MEANS)
    detail: TextOrNull = Field(description="The text that the provider gave when it refused, cut.")
    provider_message_id: TextOrNull
    feedback: list[ProviderWord] = Field(validation_alias="words")


class LogLineView(View):
    """The state of one message."""

    message: str = Field(description="Its name within the batch, `chunk.index`.")
    recipient: str
    state: MessageState
    status: Status
    providers: dict[str, bool] = Field(description="A key per provider of the route; true: tried.")
    attempts: list[AttemptView]
    updated_at: Stamp = Field(validation_alias="updated_at_ms")
    sent_at: StampOrNull = Field(
        validation_alias="sent_at_ms", description="When a provider took it, the last time; null: none has."
    )
    delivered_at: StampOrNull = Field(
        validation_alias="delivered_at_ms",
        description="When it was delivered first, by its provider's report, to the second, never before its attempt; "
        "null: none says so.",
    )
    error: str | None = Field(
        description="Why it is in this state: a provider's code, or one of ours: `/errors#message_suppressed`."
    )
    error_meaning: Meaning = Field(validation_alias=AliasChoices("error"), description=MEANS)
    suppression: SuppressionView | None = Field(
        None, description="Why it was skipped, of one that was: the recipient's entry on a list, as it is today."
    )
    error_detail: TextOrNull = Field(
        description="The text that the provider gave to the last refusal, cut to 200 characters; null if it gave none."
    )
    may_duplicate: bool = Field(description="There was another attempt after one with an unknown outcome.")
    unacknowledged: bool = Field(description="Sent, and the event of its provider is overdue.")
    row: Annotated[int | None, BeforeValidator(or_none)] = Field(
        description="Of a list: its row in the uploaded file, as a spreadsheet numbers it; null if that is not known."
    )
    reference: TextOrNull = Field(description="The batch's.")
    tags: list[str] = Field(description="The batch's.")
    metadata: dict[str, str] = Field(
        description="The batch's, and the recipient's in place of those of the same names."
    )


def log_line_views(
    job: Job, lines: Sequence[LogLine], unwanted: SuppressionList, records: Records
) -> list[LogLineView]:
    """Return lines of a job as clients read them. Entries of lists are read if a message was skipped for one."""
    entries = explained(job, lines, unwanted, records)
    return [_viewed(line, entries.get(line.message)) for line in lines]


def _viewed(line: LogLine, entry: Listed | None) -> LogLineView:
    made = LogLineView.model_validate(line)
    return made if entry is None else made.model_copy(update={"suppression": suppression_view(entry[1], entry[0])})


class LogPage(View):
    """A page of a log, in list order."""

    items: list[LogLineView]
    next_cursor: str | None
