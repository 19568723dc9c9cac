"""Windows and digest policies as clients see them."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from functions.api.campaigns.preview_views import SmsView, sms_view
from functions.api.campaigns.views import mailbox_text
from functions.api.jobs.hours import SendingHoursView, hours_view
from shared.domain.content.content import Content
from shared.domain.digests.window import WindowState
from shared.web.views import Stamp, StampOrNull, TextOrNull, View, or_none


class WindowView(View):
    """A window: the events of one batch key that become one digest."""

    window_id: str = Field(validation_alias="id")
    batch_key: str = Field(validation_alias="key")
    number: int = Field(description="Among the windows of its key, from 1; 0 for an urgent event.")
    state: WindowState = Field(
        description="`open`: events join it. `closed`: its digest is about to be made. `processed`: it is made. "
        "`cancelled`: none is made."
    )
    urgent: bool
    opened_at: Stamp
    closes_at: Stamp = Field(description="Its end, if no event moves it.")
    closed_at: StampOrNull
    events: int = Field(description="Events that joined it, repeats included.")
    duplicates: int = Field(description="Repeats that are left out of the digest.")
    groups: int = Field(description="Different messages that were made: one for each set of events.")
    job_id: TextOrNull = Field(
        validation_alias="job",
        description="The job that sends it, for `/jobs/{id}`; null until it is made, or if all events were repeats.",
    )
    fault: TextOrNull = Field(description="Why the digest could not be made at the last try. It is tried again.")
    policy: str = Field(validation_alias="prefix", description="The prefix of its policy.")
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
    from_: Annotated[str | None, BeforeValidator(mailbox_text)] = Field(
        validation_alias="sender", serialization_alias="from"
    )
    route: Annotated[list[str] | None, BeforeValidator(or_none)] = Field(description="Null: the deployment's.")
    channel: str
    window: int
    near: int
    extend: int
    max_age: int
    max_events: int
    max_lines: int
    subject: TextOrNull
    template: TextOrNull
    text: TextOrNull
    line: TextOrNull
    line_text: TextOrNull
    timezone: str
    retention: int
    unsubscribe: bool
    hours: Annotated[SendingHoursView | None, BeforeValidator(hours_view)] = Field(description="Null: at any time.")
    created_at: Stamp
    saved_at: Stamp = Field(description="When this version was made.")


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


def preview_of(x: Content, channel: str) -> DigestPreview:
    """Return a rendered digest as clients see it. `channel`: its name."""
    return DigestPreview(
        from_=mailbox_text(x.sender),
        subject=x.subject,
        html=x.html,
        text=x.text,
        sms=sms_view(x.text, channel),
    )
