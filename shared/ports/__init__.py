"""What the engine needs of the world, as Protocols; each has a fake and a real implementation, one contract suite.

Every method succeeds, raises `Retriable` (try again later: throttling, a transaction conflict that did not clear, a
lost connection) or returns None when another worker was faster.
"""

from shared.ports.campaigns import (
    Campaigns,
    FileChanged,
    FileFacts,
    Files,
    Listed,
    Templates,
    Uploads,
)
from shared.ports.common import (
    Clock,
    Retriable,
    Sleep,
)
from shared.ports.exports import (
    Exports,
    Multipart,
)
from shared.ports.journal import Journal
from shared.ports.providers import (
    POSTED_AT,
    POSTED_TO,
    BadEvents,
    BadSignature,
    Fetching,
    Provider,
    Reading,
    Resolver,
    Sized,
    Steps,
    Stepwise,
    Target,
    WebhookReader,
)
from shared.ports.records import (
    Changed,
    Control,
    Idempotency,
    Loaded,
    Mismatch,
    OpenJob,
    Recent,
    Records,
    Replay,
    Stored,
)
from shared.ports.schedules import (
    Agenda,
    Scheduler,
)
from shared.ports.sending import (
    Breakers,
    Lanes,
    LedgerStore,
    Links,
    Pacer,
    Queue,
)
from shared.ports.transports import (
    AnswerLost,
    Http,
    Interrupted,
    NoTime,
    NotSent,
    Request,
    Response,
    Smtp,
    Unfit,
    Wire,
)

__all__ = [
    "POSTED_AT",
    "POSTED_TO",
    "Agenda",
    "AnswerLost",
    "BadEvents",
    "BadSignature",
    "Breakers",
    "Campaigns",
    "Changed",
    "Clock",
    "Control",
    "Exports",
    "Fetching",
    "FileChanged",
    "FileFacts",
    "Files",
    "Http",
    "Idempotency",
    "Interrupted",
    "Journal",
    "Lanes",
    "LedgerStore",
    "Links",
    "Listed",
    "Loaded",
    "Mismatch",
    "Multipart",
    "NoTime",
    "NotSent",
    "OpenJob",
    "Pacer",
    "Provider",
    "Queue",
    "Reading",
    "Recent",
    "Records",
    "Replay",
    "Request",
    "Resolver",
    "Response",
    "Retriable",
    "Scheduler",
    "Sized",
    "Sleep",
    "Smtp",
    "Steps",
    "Stepwise",
    "Stored",
    "Target",
    "Templates",
    "Unfit",
    "Uploads",
    "WebhookReader",
    "Wire",
]
