"""The table of how long data are kept has the figures of the code and of the settings."""

import re
from pathlib import Path

import pytest

from infra.resources import storage
from infra.schema import Retention
from shared import contracts
from shared.domain import audit, texts
from shared.domain.notices import inbox, notice, updates

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "operations.md").read_text("utf-8")
DEFAULTS = Retention()


def row(begin: str) -> str:
    """Return how long the page says a kind of data is kept."""
    (found,) = re.findall(rf"^\| {re.escape(begin)}[^|]*\| (.*) \|$", PAGE, re.MULTILINE)
    return str(found)


@pytest.mark.parametrize(
    ("begin", "says"),
    [
        ("jobs, recipients", f"at least {contracts.MIN_JOBS_DAYS}"),
        (
            "uploaded files",
            f"`retention.uploads_days` ({DEFAULTS.uploads_days}); old versions {storage.NONCURRENT_DAYS}",
        ),
        ("contents of mails", f"at most {storage.MAIL_CONTENTS_DAYS} days; old versions {storage.NONCURRENT_DAYS}"),
        ("exports", f"{storage.EXPORTS_DAYS} days; old versions {storage.NONCURRENT_DAYS}"),
        ("payloads of notifiers", f"{inbox.KEPT_DAYS} days; in the bucket old versions {storage.NONCURRENT_DAYS}"),
        ("notices (messages of notifiers)", f"{notice.KEPT_DAYS} days after they ended"),
        ("the [archive]", f"`retention.archive_days` ({DEFAULTS.archive_days}: none)"),
        ("texts that recipients wrote", f"{texts.KEPT_DAYS} days"),
        ("updates of notifiers", f"{updates.LOG_DAYS} days"),
        ("audit log", f"`retention.audit_days` ({DEFAULTS.audit_days}); {audit.EVENT_DAYS} days"),
        ("logs of functions", "`retention.logs_days`"),
        ("backups", f"`retention.backups_days` ({DEFAULTS.backups_days})"),
    ],
)
def test_the_page_says_what_the_code_keeps(begin: str, says: str) -> None:
    assert says in row(begin)


def test_the_bucket_keeps_uploads_of_mails_for_a_day_and_payloads_as_long_as_their_items() -> None:
    assert (storage.MAIL_UPLOADS_DAYS, row("uploads of mails").partition(";")[0]) == (1, "a day")
    assert storage.INBOX_DAYS == inbox.KEPT_DAYS
