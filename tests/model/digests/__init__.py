"""The rules of digests as a model: windows of one batch key, their parts and their mails."""
