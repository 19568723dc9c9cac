"""The rules of notices as models: states and runs, the update log with its readers, and the intake of payloads."""
