"""The real engine, driven step by step by a random adversary, with the promises checked after every call."""
