"""`posthaste campaign preview` and `template preview | test`: a message before it is sent."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

import typer

from cli.client import connect, new_key, path_of
from cli.content.page import PreviewedMessage, open_page
from cli.errors import Failed, Misused
from cli.options import pairs
from cli.output import Json, emit, say, surroundings
from cli.sending.managing import CampaignId
from cli.sending.running import SEGMENTS, preview_title, show_message, show_preview
from cli.sending.templates import TemplateId
from shared.domain.channels.lookup import channel_of
from shared.domain.content import sms
from shared.domain.content.plain_text import text_template
from shared.domain.content.seen import nothing_to_see
from shared.domain.content.templates import RECIPIENT, InvalidTemplateError, Template, TemplateKind, variables
from shared.domain.lanes.meanings import in_words

Open = Annotated[bool, typer.Option("--open", help="Show it in the browser, in the widths of a phone and a desktop.")]
Values = Annotated[
    list[str] | None, typer.Option("--value", metavar="NAME=VALUE", help="The value of a placeholder. Repeatable.")
]
Version = Annotated[int | None, typer.Option(min=1, help="Which version; default: the latest.")]
HEADS: Final = (("To", "recipient"), ("From", "from"), ("Reply to", "reply_to"), ("Subject", "subject"))


def preview_campaign(
    ctx: typer.Context,
    campaign: CampaignId,
    row: Annotated[
        int | None, typer.Option(min=1, help="The recipient's row, as your spreadsheet numbers it; default: the first.")
    ] = None,
    show: Open = False,
    json: Json = False,
) -> None:
    """Show what a recipient of the list would get. Without a list, each placeholder has its name as value."""
    api = connect(ctx)
    if not (show or json):
        show_preview(api, campaign, row)
        return
    found = api.get(path_of("campaigns", campaign, "/preview"), {"sheet_row": str(row)} if row else None)
    _give(ctx, found, preview_title(found).capitalize(), show=show, json=json)


def preview_template(
    ctx: typer.Context,
    template: TemplateId,
    version: Version = None,
    value: Values = None,
    show: Open = False,
    json: Json = False,
) -> None:
    """Show a stored template as a message. A placeholder without a --value has its name as value."""
    given = pairs("--value", value or [])
    found = connect(ctx).get(path_of("templates", template), {"version": str(version)} if version else None)
    _give(ctx, _rendered(found, given), f"{found.get('name')}, version {found.get('version')}", show=show, json=json)


def try_template(
    ctx: typer.Context,
    template: TemplateId,
    recipient: Annotated[str, typer.Argument(metavar="RECIPIENT", help="Your own address or number.")],
    version: Version = None,
    value: Values = None,
    json: Json = False,
) -> None:
    """Send one real message of a stored template to yourself. A placeholder without a --value is empty.

    To send it, the command creates a campaign, and deletes the campaign afterwards.
    """
    given = pairs("--value", value or [])
    api = connect(ctx)
    stored = api.get(path_of("templates", template), {"version": str(version)} if version else None)
    body = {
        "name": f"Test: {stored.get('name')}"[:100],
        "channel": stored.get("channel"),
        "template_id": template,
        "template_version": stored.get("version"),
    }
    made = str(api.post("/campaigns", body, key=new_key()).get("campaign_id"))
    try:
        asked = {"recipient": recipient, "params": given}
        found = api.post(path_of("campaigns", made, "/test"), asked, key=new_key())
    finally:
        api.delete(path_of("campaigns", made))
    if json:
        emit(found)
    elif found.get("skipped"):
        raise Failed(f"not sent: {recipient} is invalid, suppressed or has unsubscribed")
    else:
        say(f"one message to {recipient} is on its way; posthaste batch watch {found.get('batch_id')}")


def _give(ctx: typer.Context, found: Mapping[str, Any], title: str, *, show: bool, json: bool) -> None:
    """Show a message in the browser, or print it.

    Args:
        ctx: the command's context, with its terminal.
        found: the message, as the API's previews are.
        show: whether the browser is meant.
    """
    file = open_page(_shown(found, title), surroundings(ctx)) if show else None
    if json:
        emit({**found, **({"file": str(file)} if file else {})})
    elif file:
        say(f"{title}: {file}")
    else:
        show_message(found, title.lower())


def _shown(found: Mapping[str, Any], title: str) -> PreviewedMessage:
    heads = [(name, str(found.get(field) or "")) for name, field in HEADS]
    skip, error = found.get("skip"), found.get("error")
    fault = f"It is not sent: {in_words(str(skip or error))}" if skip or error else ""
    html, text = (str(found.get(part) or "") for part in ("html", "text"))
    return PreviewedMessage(title, heads, html, text, found.get(SEGMENTS), fault)


def _rendered(stored: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, Any]:
    """Return a template's message as the API's previews are, by the code that makes messages.

    Raises:
        Misused: a value has a name that the template does not have.
        Failed: the template is none.
    """
    channel = channel_of(str(stored.get("channel")))
    try:
        subject = Template.parse(str(stored.get("subject") or ""), TemplateKind.SUBJECT)
        body = Template.parse(str(stored.get("body") or ""), channel.kinds["body"])
        own = Template.parse(str(stored.get("text") or ""), channel.text_kind)
        text = own if own.text or not channel.rich else text_template(body)
    except InvalidTemplateError as error:
        raise Failed(f"the template cannot be used: {error}") from None
    names = variables((subject, body, text))
    if strange := [name for name in given if name.lower() not in names]:
        raise Misused(f"the template has no placeholder {', '.join(strange)}; it has {', '.join(names) or 'none'}")
    values = {name: name for name in names} | {RECIPIENT: channel.example}
    values |= {name.lower(): value for name, value in given.items()}
    rendered = channel.written((text if channel.rich else body).render(values))
    html = body.render(values) if channel.rich else ""
    return {
        "row": None,
        "recipient": values[RECIPIENT],
        "skip": None,
        "error": "empty_message" if nothing_to_see(html, rendered) else None,
        "from": stored.get("from"),
        "reply_to": stored.get("reply_to"),
        "subject": subject.render(values),
        "html": html,
        "text": rendered,
        "headers": {},
        SEGMENTS: _segments(str(stored.get("channel")), rendered),
    }


def _segments(channel: str, text: str) -> dict[str, Any] | None:
    """Return how a text is divided, as the API says it; None if its channel divides none."""
    found = channel_of(channel).segments(text)
    if found is None:
        return None
    return {
        "encoding": found.encoding.value,
        "characters": found.characters,
        "units": found.units,
        "segments": found.count,
        "forcing": [{"character": h.character, "offset": h.offset, "instead": h.instead} for h in sms.forcing(text)],
    }


def add_to(campaigns: typer.Typer, templates: typer.Typer) -> None:
    """Add these commands to those of campaigns and of templates."""
    campaigns.command("preview")(preview_campaign)
    templates.command("preview")(preview_template)
    templates.command("test")(try_template)
