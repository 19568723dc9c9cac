"""The HTTP API."""

import os

# pydantic looks for plugins in every installed distribution when it is imported; there are none, and the search is a
# fifth of the cold start.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
