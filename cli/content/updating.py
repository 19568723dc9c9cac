"""`posthaste campaign update`: the settings and the content of a campaign that is there already."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.client import ApiClient, connect, path_of
from cli.errors import Misused
from cli.files import text_of
from cli.output import Json, emit_or_say, say, tell
from cli.sending.managing import CampaignId
from cli.sending.messages import From, ReplyTo, Subject, TextFile, saying
from shared.domain.lists.header import doubts

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
    """Change a campaign. Settings that no option names stay as they are; messages already sent do not change.

    A list that was read stays. If it lacks a column that the new content needs, it is not sent until it fits.
    """
    settings = _given(name=name, credential_id=credential, unsubscribe=unsubscribe)
    fields = _given(**{"subject": subject, "from": sender, "reply_to": reply_to})
    own = _Own(template, text, fields)
    api = connect(ctx)
    said = _stored(stored, version, own) if stored or version else own.content(api, campaign)
    if not (settings or said):
        raise Misused("say what to change; see `posthaste campaign update --help`")
    found = _changed(api, campaign, settings, said)
    emit_or_say(found, json=json, text=f"campaign {campaign} is changed")
    if not json:
        _tell_missing(found)
        say(f"look:  posthaste campaign preview {campaign}")


@dataclass(frozen=True, slots=True)
class _Own:
    """Content that is given piece by piece: the body's file, the text part's, and the other fields."""

    template: Path | None
    text: Path | None
    fields: Said

    @property
    def given(self) -> bool:
        """Whether there is any."""
        return bool(self.template or self.text or self.fields)

    def content(self, api: ApiClient, campaign: str) -> Said:
        """Return the whole new content, empty if none is given.

        The API replaces it as one, so what is not given is what it was. With a new body, the text part is derived anew.
        """
        if not self.given:
            return {}
        old = api.get(path_of("campaigns", campaign)).get("template") or {}
        kept = {key: value for key, value in old.items() if value is not None}
        if self.template is not None:
            kept.pop("text", None)
        body = text_of(self.template) if self.template is not None else str(kept.get("body") or "")
        new = saying(body, subject="", sender="", reply_to="", text=self.text)
        return {**kept, **self.fields, **new}


def _changed(api: ApiClient, campaign: str, settings: Said, said: Said) -> Said:
    """Change the settings and content that are given; return the campaign.

    Args:
        settings: the body of PATCH /campaigns, empty for none.
        said: the body of PUT /campaigns/{id}/template, empty for none.
    """
    found: Said = {}
    if settings:
        found = api.patch(path_of("campaigns", campaign), settings)
    if said:
        place = path_of("campaigns", campaign, "/template")
        found = api.put(place, said)
    return found


def _given(**values: Any) -> Said:
    """Return the fields that were given."""
    return {name: value for name, value in values.items() if value not in (None, "")}


def _stored(stored: str, version: int | None, own: _Own) -> Said:
    """Return the content that is a stored template; Misused if there is content of its own beside it."""
    if not stored:
        raise Misused("--version is that of a --stored-template")
    if own.given:
        raise Misused("use either --stored-template or --template, --text, --subject, --from, --reply-to")
    return _given(template_id=stored, template_version=version)


def _tell_missing(found: Mapping[str, Any]) -> None:
    missing = ", ".join(map(str, found.get("missing") or ()))
    if missing:
        tell(f"the list lacks the columns {missing}: it is not sent until it has them")
    for doubt in doubts(found.get("missing") or (), found.get("columns") or ()):
        tell(doubt)
