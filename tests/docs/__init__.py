"""What the documentation names is there."""
