"""Requests about notifiers as their owners write them."""

from typing import Annotated, Final

from pydantic import ConfigDict, Field

from shared.domain.notices.notifier import (
    CLOSES,
    CONFLICT_TRIES,
    EXPIRY_DAYS,
    MAX_CONFLICT_TRIES,
    MAX_EXPIRY_DAYS,
    NAME,
    OPENS,
)
from shared.web.inputs import Input, Query

Name = Annotated[str, Field(pattern=NAME, max_length=63)]
Credential = Annotated[str, Field(min_length=1, max_length=64)]
MAX_ROUTE: Final = 10
MAX_OVERLAP: Final = 90 * 24
"""Hours for which a password that is replaced may still be used."""


class ReasonableHours(Input):
    """The hours of a day in which messages are sent, in the notifier's time zone."""

    from_: Annotated[int, Field(ge=0, le=23)] = Field(alias="from", description="Nothing is sent before this hour.")
    to: Annotated[int, Field(ge=1, le=24)] = Field(description="Nothing is sent from this hour on.")


class NotifierRoutes(Input):
    """Credentials by channel, in their order; a channel that is left out has the deployment's route."""

    sms: Annotated[list[Credential], Field(max_length=MAX_ROUTE)] | None = None
    voice: Annotated[list[Credential], Field(max_length=MAX_ROUTE)] | None = None


Zone = Annotated[str, Field(min_length=1, max_length=64)]
Days = Annotated[int, Field(ge=1, le=MAX_EXPIRY_DAYS)]
Tries = Annotated[int, Field(ge=1, le=MAX_CONFLICT_TRIES)]
Country = Annotated[str, Field(pattern=r"^([A-Z]{2})?$")]


class NotifierSettings(Input):
    """Settings of a notifier. Fields that are omitted or null stay unchanged."""

    reasonable_hours: ReasonableHours | None = Field(
        None, description=f"By default from {OPENS} to {CLOSES}: messages are sent only in these hours."
    )
    route: NotifierRoutes | None = Field(
        None, description="Credentials that send its messages. It replaces the whole route."
    )
    days_until_expiry: Days | None = Field(
        None, description=f"From the delivery date on, where a record names no expiry; by default {EXPIRY_DAYS}."
    )
    conflict_tries: Tries | None = Field(
        None, description=f"Tries to withdraw a message for an update or cancel; by default {CONFLICT_TRIES}."
    )
    country: Country | None = Field(
        None, description="ISO 3166: country of numbers without a country code; empty: they need one."
    )


class NewNotifier(NotifierSettings):
    """A machine that uploads notices."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "clinic-1", "timezone": "Australia/Sydney", "country": "AU"}]}
    )

    name: Name = Field(
        description="Its user name: letters a to z, digits and hyphens. It is unique in the deployment, so other "
        "accounts can find out that it is taken."
    )
    timezone: Zone = Field(description="IANA name: its dates and hours are those of this zone.")


class NotifierChange(NotifierSettings):
    """Changes of a notifier. Fields that are omitted or null stay unchanged."""

    timezone: Zone | None = None
    disabled: bool | None = Field(
        None, description="true: its calls are refused. Its stored notices are still delivered."
    )


class StatsDays(Query):
    """How many days are counted."""

    days: int = Field(7, ge=1, le=31, description="UTC days up to today.")


class Rotation(Input):
    """When the present password ends."""

    overlap_hours: Annotated[int, Field(ge=0, le=MAX_OVERLAP)] = Field(
        24, description="Hours for which the present password stays valid beside the new one."
    )
