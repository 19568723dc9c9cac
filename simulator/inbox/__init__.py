"""The inbox: what the simulated providers accepted, as those who got it see it."""
