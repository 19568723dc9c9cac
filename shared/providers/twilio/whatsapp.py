"""Twilio's WhatsApp: the Messages resource with `whatsapp:` before both numbers.

Sources (twilio.com/docs): whatsapp/api, content (`ContentSid`, `ContentVariables`), api/errors/63016, …/63024.

WhatsApp takes a text of one's own only within 24 hours of the recipient's last message. Any other message needs a
template that WhatsApp has approved: the secret's `content_sid`, whose one variable `1` is filled with the text.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from shared.domain.content.content import Content
from shared.domain.jobs.outcomes import NotStarted, Rejected
from shared.ports import Clock, Http, Target
from shared.providers._vendor import lacking
from shared.providers.twilio.send import Twilio

PREFIX: Final = "whatsapp:"
_TEMPLATE: Final = re.compile(r"HX[0-9a-fA-F]{32}")


class TwilioWhatsapp(Twilio):
    """WhatsApp messages through one Twilio account and sender. See `Twilio`."""

    def __init__(self, http: Http, base_url: str, secret: Mapping[str, str], clock: Clock, **more: Any) -> None:
        super().__init__(http, base_url, secret, clock, **more)
        name, sender = self._sender
        if name == "From" and sender:
            self._sender = name, PREFIX + sender.removeprefix(PREFIX)
        self._template = secret.get("content_sid", "").strip()
        if self._template and not _TEMPLATE.fullmatch(self._template):
            self._lacks = self._lacks or lacking("invalid_content_sid")

    def fields(self, content: Content, target: Target) -> list[tuple[str, str]] | Rejected | NotStarted:
        """Return the form's fields, or say why there is no message."""
        found = super().fields(content, target)
        if not isinstance(found, list):
            return found
        form = dict(found) | {"To": PREFIX + target.recipient.address}
        if self._template:
            text = form.pop("Body")
            form |= {"ContentSid": self._template, "ContentVariables": json.dumps({"1": text}, ensure_ascii=False)}
        return list(form.items())
