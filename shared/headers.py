"""Headers of every answer of our functions. The function of webhooks does not load `web.http`."""

from typing import Final

SAFE: Final = {
    "X-Content-Type-Options": "nosniff",
    "Strict-Transport-Security": "max-age=31536000",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
"""Browsers keep to the content type and to TLS, and run no part of an answer. Pages have their own policies."""
