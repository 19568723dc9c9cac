"""The inbox page: one document without external resources.

Mail bodies are shown in a sandboxed frame without scripts; the page's policy also forbids it to load anything.
"""

from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).with_name("inbox.html").read_bytes()
POLICY: Final = (
    b"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:;"
    b" frame-src 'self'; form-action 'none'; base-uri 'none'"
)
