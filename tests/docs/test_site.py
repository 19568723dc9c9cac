"""Links of the site: each leads where it leads in the repository. `make docs` checks that the pages are there."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from tools.links import TOP, repository_path, rewritten, site_path

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("page", "link", "to"),
    [
        ("README.md", "docs/api.md", "api.md"),
        ("README.md", "docs/promises.md#a-campaign-of-100000", "promises.md#a-campaign-of-100000"),
        ("README.md", "docs/adr/", "adr/README.md"),
        ("docs/README.md", "../CONTRIBUTING.md", "contributing.md"),
        ("docs/upgrading.md", "../README.md", "overview.md"),
        ("docs/runbooks/queue-age.md", "../operations.md#dead-letters", "../operations.md#dead-letters"),
        ("docs/runbooks/queue-age.md", "../../CHANGELOG.md", "../changelog.md"),
        ("docs/api.md", "https://example.com/README.md", "https://example.com/README.md"),
        ("docs/api.md", "#batches", "#batches"),
        ("docs/api.md", "nowhere.md", "nowhere.md"),
        ("docs/api.md", "../../outside.md", "../../outside.md"),
    ],
)
def test_a_link_leads_to_the_same_page_of_the_site(page: str, link: str, to: str) -> None:
    assert rewritten(f"See [it]({link}).", page, ROOT) == (f"See [it]({to}).", set())


def test_a_file_outside_of_the_pages_is_copied_along() -> None:
    text = "[client](../examples/client.py), [license](../LICENSE)"
    assert rewritten(text, "docs/upgrading.md", ROOT) == (
        "[client](examples/client.py), [license](LICENSE)",
        {"examples/client.py", "LICENSE"},
    )


def test_every_page_has_one_place_on_the_site() -> None:
    pages = [*TOP, *(file.relative_to(ROOT).as_posix() for file in (ROOT / "docs").rglob("*.md"))]
    places = [site_path(page) for page in pages]
    assert len(set(places)) == len(pages)
    assert [repository_path(place) for place in places] == pages


def test_decisions_rank_below_other_pages_in_a_search() -> None:
    from tools.site import on_page_markdown  # noqa: PLC0415 - needs the library of the site

    boosts = {}
    for source in ("adr/0018-idempotency-key-is-the-attempt.md", "api.md"):
        page = SimpleNamespace(file=SimpleNamespace(src_uri=source), meta={})
        on_page_markdown("# A page", page=page)
        boosts[source] = page.meta.get("search", {}).get("boost", 1)
    assert boosts["adr/0018-idempotency-key-is-the-attempt.md"] < boosts["api.md"] / 10
