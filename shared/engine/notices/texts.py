"""The texts of stored templates for text messages and for calls."""

from collections.abc import Mapping
from typing import Final

from shared.domain.content.content import Speech
from shared.domain.notices.notice import DeliveryMethod
from shared.domain.notices.notifier import METHODS
from shared.frozen import dataclass
from shared.ports import Templates

CHANNELS: Final = {DeliveryMethod(method): channel for channel, method in METHODS.items()}
"""The channel of each method."""


@dataclass(frozen=True, slots=True)
class NoticeText:
    """A template's text for one channel. `text`: with placeholders; `speech`: how a call says it."""

    text: str
    speech: Speech | None = None


@dataclass(frozen=True, slots=True)
class StoredTexts:
    """Reads templates, each once: one object serves one run of the function."""

    templates: Templates

    def __call__(self, namespace: str, template: str) -> Mapping[DeliveryMethod, NoticeText]:
        """Return what a template says by each channel; empty if there is none, or it is another's."""
        stored = self.templates.get(template)
        if stored is None or stored.namespace != namespace:
            return {}
        texts, speech = stored.texts, stored.speech
        return {
            method: NoticeText(texts[channel], speech if method is DeliveryMethod.IVR else None)
            for method, channel in CHANNELS.items()
            if channel in texts
        }
