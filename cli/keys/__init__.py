"""API keys of an account, for operators."""
