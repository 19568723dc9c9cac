"""`posthaste hook …`: endpoints that events are posted to."""
