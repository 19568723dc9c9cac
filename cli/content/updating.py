"""`posthaste campaign update`: the settings and the content of a campaign that is there already."""

import json as codec
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.client import ApiClient, connect, path_of
from cli.errors import Misused
from cli.files import text_of
from cli.output import Json, say, tell
from cli.sending.jobs import told
from cli.sending.managing import CampaignId
from cli.sending.messages import From, ReplyTo, Subject, TextFile, saying

Said = dict[str, Any]


def update(
    ctx: typer.Context,
    campaign: CampaignId,
    *,
    name: Annotated[str, typer.Option(help="Its name, for people.")] = "",
    credential: Annotated[
        str, typer.Option(metavar="ID", help="The credential; only as long as the campaign has no list.")
    ] = "",
    unsubscribe: Annotated[
        bool | None, typer.Option("--unsubscribe/--no-unsubscribe", help="E-mail: offer a link to unsubscribe.")
    ] = None,
    template: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The new body with {{ placeholders }}: HTML; of SMS plain text.")
    ] = None,
    text: TextFile = None,
    stored: Annotated[str, typer.Option("--stored-template", metavar="ID", help="A stored template instead.")] = "",
    version: Annotated[
        int | None, typer.Option(min=1, help="The version of the stored template; default: the latest.")
    ] = None,
    subject: Subject = "",
    sender: From = "",
    reply_to: ReplyTo = "",
    json: Json = False,
) -> None:
    """Change a campaign. What no option names stays as it is; what was sent already is not changed.

    A list that was read stays. If it lacks a column that the new content needs, it is not sent until it fits.
    """
    settings: Said = {"name": name or None, "credential_id": credential or None, "unsubscribe": unsubscribe}
    settings = {key: value for key, value in settings.items() if value is not None}
    given = {"subject": subject, "from": sender, "reply_to": reply_to}
    content = {key: value for key, value in given.items() if value}
    api = connect(ctx)
    found: Mapping[str, Any] | None = None
    if stored or version:
        _check_stored(stored, own=bool(template or text or content))
        said: Said = {"template_id": stored, **({"template_version": version} if version else {})}
    elif template or text or content:
        said = _content(api, campaign, template, text, content)
    else:
        said = {}
    if not (settings or said):
        raise Misused("say what to change; see `posthaste campaign update --help`")
    if settings:
        found = api.patch(path_of("campaigns", campaign), codec.dumps(settings).encode())
    if said:
        place = path_of("campaigns", campaign, "/template")
        found = api.put(place, codec.dumps(said).encode(), key=secrets.token_urlsafe(24))
    told(dict(found or {}), json=json, text=f"campaign {campaign} is changed")
    if not json:
        _tell_missing(found or {})
        say(f"look:  posthaste campaign preview {campaign}")


def _check_stored(stored: str, *, own: bool) -> None:
    """Refuse a stored template beside content of its own."""
    if not stored:
        raise Misused("--version is that of a --stored-template")
    if own:
        raise Misused("use either --stored-template or --template, --text, --subject, --from, --reply-to")


def _content(api: ApiClient, campaign: str, template: Path | None, text: Path | None, given: Mapping[str, str]) -> Said:
    """Return the whole new content: the API replaces it as one, so what no option names is what it was.

    Args:
        api: where the campaign is.
        campaign: its id.
        template: the file with the new body; None: the body stays.
        text: the file with the new text part; None: it stays, unless the body is new: then it is derived anew.
        given: the other fields that are given.
    """
    old = api.get(path_of("campaigns", campaign)).get("template") or {}
    kept = {key: value for key, value in old.items() if value is not None}
    if template is not None:
        kept.pop("text", None)
    body = text_of(template) if template is not None else str(kept.get("body") or "")
    new = saying(body, subject="", sender="", reply_to="", text=text)
    return {**kept, **given, **new}


def _tell_missing(found: Mapping[str, Any]) -> None:
    missing = ", ".join(map(str, found.get("missing") or ()))
    if missing:
        tell(f"the list lacks the columns {missing}: it is not sent until it has them")
