"""A request to send, as a door receives it: no rule of acceptance has been applied yet."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime
from enum import StrEnum

from shared.contracts import Routing
from shared.domain.campaigns.campaign import StoredTemplate
from shared.domain.channels.email import EMAIL
from shared.domain.content.content import Attachment, Speech
from shared.domain.hours.hours import OpenHours
from shared.domain.jobs.job import Policy
from shared.domain.jobs.labels import NO_LABELS, Labels
from shared.domain.namespaces import namespace
from shared.frozen import dataclass


class Source(StrEnum):
    """The door that a request came through; the kind of its job."""

    BATCH = "batch"


@dataclass(frozen=True, slots=True)
class OwnPart:
    """Data of one recipient, in place of the batch's of the same names. `params`: values of the template."""

    params: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SendRequest:
    """One message to some recipients, as asked for.

    Attributes:
        source: the door.
        account: whose request it is.
        test: made with a test key.
        by: id of the API key.
        sender: an address, with or without a name, as all addresses here; empty if the channel has none.
        to: a list, or addresses separated by commas; likewise `cc` and `bcc`.
        own: what is a recipient's own, by its place in the list `to`.
        route: credentials to use; None: those of the deployment.
        routing: how chunks begin; None: as the deployment has it for its own route.
        unsubscribe: the message offers a link to unsubscribe.
        scheduled_at: when sending begins; None: now.
        idempotency_key: the client's, or empty.
        fingerprint: hash of the request, for the key.
        channel: what it is sent by.
        speech: of a call: how `text` is said.
        hours: when its messages may be sent; None: at any time.
        urgent: the account's quiet hours do not hold it up.
        labels: what its owner calls it.
        template: says the message, with placeholders; None: the request says it.
        params: values for all recipients: placeholder of the template, in lower case → text.
        region: country whose numbers need no country code; empty: all need one.
    """

    source: Source
    account: str
    test: bool
    by: str
    sender: str
    to: str | Sequence[str]
    subject: str
    policy: Policy
    html: str = ""
    text: str = ""
    reply_to: str | None = None
    cc: str | Sequence[str] | None = None
    bcc: str | Sequence[str] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    attachments: tuple[Attachment, ...] = ()
    unsubscribe: bool = False
    route: Sequence[str] | None = None
    routing: Routing | None = None
    scheduled_at: datetime | None = None
    name: str = ""
    idempotency_key: str = ""
    fingerprint: str = ""
    channel: str = EMAIL.name
    speech: Speech | None = None
    region: str = ""
    hours: OpenHours | None = None
    urgent: bool = False
    own: Mapping[int, OwnPart] = field(default_factory=dict)
    labels: Labels = NO_LABELS
    template: StoredTemplate | None = None
    params: Mapping[str, str] = field(default_factory=dict)

    @property
    def of_template(self) -> tuple[str, int]:
        """Id and version of its template; an empty text and 0 if it has none."""
        return (self.template.id, self.template.version) if self.template is not None else ("", 0)

    @property
    def namespace(self) -> str:
        """Whose suppressions count: the account's live or test ones."""
        return namespace(self.account, test=self.test)
