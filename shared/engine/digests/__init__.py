"""The use cases of digests: events are added to windows, and closed windows become jobs."""
