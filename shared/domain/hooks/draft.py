"""An endpoint as its owner writes it."""

from collections.abc import Sequence

from shared.domain.hooks.endpoint import HookFormat
from shared.frozen import dataclass


@dataclass(frozen=True, slots=True)
class HookDraft:
    """An endpoint as its owner wrote it; None is what was left out.

    Attributes:
        url: where events are posted.
        events: kinds of events, or `*`.
        description: for people.
        batch: several events of a kind are posted together.
        format: of what is posted.
        disabled: whether nothing is posted.
    """

    url: str | None = None
    events: Sequence[str] | None = None
    description: str | None = None
    batch: bool | None = None
    format: HookFormat | None = None
    disabled: bool | None = None
