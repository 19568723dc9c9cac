"""The hours of batches and campaigns as clients write and read them."""

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from shared.domain.hours.hours import RECIPIENT, OpenHours
from shared.domain.hours.openings import InvalidHoursError, window_of
from shared.domain.hours.zones import is_zone
from shared.web.inputs import Input
from shared.web.views import View

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
TimeOfDay = Annotated[str, Field(max_length=5)]
WHAT = "Messages are sent only within these hours; what is left waits for the next ones, with `waiting_for: hours`."


class SendingHours(Input):
    """Hours in which messages may be sent. No call to a provider begins outside of them."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"from": "09:00", "to": "20:00", "days": ["mon", "tue", "wed", "thu", "fri"], "zone": "Europe/Paris"}
            ]
        }
    )

    from_: TimeOfDay = Field(alias="from", description="Nothing is sent before: `HH:MM`.")
    to: TimeOfDay = Field(
        description="Nothing is sent from then on: `HH:MM`, up to `24:00`. Earlier than `from`: of the day after."
    )
    days: Annotated[list[Day], Field(min_length=1, max_length=7)] | None = Field(
        None, description="Days on which they begin; by default all."
    )
    zone: Annotated[str, Field(min_length=1, max_length=64)] = Field(
        description="An IANA name, as `Europe/Paris`. `recipient`: each recipient's own, by the list's column "
        "`time_zone`, or else by the country of the phone number."
    )
    fallback: Annotated[str, Field(min_length=1, max_length=64)] | None = Field(
        None, description="With `recipient`, and only then: the zone of those whose own is not known."
    )

    @model_validator(mode="after")
    def _valid(self) -> Self:
        if (self.zone == RECIPIENT) != (self.fallback is not None):
            raise ValueError("Give `fallback` with the zone `recipient`, and only then")
        if not is_zone(self.fallback or self.zone):
            raise ValueError("The time zone is unknown. Use an IANA name, as `Europe/Paris`")
        try:
            window_of(self.from_, self.to, self.days)
        except InvalidHoursError as error:
            raise ValueError(str(error)) from None
        return self

    def hours(self) -> OpenHours:
        """Return them as the engine has them."""
        return OpenHours(window_of(self.from_, self.to, self.days), self.zone, self.fallback or "")


def hours_of(asked: SendingHours | None) -> OpenHours | None:
    """Return what a request says of hours as the engine has it; None for any time."""
    return asked.hours() if asked is not None else None


class SendingHoursView(View):
    """Hours in which messages are sent."""

    from_: str = Field(serialization_alias="from")
    to: str
    days: list[Day] | None = Field(description="null: all.")
    zone: str = Field(description="`recipient`: each recipient's own.")
    fallback: str | None = Field(description="The zone of recipients whose own is not known.")


def hours_view(x: OpenHours | None) -> SendingHoursView | None:
    """Return hours as clients read them; None for any time."""
    if x is None:
        return None
    told = x.document()
    days, fallback = told.get("days"), x.fallback or None
    return SendingHoursView(from_=told["from"], to=told["to"], days=days, zone=x.zone, fallback=fallback)
