"""Pictures of messages."""
