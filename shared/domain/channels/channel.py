"""The declaration of a channel: everything in which one way of sending differs from another.

A channel is a module of this package and an entry of `lookup.CHANNELS`. Code outside the package never compares a
channel's name: it asks the channel.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from shared.domain.content.sms import Segments
from shared.domain.content.templates import TemplateKind

if TYPE_CHECKING:
    from shared.domain.recipients.reader import Read

ChannelName = Literal["email", "sms", "voice", "whatsapp"]
"""The channels that exist. Settings and the API accept these names and no others."""
ADDRESS_COLUMNS: Final = ("email", "emailaddress", "to")
NUMBER_COLUMNS: Final = ("phone", "phonenumber", "mobile", "mobilenumber", "mobilephone", "to")


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel(ABC):
    """A way of sending.

    Attributes:
        name: as in the settings, the API and stored jobs.
        noun: one of its messages, as a sentence begins: `An e-mail`.
        units: what limits and rates count, as a sentence names them.
        kinds: the parts of a message (fields of `campaign.Message`) that are templates, subject first, and how values
            are made safe in each.
        names_sender: a message names its sender, one of the account's. Otherwise the sender is the credential's.
        offers_links: a message may carry a link to unsubscribe.
        numbers: recipients are phone numbers, which may lack their country code. Otherwise they are e-mail addresses.
            Suppressions are by the same key.
        example: a recipient for previews and checks.
        max_text: characters of a rendered text; 0: limited only in bytes.
        too_long: the code of a message whose text is longer.
        speaks: a message is said in a call, by a voice.
        most_slots: the most slots of the pacer that one message takes.
    """

    name: str
    noun: str
    units: str
    kinds: Mapping[str, TemplateKind]
    names_sender: bool
    offers_links: bool
    numbers: bool
    example: str
    max_text: int = 0
    too_long: str = ""
    speaks: bool = False
    most_slots: int = 1

    @property
    def recipient_columns(self) -> tuple[str, ...]:
        """Names of a list's column that mean `recipient`, as `header.name_key` returns them."""
        return NUMBER_COLUMNS if self.numbers else ADDRESS_COLUMNS

    @property
    def needs_subject(self) -> bool:
        """Whether a message has a subject, which may not be empty."""
        return "subject" in self.kinds

    @property
    def rich(self) -> bool:
        """Whether a message's body is HTML with a text part beside it. Otherwise the body is the text."""
        return self.kinds["body"] is TemplateKind.HTML

    @property
    def text_kind(self) -> TemplateKind:
        """The kind of the plain text's template."""
        return self.kinds["text" if self.rich else "body"]

    @abstractmethod
    def reader(self, region: str = "") -> "Read":
        """Return what reads a recipient.

        Args:
            region: ISO 3166 code of the country whose numbers need no country code; empty: all need one.

        Raises:
            ValueError: numbers are read, and there is no such region.
        """

    def written(self, text: str) -> str:
        """Return a rendered text as the channel sends it."""
        return text

    def segments(self, text: str) -> Segments | None:
        """Return how a rendered text is divided for sending; None if the channel divides none."""
        del text
        return None

    def slots(self, text: str) -> int:
        """Return how many slots of the pacer a message with this rendered text takes."""
        found = self.segments(text)
        return found.count if found else 1
