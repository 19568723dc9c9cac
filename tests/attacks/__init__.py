"""Attacks that were tried, one file each; a file's first line says the attack. Each fails."""
