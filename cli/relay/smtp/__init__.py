"""The sessions of the relay, and what clients may do in them."""
