"""Digests on DynamoDB: windows, the parts that hold their events, and policies."""
