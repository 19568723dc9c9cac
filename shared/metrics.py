"""Metrics of the functions in CloudWatch: the names that they, the alarms and the dashboard share.

Like the contracts, infra may import this. It imports only the standard library.

Every figure has the dimensions `stage` and `service`, and if it is about one provider also `channel` and `provider`. So
two stages of an account share no series. No dimension is an id or an address: each value makes a series that is paid
for, and metrics are kept for fifteen months.
"""

from enum import StrEnum
from typing import Final

NAMESPACE: Final = "Posthaste"


class Service(StrEnum):
    """The part that reports a figure. The senders of all lanes are one service."""

    SEND = "send"
    LOG = "log"
    PLAN = "plan"
    TRACK = "track"
    SWEEP = "sweep"
    WEBHOOKS = "webhooks"
    INGEST = "ingest"
    NOTICES = "notices"
    DIGEST = "digest"
    MAILS = "mails"
    """The functions log and notices, which both end mails."""
    HOOKS = "hooks"
    API = "api"
    LIMITS = "limits"
    """Each function that counts what accounts spend in a day."""


class Metric(StrEnum):
    """A figure's name. Unless it says otherwise it is a count of messages since the last one told."""

    ACCEPTED = "Accepted"
    """send, by provider: taken."""
    REFUSED = "Refused"
    """send, by provider: surely not sent, for this try or for good."""
    THROTTLED = "Throttled"
    """send, by provider: too fast, surely not sent."""
    UNKNOWN = "Unknown"
    """send, by provider: fate not known."""
    SLOTS = "Slots"
    """send, by provider: what counted against the rate, as a provider counts: messages, for SMS segments."""
    BREAKER_OPENED = "BreakerOpened"
    """send, by provider: times that a breaker opened, or opened again after its question or its probes."""
    CLOCK_SKEW = "ClockSkew"
    """send, by provider: the most milliseconds that slots were too far ahead, or a process's clock off."""
    FOLDED = "Folded"
    """log: ledgers whose figures went into their jobs."""
    RECORD_AGE = "RecordAge"
    """log, plan: milliseconds since the oldest record of the batch was written."""
    PLANNED = "Planned"
    """plan: jobs started."""
    WORDS = "Words"
    """track, by provider: words about messages that are known here."""
    FINAL_WORDS = "FinalWords"
    """track, by provider: those of them that are the last about a message."""
    FOREIGN_WORDS = "ForeignWords"
    """track, by provider: words about nothing of ours."""
    POSTS = "Posts"
    """webhooks, by provider: posts that were taken."""
    BAD_POSTS = "BadPosts"
    """webhooks, by provider: posts whose signature or body did not hold."""
    SWEPT = "Swept"
    """sweep: 1 after each run without a fault."""
    SWEEP_INCOMPLETE = "SweepIncomplete"
    """sweep: kinds of work that a run did not finish; the next run continues there."""
    STUCK = "StuckJobs"
    """sweep: jobs that should have moved on and have not."""
    EXPRESS_WAIT = "ExpressWait"
    """sweep: the most milliseconds that messages of small jobs have been due, with no worker at them."""
    GIVEN_UP = "JobsGivenUp"
    """sweep: jobs that were ended, since they had waited for a year."""
    TAKEN_OVER = "TakenOver"
    """sweep: leases that ran out, as their sender had crashed or hung."""
    REPOINTED = "Repointed"
    """sweep: lost pointers that were sent again."""
    NOTICED = "NoticeRuns"
    """notices: 1 after each run without a fault that saw all that was due, else 0."""
    NOTICES_OVERDUE = "NoticesOverdue"
    """notices: 1 after each look of the sweeper that found work which no schedule has brought."""
    DIGESTED = "DigestRuns"
    """digest: 1 after each run for what was overdue that saw all such windows, else 0."""
    DIGESTS_OVERDUE = "DigestsOverdue"
    """digest: 1 after each look of the sweeper that found windows which no hint has closed, or old ones."""
    DIGESTS_LATE = "DigestsLate"
    """digest: windows that should have become digests ten minutes before; told each time that they are tried again."""
    MAILS_LATE = "MailsLate"
    """mails: those that should have been cleaned hours before; told at each look."""
    NOTIFICATIONS = "Notifications"
    """mails: notifications of failed destinations that were queued."""
    NOTIFICATIONS_GIVEN_UP = "NotificationsGivenUp"
    """mails: mails without a return path, as notifications are, that could not be delivered."""
    INGEST_FAILED = "IngestFailed"
    """ingest: times that a list could not be read for a fault that is not its own."""
    HOOKS_DELIVERED = "HooksDelivered"
    """hooks: deliveries that endpoints took."""
    HOOKS_REFUSED = "HooksRefused"
    """hooks: attempts that endpoints did not take."""
    HOOKS_WOKEN = "HookRuns"
    """hooks: 1 after each run of every minute that looked for endpoints with work."""
    KEYS_WRONG = "KeysWrong"
    """api: requests with an API key or a token that does not exist, or by a key that asks for more than its text."""
    KEYS_REVOKED = "KeysRevoked"
    """api: requests with a revoked API key."""
    KEYS_EXPIRED = "KeysExpired"
    """api: requests with an API key after its end."""
    KEYS_ELSEWHERE = "KeysElsewhere"
    """api: requests with an API key from outside its networks."""
    KEYS_LIMITED = "KeysLimited"
    """api: requests refused since one API key used up its own allowance."""
    LIMITS_REACHED = "LimitsReached"
    """limits: shares of limits of a day, 80 and 100 percent, that are used; each once a day."""
    DEFAULTS_USED_UP = "DefaultLimitsUsedUp"
    """limits: limits of a day that are used up and are the deployment's defaults; each once an account and day."""


GAUGES: Final = frozenset(
    {
        Metric.SWEPT,
        Metric.SWEEP_INCOMPLETE,
        Metric.STUCK,
        Metric.NOTICED,
        Metric.DIGESTED,
        Metric.HOOKS_WOKEN,
    }
)
"""Told even where they are 0: others are left out then, since a series is paid for only in the hours it has a value."""
MILLISECONDS: Final = frozenset({Metric.RECORD_AGE, Metric.CLOCK_SKEW, Metric.EXPRESS_WAIT})
