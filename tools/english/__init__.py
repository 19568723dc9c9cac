"""A checker of plain English. Source: docs/adr/0092-a-checker-of-our-own-for-english.md."""
