"""Bodies of hooks as receivers read them, for the OpenAPI document and the page of events.

`shared/domain/hooks/bodies.py` makes the bodies, without these models: what posts them starts fast. Tests compare both.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import Field

from functions.api.views import Counts, Time, View
from shared.domain.channels.email import EMAIL
from shared.domain.channels.sms import SMS
from shared.domain.hooks.kinds import DEPLOYMENT_KINDS, HookKind
from shared.domain.jobs.job import StopReason
from shared.domain.jobs.states import JobState, MessageState
from shared.domain.lanes.breaker import BreakerState
from shared.domain.recipients.suppressions import Reach

_JOB: Final = "01kht2n3a8f6q0v7x9y4c5b1de"
_LIST: Final = "01kht2m0r7s9t1v3w5x7z9b2d4"
_CAMPAIGN: Final = "01kht2kz5e7g9j2m4p6r8t0v3x"
_WINDOW: Final = "5f1d3a8c7b2e4f60918273645a5b6c7d-12"
_TEXT: Final = "9b2c4d6e8f0a1b3c5d7e9f1a2b4c6d8e"
_HOOK: Final = "hook_01kht2j7y9b1d3f5h7k9n2q4s6"
_AT: Final = "2026-11-23T15:04:05.678Z"
_EARLIER: Final = "2026-11-23T15:00:00.000Z"


class MessageChange(View):
    """A message's new state."""

    job_id: str = Field(examples=[_JOB])
    message: str = Field(description="Its name within the job, `chunk.index`.", examples=["0.12"])
    recipient: str = Field(examples=["ada@example.com"])
    channel: str = Field(examples=[EMAIL.name])
    state: MessageState = Field(
        description="As in the message log. A bounce and a complaint are `failed`.", examples=["delivered"]
    )
    attempt: int = Field(description="The attempt that led to it, from 1; 0: none was made.", examples=[1])
    error: str | None = Field(description="The code that explains the state, as in the message log.", examples=[None])
    kind: str = Field(description="The job's kind.", examples=["batch"])
    name: str | None = Field(description="The job's name.", examples=["Invoices"])
    campaign_id: str | None = Field(examples=[None])
    test: bool = Field(examples=[False])
    tags: list[str] = Field(description="The owner's words for the message.", examples=[["invoices"]])
    metadata: dict[str, str] = Field(
        description="The owner's own data that came with the message.", examples=[{"order": "4711"}]
    )


class JobChange(View):
    """A job that has ended or was stopped."""

    job_id: str = Field(examples=[_JOB])
    kind: str = Field(examples=["batch"])
    channel: str = Field(examples=[EMAIL.name])
    state: JobState = Field(examples=["LOGGED"])
    name: str | None = Field(examples=["Invoices"])
    campaign_id: str | None = Field(examples=[None])
    test: bool = Field(examples=[False])
    total: int = Field(description="Messages.", examples=[1000])
    counts: Counts = Field(description="Messages by state. Feedback changes them later.")
    stop_reason: StopReason | None = Field(examples=[None])
    stopped_at: Time | None = Field(examples=[None])
    finished_at: Time | None = Field(description="When all messages had an end.", examples=[_AT])


class CampaignHalt(View):
    """A campaign that the bounce guard has halted."""

    account: str = Field(examples=["acc_000000000001"])
    campaign_id: str = Field(examples=[_CAMPAIGN])
    job_id: str = Field(description="The job that was stopped.", examples=[_LIST])
    name: str | None = Field(examples=["Autumn sale"])
    test: bool = Field(examples=[False])
    reason: Literal["bounce_guard"] = Field(examples=["bounce_guard"])
    counts: Counts = Field(description="Messages of the job by state.")
    bounced: int = Field(description="Messages of the job with a hard bounce or a complaint.", examples=[57])
    stopped_at: Time = Field(examples=[_AT])


class UploadEnd(View):
    """An uploaded list that is read, or that cannot be used."""

    upload_id: str = Field(examples=[_LIST])
    campaign_id: str = Field(examples=[_CAMPAIGN])
    state: Literal["ready", "failed"] = Field(examples=["ready"])
    rows: int = Field(examples=[5000])
    accepted: int = Field(examples=[4990])
    invalid: int = Field(examples=[4])
    duplicates: int = Field(examples=[6])
    code: str | None = Field(description="Why it cannot be used.", examples=[None])
    detail: str | None = Field(examples=[None])
    finished_at: Time | None = Field(examples=[_AT])


class DigestClosed(View):
    """A window whose events are final. Its digest is about to be made."""

    window_id: str = Field(examples=[_WINDOW])
    batch_key: str = Field(examples=["acme/build"])
    number: int = Field(description="Among the windows of its key, from 1; 0 for an urgent event.", examples=[12])
    urgent: bool = Field(examples=[False])
    events: int = Field(description="Events that joined it, repeats included.", examples=[31])
    opened_at: Time = Field(examples=[_EARLIER])
    closed_at: Time = Field(examples=[_AT])
    policy: str = Field(description="The prefix of its policy.", examples=["acme/"])
    test: bool = Field(examples=[False])


class NoticeUpdate(View):
    """A line of a notifier's updates."""

    notifier: str = Field(examples=["clinic"])
    id: str = Field(description="The notifier's own id of the notice.", examples=["appointment-4711"])
    action: str | None = Field(
        description="Only of a rejected record: its action, as it was sent; empty if it had none.", examples=[None]
    )
    status: str = Field(description="The notice's status.", examples=["SUCCESS"])
    error: str | None = Field(description="Code of a failure or a rejection.", examples=[None])
    message: str | None = Field(description="A sentence for people.", examples=[None])
    updated_at: Time = Field(examples=[_AT])


class MailFailure(View):
    """A destination of a mail that was not delivered."""

    mail_id: str = Field(examples=[_LIST])
    job_id: str = Field(examples=[_JOB])
    destination: int = Field(description="Its number in the mail, from 0.", examples=[0])
    address: str = Field(examples=["ada@example.com"])
    state: MessageState = Field(examples=["failed"])
    attempts: int = Field(description="Attempts that were begun.", examples=[3])
    error: str | None = Field(description="The code that explains the state.", examples=["5.1.1"])
    test: bool = Field(examples=[False])


class SuppressionChange(View):
    """An address that gets no more messages."""

    address: str = Field(description="Normalised: an e-mail address or a number.", examples=["ada@example.com"])
    scope: Reach = Field(
        description="The messages that it no longer gets, as in `GET /suppressions`.", examples=["all"]
    )
    reason: str = Field(examples=["bounced"])
    channel: str | None = Field(description="Of the message that was the cause.", examples=[EMAIL.name])
    job_id: str | None = Field(description="The job of that message.", examples=[_JOB])
    policy: str | None = Field(description="With the scope `digests`: the prefix of the policy.", examples=[None])
    at: Time = Field(examples=[_AT])


class ReceivedTextView(View):
    """A text that somebody wrote to a number of a credential."""

    text_id: str = Field(examples=[_TEXT])
    received_at: Time = Field(examples=[_AT])
    from_: str = Field(alias="from", description="The number that wrote it.", examples=["+14155550100"])
    to: str | None = Field(description="The number that it was written to, if it is known.", examples=["+15005550006"])
    text: str = Field(description="At most 1,600 characters.", examples=["STOP"])
    wish: Literal["stop", "start"] | None = Field(
        description="`stop`: the number gets no more messages by the channel. `start`: it gets them again.",
        examples=["stop"],
    )
    channel: str = Field(examples=[SMS.name])
    credential_id: str = Field(examples=["texts"])


class BreakerChange(View):
    """A credential's circuit breaker that has opened or closed."""

    credential_id: str = Field(examples=["main"])
    state: BreakerState = Field(examples=["OPEN"])
    reason: str | None = Field(description="Code of the failure that opened it.", examples=["timeout"])
    failures: int = Field(description="Failed calls that opened it.", examples=[5])
    since: Time = Field(examples=[_AT])


class AlarmChange(View):
    """An alarm of the deployment whose state has changed."""

    alarm: str = Field(examples=["posthaste-prod-jobs-stuck"])
    state: str = Field(description="`ALARM`, `OK` or `INSUFFICIENT_DATA`.", examples=["ALARM"])
    before: str | None = Field(description="The state before.", examples=["OK"])
    reason: str | None = Field(description="CloudWatch's own text.", examples=["Threshold Crossed: 1 datapoint"])
    changed_at: str = Field(description="As CloudWatch says it.", examples=["2026-11-23T15:04:05.678+0000"])


class HookTest(View):
    """A question whether an endpoint wants events. An answer with a status of 2xx enables it."""

    hook_id: str = Field(examples=[_HOOK])


@dataclass(frozen=True, slots=True)
class HookPage:
    """What is written about a kind of event.

    Attributes:
        kind: of the event.
        said: a sentence: when it is posted.
        model: of `data`.
        changes: to the example of the model, by field.
    """

    kind: HookKind
    said: str
    model: type[View]
    changes: Mapping[str, Any]

    @property
    def operators_only(self) -> bool:
        """Tell whether only an endpoint of the deployment may name it."""
        return self.kind in DEPLOYMENT_KINDS and self.kind is not HookKind.CAMPAIGN_HALTED

    def example(self) -> dict[str, Any]:
        """Return an example of its body."""
        return {"type": self.kind.value, "timestamp": _AT, "data": {**_example(self.model), **self.changes}}


_COUNTS: Final = dict.fromkeys([x.value for x in MessageState], 0)


def _example(model: type[View]) -> dict[str, Any]:
    out = {}
    for name, field in model.model_fields.items():
        out[field.alias or name] = dict(_COUNTS) if field.annotation is Counts else (field.examples or [None])[0]
    return out


def _message(kind: HookKind, said: str, **changes: Any) -> HookPage:
    return HookPage(kind, said, MessageChange, changes)


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
        JobChange,
        {"counts": {**_COUNTS, "sent": 4, "delivered": 990, "failed": 6}},
    ),
    HookPage(
        HookKind.JOB_STOPPED,
        "Its owner, an operator or a guard has stopped a job.",
        JobChange,
        {
            "state": "STOPPED",
            "counts": {**_COUNTS, "queued": 400, "sent": 600},
            "stop_reason": "user",
            "stopped_at": _AT,
            "finished_at": None,
        },
    ),
    HookPage(
        HookKind.CAMPAIGN_HALTED,
        "The bounce guard has stopped a job of a campaign. Operators' endpoints get it for all accounts.",
        CampaignHalt,
        {"counts": {**_COUNTS, "queued": 2000, "sent": 943, "failed": 57}},
    ),
    HookPage(HookKind.UPLOAD_FINISHED, "An uploaded list is read, or it cannot be used.", UploadEnd, {}),
    HookPage(HookKind.DIGEST_CLOSED, "A window of digest events is closed.", DigestClosed, {}),
    HookPage(HookKind.NOTICE_UPDATED, "A notice has a new status, or a record was rejected.", NoticeUpdate, {}),
    HookPage(HookKind.MAIL_FAILED, "A destination of a mail was not delivered.", MailFailure, {}),
    HookPage(
        HookKind.SUPPRESSION_ADDED,
        "An address is suppressed: it bounced, its owner complained, or you have added it.",
        SuppressionChange,
        {},
    ),
    HookPage(
        HookKind.UNSUBSCRIBED,
        "A recipient has unsubscribed from campaigns or digests, or has ended a channel with STOP.",
        SuppressionChange,
        {"scope": "campaigns", "reason": "one_click"},
    ),
    HookPage(HookKind.TEXT_RECEIVED, "Somebody has written a text to a number of the account.", ReceivedTextView, {}),
    HookPage(HookKind.BREAKER_OPENED, "A circuit breaker has opened: its credential is not used.", BreakerChange, {}),
    HookPage(HookKind.BREAKER_CLOSED, "A circuit breaker has closed.", BreakerChange, {"state": "CLOSED"}),
    HookPage(HookKind.ALARM_CHANGED, "An alarm of the deployment has changed its state.", AlarmChange, {}),
    HookPage(
        HookKind.TEST,
        "An endpoint is new, its URL has changed, or you ask for it. An answer of 2xx enables the endpoint.",
        HookTest,
        {},
    ),
)
"""Every kind, in the order of the page."""
