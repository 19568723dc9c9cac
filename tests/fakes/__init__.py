"""In-memory implementations of the ports, and a small world that puts the engine together over them."""
