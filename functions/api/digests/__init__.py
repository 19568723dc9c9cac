"""Windows and policies of digests."""
