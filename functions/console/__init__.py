"""The console: Posthaste in a browser, by the use cases that the API has."""
