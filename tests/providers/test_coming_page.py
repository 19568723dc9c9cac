"""The docs page for clients of SendGrid has the tables that the reader goes by."""

from pathlib import Path

from shared.providers.sendgrid.carried import tables

PAGE = Path(__file__).resolve().parents[2] / "docs" / "coming-from-sendgrid.md"


def test_the_page_has_the_readers_own_tables() -> None:
    assert PAGE.read_text("utf-8").endswith(tables())
