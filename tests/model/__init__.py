"""The engine's protocol as a model, and an exhaustive search for a sequence of events that breaks it."""
