"""Lists whose file is still kept: read again for their own campaign, or for another one. Source: docs/adr/0281."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

from shared.domain.campaigns.campaign import UNREAD, Upload, UploadState
from shared.domain.lists.uploads import ListRules
from shared.domain.times import DAY_MS, Millis
from shared.engine.lists.uploading import WITHDRAWN


def newest(uploads: Sequence[Upload]) -> Upload | None:
    """Return the list of a campaign that is meant if none is named: the newest one that could be used.

    If none could be, it is the newest one with a file. A list that was withdrawn is left out. They come oldest first.
    """
    filed = [x for x in uploads if x.etag and x.code != WITHDRAWN and x.state not in UNREAD]
    fit = [x for x in filed if x.state is not UploadState.FAILED]
    return next(reversed(fit or filed), None)


def rules_of(found: Upload, channel: str) -> ListRules:
    """Return how a list was to be read. The names of columns and countries count for its own channel only.

    Args:
        channel: of the campaign that it is read for.
    """
    same = channel == found.channel
    return ListRules(
        region=found.region if same else "",
        drop_duplicates=found.drop_duplicates,
        column=found.column if same else "",
        strict=found.strict,
        sha256=found.sha256,
        sheet=found.sheet,
        encoding=found.encoding,
        keep_hidden=found.keep_hidden,
        header_row=found.header_row,
    )


def is_young(put_at: Millis, now: Millis, days: int) -> bool:
    """Tell whether a file is not as old yet as files become.

    Args:
        days: for which files are kept.
    """
    return now < put_at + days * DAY_MS


def deleted_on(put_at: Millis, days: int) -> date:
    """Return the day on which the bucket's rule deletes a file.

    Args:
        days: for which files are kept. S3's rule deletes at the midnight after them.
    """
    return datetime.fromtimestamp(put_at / 1000, UTC).date() + timedelta(days=days + 1)


def why_deleted(found: Upload, now: Millis, days: int) -> str:
    """Return a sentence about a list whose file is no longer there.

    Args:
        days: for which files are kept.
    """
    if is_young(found.put_at, now, days):
        return "The list's file was deleted, as with the data of a person. Upload the list again."
    day = deleted_on(found.put_at, days).isoformat()
    return f"The list's file was deleted on {day}, {days} days after its upload. Upload the list again."
