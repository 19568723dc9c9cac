"""Documents of webhooks' endpoints, the same for the API and for operators."""
