"""The fields of each kind of event's `data`: type, example, value and meaning, each declared once.

The bodies that are posted, the OpenAPI document and the page of events are made from these tables. They know no
pydantic, because the function that posts them starts fast.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Generic, Literal, TypeVar

from shared.domain.access.ends import EndingKey
from shared.domain.campaigns.approval import Decided, Decision, PendingApproval
from shared.domain.campaigns.bounce_guard import BouncingDay
from shared.domain.campaigns.campaign import Campaign, Upload
from shared.domain.channels.email import EMAIL
from shared.domain.channels.sms import SMS
from shared.domain.digests.window import DigestWindow
from shared.domain.ids import message_id
from shared.domain.jobs.job import Job, StopReason, public_counts
from shared.domain.jobs.labels import NO_LABELS, Labels
from shared.domain.jobs.states import Cell, JobState, MessageState, message_state
from shared.domain.lanes.breaker import Breaker, BreakerState
from shared.domain.lists.uploads import ListCounts
from shared.domain.notices.updates import UpdateEntry
from shared.domain.recipients.suppressions import Reach, Suppression
from shared.domain.spending.limits import Measure, ReachedQuota, shown
from shared.domain.texts import ReceivedText
from shared.domain.times import Millis
from shared.frozen import dataclass

HookData = dict[str, Any]
"""The `data` of an event's body."""
AmountByState = dict[MessageState, int]
"""Messages by state: each state has an amount."""
EXAMPLE_TIME: Final = "2026-11-23T15:04:05.678Z"

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class HookField(Generic[S]):
    """A field.

    Attributes:
        name: in JSON.
        type: of its value. A datetime is a text of RFC 3339.
        example: a value in JSON; None as an example of the amounts by state: all are 0.
        value: makes it from what the event is about.
        said: its meaning, if the name does not say it.
    """

    name: str
    type: Any
    example: Any
    value: Callable[[S], Any]
    said: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class HookBody(Generic[S]):
    """The `data` of some kinds of events.

    Attributes:
        name: of its schema in the OpenAPI document.
        said: a sentence.
        fields: in the order in which they are posted.
    """

    name: str
    said: str
    fields: tuple[HookField[S], ...]

    def data(self, of: S) -> HookData:
        """Return what an event says."""
        return {x.name: x.value(of) for x in self.fields}


@dataclass(frozen=True, slots=True)
class MessageSource:
    """A message that an event is about. Only what never changes of its job is said.

    Attributes:
        chunk: its chunk's number; of a mail the destination's number.
        index: the recipient's place in the chunk.
        byte: the message's cell, as its ledger had it.
        error: the code that explains the state; empty for none.
        labels: what its owner calls it.
    """

    job: Job
    chunk: int
    index: int
    byte: int
    address: str
    error: str = ""
    labels: Labels = NO_LABELS

    @property
    def state(self) -> str:
        """Its state, as the message log has it."""
        return message_state(Cell(self.byte & 15)).value


@dataclass(frozen=True, slots=True)
class SuppressionSource:
    """A new suppression, or an unsubscription. `reach`: the list that it is in."""

    entry: Suppression
    reach: Reach


def iso(at: Millis) -> str:
    """Return a moment, Unix milliseconds, as RFC 3339 in UTC with milliseconds."""
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _moment(at: Millis) -> str | None:
    return iso(at) if at else None


def _counts(x: Upload) -> ListCounts:
    return x.checkpoint.counts if x.checkpoint is not None else ListCounts()


def _asked(x: Campaign) -> PendingApproval:
    if x.asked is None:
        raise ValueError("nothing waits")
    return x.asked


def _decided(x: Campaign) -> Decided:
    if x.decided is None:
        raise ValueError("nothing was decided")
    return x.decided


_APPROVAL: Final = "5b7c1f0e9d3a48267c1b0f5e9d3a4826"
_JOB: Final = "01kht2n3a8f6q0v7x9y4c5b1de"
_LIST: Final = "01kht2m0r7s9t1v3w5x7z9b2d4"
_CAMPAIGN: Final = "01kht2kz5e7g9j2m4p6r8t0v3x"
_WINDOW: Final = "5f1d3a8c7b2e4f60918273645a5b6c7d-12"
_TEXT: Final = "9b2c4d6e8f0a1b3c5d7e9f1a2b4c6d8e"
_HOOK: Final = "hook_01kht2j7y9b1d3f5h7k9n2q4s6"
_AT: Final = EXAMPLE_TIME
_EARLIER: Final = "2026-11-23T15:00:00.000Z"
_ADDRESS: Final = "ada@example.com"

# change: a field of a body that is posted to an endpoint
MESSAGE: Final[HookBody[MessageSource]] = HookBody(
    "MessageChange",
    "A message's new state.",
    (
        HookField("job_id", str, _JOB, lambda x: x.job.id),
        HookField(
            "message", str, "0.12", lambda x: message_id(x.chunk, x.index), "Its name within the job, `chunk.index`."
        ),
        HookField("recipient", str, _ADDRESS, lambda x: x.address),
        HookField("channel", str, EMAIL.name, lambda x: x.job.channel),
        HookField(
            "state",
            MessageState,
            "delivered",
            lambda x: x.state,
            "As in the message log. A bounce and a complaint are `failed`.",
        ),
        HookField("attempt", int, 1, lambda x: x.byte >> 4, "The attempt that led to it, from 1; 0: none was made."),
        HookField(
            "error",
            str | None,
            None,
            lambda x: x.error or None,
            "The code that explains the state, as in the message log.",
        ),
        HookField("kind", str, "batch", lambda x: x.job.kind, "The job's kind."),
        HookField("name", str | None, "Invoices", lambda x: x.job.name or None, "The job's name."),
        HookField("campaign_id", str | None, None, lambda x: x.job.campaign or None),
        HookField("test", bool, False, lambda x: x.job.test),
        HookField("reference", str | None, "order-4711", lambda x: x.labels.reference or None, "The batch's."),
        HookField("tags", list[str], ["invoices"], lambda x: list(x.labels.tags), "The owner's words for the message."),
        HookField(
            "metadata",
            dict[str, str],
            {"order": "4711"},
            lambda x: dict(x.labels.metadata),
            "The owner's own data: the batch's, and the recipient's in place of those of the same names.",
        ),
    ),
)

JOB: Final[HookBody[Job]] = HookBody(
    "JobChange",
    "A job that has ended or was stopped.",
    (
        HookField("job_id", str, _JOB, lambda x: x.id),
        HookField("kind", str, "batch", lambda x: x.kind),
        HookField("channel", str, EMAIL.name, lambda x: x.channel),
        HookField("state", JobState, "LOGGED", lambda x: x.state.value),
        HookField("name", str | None, "Invoices", lambda x: x.name or None),
        HookField("campaign_id", str | None, None, lambda x: x.campaign or None),
        HookField("test", bool, False, lambda x: x.test),
        HookField("total", int, 1000, lambda x: x.total, "Messages."),
        HookField(
            "counts",
            AmountByState,
            None,
            lambda x: public_counts(x.counts),
            "Messages by state. Feedback changes them later.",
        ),
        HookField("stop_reason", StopReason | None, None, lambda x: x.stop_reason or None),
        HookField("stopped_at", datetime | None, None, lambda x: _moment(x.stopped_at)),
        HookField("finished_at", datetime | None, _AT, lambda x: _moment(x.ended_at), "When all messages had an end."),
        HookField("reference", str | None, "order-4711", lambda x: x.labels.reference or None, "The owner's name."),
        HookField("tags", list[str], ["invoices"], lambda x: list(x.labels.tags)),
        HookField("metadata", dict[str, str], {"order": "4711"}, lambda x: dict(x.labels.metadata)),
    ),
)

HALT: Final[HookBody[Job]] = HookBody(
    "CampaignHalt",
    "A campaign that the bounce guard has halted.",
    (
        HookField("account", str, "acc_000000000001", lambda x: x.account),
        HookField("campaign_id", str, _CAMPAIGN, lambda x: x.campaign),
        HookField("job_id", str, _LIST, lambda x: x.id, "The job that was stopped."),
        HookField("name", str | None, "Autumn sale", lambda x: x.name or None),
        HookField("test", bool, False, lambda x: x.test),
        HookField("reason", Literal["bounce_guard"], "bounce_guard", lambda x: x.stop_reason),
        HookField("counts", AmountByState, None, lambda x: public_counts(x.counts), "Messages of the job by state."),
        HookField(
            "bounced", int, 57, lambda x: x.counts["bounced"], "Messages of the job with a hard bounce or a complaint."
        ),
        HookField("stopped_at", datetime, _AT, lambda x: iso(x.stopped_at)),
    ),
)

APPROVAL: Final[HookBody[Campaign]] = HookBody(
    "ApprovalRequest",
    "A list that waits for approval.",
    (
        HookField("approval_id", str, _APPROVAL, lambda x: _asked(x).id, "Names exactly what waits."),
        HookField("campaign_id", str, _CAMPAIGN, lambda x: x.id),
        HookField("upload_id", str, _LIST, lambda x: x.ready, "The list."),
        HookField("name", str, "Autumn sale", lambda x: x.name),
        HookField("channel", str, EMAIL.name, lambda x: x.channel),
        HookField("subject", str | None, "News for {{ name }}", lambda x: x.message.subject or None),
        HookField("recipients", int, 5000, lambda x: _asked(x).rows, "Accepted rows of the list."),
        HookField("asked_by", str, "3f9a1c7e5b2d4860", lambda x: _asked(x).by, "As in the audit log."),
        HookField("asked_at", datetime, _AT, lambda x: iso(_asked(x).at)),
        HookField("scheduled_at", datetime | None, None, lambda x: _moment(_asked(x).not_before)),
    ),
)

DECISION: Final[HookBody[Campaign]] = HookBody(
    "ApprovalDecision",
    "The end of a request for approval.",
    (
        HookField("approval_id", str, _APPROVAL, lambda x: _decided(x).id),
        HookField("campaign_id", str, _CAMPAIGN, lambda x: x.id),
        HookField("upload_id", str, _LIST, lambda x: _decided(x).upload, "The list. If it is approved, also its job."),
        HookField("name", str, "Autumn sale", lambda x: x.name),
        HookField("decision", Decision, "approved", lambda x: _decided(x).decision.value),
        HookField("decided_by", str, "8c0d2e4f6a1b3c5d", lambda x: _decided(x).by, "As in the audit log."),
        HookField("asked_by", str, "3f9a1c7e5b2d4860", lambda x: _decided(x).asked_by),
        HookField("decided_at", datetime, _AT, lambda x: iso(_decided(x).at)),
        HookField("reason", str | None, None, lambda x: _decided(x).reason or None, "Of a refusal."),
    ),
)

UPLOAD: Final[HookBody[Upload]] = HookBody(
    "UploadEnd",
    "An uploaded list that is read, or that cannot be used.",
    (
        HookField("upload_id", str, _LIST, lambda x: x.id),
        HookField("campaign_id", str, _CAMPAIGN, lambda x: x.campaign),
        HookField("state", Literal["ready", "failed"], "ready", lambda x: x.state.value),
        HookField("rows", int, 5000, lambda x: _counts(x).rows),
        HookField("accepted", int, 4990, lambda x: _counts(x).accepted),
        HookField("invalid", int, 4, lambda x: _counts(x).invalid),
        HookField("duplicates", int, 6, lambda x: _counts(x).duplicates),
        HookField("code", str | None, None, lambda x: x.code or None, "Why it cannot be used."),
        HookField("detail", str | None, None, lambda x: x.detail or None),
        HookField("finished_at", datetime | None, _AT, lambda x: _moment(x.finished_at)),
    ),
)

WINDOW: Final[HookBody[DigestWindow]] = HookBody(
    "DigestClosed",
    "A window whose events are final. Its digest is about to be made.",
    (
        HookField("window_id", str, _WINDOW, lambda x: x.id),
        HookField("batch_key", str, "acme/build", lambda x: x.key),
        HookField(
            "number", int, 12, lambda x: x.number, "Among the windows of its key, from 1; 0 for an urgent event."
        ),
        HookField("urgent", bool, False, lambda x: x.urgent),
        HookField("events", int, 31, lambda x: x.events, "Events that joined it, repeats included."),
        HookField("opened_at", datetime, _EARLIER, lambda x: iso(x.opened_at)),
        HookField("closed_at", datetime, _AT, lambda x: iso(x.closed_at)),
        HookField("policy", str, "acme/", lambda x: x.prefix, "The prefix of its policy."),
        HookField("test", bool, False, lambda x: x.test),
    ),
)

UPDATE: Final[HookBody[UpdateEntry]] = HookBody(
    "NoticeUpdate",
    "A line of a notifier's updates.",
    (
        HookField("notifier", str, "clinic", lambda x: x.notifier),
        HookField("id", str, "appointment-4711", lambda x: x.id, "The notifier's own id of the notice."),
        HookField(
            "action",
            str | None,
            None,
            lambda x: x.action,
            "Only of a rejected record: its action, as it was sent; empty if it had none.",
        ),
        HookField("status", str, "SUCCESS", lambda x: x.status, "The notice's status."),
        HookField("error", str | None, None, lambda x: x.error or None, "Code of a failure or a rejection."),
        HookField("message", str | None, None, lambda x: x.message or None, "A sentence for people."),
        HookField("reference", str | None, "visit-4711", lambda x: x.labels.reference or None, "The notice's."),
        HookField("tags", list[str], ["reminders"], lambda x: list(x.labels.tags), "The notice's."),
        HookField("updated_at", datetime, _AT, lambda x: iso(x.stamp)),
    ),
)

MAIL: Final[HookBody[MessageSource]] = HookBody(
    "MailFailure",
    "A destination of a mail that was not delivered.",
    (
        HookField("mail_id", str, _LIST, lambda x: x.job.name),
        HookField("job_id", str, _JOB, lambda x: x.job.id),
        HookField("destination", int, 0, lambda x: x.chunk, "Its number in the mail, from 0."),
        HookField("address", str, _ADDRESS, lambda x: x.address),
        HookField("state", MessageState, "failed", lambda x: x.state),
        HookField("attempts", int, 3, lambda x: x.byte >> 4, "Attempts that were begun."),
        HookField("error", str | None, "5.1.1", lambda x: x.error or None, "The code that explains the state."),
        HookField("test", bool, False, lambda x: x.job.test),
        HookField("reference", str | None, "ticket-7", lambda x: x.labels.reference or None, "The mail's."),
        HookField("tags", list[str], ["tickets"], lambda x: list(x.labels.tags), "The mail's."),
    ),
)

SUPPRESSION: Final[HookBody[SuppressionSource]] = HookBody(
    "SuppressionChange",
    "An address that gets no more messages.",
    (
        HookField("address", str, _ADDRESS, lambda x: x.entry.address, "Normalised: an e-mail address or a number."),
        HookField(
            "scope",
            Reach,
            "all",
            lambda x: x.reach.value,
            "The messages that it no longer gets, as in `GET /suppressions`.",
        ),
        HookField("reason", str, "bounced", lambda x: x.entry.reason),
        HookField(
            "channel", str | None, EMAIL.name, lambda x: x.entry.channel or None, "Of the message that was the cause."
        ),
        HookField("job_id", str | None, _JOB, lambda x: x.entry.job or None, "The job of that message."),
        HookField(
            "policy",
            str | None,
            None,
            lambda x: x.entry.policy or None,
            "With the scope `digests`: the prefix of the policy.",
        ),
        HookField("at", datetime, _AT, lambda x: iso(x.entry.at)),
    ),
)

TEXT: Final[HookBody[ReceivedText]] = HookBody(
    "ReceivedTextView",
    "A text that somebody wrote to a number of a credential.",
    (
        HookField("text_id", str, _TEXT, lambda x: x.id),
        HookField("received_at", datetime, _AT, lambda x: iso(x.at)),
        HookField("from", str, "+14155550100", lambda x: x.sender, "The number that wrote it."),
        HookField(
            "to",
            str | None,
            "+15005550006",
            lambda x: x.to or None,
            "The number that it was written to, if it is known.",
        ),
        HookField("text", str, "STOP", lambda x: x.text, "At most 1,600 characters."),
        HookField(
            "wish",
            Literal["stop", "start"] | None,
            "stop",
            lambda x: {"stopped": "stop", "started": "start"}.get(x.wish),
            "`stop`: the number gets no more messages by the channel. `start`: it gets them again.",
        ),
        HookField("channel", str, SMS.name, lambda x: x.channel),
        HookField("credential_id", str, "texts", lambda x: x.credential),
    ),
)

QUOTA: Final[HookBody[ReachedQuota]] = HookBody(
    "QuotaReached",
    "A share of a limit of the day that is used.",
    (
        HookField("account", str, "acc_01kht2n3a8f6", lambda x: x.account),
        HookField("quota", Measure, "email", lambda x: x.measure, "A channel, `messages` of all channels, or `price`."),
        HookField("key_id", str | None, None, lambda x: x.key or None, "The API key whose own limit it is."),
        HookField("share", int, 80, lambda x: x.share, "80 or 100 percent. 100 also if a request was refused."),
        HookField("limit", float, 10_000, lambda x: shown(x.measure, x.limit), "The most of a day."),
        HookField("used", float, 8_012, lambda x: shown(x.measure, x.used)),
        HookField("date", str, "2026-11-23", lambda x: x.day, "In UTC."),
    ),
)

BOUNCING: Final[HookBody[BouncingDay]] = HookBody(
    "AccountBouncing",
    "Single messages of a day that bounce too much.",
    (
        HookField("account", str, "acc_01kht2n3a8f6", lambda x: x.account),
        HookField("channel", str, "email", lambda x: x.channel),
        HookField("bounced", int, 12, lambda x: x.bounced, "Messages that bounced for good."),
        HookField("settled", int, 90, lambda x: x.settled, "Messages with a final result."),
        HookField("date", str, "2026-11-23", lambda x: x.day, "On which they were accepted, in UTC."),
    ),
)

BREAKER: Final[HookBody[Breaker]] = HookBody(
    "BreakerChange",
    "A credential's circuit breaker that has opened or closed.",
    (
        HookField("credential_id", str, "main", lambda x: x.credential),
        HookField("state", BreakerState, "OPEN", lambda x: x.state.value),
        HookField("reason", str | None, "timeout", lambda x: x.reason or None, "Code of the failure that opened it."),
        HookField("failures", int, 5, lambda x: x.failures, "Failed calls that opened it."),
        HookField("since", datetime, _AT, lambda x: iso(x.since)),
    ),
)

ALARM: Final[HookBody[Mapping[str, Any]]] = HookBody(
    "AlarmChange",
    "An alarm of the deployment whose state has changed.",
    (
        HookField("alarm", str, "posthaste-prod-jobs-stuck", lambda x: str(x["alarmName"])),
        HookField("state", str, "ALARM", lambda x: str(x["state"]["value"]), "`ALARM`, `OK` or `INSUFFICIENT_DATA`."),
        HookField("before", str | None, "OK", lambda x: x.get("previousState", {}).get("value"), "The state before."),
        HookField(
            "reason",
            str | None,
            "Threshold Crossed: 1 datapoint",
            lambda x: x["state"].get("reason"),
            "CloudWatch's own text.",
        ),
        HookField(
            "changed_at",
            str,
            "2026-11-23T15:04:05.678+0000",
            lambda x: str(x["state"]["timestamp"]),
            "As CloudWatch says it.",
        ),
    ),
)
"""Made from the `detail` of CloudWatch's event."""

KEY: Final[HookBody[EndingKey]] = HookBody(
    "KeyEnd",
    "An API key that ends soon. It is used: no event tells of a key that no program has.",
    (
        HookField("key_id", str, "f08a4957eb0d4ed1", lambda x: x.key),
        HookField("name", str | None, "Shop", lambda x: x.name or None),
        HookField("kind", Literal["live", "team", "test"], "live", lambda x: x.kind),
        HookField("expires_at", datetime, _AT, lambda x: iso(x.expires)),
        HookField("days", int, 14, lambda x: x.days, "It ends within so many days: 14, 7 or 1."),
    ),
)

TEST: Final[HookBody[str]] = HookBody(
    "HookTest",
    "A question whether an endpoint wants events. An answer with a status of 2xx enables it.",
    (HookField("hook_id", str, _HOOK, lambda x: x),),
)
"""Made from the endpoint's id."""
