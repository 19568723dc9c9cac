"""The hook of mkdocs.yml: pages at the top of the repository join those of `docs/`, and links lead to the site.

It also has the reference of the API made from its document.
"""

from pathlib import Path
from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from tools import reference
from tools.links import TOP, repository_path, rewritten

ROOT: Final = Path(__file__).parents[1]
DECISIONS: Final = "adr/"
DECISIONS_BOOST: Final = 0.05
"""The weight of a hit in a decision, where one in another page counts 1."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the reference to the menu."""
    reference.add_to(config.nav or [])
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages at the top, and files that a page links to."""
    for path, text in reference.pages().items():
        files.append(File.generated(config, path, content=text))
    for top, path in TOP.items():
        files.append(File.generated(config, path, abs_src_path=str(ROOT / top)))
    sources = (file.src_uri for file in files.documentation_pages())
    pages = [repository_path(source) for source in sources if not reference.generated(source)]
    more = (rewritten((ROOT / page).read_text("utf-8"), page, ROOT)[1] for page in pages)
    for name in sorted(set().union(*more)):
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Return a page's text with links for the site. In a search, decisions come below the pages of how things are."""
    if page.file.src_uri.startswith(DECISIONS):
        page.meta.setdefault("search", {"boost": DECISIONS_BOOST})
    return rewritten(markdown, repository_path(page.file.src_uri), ROOT)[0]
