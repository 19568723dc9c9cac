"""The engine's ports, as Protocols; each has a fake and a real implementation, and one contract suite.

Every method succeeds, raises `Retriable`, or returns None when another worker was faster. `Retriable` means to try
again later: throttling, a transaction conflict that did not clear, or a lost connection.
"""

from shared.ports.account_turns import AccountTurns, TurnKind
from shared.ports.accounts.bouncing import BouncingDays
from shared.ports.accounts.identities import (
    DomainIdentities,
    IdentityChanged,
    IdentityRefused,
    IdentityUnanswered,
    OwnedIdentities,
)
from shared.ports.accounts.senders import AccountStatuses, Claims, Dns, DnsUnanswered, Senders, SuppressionList
from shared.ports.accounts.spending import Spending
from shared.ports.accounts.suppressing import Recent, SuppressionRecords, Texts
from shared.ports.campaigns import (
    Approvals,
    Campaigns,
    FileChanged,
    FileFacts,
    Files,
    Listed,
    Lists,
    Pictures,
    Templates,
    Uploads,
)
from shared.ports.cells import CellRoutes
from shared.ports.common import After, Clock, Limit, MalformedSecret, Retriable, Sleep
from shared.ports.digests import (
    DigestHints,
    DigestJobs,
    DigestPolicies,
    NewWindowHints,
    WindowPages,
    WindowRetention,
    Windows,
)
from shared.ports.exports import Exports, Multipart
from shared.ports.hooks.announcements import Announcements
from shared.ports.hooks.deliveries import (
    Endpoints,
    HookAnswer,
    HookClient,
    HookHints,
    HookQueue,
    HookSecrets,
    HookUnreachable,
    Listeners,
    Works,
)
from shared.ports.journal import Acceptances, Journal
from shared.ports.mails.queue import MailDraft, MailQueue
from shared.ports.mails.store import MailFigures, MailFiles, Mails
from shared.ports.notices.inboxes import Inboxes, InboxStep, Notices, RunStarts
from shared.ports.notices.notifiers import Notifiers, Programs, UpdateLog, WaitingNotices
from shared.ports.places import MAX_PLACES, OpenPlaces, PlaceKind
from shared.ports.providers.provider import (
    POSTED_AT,
    POSTED_TO,
    BadEvents,
    BadSignature,
    Fetching,
    FinishedMessages,
    FinishedSender,
    Pingable,
    Provider,
    Reading,
    Resolver,
    Seal,
    Sealing,
    Sized,
    Steps,
    Stepwise,
    Target,
    WebhookReader,
    WebhookReply,
)
from shared.ports.providers.transports import (
    AnswerLost,
    Http,
    Interrupted,
    NoTime,
    NotSent,
    Response,
    Smtp,
    Unfit,
    Wire,
    WireRequest,
)
from shared.ports.records import (
    ENDS,
    FOLDS,
    Changed,
    Control,
    Idempotency,
    JobEnd,
    JobsRead,
    Loaded,
    Mismatch,
    OpenJob,
    Records,
    Replay,
    Stored,
)
from shared.ports.schedules import Agenda, DueMinutes, Scheduler
from shared.ports.seals import Seals
from shared.ports.searching import SearchPages
from shared.ports.sending import Bookmarks, Breakers, Hints, Holds, Lane, Lanes, Links, Pacer, Queue, Report, Reports
