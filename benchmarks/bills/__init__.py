"""The costs of a million messages of each shape, for each way in which their events come in."""
