"""The inbox's page: one document without external resources.

Mail bodies are shown in a sandboxed frame without scripts, which has a policy of its own. The page's policy knows its
one script by its hash, and also forbids to load anything but pictures that the local cloud serves.
"""

from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
SCRIPT: Final = HERE.joinpath("inbox.js").read_text("utf-8")
PAGE: Final = (
    HERE.joinpath("inbox.html")
    .read_text("utf-8")
    .replace("/* style */", HERE.joinpath("inbox.css").read_text("utf-8"))
    .replace("/* script */", SCRIPT)
    .encode()
)
POLICY: Final = (
    f"default-src 'none'; script-src 'sha256-{b64encode(sha256(SCRIPT.encode()).digest()).decode()}'; "
    "style-src 'unsafe-inline'; connect-src 'self'; img-src data: 127.0.0.1:* localhost:*; "
    "frame-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
).encode()
"""Styles may be inline, since those of mails are: the page's policy also holds in a frame of `srcdoc`."""
