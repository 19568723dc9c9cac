"""Doors of the API that take requests in other services' terms."""
