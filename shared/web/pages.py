"""Pages for who follows a link in a mail: small, complete in themselves, without scripts, cookies or redirects."""

from collections.abc import Mapping
from html import escape
from typing import Final

from shared.web.http import Answer

POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow",
}
"""With these a page may only post its own form. Its address names a person, so the browser does not pass it on."""
HTML: Final = "text/html; charset=utf-8"
FIELD: Final = "from"
BUTTON: Final = "page"
"""The value that a page's button posts, and a mailbox provider does not."""
_PAGE: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ margin: 0 auto; padding: 3rem 1.5rem; max-width: 34rem; font: 18px/1.6 system-ui, sans-serif; }}
h1 {{ font-size: 1.6rem; line-height: 1.25; margin: 0 0 1rem; }}
b {{ overflow-wrap: anywhere; }}
button {{ font: inherit; font-weight: 600; padding: .7rem 1.4rem; min-height: 44px; cursor: pointer; }}
button {{ color: Canvas; background: CanvasText; border: 2px solid CanvasText; border-radius: .4rem; }}
button:focus-visible {{ outline: 3px solid CanvasText; outline-offset: 3px; }}
</style>
<main>
<h1>{title}</h1>
{body}
</main>
</html>
"""


def masked(address: str) -> str:
    """Return an address by which its owner knows it, and hardly anybody else: `a•••@example.com`."""
    local, _, domain = address.rpartition("@")
    return f"{local[:1]}•••@{domain}"


def page(
    title: str, *paragraphs: str, form: str = "", status: int = 200, more: Mapping[str, str] | None = None
) -> Answer:
    """Return a page."""
    body = "\n".join([*(f"<p>{p}</p>" for p in paragraphs), form]).strip()
    return Answer(status, _PAGE.format(title=escape(title), body=body), {**HEADERS, **(more or {})}, HTML)


def button(label: str, action: str = "") -> str:
    """Return a form of one button. `action`: a relative address; empty: that of the page itself."""
    where = f' action="{escape(action)}"' if action else ""
    hidden = f'<input type="hidden" name="{FIELD}" value="{BUTTON}">'
    return f'<form method="post"{where}>{hidden}<button type="submit">{escape(label)}</button></form>'


def quoted(address: str) -> str:
    """Return an address, masked, as HTML."""
    return f"<b>{escape(masked(address))}</b>"
