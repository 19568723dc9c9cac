"""People of the console, in a table of their own."""
