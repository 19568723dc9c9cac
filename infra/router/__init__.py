"""The router before several deployments: a small app of its own."""
