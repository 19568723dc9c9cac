"""The content of messages: stored templates and their versions, programs, previews."""
