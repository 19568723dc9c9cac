"""Messages over all jobs of an account: did Ann get it?"""

from collections.abc import Sequence
from typing import Annotated, Final

from pydantic import BeforeValidator, Field

from functions.api.call import Call
from functions.api.jobs.log_views import LogLineView, log_line_views
from functions.api.jobs.narrowing import DayPaging
from functions.api.jobs.routes import SEEN
from functions.api.requests import commas
from shared.domain.accounts import Scope
from shared.domain.channels.lookup import CHANNELS
from shared.domain.jobs.job import BATCH, DIGEST, MAIL, NOTICE
from shared.domain.jobs.labels import MAX_REFERENCE, MAX_TAG
from shared.domain.jobs.states import MessageState
from shared.domain.namespaces import namespace
from shared.domain.recipients.reader import RecipientFault
from shared.engine.reports.candidates import Search
from shared.engine.reports.message_log import Filter
from shared.engine.reports.search import Hit, SearchPlace
from shared.web import cursors
from shared.web.http import Answer
from shared.web.problems import invalid
from shared.web.routing import Nothing, Route, section
from shared.web.views import TextOrNull, Time, View, at, moment

KINDS: Final = (BATCH, "campaign", DIGEST, NOTICE, MAIL)
"""Kinds of jobs whose messages are found."""
MOST: Final = 100
"""Messages of a page: each is put together from several reads."""


class MessageQuery(DayPaging):
    """Which messages. Without a filter: all."""

    limit: int = Field(50, ge=1, le=MOST, description="Messages of a page.")
    recipient: str | None = Field(
        None, min_length=1, max_length=998, description="An e-mail address, or a phone number with its country code."
    )
    reference: str | None = Field(None, min_length=1, max_length=MAX_REFERENCE, description="That of its batch.")
    tag: str | None = Field(None, min_length=1, max_length=MAX_TAG, description="One of its batch's tags.")
    state: Annotated[list[MessageState] | None, BeforeValidator(commas)] = Field(
        None, description="Fine states, separated by commas."
    )
    credential: str | None = Field(None, min_length=1, max_length=100, description="The credential of an attempt.")


class FoundMessage(LogLineView):
    """A message, and the job that it is of."""

    job_id: str = Field(description="`GET /jobs/{job_id}/logs/{message}` returns this message.")
    kind: str = Field(description="Of its job: `batch`, `campaign`, `digest`, `notice` or `mail`.")
    channel: str
    test: bool = Field(description="It was made with a test key, so no provider got it.")
    accepted_at: Time
    sender: TextOrNull
    subject: TextOrNull = Field(description="Cut to 100 characters; of a campaign with its placeholders.")


class FoundPage(View):
    """A page of messages, newest first."""

    items: list[FoundMessage]
    next_cursor: str | None
    searched_to: Time | None = Field(
        description="The search has read all that was accepted after this time. Null at the end."
    )


def find(call: Call[MessageQuery, Nothing]) -> Answer:
    """Return messages of the account, newest first."""
    start = SearchPlace.read(cursors.messages_found(call))
    hits, place = call.services.search.find(_asked(call), start, limit=call.query.limit)
    cursor = cursors.seal(call, place.text if place else "")
    reached = at(place.searched_to) if place else None
    return FoundPage(items=_views(call, hits), next_cursor=cursor, searched_to=reached).answer()


def _asked(call: Call[MessageQuery, Nothing]) -> Search:
    """Return the search that a query asks for.

    Raises:
        Problem: validation_failed.
    """
    query = call.query
    since, until = query.span()
    return Search(
        spaces=spaces_of(call),
        kinds=KINDS,
        wanted=Filter(
            states=frozenset(query.state or ()),
            recipient=_recipient(call, query.recipient) if query.recipient is not None else "",
            credential=query.credential or "",
        ),
        reference=query.reference or "",
        tag=query.tag or "",
        since=since,
        until=until,
    )


def spaces_of(call: Call[MessageQuery, Nothing]) -> Sequence[str]:
    """Return the namespaces that the caller sees: a test key only its own."""
    account = call.key.account
    tests = namespace(account, test=True)
    return (tests,) if call.key.test else tuple(dict.fromkeys((account, tests)))  # a team space has no other


def _recipient(call: Call[MessageQuery, Nothing], text: str) -> str:
    """Return a recipient as it is compared.

    Raises:
        Problem: validation_failed; it is neither an address nor a number.
    """
    region = ""
    if "@" not in text:
        account = call.services.accounts.get(call.key.account)
        region = account.region if account is not None else ""
    for channel in CHANNELS.values():
        got = channel.reader(region)(text.strip())
        if not isinstance(got, RecipientFault):
            return got[1]
    raise invalid("recipient", "This is neither an e-mail address nor a phone number with its country code.")


def _views(call: Call[MessageQuery, Nothing], hits: Sequence[Hit]) -> list[FoundMessage]:
    """Return messages as clients read them; entries of lists are read once for each job."""
    by_job: dict[str, list[Hit]] = {}
    for hit in hits:
        by_job.setdefault(hit.job.id, []).append(hit)
    return [view for some in by_job.values() for view in _of_job(call, some)]


def _of_job(call: Call[MessageQuery, Nothing], hits: Sequence[Hit]) -> list[FoundMessage]:
    job, services = hits[0].job, call.services
    lines = log_line_views(job, [hit.line for hit in hits], services.suppressions, services.records)
    of = {
        "job_id": job.id,
        "kind": job.kind,
        "channel": job.channel,
        "test": job.test,
        "accepted_at": moment(job.created_at),
        "sender": job.sender or None,
        "subject": job.subject or None,
    }
    return [FoundMessage.model_construct(**{**dict(line), **of}) for line in lines]


ROUTES: Final = section(
    "Messages",
    Route(
        method="GET",
        path="/messages",
        name="listMessages",
        summary="Messages of all jobs, newest first",
        description="Did Ann get it? All filters must hold. A page may be short, even empty, and still carry a cursor: "
        f"ask on. {SEEN}",
        scope=Scope.READ,
        handler=find,
        answers={200: FoundPage},
        problems=("bad_cursor",),
    ),
)
