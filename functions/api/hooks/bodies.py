"""Pages of events for the OpenAPI document and the page of events, made from the tables of their fields."""

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any, Final

from pydantic import Field, create_model

from functions.api.views import Counts
from shared.domain.hooks import fields
from shared.domain.hooks.fields import EXAMPLE_TIME, AmountByState, HookBody
from shared.domain.hooks.kinds import ACCOUNT_KINDS, DEPLOYMENT_KINDS, HookKind
from shared.domain.jobs.states import MessageState
from shared.frozen import dataclass
from shared.web.views import Time, View

_TYPES: Final[Mapping[Any, Any]] = {datetime: Time, datetime | None: Time | None, AmountByState: Counts}
"""Type of a field → its type in a model, where they differ."""


@cache
def model_of(body: HookBody[Any]) -> type[View]:
    """Return a model whose schema describes the data of events."""
    made: dict[str, Any] = {}
    for x in body.fields:
        examples = None if x.type == AmountByState else [x.example]
        made[x.name] = (_TYPES.get(x.type, x.type), Field(description=x.said or None, examples=examples))
    return create_model(body.name, __base__=View, __doc__=body.said, **made)


@dataclass(frozen=True, slots=True)
class HookPage:
    """The page of a kind of event.

    Attributes:
        kind: of the event.
        said: a sentence: when it is posted.
        body: its `data`.
        changes: to the example of the body, by field.
    """

    kind: HookKind
    said: str
    body: HookBody[Any]
    changes: Mapping[str, Any]

    @property
    def model(self) -> type[View]:
        """The model of its `data`."""
        return model_of(self.body)

    @property
    def operators_only(self) -> bool:
        """Tell whether only an endpoint of the deployment may name it."""
        return self.kind in DEPLOYMENT_KINDS - ACCOUNT_KINDS

    def example(self) -> dict[str, Any]:
        """Return an example of its body."""
        return {"type": self.kind.value, "timestamp": EXAMPLE_TIME, "data": {**_example(self.body), **self.changes}}


_COUNTS: Final = dict.fromkeys([x.value for x in MessageState], 0)


def _example(body: HookBody[Any]) -> dict[str, Any]:
    return {x.name: dict(_COUNTS) if x.type == AmountByState else x.example for x in body.fields}


def _message(kind: HookKind, said: str, **changes: Any) -> HookPage:
    return HookPage(kind, said, fields.MESSAGE, changes)


PAGES: Final = (
    _message(HookKind.MESSAGE_SENT, "A provider has accepted the message.", state="sent"),
    _message(HookKind.MESSAGE_DELIVERED, "The provider reports that the message was delivered."),
    _message(
        HookKind.MESSAGE_FAILED,
        "The message was refused, or all attempts failed.",
        state="failed",
        error="invalid_recipient",
    ),
    _message(
        HookKind.MESSAGE_SKIPPED,
        "The message is not sent: its recipient is suppressed or invalid, it was withdrawn, or its time is over.",
        state="skipped",
        attempt=0,
        error="suppressed",
    ),
    _message(
        HookKind.MESSAGE_UNKNOWN,
        "The provider did not answer, so it may or may not have the message. Another event follows once its fate is "
        "known.",
        state="unknown",
        error="timeout",
    ),
    _message(HookKind.MESSAGE_BOUNCED, "The mailbox or number does not exist.", state="failed", error="5.1.1"),
    _message(
        HookKind.MESSAGE_COMPLAINED,
        "The recipient has reported the message as unwanted.",
        state="failed",
        error="complained",
    ),
    HookPage(
        HookKind.JOB_LOGGED,
        "All messages of a job have an end. The job gets the event again if its messages are sent again.",
        fields.JOB,
        {"counts": {**_COUNTS, "sent": 4, "delivered": 990, "failed": 6}},
    ),
    HookPage(
        HookKind.JOB_STOPPED,
        "Its owner, an operator or a guard has stopped a job.",
        fields.JOB,
        {
            "state": "STOPPED",
            "counts": {**_COUNTS, "queued": 400, "sent": 600},
            "stop_reason": "user",
            "stopped_at": EXAMPLE_TIME,
            "finished_at": None,
        },
    ),
    HookPage(
        HookKind.CAMPAIGN_HALTED,
        "The bounce guard has stopped a job of a campaign. Operators' endpoints get it for all accounts.",
        fields.HALT,
        {"counts": {**_COUNTS, "queued": 2000, "sent": 943, "failed": 57}},
    ),
    HookPage(
        HookKind.APPROVAL_ASKED,
        "A list waits for the approval of another key or person.",
        fields.APPROVAL,
        {},
    ),
    HookPage(
        HookKind.APPROVAL_DECIDED,
        "A list that waited was approved or refused, or the one who asked has withdrawn the request.",
        fields.DECISION,
        {},
    ),
    HookPage(HookKind.UPLOAD_FINISHED, "An uploaded list is read, or it cannot be used.", fields.UPLOAD, {}),
    HookPage(HookKind.DIGEST_CLOSED, "A window of digest events is closed.", fields.WINDOW, {}),
    HookPage(HookKind.NOTICE_UPDATED, "A notice has a new status, or a record was rejected.", fields.UPDATE, {}),
    HookPage(HookKind.MAIL_FAILED, "A destination of a mail was not delivered.", fields.MAIL, {}),
    HookPage(
        HookKind.SUPPRESSION_ADDED,
        "An address is suppressed: it bounced, its owner complained, or you have added it.",
        fields.SUPPRESSION,
        {},
    ),
    HookPage(
        HookKind.UNSUBSCRIBED,
        "A recipient has unsubscribed from campaigns or digests, or has ended a channel with STOP.",
        fields.SUPPRESSION,
        {"scope": "campaigns", "reason": "one_click"},
    ),
    HookPage(HookKind.TEXT_RECEIVED, "Somebody has written a text to a number of the account.", fields.TEXT, {}),
    HookPage(HookKind.KEY_EXPIRING, "An API key that is used ends within 14 days, 7 days or a day.", fields.KEY, {}),
    HookPage(
        HookKind.QUOTA_REACHED,
        "80 or 100 percent of a limit of the day is used. Operators' endpoints get it for all accounts.",
        fields.QUOTA,
        {},
    ),
    HookPage(
        HookKind.ACCOUNT_BOUNCING,
        "Too many single messages of a day have bounced. Operators' endpoints get it for all accounts.",
        fields.BOUNCING,
        {},
    ),
    HookPage(HookKind.BREAKER_OPENED, "A circuit breaker has opened: its credential is not used.", fields.BREAKER, {}),
    HookPage(HookKind.BREAKER_CLOSED, "A circuit breaker has closed.", fields.BREAKER, {"state": "CLOSED"}),
    HookPage(HookKind.ALARM_CHANGED, "An alarm of the deployment has changed its state.", fields.ALARM, {}),
    HookPage(
        HookKind.TEST,
        "An endpoint is new, its URL has changed, or you ask for it. An answer of 2xx enables the endpoint.",
        fields.TEST,
        {},
    ),
)
"""Every kind, in the order of the page."""
