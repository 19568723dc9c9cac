"""The simulated vendors, one module each, found by their `PROVIDER`."""
