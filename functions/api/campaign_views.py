"""Answers about campaigns, uploads and stored templates as clients read them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

from pydantic import Field

from functions.api.views import Counts, JobView, LogLineView, Restarted, Tally, Time, View, at, moment
from shared.domain import sms
from shared.domain.campaigns import Campaign, Message, StoredTemplate, Upload, UploadState
from shared.domain.content import Content, Mailbox
from shared.domain.uploads import Problem
from shared.engine.compose import Fault
from shared.engine.preview import Preview


class SayingView(View):
    """What a campaign says."""

    subject: str | None
    body: str
    text: str | None
    from_: str | None = Field(serialization_alias="from")
    reply_to: str | None


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
    credential_id: str
    template_id: str | None = Field(description="The stored template that it was copied from.")
    template_version: int | None
    unsubscribe: bool
    bounce_guard: bool = Field(description="Whether too many hard bounces stop it.")
    uploading: str | None = Field(description="The upload that is being read.")
    upload_id: str | None = Field(description="The list that is read and not sent yet.")
    columns: list[str] = Field(description="Of that list.")
    jobs: list[str] = Field(description="The lists that were sent, oldest first.")
    created_at: Time
    updated_at: Time


class CampaignView(CampaignItem):
    """A campaign."""

    template: SayingView
    variables: list[str] = Field(description="Of its template, in the order of their appearance.")
    missing: list[str] = Field(description="Variables for which its list has no column; it is not sent until it fits.")


class CampaignPage(View):
    """A page of campaigns, newest first."""

    items: list[CampaignItem]
    next_cursor: str | None


class TemplateItem(View):
    """A stored template in a list."""

    template_id: str
    name: str
    channel: str
    version: int
    created_at: Time = Field(description="When its first version was made.")
    saved_at: Time = Field(description="When this version was made.")


class TemplateView(TemplateItem, SayingView):
    """A version of a stored template."""

    variables: list[str]


class TemplatePage(View):
    """A page of templates or versions, newest first."""

    items: list[TemplateItem]
    next_cursor: str | None


class Deleted(View):
    """It is gone."""

    deleted: bool


class PlaceView(View):
    """Where a list's file is to be put."""

    upload_id: str
    url: str
    method: Literal["PUT"]
    headers: dict[str, str] = Field(description="To be sent with the file.")
    expires_at: Time


class TakenList(View):
    """A list that came in the request, and will be read."""

    campaign_id: str
    upload_id: str
    state: UploadState


class RowProblem(View):
    """What is wrong with a row: `duplicate` says that it is sent again, or left out."""

    row: int = Field(description="From 1, below the header.")
    code: str
    detail: str


class UploadView(View):
    """A list on its way."""

    upload_id: str
    campaign_id: str
    state: UploadState
    progress: float = Field(description="Share of the file that is read, 0 to 1.")
    eta: Time | None = Field(description="When it is read, by its speed so far.")
    size: int | None = Field(description="Bytes of the file.")
    rows: int = Field(description="Read so far: accepted + invalid + (duplicates, if they are left out).")
    accepted: int
    invalid: int
    duplicates: int
    skipped: dict[str, int] = Field(description="Of those accepted, how many are not sent to, by code.")
    columns: list[str]
    code: str | None = Field(description="Of a file that cannot be used: why.")
    detail: str | None
    missing: list[str] = Field(description="Variables of the campaign's template for which there is no column.")
    errors: list[RowProblem] = Field(description="A page of them; at most 1,000 invalid rows and as many duplicates.")
    next_cursor: str | None
    created_at: Time
    finished_at: Time | None


class Hint(View):
    """A character that forces UCS-2."""

    character: str
    offset: int = Field(description="Characters before its first appearance.")
    instead: str | None = Field(description="What says the same in GSM 7, may be empty; null if nothing does.")


class SmsView(View):
    """What a text costs."""

    encoding: Literal["gsm7", "ucs2"]
    characters: int
    units: int = Field(description="Septets or UTF-16 code units.")
    segments: int = Field(description="Each takes a slot of the credential's rate.")
    forcing: list[Hint] = Field(description="Characters that force UCS-2, at most 20.")


class PreviewView(View):
    """A message as it would be sent."""

    row: int | None = Field(description="Which recipient of the list; null: there is none, the values are examples.")
    recipient: str
    skip: str | None = Field(description="Why nothing is sent to this recipient.")
    error: str | None = Field(description="Why the message cannot be made; then it is empty.")
    from_: str | None = Field(serialization_alias="from")
    reply_to: str | None
    subject: str
    html: str
    text: str = Field(description="Of an e-mail whose template has none: derived from `html`.")
    headers: dict[str, str]
    sms: SmsView | None


class SentList(View):
    """A list that has become a job."""

    campaign_id: str
    job_id: str
    state: str
    recipients: int
    skipped: int


class CampaignJobs(View):
    """What became of a campaign's jobs."""

    campaign_id: str
    state: str
    jobs: list[JobView]


class RestartedCampaign(View):
    """What a retry or resume set going, job by job; those that run, or are too old, are left out."""

    campaign_id: str
    state: str
    messages: int = Field(description="Messages that are sent again; 0: there was nothing to do.")
    jobs: list[Restarted]


class CampaignStats(View):
    """What became of the messages of all jobs of a campaign."""

    campaign_id: str
    state: str
    total: int
    duplicates: int
    counts: Counts
    exact: bool = Field(description="False: the counts are some seconds old.")
    unacknowledged: int | None
    as_of: Time
    route: list[Tally]
    eta: Time | None = Field(description="When the last message goes out, not before; null if none is waiting.")
    jobs: list[JobView]


class MessageView(LogLineView):
    """A message of a campaign; its name is unique within its job."""

    job_id: str


class MessagePage(View):
    """A page of messages: list after list, in list order."""

    items: list[MessageView]
    next_cursor: str | None


def campaign_item(x: Campaign, state: str) -> CampaignItem:
    """Return a campaign for a list."""
    return CampaignItem(**_fields(x, state))


def campaign_view(x: Campaign, state: str) -> CampaignView:
    """Return a campaign as clients see it."""
    return CampaignView(
        **_fields(x, state),
        template=SayingView(**_saying(x.message)),
        variables=list(x.lacks(())),
        missing=list(x.missing),
    )


def _fields(x: Campaign, state: str) -> dict[str, object]:
    return {
        "campaign_id": x.id,
        "name": x.name,
        "channel": x.channel,
        "state": state,
        "test": x.test,
        "credential_id": x.credential,
        "template_id": x.template or None,
        "template_version": x.template_version or None,
        "unsubscribe": x.unsubscribe,
        "bounce_guard": not x.guard_off,
        "uploading": x.uploading or None,
        "upload_id": x.ready or None,
        "columns": list(x.columns),
        "jobs": list(x.jobs),
        "created_at": moment(x.created_at),
        "updated_at": moment(x.updated_at or x.created_at),
    }


def _saying(x: Message) -> dict[str, object]:
    return {
        "subject": x.subject or None,
        "body": x.body,
        "text": x.text or None,
        "from_": _box(x.sender),
        "reply_to": _box(x.reply_to),
    }


def _box(x: Mailbox | None) -> str | None:
    if x is None or not x.address:
        return None
    if not x.display:
        return x.address
    quoted = x.display.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted}" <{x.address}>'


def template_item(x: StoredTemplate) -> TemplateItem:
    """Return a version of a stored template for a list."""
    return TemplateItem(**_version(x))


def template_view(x: StoredTemplate) -> TemplateView:
    """Return a version of a stored template as clients see it."""
    variables = list(x.message.missing(x.channel, (), unsubscribe=x.channel == "email"))
    return TemplateView(**_version(x), **_saying(x.message), variables=variables)


def _version(x: StoredTemplate) -> dict[str, object]:
    return {
        "template_id": x.id,
        "name": x.name,
        "channel": x.channel,
        "version": x.version,
        "created_at": moment(x.created_at),
        "saved_at": moment(x.saved_at),
    }


def upload_view(
    x: Upload, campaign: Campaign, now_ms: int, errors: Sequence[Problem] = (), next_cursor: str | None = None
) -> UploadView:
    """Return a list on its way as clients see it."""
    counts = x.checkpoint.counts if x.checkpoint else None
    return UploadView(
        upload_id=x.id,
        campaign_id=x.campaign,
        state=x.state,
        progress=round(x.progress, 4),
        eta=_eta(x, now_ms),
        size=x.size or None,
        rows=counts.rows if counts else 0,
        accepted=counts.accepted if counts else 0,
        invalid=counts.invalid if counts else 0,
        duplicates=counts.duplicates if counts else 0,
        skipped=dict(x.skipped or {}),
        columns=list(x.columns),
        code=x.code or None,
        detail=x.detail or None,
        missing=list(campaign.lacks(x.columns)) if x.state is UploadState.READY else [],
        errors=[RowProblem(row=p.row, code=p.code, detail=p.detail) for p in errors],
        next_cursor=next_cursor,
        created_at=moment(x.created_at),
        finished_at=at(x.finished_at),
    )


def _eta(x: Upload, now_ms: int) -> datetime | None:
    if x.state is not UploadState.READING or not x.progress or not x.queued_at:
        return None
    return at(int(now_ms + (now_ms - x.queued_at) * (1 - x.progress) / x.progress))


def preview_view(x: Preview, channel: str) -> PreviewView:
    """Return a rendered message as clients see it."""
    made = x.made.content
    content = made if isinstance(made, Content) else Content(Mailbox(""), "")
    return PreviewView(
        row=x.row or None,
        recipient=x.recipient.address,
        skip=x.recipient.skip or None,
        error=made.code if isinstance(made, Fault) else None,
        from_=_box(content.sender),
        reply_to=_box(content.reply_to),
        subject=content.subject,
        html=content.html,
        text=content.text,
        headers=dict(content.headers),
        sms=_sms(content.text) if channel == "sms" and isinstance(made, Content) else None,
    )


def _sms(text: str) -> SmsView:
    found = sms.segments(text)
    return SmsView(
        encoding=found.encoding.value,
        characters=found.characters,
        units=found.units,
        segments=found.count,
        forcing=[Hint(character=h.character, offset=h.offset, instead=h.instead) for h in sms.forcing(text)],
    )


def stats_view(campaign: Campaign, state: str, jobs: Sequence[JobView], now_ms: int) -> CampaignStats:
    """Return the sums over a campaign's jobs; every amount adds up to the total, as those of each job do."""
    tallies: dict[str, Tally] = {}
    for tally in (t for job in jobs for t in job.route):
        known = tallies.get(tally.credential_id)
        tallies[tally.credential_id] = _plus(known, tally) if known else tally
    late = [job.unacknowledged for job in jobs]
    etas = [job.eta for job in jobs if job.eta is not None]
    return CampaignStats(
        campaign_id=campaign.id,
        state=state,
        total=sum(job.total for job in jobs),
        duplicates=sum(job.duplicates for job in jobs),
        counts=Counts(**{name: sum(getattr(job.counts, name) for job in jobs) for name in Counts.model_fields}),
        exact=all(job.exact for job in jobs),
        unacknowledged=None if None in late else sum(x or 0 for x in late),
        as_of=min((job.as_of for job in jobs), default=moment(now_ms)),
        route=list(tallies.values()),
        eta=max(etas, default=None),
        jobs=list(jobs),
    )


def _plus(a: Tally, b: Tally) -> Tally:
    amounts: Mapping[str, int] = {
        name: getattr(a, name) + getattr(b, name) for name in ("tried", "accepted", "delivered", "failed")
    }
    return Tally(credential_id=a.credential_id, provider=a.provider, **amounts)
