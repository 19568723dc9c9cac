"""Mails: a place for the content and its commit, or both at once; destinations that are dropped or moved."""

from dataclasses import replace
from typing import Any, Final

from pydantic import ValidationError

from functions.api.call import Call, now_of
from functions.api.declined import accepted
from functions.api.jobs.narrowing import narrowed
from functions.api.mails.requests import (
    CommitMail,
    MailEnvelope,
    MailQuery,
    MailsQuery,
    NewEnvelope,
    NewMail,
    NewMailDestination,
    NewSchedule,
)
from functions.api.mails.views import (
    AcceptedMail,
    DestinationView,
    MailPage,
    MailPlaceView,
    MailSummary,
    MailView,
    mail_view,
)
from shared.domain.accounts import Scope
from shared.domain.ids import is_id, named
from shared.domain.jobs.labels import Labels
from shared.domain.mails.destination import MailDestination
from shared.domain.mails.mail import MailState, StoredMail
from shared.domain.mails.message import normalised
from shared.domain.recipients.addresses import Address, parse, split_list
from shared.engine.mails.moves import InFlight
from shared.engine.mails.service import MEDIA, AskedDestination, AskedMail, MailPlace
from shared.ports import Idempotency, Mismatch, Replay
from shared.web import cursors
from shared.web.http import Answer
from shared.web.idempotency import earlier, record_of, repeated
from shared.web.inputs import Paging
from shared.web.problems import Problem, invalid, missing, of_validation
from shared.web.routing import Nothing, Route, media_type, section
from shared.web.views import moment

MOST_SHOWN: Final = 100
"""Destinations of a page: each takes two reads."""


def start(call: Call[Nothing, NewEnvelope]) -> Answer:
    """Give a place for a content."""
    before = earlier(call, 201)
    if before is not None:
        return before

    def record(place: MailPlace) -> Idempotency | None:
        return record_of(call, _place(place))

    opened = call.services.mails().service.open(replace(_asked(call, call.body), size=call.body.size or 0), record)
    if isinstance(opened, Replay | Mismatch):
        return repeated(opened, 201)
    place = accepted(opened)
    return Answer(201, _place(place), {"Location": f"/mails/{place.mail.id}"})


def _place(place: MailPlace) -> str:
    return MailPlaceView(
        mail_id=place.mail.id,
        url=place.url,
        method="PUT",
        headers=dict(place.headers),
        expires_at=moment(place.expires_at),
    ).model_dump_json()


def commit(call: Call[Nothing, CommitMail]) -> Answer:
    """Queue a mail whose content is uploaded."""
    asked = call.body
    mail = accepted(call.services.mails().service.commit(_owned(call), asked.etag or "", normalise=asked.normalise))
    return Answer(202, _accepted(mail))


def post(call: Call[MailQuery, NewMail]) -> Answer:
    """Take a mail with its content."""
    before = earlier(call, 202)
    if before is not None:
        return before
    raw = media_type(call.request) == MEDIA
    asked = _asked(call, _envelope(call) if raw else call.body)
    data = call.request.body if raw else call.body.content.encode()
    blocks = normalised([data]) if call.query.normalise else [data]
    posted = call.services.mails().service.post(asked, blocks, lambda mail: record_of(call, _accepted(mail)))
    if isinstance(posted, Replay | Mismatch):
        return repeated(posted, 202)
    found = accepted(posted)
    return Answer(202, _accepted(found), {"Location": f"/mails/{found.id}"})


def _envelope(call: Call[MailQuery, NewMail]) -> MailEnvelope:
    """Return the envelope that a query gives."""
    to = split_list(call.query.rcpt_to or "")
    if call.query.mail_from is None:
        raise invalid("mail_from", "Name the envelope's sender in the query.")
    if not to:
        raise invalid("rcpt_to", "Name at least one destination in the query.")
    try:
        return MailEnvelope(
            mail_from=call.query.mail_from,
            destinations=[NewMailDestination(address=x) for x in to],
            reference=call.query.reference,
            tags=[call.query.tag] if call.query.tag is not None else None,
        )
    except ValidationError as error:
        raise of_validation(error, MailEnvelope) from None


def _accepted(mail: StoredMail) -> str:
    return AcceptedMail(mail_id=mail.id, destinations=len(mail.hosts)).model_dump_json()


def _asked(call: Call[Any, Any], body: MailEnvelope) -> AskedMail:
    destinations = [
        AskedDestination(
            x.address, int(x.schedule_at.timestamp() * 1000) if x.schedule_at is not None else 0, x.metadata
        )
        for x in body.destinations
    ]
    until = int(body.expires_at.timestamp() * 1000) if body.expires_at is not None else 0
    labels = Labels(body.reference or "", tuple(body.tags or ()))
    return AskedMail(call.key.account, call.key.test, body.mail_from, destinations, until, call.key.id, labels=labels)


def read(call: Call[Paging, Nothing]) -> Answer:
    """Return a mail with a page of its destinations."""
    mail = _owned(call)
    first, limit = cursors.number(call.query.cursor), min(call.query.limit, MOST_SHOWN)
    some = call.services.mails().moves.show(mail, first, limit)
    cursor = cursors.write(str(first + limit)) if first + limit < len(mail.hosts) and mail.job else None
    return mail_view(mail, some, cursor).answer()


def pages(call: Call[MailsQuery, Nothing]) -> Answer:
    """Return a page of mails, newest first."""
    query, mails = call.query, call.services.mails().mails

    def read(place: str) -> tuple[list[StoredMail], str]:
        return mails.page(call.key.namespace, after=place, limit=query.limit)

    def fits(x: StoredMail) -> bool:
        return query.state in (None, x.state) and query.reference in (None, x.labels.reference)

    found, after = narrowed(query, cursors.jobs(call), read, fits)
    return MailPage(items=[*map(MailSummary.model_validate, found)], next_cursor=cursors.seal(call, after)).answer()


def drop(call: Call[Nothing, Nothing]) -> Answer:
    """Take a destination out that waits."""
    mail = _committed(call)
    return _moved(call.services.mails().moves.drop(mail, _key(call), by=call.key.id), call)


def reschedule(call: Call[Nothing, NewSchedule]) -> Answer:
    """Have a destination that waits sent at another time."""
    mail = _committed(call)
    now, at = now_of(call), int(call.body.at.timestamp() * 1000)
    if at >= mail.expires_at:
        raise invalid("at", "The mail expires before.")
    return _moved(call.services.mails().moves.reschedule(mail, _key(call), max(at, now), by=call.key.id), call)


def _moved(found: MailDestination | InFlight | None, call: Call[Any, Any]) -> Answer:
    if found is None:
        raise _no_destination(call)
    if isinstance(found, InFlight):
        raise Problem("in_flight")
    return DestinationView.model_validate(found).answer()


def _key(call: Call[Any, Any]) -> str:
    """Return the normalised address of the path."""
    found = parse(call.path["address"])
    if not isinstance(found, Address):
        raise _no_destination(call)
    return found.key


def _no_destination(call: Call[Any, Any]) -> Problem:
    return Problem(
        "not_found", f"The mail has no {named('destination', call.path['address'])}. GET /mails/{{mail_id}} lists them."
    )


def _committed(call: Call[Any, Any]) -> StoredMail:
    mail = _owned(call)
    if mail.state is MailState.OPEN:
        raise Problem(
            "not_found", f"The mail {call.path['mail_id']} is not committed. Upload its content, then commit it."
        )
    return mail


def _owned(call: Call[Any, Any]) -> StoredMail:
    """Return the mail of the path; Problem if it is not the caller's."""
    name = call.path["mail_id"]
    found = call.services.mails().mails.get(name) if is_id(name) else None
    now = call.services.clock.now()
    if found is None or found.namespace != call.key.namespace or found.ttl <= now:
        raise missing("mail", name)
    return found


_REFUSED: Final = ("account_suspended", "from_not_allowed", "no_route", "no_valid_recipient", "invalid_mail")

ROUTES: Final = section(
    "Mails",
    Route(
        method="POST",
        path="/mails",
        name="postMail",
        summary="Send a finished message",
        description="As JSON, or as it is with `Content-Type: message/rfc822` and its envelope in the query; up to "
        "4 MB. Each destination gets the bytes as they are, without `Bcc`. Larger mails are uploaded.",
        scope=Scope.SEND,
        handler=post,
        answers={202: AcceptedMail},
        problems=_REFUSED,
        idempotent=True,
        media=(MEDIA,),
        bytes_media=(MEDIA,),
        while_suspended=True,  # it asks with the sender's right
    ),
    Route(
        method="GET",
        path="/mails",
        name="listMails",
        summary="Mails, newest first",
        scope=Scope.READ,
        handler=pages,
        answers={200: MailPage},
        problems=("bad_cursor",),
    ),
    Route(
        method="POST",
        path="/mails/uploads",
        name="createMail",
        summary="A place for a finished message",
        description="Put the message there (up to 40 MB), then commit the mail. An open mail goes after a day.",
        scope=Scope.SEND,
        handler=start,
        answers={201: MailPlaceView},
        problems=("account_suspended", "no_route", "from_not_allowed", "invalid_mail", "too_many_uploads"),
        idempotent=True,
        while_suspended=True,  # it asks with the sender's right
    ),
    Route(
        method="GET",
        path="/mails/{mail_id}",
        name="getMail",
        summary="A mail with its destinations",
        description="Each with how it ended, through whom, and why. A page has up to 100 of them.",
        scope=Scope.READ,
        handler=read,
        answers={200: MailView},
        problems=("not_found", "bad_cursor"),
    ),
    Route(
        method="POST",
        path="/mails/{mail_id}/commit",
        name="commitMail",
        summary="Queue an uploaded mail",
        description="The content is checked, and all destinations are queued, or none. Repeating it changes nothing.",
        scope=Scope.SEND,
        handler=commit,
        answers={202: AcceptedMail},
        problems=(*_REFUSED, "not_found", "upload_missing", "etag_mismatch"),
        while_suspended=True,  # it asks with the sender's right
    ),
    Route(
        method="DELETE",
        path="/mails/{mail_id}/destinations/{address}",
        name="dropDestination",
        summary="Drop a destination that waits",
        description="It is never sent to, and no notification follows. Repeating it changes nothing.",
        scope=Scope.SEND,
        handler=drop,
        answers={200: DestinationView},
        problems=("not_found", "in_flight"),
    ),
    Route(
        method="POST",
        path="/mails/{mail_id}/destinations/{address}/reschedule",
        name="rescheduleDestination",
        summary="Send to a destination at another time",
        scope=Scope.SEND,
        handler=reschedule,
        answers={200: DestinationView},
        problems=("not_found", "in_flight"),
    ),
)
