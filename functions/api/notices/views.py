"""Notices and their updates as notifiers see them."""

from typing import Literal

from pydantic import ConfigDict, Field, RootModel

from functions.api.views import View


class UpdateView(View):
    """A notice whose status has changed, or a record that was rejected."""

    id: str = Field(description="The notifier's own id of the notice.")
    action: str | None = Field(None, description="Only of a rejected record: its action, as it was sent.")
    status: Literal["NEW", "TEMP_FAIL", "SUCCESS", "PERM_FAIL", "CANCELED"] = Field(
        description="The notice's status. A rejection never changes it; PERM_FAIL if no notice is stored."
    )
    error: str | None = Field(description="Code of a failure or a rejection.")
    message: str | None = Field(description="A sentence for people.")
    updated_at: str = Field(
        description="RFC 3339 with the offset of the notifier's time zone. Ask again from the last one + 1 s.",
        json_schema_extra={"format": "date-time"},
    )


class UpdateList(RootModel[list[UpdateView]]):
    """Updates in the order of `updated_at`."""

    model_config = ConfigDict(defer_build=True)


class ReceivedPayload(View):
    """A payload that is stored. Payloads are processed in the order of their answers."""

    received: int = Field(description="Records of the payload.")
