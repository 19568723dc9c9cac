"""A message as a page for the browser: in the width of a phone and of a desktop, its text part, and its cost.

The page is one file. It has no script and may run none. The message is in frames that may only show: neither scripts
nor forms work in them, and its links open windows of their own. Images are fetched from where the message has them.
"""

import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final

from cli.errors import Failed
from cli.output import Surroundings, counted, tell

PHONE: Final = 390
DESKTOP: Final = 1024
"""Widths in CSS pixels."""
POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src https: http: data:; font-src https: data:; "
    "form-action 'none'; base-uri 'self'"
)
SANDBOX: Final = "allow-popups allow-popups-to-escape-sandbox"
STYLE: Final = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { margin: 1rem }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; margin: 0 0 1rem }
dt { opacity: .7 } dd { margin: 0; overflow-wrap: anywhere }
main { display: flex; flex-wrap: wrap; gap: 1rem; align-items: flex-start }
figure { margin: 0; max-width: 100%; overflow-x: auto } figcaption { margin-bottom: .3rem; opacity: .7 }
iframe { display: block; height: 80vh; border: 1px solid; border-radius: .5rem;
  background: #fff }
pre { white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid; border-radius: .5rem; padding: 1rem;
  max-width: 60ch; margin: 0; font: 1rem/1.5 ui-monospace, monospace }
.bad { color: #b00020; font-weight: bold }
"""


@dataclass(frozen=True, slots=True)
class PreviewedMessage:
    """A rendered message.

    Attributes:
        title: what it is, for people.
        heads: name and value of each line above it; empty values are left out.
        html: the HTML part; empty if it has none.
        text: the text.
        segments: how a text message is divided, as the API says; None if it is not.
        fault: why it cannot be sent; empty if it can.
    """

    title: str
    heads: Sequence[tuple[str, str]]
    html: str
    text: str
    segments: Mapping[str, Any] | None = None
    fault: str = ""


def page(shown: PreviewedMessage) -> str:
    """Return the page of a message: HTML that needs nothing else."""
    heads = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in shown.heads if value)
    fault = f'<p class="bad">{escape(shown.fault)}</p>' if shown.fault else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>{escape(shown.title)}</title><style>{STYLE}</style></head>\n"
        f"<body><h1>{escape(shown.title)}</h1>{fault}<dl>{heads}</dl><main>{''.join(_parts(shown))}</main></body></html>\n"
    )


def _parts(shown: PreviewedMessage) -> Iterator[str]:
    if shown.html:
        for name, width in (("Phone", PHONE), ("Desktop", DESKTOP)):
            yield _figure(f"{name}, {width} pixels", _frame(shown.html, f"Message on a {name.lower()}", width))
    if shown.text or not shown.html:
        caption = "Text part" if shown.html else "Text"
        yield _figure(caption, f"<pre>{escape(shown.text)}</pre>{_cost(shown.segments)}")


def _figure(caption: str, inner: str) -> str:
    return f"<figure><figcaption>{escape(caption)}</figcaption>{inner}</figure>"


def _frame(html: str, title: str, width: int) -> str:
    inside = escape(f'<base target="_blank">{html}')
    return f'<iframe sandbox="{SANDBOX}" title="{escape(title)}" width="{width}" srcdoc="{inside}"></iframe>'


def _cost(segments: Mapping[str, Any] | None) -> str:
    """Return what a text message costs, and which of its characters make it longer."""
    if segments is None:
        return ""
    said = f"{counted(int(segments['segments']), 'segment')} of {segments['encoding']}, "
    said += counted(int(segments["characters"]), "character")
    found = [_hint(x) for x in segments.get("forcing") or ()]
    return f"<p>{escape(said)}</p>" + (f"<p>UCS-2 because of {escape(', '.join(found))}</p>" if found else "")


def _hint(hint: Mapping[str, Any]) -> str:
    instead = hint.get("instead")
    return f"{hint['character']!r}" + (f" (instead: {instead!r})" if instead else "")


def open_page(shown: PreviewedMessage, around: Surroundings) -> Path:
    """Write a page into a new folder that only you can read, and open it in the browser; return the file.

    Without a terminal, or without a browser, the file's place is printed on stderr.

    Raises:
        Failed: the file cannot be written.
    """
    try:
        file = Path(mkdtemp(prefix="posthaste-preview-")) / "preview.html"
        file.write_text(page(shown), encoding="utf-8", errors="replace")
    except OSError as error:
        raise Failed(f"cannot write the preview: {error.strerror}") from None
    if not (around.terminal and webbrowser.open(file.as_uri())):
        tell(f"open it in a browser:  {file}")
    return file
