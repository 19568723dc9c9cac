"""Bodies that notifiers send."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, RootModel

from shared.domain.notices.inbox import MAX_RECORDS
from shared.domain.notices.records import MAX_ID


class NoticeRecord(BaseModel):
    """One record. Its check follows the answer; a fault shows in the updates."""

    model_config = ConfigDict(extra="allow", title="NoticeRecord", defer_build=True)

    id: Annotated[str, Field(min_length=1, max_length=MAX_ID, description="The notifier's own name for the message.")]
    action: Annotated[
        Any, Field(description="`MESSAGE_NEW`, `MESSAGE_UPDATE` or `MESSAGE_CANCEL`; or `NEW`, `UPDATE`, `CANCEL`.")
    ] = None
    first_name: Annotated[Any, Field(description="The recipient's first name.")] = None
    phone_number: Annotated[Any, Field(description="With a country code, or of the notifier's country.")] = None
    template_id: Annotated[Any, Field(description="A template of the account for text messages or calls.")] = None
    delivery_method: Annotated[Any, Field(description="`SMS`, or `IVR` for a call.")] = None
    delivery_date: Annotated[
        Any, Field(description="`YYYY-MM-DD` or `YYYYMMDD` in the notifier's time zone, at most two years ahead.")
    ] = None
    delivery_expires: Annotated[
        Any, Field(description="Likewise: from this day on nothing is sent. By default the notifier's days later.")
    ] = None
    preferred_time: Annotated[Any, Field(description="An hour, `9`, or a span of hours, `9-12`.")] = None
    reference: Annotated[Any, Field(description="Your name for it, up to 128 characters; updates repeat it.")] = None
    tags: Annotated[Any, Field(description="Up to 10 words for it, up to 64 characters each; updates repeat them.")] = (
        None
    )


class NoticePayload(RootModel[Annotated[list[NoticeRecord], Field(max_length=MAX_RECORDS)]]):
    """Records, which are processed in this order."""

    model_config = ConfigDict(title="NoticePayload", defer_build=True)
