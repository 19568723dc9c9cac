"""Answers about campaigns and stored templates as clients read them."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from functions.api.campaigns.approval_views import ApprovalView, DecisionView, approval_view, decision_view
from functions.api.jobs.hours import SendingHoursView, hours_view
from shared.domain.campaigns.campaign import Campaign, Message, StoredTemplate
from shared.domain.channels.lookup import channel_of
from shared.domain.content.content import Mailbox, Speech
from shared.domain.content.templates import RECIPIENT, variables
from shared.domain.namespaces import KeyKind, kind_of
from shared.domain.notices.notifier import METHODS
from shared.domain.times import Millis
from shared.web.views import Stamp, Time, View, moment


class SpeechView(View):
    """How a call says its text."""

    language: str | None
    voice: str | None
    audio_url: str | None
    keys: dict[str, str]


class SayingView(View):
    """A campaign's content."""

    subject: str | None
    body: str
    text: str | None
    from_: str | None = Field(serialization_alias="from")
    reply_to: str | None
    speech: SpeechView | None = Field(description="Of a call whose template says how `body` is said.")


class CampaignItem(View):
    """A campaign in a list."""

    campaign_id: str
    name: str
    channel: str
    state: str = Field(
        description="`draft`; `uploading`: a list is being read; `ready`: a list is read, fits and is not sent; else "
        "the state of its newest job."
    )
    test: bool = Field(description="Made with a test key: seen with test keys only, and no provider gets it.")
    key_kind: KeyKind = Field(description="The kind of key that made it. `team`: it reaches only the account's guests.")
    credential_id: str
    template_id: str | None = Field(description="The stored template that it was copied from.")
    template_version: int | None
    unsubscribe: bool
    hours: SendingHoursView | None = Field(description="When its messages are sent; null: at any time.")
    bounce_guard: bool = Field(description="Whether too many hard bounces stop it.")
    uploading: str | None = Field(description="The upload that is being read.")
    upload_id: str | None = Field(description="The list that is read and not sent yet.")
    columns: list[str] = Field(description="Of that list.")
    jobs: list[str] = Field(description="The lists that were sent, oldest first.")
    waiting_for: Literal["approval"] | None = Field(description="Why its unsent list waits.")
    created_at: Time
    updated_at: Time


class CampaignView(CampaignItem):
    """A campaign."""

    template: SayingView
    variables: list[str] = Field(
        description="Of its template, in the order of their appearance: the columns that a list needs besides "
        "`recipient`."
    )
    missing: list[str] = Field(description="Variables for which its list has no column; it is not sent until it fits.")
    approval: ApprovalView | None = Field(description="The request for approval of its unsent list.")
    decision: DecisionView | None = Field(description="The end of the last request, until the campaign changes.")


class CampaignPage(View):
    """A page of campaigns, newest first."""

    items: list[CampaignItem]
    next_cursor: str | None


def _methods(texts: Iterable[str]) -> list[str]:
    return [METHODS[name] for name in texts if name in METHODS]


class TemplateItem(View):
    """A stored template in a list."""

    template_id: str = Field(validation_alias="id")
    name: str
    channel: str
    version: int
    delivery_methods: Annotated[list[Literal["SMS", "IVR"]], BeforeValidator(_methods)] = Field(
        validation_alias="texts", description="How notices can be delivered with it."
    )
    created_at: Stamp = Field(description="When its first version was made.")
    saved_at: Stamp = Field(description="When this version was made.")


class SmsVariantView(View):
    """A text message to notices."""

    text: str


class VoiceVariantView(SpeechView):
    """A call to notices."""

    say: str


class TemplateView(TemplateItem, SayingView):
    """A version of a stored template."""

    sms: SmsVariantView | None
    voice: VoiceVariantView | None
    variables: list[str]


class TemplatePage(View):
    """A page of templates or versions, newest first."""

    items: list[TemplateItem]
    next_cursor: str | None


class Deleted(View):
    """It is removed."""

    deleted: bool


def campaign_item(x: Campaign, state: str) -> CampaignItem:
    """Return a campaign for a list."""
    return CampaignItem(**_fields(x, state))


def campaign_view(x: Campaign, state: str, now: Millis) -> CampaignView:
    """Return a campaign as clients see it."""
    return CampaignView(
        **_fields(x, state),
        template=SayingView(**_saying(x.message)),
        variables=list(x.lacks(())),
        missing=list(x.missing),
        approval=approval_view(x, now),
        decision=decision_view(x),
    )


def _fields(x: Campaign, state: str) -> dict[str, object]:
    return {
        "campaign_id": x.id,
        "name": x.name,
        "channel": x.channel,
        "state": state,
        "test": x.test,
        "key_kind": kind_of(x.account, test=x.test),
        "credential_id": x.credential,
        "template_id": x.template or None,
        "template_version": x.template_version or None,
        "unsubscribe": x.unsubscribe,
        "hours": hours_view(x.hours),
        "bounce_guard": not x.guard_off,
        "uploading": x.uploading or None,
        "upload_id": x.ready or None,
        "columns": list(x.columns),
        "jobs": list(x.jobs),
        "waiting_for": "approval" if x.waiting else None,
        "created_at": moment(x.created_at),
        "updated_at": moment(x.updated_at or x.created_at),
    }


def _saying(x: Message) -> dict[str, Any]:
    return {
        "subject": x.subject or None,
        "body": x.body,
        "text": x.text or None,
        "from_": mailbox_text(x.sender),
        "reply_to": mailbox_text(x.reply_to),
        "speech": SpeechView(**_how(x.speech)) if x.speech else None,
    }


def _how(x: Speech) -> dict[str, Any]:
    return {
        "language": x.language or None,
        "voice": x.voice or None,
        "audio_url": x.audio_url or None,
        "keys": dict(x.keys),
    }


def mailbox_text(x: Mailbox | None) -> str | None:
    """Return a mailbox as it is written, None if there is none."""
    if x is None or not x.address:
        return None
    if not x.display:
        return x.address
    quoted = x.display.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted}" <{x.address}>'


def template_view(x: StoredTemplate) -> TemplateView:
    """Return a version of a stored template as clients see it."""
    own = x.message.missing(x.channel, (), unsubscribe=channel_of(x.channel).offers_links)
    others = (v for v in variables(x.variants.templates()) if v != RECIPIENT)
    return TemplateView.model_construct(
        **dict(TemplateItem.model_validate(x)),
        **_saying(x.message),
        sms=SmsVariantView(text=x.variants.sms) if x.variants.sms else None,
        voice=VoiceVariantView(say=x.variants.say, **_how(x.variants.speech or Speech())) if x.variants.say else None,
        variables=list(dict.fromkeys((*own, *others))),
    )
