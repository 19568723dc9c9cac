"""The docs pages for clients of other services have the tables that the readers go by."""

from pathlib import Path

import shared.providers.postmark.carried as postmark
import shared.providers.resend.carried as resend
import shared.providers.sendgrid.carried as sendgrid
from shared.providers.doors import tables

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_sendgrids_page_has_the_readers_own_tables() -> None:
    said = tables(sendgrid.CARRIED, sendgrid.REFUSED, sendgrid.ENDINGS)
    assert (DOCS / "coming-from-sendgrid.md").read_text("utf-8").endswith(said)


def test_the_page_of_the_others_has_the_readers_own_tables() -> None:
    page = (DOCS / "doors.md").read_text("utf-8")
    assert tables(postmark.CARRIED, postmark.REFUSED, postmark.ENDINGS, "Postmark") in page
    assert tables(resend.CARRIED, resend.REFUSED, resend.ENDINGS, "Resend") in page
