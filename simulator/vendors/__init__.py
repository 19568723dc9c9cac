"""The simulated vendors, a module or a folder each, found by their `PROVIDER`."""
