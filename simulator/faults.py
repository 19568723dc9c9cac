"""Failure modes, chosen per call by rules.

| mode | the client sees | accepted | in the log |
|---|---|---|---|
| ok | the provider's answer, after `latency_ms` | as the provider decides | yes |
| 503, 429, 401 | the provider's own status, headers and body | no | the call |
| 406 | what SendGrid's edge answers now and then, and all to a call without `Accept` | no | the call |
| 500 | a gateway's answer (`status`: 500, 502, 504), with `own` the provider's text | only if `accept` | the call |
| refuse | connection refused: no process listens (see `listener.py`) | no | nothing |
| reset | the request is read, then the connection is reset | no | the call |
| accept_and_drop | the request is read, then the connection is closed without an answer | yes | the call |
| slow | the provider's answer, `after_s` seconds later | yes, at arrival | the call |
"""

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from simulator.model import Message, Mode

Probability = Annotated[float, Field(ge=0, le=1)]


_COMMON: Final = ("latency_ms", "events_late_s", "rules")


class Rule(BaseModel):
    """When a mode applies. All conditions must hold; the first rule that applies wins.

    Attributes:
        probability: chance that a call is hit.
        count: only the first n calls that it would hit.
        seconds: only that long after it was set; a refusal lasts until the port listens again, that long after.
        recipients: only calls with a recipient that matches this pattern (`*`, `?`; lower case).
        retry_after_s: for 429.
        after_s: for slow.
        status: for 500.
        accept: for 500: the message goes out all the same.
        own: for 500: in the provider's own text.
    """

    model_config = ConfigDict(extra="forbid")

    mode: Mode
    probability: Probability = 1.0
    count: int | None = Field(default=None, ge=0)
    seconds: float | None = Field(default=None, gt=0)
    recipients: str | None = None
    retry_after_s: float = Field(default=1, ge=0)
    after_s: float = Field(default=5, ge=0, le=600)
    status: int = Field(default=500, ge=500, le=599)
    accept: bool = False
    own: bool = False

    @property
    def refuses(self) -> bool:
        """Whether no process listens while it applies."""
        return self.mode is Mode.REFUSE

    @model_validator(mode="after")
    def _refusal_is_unconditional(self) -> Self:
        if self.refuses and (self.probability < 1 or self.count is not None or self.recipients):
            msg = "refuse cannot depend on the call: nobody listens, so no call is seen; use `seconds`, or mode reset"
            raise ValueError(msg)
        return self


class Faults(BaseModel):
    """The faults of one credential. A body with `mode` at the top level is short for one rule.

    `events_late_s`: until the provider's own list of events tells of a message (Mailgun's events, SendGrid's logs).
    """

    model_config = ConfigDict(extra="forbid")

    latency_ms: float = Field(default=0, ge=0, le=600_000)
    events_late_s: float = Field(default=0, ge=0, le=86_400)
    rules: list[Rule] = []

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, value: Any) -> Any:
        if isinstance(value, dict) and "mode" in value:
            rule = {k: v for k, v in value.items() if k not in _COMMON}
            rest = {k: v for k, v in value.items() if k in _COMMON}
            rules = [] if rule["mode"] == Mode.OK else [rule]
            return {**rest, "rules": [*rules, *rest.get("rules", [])]}
        return value


class Injector:
    """Applies one credential's faults. Used only by the event loop's thread."""

    def __init__(self) -> None:
        self.faults = Faults()
        self.latency = 0.0
        """Seconds before every answer."""
        self.hits: list[int] = []
        self._until: list[float] = []

    def set(self, faults: Faults, now: float) -> None:
        """Replace all faults; counts and times start again."""
        self.faults = faults
        self.latency = faults.latency_ms / 1000
        self.hits = [0] * len(faults.rules)
        self._until = [now + r.seconds if r.seconds and not r.refuses else float("inf") for r in faults.rules]

    def listening(self) -> None:
        """End the refusals: the port listens again, and no call that comes through it is refused."""
        for i, rule in enumerate(self.faults.rules):
            if rule.refuses:
                self._until[i] = float("-inf")

    def pick(self, messages: list[Message], now: float, roll: Callable[[], float]) -> Rule | None:
        """Return the rule that hits this call, or None."""
        for i, rule in enumerate(self.faults.rules):
            if now >= self._until[i] or (rule.count is not None and self.hits[i] >= rule.count):
                continue
            pattern = rule.recipients
            if pattern is not None and not any(fnmatchcase(m.to.lower(), pattern) for m in messages):
                continue
            if rule.probability < 1 and roll() >= rule.probability:
                continue
            self.hits[i] += 1
            return rule
        return None
