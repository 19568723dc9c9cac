"""What the engine needs of the world, as Protocols; each has a fake and a real implementation, one contract suite.

Every method succeeds, raises `Retriable` (try again later: throttling, a transaction conflict that did not clear, a
lost connection) or returns None when another worker was faster.
"""

from shared.ports.common import (
    Clock,
    Retriable,
    Sleep,
)
from shared.ports.providers import (
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
from shared.ports.sending import (
    Breakers,
    Lanes,
    LedgerStore,
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
    "AnswerLost",
    "BadEvents",
    "BadSignature",
    "Breakers",
    "Changed",
    "Clock",
    "Control",
    "Fetching",
    "Http",
    "Idempotency",
    "Interrupted",
    "Lanes",
    "LedgerStore",
    "Loaded",
    "Mismatch",
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
    "Sized",
    "Sleep",
    "Smtp",
    "Steps",
    "Stepwise",
    "Stored",
    "Target",
    "Unfit",
    "WebhookReader",
    "Wire",
]
