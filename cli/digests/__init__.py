"""`posthaste event` and `posthaste digest`: events, windows and policies over the HTTP API."""
