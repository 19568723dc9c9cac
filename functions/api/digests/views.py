"""Windows and digest policies as clients see them."""

from pydantic import Field

from functions.api.campaigns.preview_views import SmsView, sms_view
from functions.api.campaigns.views import mailbox_text
from functions.api.views import Time, View, at, moment
from shared.domain.content.content import Content
from shared.domain.digests.policy import DigestPolicy
from shared.domain.digests.window import DigestWindow, WindowState


class WindowView(View):
    """A window: the events of one batch key that become one digest."""

    window_id: str
    batch_key: str
    number: int = Field(description="Among the windows of its key, from 1; 0 for an urgent event.")
    state: WindowState = Field(
        description="`open`: events join it. `closed`: its digest is about to be made. `processed`: it is made. "
        "`cancelled`: none is made."
    )
    urgent: bool
    opened_at: Time
    closes_at: Time = Field(description="Its end, if no event moves it.")
    closed_at: Time | None
    events: int = Field(description="Events that joined it, repeats included.")
    duplicates: int = Field(description="Repeats that are left out of the digest.")
    groups: int = Field(description="Different messages that were made: one for each set of events.")
    job_id: str | None = Field(
        description="The job that sends it, for `/jobs/{id}`; null until it is made, or if all events were repeats."
    )
    fault: str | None = Field(description="Why the digest could not be made at the last try. It is tried again.")
    policy: str = Field(description="The prefix of its policy.")
    policy_version: int = Field(description="The policy's version when the window was opened.")
    test: bool


class WindowPage(View):
    """A page of windows, newest first."""

    items: list[WindowView]
    next_cursor: str | None


class DigestPolicyView(View):
    """A digest policy. Times without a date are seconds."""

    prefix: str
    version: int
    from_: str | None = Field(serialization_alias="from")
    route: list[str] | None = Field(description="Null: the deployment's.")
    channel: str
    window: int
    near: int
    extend: int
    max_age: int
    max_events: int
    max_lines: int
    subject: str | None
    template: str | None
    text: str | None
    line: str | None
    line_text: str | None
    timezone: str
    retention: int
    unsubscribe: bool
    created_at: Time
    saved_at: Time = Field(description="When this version was made.")


class DigestPolicyPage(View):
    """A page of digest policies, by prefix."""

    items: list[DigestPolicyView]
    next_cursor: str | None


class DigestPreview(View):
    """A digest of made-up events."""

    from_: str | None = Field(serialization_alias="from")
    subject: str
    html: str
    text: str
    sms: SmsView | None


def window_view(x: DigestWindow) -> WindowView:
    """Return a window as clients see it."""
    return WindowView(
        window_id=x.id,
        batch_key=x.key,
        number=x.number,
        state=x.state,
        urgent=x.urgent,
        opened_at=moment(x.opened_at),
        closes_at=moment(x.closes_at),
        closed_at=at(x.closed_at),
        events=x.events,
        duplicates=x.duplicates,
        groups=x.groups,
        job_id=x.job or None,
        fault=x.fault or None,
        policy=x.prefix,
        policy_version=x.policy_version,
        test=x.test,
    )


def policy_view(x: DigestPolicy) -> DigestPolicyView:
    """Return a policy as clients see it."""
    return DigestPolicyView(
        prefix=x.prefix,
        version=x.version,
        from_=mailbox_text(x.sender),
        route=list(x.route) or None,
        channel=x.channel,
        window=x.window,
        near=x.near,
        extend=x.extend,
        max_age=x.max_age,
        max_events=x.max_events,
        max_lines=x.max_lines,
        subject=x.subject or None,
        template=x.template or None,
        text=x.text or None,
        line=x.line or None,
        line_text=x.line_text or None,
        timezone=x.timezone,
        retention=x.retention,
        unsubscribe=x.unsubscribe,
        created_at=moment(x.created_at),
        saved_at=moment(x.saved_at),
    )


def preview_of(x: Content, channel: str) -> DigestPreview:
    """Return a rendered digest as clients see it. `channel`: its name."""
    return DigestPreview(
        from_=mailbox_text(x.sender),
        subject=x.subject,
        html=x.html,
        text=x.text,
        sms=sms_view(x.text, channel),
    )
