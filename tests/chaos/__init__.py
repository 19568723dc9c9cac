"""Chaos: everything fails at random, and in the end every message is accounted for; the seed replays a run."""
