"""Messages with placeholders as people write them in a form: read, checked, shown again with what is wrong."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from functions.console.call import ConsoleCall
from functions.console.pages.hours import TypedHours, typed
from shared.contracts import Credential
from shared.domain.campaigns.campaign import Campaign, Message
from shared.domain.channels.channel import Channel
from shared.domain.channels.email import EMAIL
from shared.domain.channels.lookup import CHANNELS, channel_of
from shared.domain.content import markdown
from shared.domain.content.content import Mailbox, Speech
from shared.domain.ids import new_id
from shared.domain.times import KEY_LIFE_MS
from shared.engine.intake.declined import Declined, FieldFault
from shared.engine.intake.message import Draft
from shared.frozen import dataclass
from shared.ports import Idempotency
from shared.web.problems import CODES
from shared.web.sessions import FORM_FIELD

CHANNEL_NAMES: Final = tuple(CHANNELS)
MAX_NAME: Final = 100
"""Characters of a campaign's or a template's name."""
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_ONCE: Final = re.compile(r"[0-9a-z]{26}")
MARKDOWN: Final = "markdown"
"""The value of the form's field `format` by which its body is Markdown; without it, the body is HTML."""
_TOO_LONG: Final = f"Markdown has at most {markdown.MAX_CHARACTERS:,} characters."
_FIELDS: Final = {"credential_id": "credential", "route": "credential", "template_id": "body"}
"""Fields of the intake whose field of the form has another name."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a form says.

    Attributes:
        channel: its name.
        name: of the campaign or the template.
        sender: of an e-mail, with or without a name.
        credential: its id; empty: the channel's first.
        speech: how a call says its body; the form leaves it as it was.
        hours: when it is sent.
        markdown: the body is Markdown, and is also the text part.
    """

    channel: str
    name: str = ""
    sender: str = ""
    reply_to: str = ""
    subject: str = ""
    body: str = ""
    text: str = ""
    credential: str = ""
    unsubscribe: bool = True
    speech: Speech | None = None
    hours: TypedHours = field(default_factory=TypedHours)
    markdown: bool = False

    @property
    def by(self) -> Channel:
        """The channel."""
        return channel_of(self.channel)

    @property
    def draft(self) -> Draft:
        """The message, for the intake."""
        if not self.by.names_sender:
            return Draft(self.body, speech=self.speech)
        body, text = (markdown.page(self.body), self.body) if self.markdown else (self.body, self.text)
        return Draft(body, self.subject, text or None, self.sender or None, self.reply_to or None)


def written(form: Mapping[str, str], speech: Speech | None = None) -> Written:
    """Read a form; a channel that does not exist is e-mail. `speech`: that of the message that is changed."""
    channel = form.get("channel", "")

    def line(name: str) -> str:
        return form.get(name, "").strip()

    def block(name: str) -> str:
        return form.get(name, "").replace("\r\n", "\n")

    chosen = channel if channel in CHANNELS else EMAIL.name
    return Written(
        channel=chosen,
        name=line("name"),
        sender=line("from"),
        reply_to=line("reply_to"),
        subject=form.get("subject", ""),
        body=block("body"),
        text=block("text") if block("text").strip() else "",
        credential=line("credential"),
        unsubscribe=form.get("unsubscribe", "") == "1",
        speech=speech,
        hours=typed(form),
        markdown=channel_of(chosen).rich and form.get("format", "") == MARKDOWN,
    )


def again(name: str, channel: str, message: Message) -> Written:
    """Return a stored message as its form has it: as Markdown, if its body was made of the text part.

    Args:
        name: of the campaign or the template.
    """
    short = 0 < len(message.text) <= markdown.MAX_CHARACTERS
    is_markdown = short and channel_of(channel).rich and markdown.made_of(message.text, message.body)
    return Written(
        channel=channel,
        name=name,
        sender=shown_mailbox(message.sender),
        reply_to=shown_mailbox(message.reply_to),
        subject=message.subject,
        body=message.text if is_markdown else message.body,
        text="" if is_markdown else message.text,
        markdown=is_markdown,
        speech=message.speech,
    )


def shown_mailbox(x: Mailbox | None) -> str:
    """Return a mailbox as it is written; empty if there is none."""
    if x is None or not x.address:
        return ""
    quoted = x.display.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted}" <{x.address}>' if x.display else x.address


@dataclass(frozen=True, slots=True)
class Wrong:
    """Why a form is not accepted. `fields`: sentences by the form's field; `all`: about none of them."""

    fields: Mapping[str, str]
    all: str = ""


def faults_of(found: Declined, said: Written) -> Wrong:
    """Return what the intake declines, by the fields of a form.

    Faults of Markdown have their lines in the text part, which is what was typed.
    """
    if not found.faults:
        return Wrong({}, CODES[found.code][1])
    fields: dict[str, str] = {}
    typed_as = {**_FIELDS, "body": "", "text": "body"} if said.markdown else _FIELDS
    faults = [x for x in found.faults if typed_as.get(x.field, x.field)] or found.faults
    for fault in faults:
        name = typed_as.get(fault.field, fault.field) or "body"
        fields[name] = f"{fields[name]} {_sentence(fault)}" if name in fields else _sentence(fault)
    return Wrong(fields)


def _sentence(fault: FieldFault) -> str:
    return f"Line {fault.line}, column {fault.column}: {fault.text}" if fault.line else fault.text


def checked(call: ConsoleCall, found: Written) -> Message | Wrong:
    """Return the message of a form, or all that is wrong with it."""
    wrong = _wrong(found)
    if _too_long(found):
        return Wrong({**wrong, "body": _TOO_LONG})
    message = call.services.campaigns().intake.message(call.account, found.channel, found.draft)
    if isinstance(message, Declined):
        faults = faults_of(message, found)
        return Wrong({**faults.fields, **wrong}, faults.all)
    return Wrong(wrong) if wrong else message


def _wrong(found: Written) -> dict[str, str]:
    """Return what is wrong with a form as it was typed, by its fields."""
    wrong: dict[str, str] = {}
    if not 1 <= len(found.name) <= MAX_NAME or _CONTROL.search(found.name):
        wrong["name"] = f"Give it a name of up to {MAX_NAME} characters, on one line."
    if not found.body.strip():
        wrong["body"] = "Write the message."
    for name in ("subject", "sender", "reply_to"):
        if _CONTROL.search(getattr(found, name)):
            wrong["from" if name == "sender" else name] = "Write it on one line."
    try:
        _ = found.hours.hours
    except ValueError as fault:
        wrong["hours_from"] = str(fault)
    return wrong


def _too_long(found: Written) -> bool:
    return found.markdown and len(found.body) > markdown.MAX_CHARACTERS


def usable(call: ConsoleCall, channel: str) -> Sequence[Credential]:
    """Return the credentials of a channel that the account may use, in the order of its route."""
    settings = call.services.settings
    mine = [c for c in settings.credentials if c.channel == channel and c.open_to(call.account)]
    route = list(settings.routes.get(channel, ()))
    return sorted(mine, key=lambda c: route.index(c.id) if c.id in route else len(route))


def channels(call: ConsoleCall) -> Sequence[tuple[str, str]]:
    """Return the channels that the account has a credential for, with their names; e-mail in any case."""
    return [(x.name, label(x)) for x in CHANNELS.values() if x is EMAIL or usable(call, x.name)]


def label(channel: Channel) -> str:
    """Return a channel's name as people know it: what one of its messages is called, without its article."""
    noun = channel.noun.partition(" ")[2]
    return noun[0].upper() + noun[1:]


def once(call: ConsoleCall) -> str:
    """Return what a form names itself by, so that it counts once however often it is sent."""
    return new_id(call.services.now)


def record(call: ConsoleCall, answer: str) -> Idempotency | None:
    """Return what makes a form count once; None if it does not name itself.

    A form that was changed before it is sent again counts again. `answer`: the id of what it makes.
    """
    name = call.form.get("once", "")
    if not _ONCE.fullmatch(name):
        return None
    said = json.dumps(sorted((k, v) for k, v in call.form.items() if k != FORM_FIELD))
    digest = hashlib.sha256(said.encode(errors="surrogatepass")).hexdigest()
    key = f"console:{call.who.person.user.id}:{name}:{digest[:32]}"
    return Idempotency(call.account, key, digest, answer, call.services.now + KEY_LIFE_MS)


def example(call: ConsoleCall, found: Written, campaign: Campaign | None = None) -> Campaign | Wrong:
    """Return a campaign, stored nowhere, that says what a form says; for a preview.

    Args:
        found: the form; its sender and name need not be right yet.
        campaign: whose list the preview is for; None: it has example values.
    """
    if _too_long(found):
        return Wrong({"body": _TOO_LONG})
    draft = replace(found, sender="", reply_to="", subject=found.subject if found.subject.strip() else "(no subject)")
    message = call.services.campaigns().intake.message(call.account, found.channel, draft.draft)
    if isinstance(message, Declined):
        return faults_of(message, found)
    known = [c.id for c in usable(call, found.channel)]
    if not known:
        return Wrong({}, "The account has no credential for this channel.")
    credential = found.credential if found.credential in known else known[0]
    unsubscribe = found.unsubscribe and found.by.offers_links
    if campaign is not None:
        return replace(campaign, message=message, credential=credential, unsubscribe=unsubscribe)
    now = call.services.now
    return Campaign(
        id=new_id(now),
        account=call.account,
        test=False,
        name=found.name,
        channel=found.channel,
        credential=credential,
        message=message,
        created_at=now,
        unsubscribe=unsubscribe,
    )
