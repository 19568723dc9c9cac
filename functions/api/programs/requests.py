"""Requests about programs as clients write them."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from functions.api.batches.labels import MetadataKey, MetadataValue
from functions.api.campaigns.requests import Id
from shared.domain.notices.programs import MAX_OFFSET_DAYS, MAX_STEPS, NAME
from shared.web.inputs import Input


class StepInput(Input):
    """One notice of a program."""

    template_id: Id = Field(description="A stored template that notices can be delivered with.")
    offset_days: Annotated[int, Field(ge=0, le=MAX_OFFSET_DAYS)] = Field(
        description="Days from the program's first day."
    )
    preferred_time: Annotated[str, Field(pattern=r"^[0-9]{1,2}( *- *[0-9]{1,2})?$")] | None = Field(
        None, description="An hour, or a range of hours such as `9-12`."
    )
    delivery_method: Literal["SMS", "IVR"] | None = None


class ProgramVersion(Input):
    """A program's content, as a whole."""

    metadata: Annotated[dict[MetadataKey, MetadataValue], Field(max_length=20)] | None = Field(
        None, description="Texts about the program, for notifiers."
    )
    steps: Annotated[list[StepInput], Field(min_length=1, max_length=MAX_STEPS)]


class NewProgram(ProgramVersion):
    """A schedule of notices that the account recommends."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "vaccination",
                    "steps": [{"template_id": "01m3250v00n197k5j0fjpyam13", "offset_days": 28}],
                }
            ]
        }
    )

    name: Annotated[str, Field(pattern=NAME, max_length=64)]
