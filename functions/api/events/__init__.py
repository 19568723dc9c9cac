"""Events, which are collected for digests."""
